"""The control plane of one cluster: what its settings are, what we may do with it, and changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka.protocol.admin import DescribeClusterRequest

from towpath.cluster.admin.brokers import BROKER, BrokerAdmin, describe_configs
from towpath.cluster.admin.numbers import OPERATIONS
from towpath.cluster.codes import refused
from towpath.cluster.metadata import ConfigEntry, read_configs
from towpath.model.acl import Operation
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError

T = TypeVar("T")

_EVERY_BROKER = ""
_PATIENCE, _PAUSE = 5.0, 0.02
"""Seconds in which brokers should have heard of a change, and between two looks."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """What a cluster listed.

    Attributes:
        known: What this program has words for.
        strange: Kinds of other entries, each in a few words.
    """

    known: T
    strange: tuple[str, ...] = ()


class ChangeAdmin(BrokerAdmin):
    """Asks about the whole cluster and changes it; see `towpath.cluster.admin.Admin`."""

    def cluster_configs(self) -> dict[str, ConfigEntry]:
        """Return the settings that hold for all brokers and were made while they ran (KIP-226)."""
        what = "asking for the settings of all brokers"
        request = describe_configs(BROKER, [_EVERY_BROKER])

        def once(deadline: Deadline) -> dict[str, ConfigEntry]:
            said = self._control.ask_any(request, deadline, what).results[0]
            self._check(said, what, "DescribeConfigs on the cluster")
            return read_configs(said)

        return self._control.retried(once)

    def cluster_rights(self) -> frozenset[Operation] | None:
        """Return what the login may do with the cluster as a whole (KIP-430, KIP-700), if told.

        To a login without the right Describe, brokers tell of no other right either.

        Raises:
            RefusedError: Also where the brokers do not know this question.
        """
        what = "asking for the rights on the cluster"
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)

        def once(deadline: Deadline) -> Collection[int] | None:
            said = self._control.ask_any(request, deadline, what)
            self._check(said, what)
            allowed: Collection[int] | None = said.authorized_operations
            return allowed

        allowed = self._control.retried(once)
        if allowed is None:
            return None
        return frozenset(right for right in Operation if OPERATIONS[right] in allowed)

    def _check(self, said: Any, what: str, acl: str = "") -> None:
        """Raise what an answer, or one result in it, says of an error."""
        if said.error_code:
            raise self._refused(said, what, acl)

    def _refused(self, said: Any, what: str, acl: str) -> RefusedError:
        """Return the error; the broker's words about a missing right are its view of our socket."""
        error = refused(self._side, what, said.error_code, acl=acl)
        if error.forbidden:
            return error
        return refused(self._side, what, said.error_code, said.error_message, acl)

    def _told(self, what: str, request: Any, read: Callable[[Any], T]) -> T:
        """Send a change to the controller; it must do no harm when it comes twice."""

        def once(deadline: Deadline) -> T:
            controller = self._control.controller(deadline)
            return read(self._control.ask(controller, request, deadline, what))

        return self._control.retried(once)

    def _heard_by_all(self, request: Any, what: str, is_told: Callable[[Any], bool]) -> None:
        """Wait until each broker that can be reached tells of a change, or a few seconds are over.

        Brokers hear of changes one after the other, in the order in which they were made.
        """
        deadline = Deadline.after(_PATIENCE)
        for broker in self.brokers():
            with suppress(ClusterError):  # the change is made, whoever knows
                while not is_told(self._control.ask(broker, request, deadline, what)):
                    if deadline.left() < _PAUSE:
                        return
                    time.sleep(_PAUSE)
