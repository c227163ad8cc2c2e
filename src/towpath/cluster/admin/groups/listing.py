"""Groups of a cluster, with kind, protocol and state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.metadata import CoordinatorType, FindCoordinatorRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import AGAIN, Control, may_pass
from towpath.cluster.connect.retrying import polled
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.runtime.deadline import Deadline

_LISTING = "listing consumer groups"
_SEVERAL_KEYS = 4
"""The FindCoordinator version for many keys that is used."""
_ELECTION = 3.0
"""Seconds to wait for coordinators that are away."""
_CONNECT = "connect"
"""Protocol type of groups of Kafka Connect's workers."""
_KEYS = 1000
"""Groups whose coordinators one request asks for."""
_CLASSIC = "classic"
_IDLE = frozenset({"Empty", "Dead", ""})
"""States of groups without members; brokers before Kafka 2.6 tell no state."""

_KINDS = {
    "": GroupKind.CONSUMER,
    "classic": GroupKind.CONSUMER,
    "consumer": GroupKind.CONSUMER,
    "share": GroupKind.SHARE,
    "streams": GroupKind.STREAMS,
}
"""The kind of group of each group type, and of each protocol type of groups of consumers."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group as its coordinator lists it.

    Attributes:
        group: Its name and kind.
        state: Its state in the words of Kafka, such as `Stable`; "" where the broker tells none.
        type: Its type in the words of Kafka, such as `classic`; "" where the broker tells none.
        coordinator: The broker that coordinates it.
        protocol: Its protocol type; "" for a group that only commits offsets, and `consumer` for
            a classic one that had a member once.
    """

    group: ClientGroup
    state: str
    type: str
    coordinator: Broker
    protocol: str = ""

    @property
    def has_members(self) -> bool:
        """Whether clients are members of the group now."""
        return self.state not in _IDLE

    @property
    def is_classic(self) -> bool:
        """Whether the group uses the classic protocol, the only one before Kafka 3.7."""
        return self.type.lower() in {"", _CLASSIC}

    @property
    def was_joined(self) -> bool:
        """Whether the group is a classic one whose last member has left.

        It expires as a whole, counted from then, whatever was committed since (KIP-211).
        """
        return self.is_classic and not self.has_members and bool(self.protocol)


@dataclass(frozen=True, slots=True)
class GroupListing:
    """The groups of a cluster that the login may describe.

    Attributes:
        groups: They, by their names.
        failed: Brokers that did not tell their groups, or not all of them, and why.
    """

    groups: Mapping[str, GroupState]
    failed: Mapping[Broker, ClusterError]

    @property
    def whole(self) -> bool:
        """Whether every broker listed its groups; otherwise some may be missing."""
        return not self.failed


def listed(control: Control, deadline: Deadline) -> GroupListing:
    """List the groups of all brokers; each broker lists those it coordinates.

    Brokers silently leave out groups on which the login lacks Describe.

    Raises:
        ClusterError: No broker can be asked for the brokers.
    """
    brokers = control.metadata(deadline).brokers.values()
    found: dict[str, GroupState] = {}
    failed: dict[Broker, ClusterError] = {}

    def ask(broker: Broker) -> None:
        answer = control.ask(broker, ListGroupsRequest(), deadline, _LISTING)
        found.update((each.group.name, each) for each in _groups(answer, broker))
        if answer.error_code:
            raise refused(control.side, _LISTING, answer.error_code, acl="Describe on groups")

    failed |= ask_each(brokers, ask)
    return GroupListing(found, failed)


def connect_groups(control: Control, deadline: Deadline) -> dict[str, str]:
    """Return the states of the groups of Kafka Connect's workers, by name.

    Raises:
        ClusterError: A broker does not list its groups.
    """
    found: dict[str, str] = {}

    def ask(broker: Broker) -> None:
        answer = control.ask(broker, ListGroupsRequest(), deadline, _LISTING)
        if answer.error_code:
            raise refused(control.side, _LISTING, answer.error_code, acl="Describe on groups")
        theirs = (each for each in answer.groups if each.protocol_type == _CONNECT)
        found.update((each.group_id, each.group_state or "") for each in theirs)

    for error in ask_each(control.metadata(deadline).brokers.values(), ask).values():
        raise error
    return found


def _groups(answer: Any, broker: Broker) -> Iterator[GroupState]:
    """Yield the groups of consumers in an answer."""
    for each in answer.groups:
        # Groups that only commit offsets have no protocol, and brokers before 3.7 tell no type.
        kind = _KINDS.get((each.group_type or each.protocol_type).lower())
        if kind is not None and each.protocol_type in _KINDS:
            group = ClientGroup(each.group_id, kind)
            state, of = each.group_state or "", each.group_type or ""
            yield GroupState(group, state, of, broker, each.protocol_type or "")


def coordinators(
    control: Control, names: Iterable[str], deadline: Deadline
) -> Answers[str, Broker]:
    """Return each group's coordinator, waiting a moment for missing ones.

    The first request for one creates the topic in which coordinators keep their groups.

    Raises:
        ClusterError: No broker answers.
    """
    left, found, failed = set(names), dict[str, Broker](), dict[str, ClusterError]()

    def ask() -> bool:
        said = _coordinators(control, left, deadline)
        found.update(said)
        failed.update(said.failed)
        left.intersection_update(name for name, error in said.failed.items() if may_pass(error))
        return bool(left)

    until = Deadline.after(min(_ELECTION, deadline.left()))
    polled(ask, until, AGAIN, enough=lambda more: not more)
    return Answers(found, {name: failed[name] for name in failed.keys() - found.keys()})


def _coordinators(
    control: Control, names: Iterable[str], deadline: Deadline
) -> Answers[str, Broker]:
    """Ask once, for many in a request from Kafka 3.0 on (KIP-699)."""
    left, found, failed = sorted(names), dict[str, Broker](), dict[str, ClusterError]()
    while left:
        keys = left[:_KEYS]
        request = FindCoordinatorRequest(
            key=keys[0], key_type=CoordinatorType.GROUP, coordinator_keys=keys
        )
        what = "looking for the coordinators of groups"
        answer = control.ask_any(request, deadline, what, newest=_SEVERAL_KEYS)
        said = answer.coordinators or [answer]
        # A broker before Kafka 3.0 answers about the first group only.
        names = [each.key for each in said] if answer.coordinators else keys
        for name, each in zip(names, said, strict=False):
            if each.error_code:
                acl, text = f"Describe on group {name}", each.error_message
                failed[name] = refused(control.side, what, each.error_code, text, acl)
            else:
                found[name] = Broker(each.node_id, each.host, each.port)
        left = left[len(said) :]
    return Answers(found, failed)
