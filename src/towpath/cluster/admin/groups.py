"""Groups of consumers of all kinds: their names, and their offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest

from towpath.cluster.admin.leaders import by_topic, each_partition
from towpath.cluster.codes import UNSUPPORTED_VERSION, refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import DescribeShareGroupOffsetsRequest
from towpath.cluster.metadata import Answers, Broker
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import TopicName, TopicPartition

_ASKING = "asking for the offsets of consumer groups"
_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""
_TOPICS_BY_NAME = 9
"""The last OffsetFetch version with topics by name."""
_GROUPS = 100
"""Consumer groups that one request asks for."""


class GroupKind(StrEnum):
    """Kinds of groups whose members read records."""

    CONSUMER = "consumer"
    """Also classic groups, and groups that only commit offsets."""
    SHARE = "share"
    """A share group (KIP-932)."""
    STREAMS = "streams"
    """A group of the Streams protocol (KIP-1071)."""


_KINDS = {
    "": GroupKind.CONSUMER,
    "classic": GroupKind.CONSUMER,
    "consumer": GroupKind.CONSUMER,
    "share": GroupKind.SHARE,
    "streams": GroupKind.STREAMS,
}
"""The kind of group of each group type, and of each protocol type of groups of consumers."""


@dataclass(frozen=True, slots=True, order=True)
class ClientGroup:
    """A group whose members read records; names are unique among all kinds."""

    name: str
    kind: GroupKind = GroupKind.CONSUMER

    def __str__(self) -> str:
        kind = "" if self.kind is GroupKind.CONSUMER else f"{self.kind} "
        return f"{kind}group {self.name}"


_Ask = Callable[[Broker, Sequence[str], Deadline], Sequence[Any]]


class GroupAdmin:
    """Asks about consumer groups; see `towpath.cluster.admin.Admin`."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def names(self) -> tuple[str, ...]:
        """Return the names of all groups that commit offsets and that the login may describe.

        Brokers silently leave out groups on which the login lacks Describe.
        """
        return self._control.retried(self._names)

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets of a consumer group; partitions without one are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def commits(self) -> Answers[ClientGroup, dict[TopicPartition, int]]:
        """Return all offsets of the groups of consumers that the login may describe.

        Those of a share group are its start offsets; those of others are committed. Each broker is
        asked for the groups that it coordinates, many in one request from Kafka 3.0 on (KIP-709).
        Groups without offsets are absent.

        Raises:
            ClusterError: A broker does not list its groups.
        """
        return self._control.retried(self._commits)

    def _commits(self, deadline: Deadline) -> Answers[ClientGroup, dict[TopicPartition, int]]:
        found: dict[ClientGroup, dict[TopicPartition, int]] = {}
        failed: dict[ClientGroup, ClusterError] = {}
        for broker in self._control.metadata(deadline).brokers.values():
            groups = self._listed(broker, deadline)
            for shared, ask in ((False, self._offsets_of), (True, self._starts_of)):
                left = [group for group in groups if (group.kind is GroupKind.SHARE) is shared]
                while left:
                    said = self._asked(ask, broker, left[:_GROUPS], deadline, failed)
                    # A broker before Kafka 3.0 answers about the first group only.
                    for group, answer in zip(left, said, strict=False):
                        if answer.error_code:
                            failed[group] = self._refused(group, answer.error_code)
                        elif offsets := _offsets_in(answer, shared=shared):
                            found[group] = offsets
                    left = left[len(said) or _GROUPS :]
        return Answers(found, failed)

    def _asked(
        self,
        ask: _Ask,
        broker: Broker,
        groups: Sequence[ClientGroup],
        deadline: Deadline,
        failed: dict[ClientGroup, ClusterError],
    ) -> Sequence[Any]:
        """Ask a broker about groups; if it does not know the request, all of them have failed."""
        try:
            return ask(broker, [group.name for group in groups], deadline)
        except RefusedError as error:
            if error.error != UNSUPPORTED_VERSION:
                raise
            failed |= dict.fromkeys(groups, error)
            return []

    def _starts_of(self, broker: Broker, names: Sequence[str], deadline: Deadline) -> Sequence[Any]:
        """Return what a broker says of the start offsets of these share groups, in their order."""
        kind = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
        request = DescribeShareGroupOffsetsRequest(
            groups=[kind(group_id=name, topics=None) for name in names]
        )
        answer = self._control.ask(broker, request, deadline, "asking for share groups' offsets")
        said = {group.group_id: group for group in answer.groups}
        return [said[name] for name in names]

    def _offsets_of(
        self, broker: Broker, names: Sequence[str], deadline: Deadline
    ) -> Sequence[Any]:
        """Return what a broker says of these groups in their order, at least of the first one."""
        kind = OffsetFetchRequest.OffsetFetchRequestGroup
        request = OffsetFetchRequest(
            group_id=names[0],
            topics=None,
            groups=[kind(group_id=name, topics=None) for name in names],
            require_stable=False,
        )
        answer = self._control.ask(broker, request, deadline, _ASKING, newest=_TOPICS_BY_NAME)
        said: Sequence[Any] = answer.groups or [answer]
        return said

    def _refused(self, group: ClientGroup, number: int) -> ClusterError:
        acl = f"Describe on group {group.name}"
        return refused(self._control.side, _ASKING, number, acl=acl)

    def _names(self, deadline: Deadline) -> tuple[str, ...]:
        """Ask every broker, because each lists only the groups that it coordinates."""
        brokers = self._control.metadata(deadline).brokers.values()
        groups = {group for broker in brokers for group in self._listed(broker, deadline)}
        return tuple(sorted(group.name for group in groups if group.kind is not GroupKind.SHARE))

    def _listed(self, broker: Broker, deadline: Deadline) -> list[ClientGroup]:
        """Return the groups of consumers that a broker coordinates."""
        what = "listing consumer groups"
        answer = self._control.ask(broker, ListGroupsRequest(), deadline, what)
        if answer.error_code:
            raise refused(self._control.side, what, answer.error_code, acl="Describe on groups")
        # Groups that only commit offsets have no protocol, and brokers before 3.7 tell no type.
        kinds = ((g.group_id, _KINDS.get(g.group_type or g.protocol_type)) for g in answer.groups)
        other = {g.group_id for g in answer.groups if g.protocol_type not in _KINDS}
        return sorted(
            ClientGroup(name, kind)
            for name, kind in kinds
            if kind is not None and name not in other
        )

    def _committed(
        self, group: str, tps: Sequence[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        what = f"asking for the offsets of group {group}"
        acl = f"Describe on group {group} and on its topics"
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = by_topic(tps, lambda name, p: kind(name=name, partition_indexes=p))
        request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=True)
        coordinator = self._control.coordinator(group, deadline)
        answer = self._control.ask(coordinator, request, deadline, what, newest=_GROUP_BY_NAME)
        if answer.error_code:
            raise refused(self._control.side, what, answer.error_code, acl=acl)
        found = {}
        for tp, number, offset in each_partition(answer, lambda said: int(said.committed_offset)):
            if number:
                raise refused(self._control.side, f"{what} in {tp}", number, acl=acl)
            if offset >= 0:
                found[tp] = offset
        return found


def _offsets_in(said: Any, *, shared: bool) -> dict[TopicPartition, int]:
    if shared:
        return {
            TopicPartition(TopicName(topic.topic_name), each.partition_index): each.start_offset
            for topic in said.topics
            for each in topic.partitions
            if not each.error_code and each.start_offset >= 0
        }
    offsets = each_partition(said, lambda each: int(each.committed_offset))
    return {tp: offset for tp, code, offset in offsets if not code and offset >= 0}
