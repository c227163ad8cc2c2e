"""Consumer groups: their names, and the offsets that they committed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest

from towpath.cluster.admin.leaders import by_topic, each_partition
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.model.deadline import Deadline
from towpath.model.nouns import TopicPartition

_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""


class GroupAdmin:
    """Asks about consumer groups; see `towpath.cluster.admin.Admin`."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def names(self) -> tuple[str, ...]:
        """Return the names of all consumer groups that the login may describe.

        Brokers silently leave out groups on which the login lacks Describe.
        """
        return self._control.retried(self._names)

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed offsets of a consumer group; partitions without one are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def _names(self, deadline: Deadline) -> tuple[str, ...]:
        """Ask every broker, because each lists only the groups that it coordinates."""
        what = "listing consumer groups"
        found: set[str] = set()
        for broker in self._control.metadata(deadline).brokers.values():
            answer = self._control.ask(broker, ListGroupsRequest(), deadline, what)
            if answer.error_code:
                raise refused(self._control.side, what, answer.error_code, acl="Describe on groups")
            # Groups that only commit offsets have no protocol.
            found |= {g.group_id for g in answer.groups if g.protocol_type in {"consumer", ""}}
        return tuple(sorted(found))

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
