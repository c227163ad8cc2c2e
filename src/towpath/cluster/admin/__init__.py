"""The control plane of one cluster: queries of its state, and changes to it."""

from __future__ import annotations

from typing import Self

from towpath.cluster.admin.acls import AclAdmin
from towpath.cluster.admin.cluster import ClusterAdmin
from towpath.cluster.admin.configs import ConfigAdmin
from towpath.cluster.admin.disks import DiskAdmin
from towpath.cluster.admin.groups import GroupAdmin
from towpath.cluster.admin.holders import HolderAdmin
from towpath.cluster.admin.offsets import OffsetAdmin
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.cluster.admin.quotas import QuotaAdmin
from towpath.cluster.admin.replicas import ReplicaAdmin
from towpath.cluster.admin.topics import TopicAdmin
from towpath.cluster.admin.users import UserAdmin
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.settings import ClusterConfig


class Admin:
    """Control plane client of one cluster; thread-safe, and connects with the first call.

    Every call takes at most the file's `request_timeout`, within which it is tried again as long as
    time may heal what goes wrong. A cluster that was never reached gets five seconds. All raise
    `RefusedError` or `UnreachableError`.

    Calls about many topics or partitions answer for those they can (`Answers`, a dict) and name
    the others in `failed`; those about partitions raise when none has an answer.

    Args:
        config: How to reach the cluster.
        side: `source` or `target`, or what else errors shall call it.
        identity: The ids that the cluster must keep; by default what it tells first.

    Attributes:
        identity: The ids that the cluster must keep, for other connections to it.
        answering: Knows how long no broker has answered.
        throttling: Knows for how long brokers asked to wait, because of quotas.
        cluster: The cluster as a whole: its id, its brokers and their configs.
        topics: Topics: found, created, grown, deleted.
        configs: The configs of topics.
        offsets: Offsets of partitions, and the deletion of records before one.
        producers: Producers, transactions and markers of partitions.
        replicas: Which brokers hold partitions.
        groups: Consumer groups.
        holders: The configs of groups and of client metrics.
        disks: Sizes of replicas, and free space.
        acls: ACLs.
        users: SCRAM credentials.
        quotas: Client quotas.
    """

    def __init__(
        self, config: ClusterConfig, side: str, identity: ClusterIdentity | None = None
    ) -> None:
        self._control = control = Control(config, side, identity)
        self.identity = control.identity
        self.answering, self.throttling = control.answering, control.throttling
        self.cluster = ClusterAdmin(control)
        self.topics = TopicAdmin(control)
        self.configs = ConfigAdmin(control)
        self.offsets = OffsetAdmin(control)
        self.producers = ProducerAdmin(control)
        self.replicas = ReplicaAdmin(control)
        self.groups = GroupAdmin(control)
        self.holders = HolderAdmin(control)
        self.disks = DiskAdmin(control)
        self.acls = AclAdmin(control)
        self.users = UserAdmin(control)
        self.quotas = QuotaAdmin(control)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def abandon(self) -> None:
        """Break off every call, also of other threads, and those to come: nobody needs them.

        They raise `UnreachableError` within a few seconds.
        """
        self._control.abandon()

    def close(self) -> None:
        """Close all connections."""
        self._control.close()

    @property
    def throttled(self) -> float:
        """Seconds of throttling by brokers so far, because of quotas."""
        return self._control.throttled
