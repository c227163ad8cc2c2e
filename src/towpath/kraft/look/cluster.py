"""Requests to brokers about their cluster: its id, and the log directories it has lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.cluster.admin import Admin
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import ClusterSeen, NodeSeen
from towpath.kraft.look.cached import Remembered
from towpath.kraft.metadata.controllers import SIDE
from towpath.model.errors import ClusterError, RefusedError
from towpath.runtime.deadline import Deadline
from towpath.settings.sections.clusters import ClusterConfig

_AGAIN = 30.0
"""Seconds for which what brokers told is taken as true."""
_SECONDS = 5.0


class ClusterReader:
    """Reads the cluster's description from its brokers, cached for some seconds.

    Args:
        cluster: The brokers, and how to log in.
    """

    def __init__(self, cluster: ClusterConfig) -> None:
        self._cluster = cluster
        self._told = Remembered[ClusterSeen](_AGAIN)

    def look(self, brokers: Iterable[NodeSeen | None]) -> ClusterSeen | None:
        """Return the cluster as its brokers describe it; `None` unless all of them answer."""
        if any(each is None or each.mode is None for each in brokers):
            self._told.forget()
            return None
        return self._told.get(self._ask)

    def _ask(self) -> ClusterSeen:
        lost: Mapping[int, tuple[str, ...]] = {}
        cluster = why = ""
        try:
            with Admin(self._cluster, SIDE) as admin:
                try:
                    lost = admin.disks.offline(Deadline.after(_SECONDS))
                except RefusedError as error:  # a right is missing, which the id does not need
                    why = str(error)
                cluster = str(admin.cluster.id())
        except ClusterError as error:
            why = str(error)
        told = {NodeId(broker): folders for broker, folders in lost.items()}
        return ClusterSeen(cluster, told, why)
