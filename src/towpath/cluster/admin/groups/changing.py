"""Changes of offsets of groups without members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest

from towpath.cluster.admin.groups.brokers import ask_each
from towpath.cluster.admin.leaders import by_topic
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import AlterShareGroupOffsetsRequest
from towpath.cluster.metadata import Answers, Broker
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

_TOPICS_BY_NAME = 9
"""The last OffsetCommit version with topics by name."""
_PARTITIONS = 1000
"""Partitions in one request: a broker appends all of it to its log as one batch."""

_LANES = 4
"""Requests that a broker gets at the same time: it writes several to its log at once."""

Wanted = Mapping[ClientGroup, Mapping[TopicPartition, Commit]]
Written = Answers[TopicPartition, Commit]
"""What was written of one group; why not of the others is in `failed`."""


class UnaskedError(UnreachableError):
    """Nothing was sent to a broker that had not answered the previous request."""


def _unasked(error: UnreachableError) -> UnaskedError:
    return UnaskedError(error.side, error.what, error.why, error.advice)


class Changing:
    """Writes groups' offsets to their coordinators, concurrently.

    A broker refuses a group that has members: nobody else commits for them. Each group gets
    requests of its own, as the protocol takes one group only.

    Args:
        control: The cluster.
        patience: Seconds for each request. A broker that does not answer one gets no more.
    """

    def __init__(self, control: Control, patience: float) -> None:
        self._control, self._patience = control, patience
        self._done: dict[ClientGroup, Written] = {}
        self._silent: dict[Broker, UnreachableError] = {}

    def all(
        self, wanted: Wanted, coordinators: Mapping[ClientGroup, Broker]
    ) -> dict[ClientGroup, Written]:
        """Write offsets of several groups; those without an answer are in `failed`."""
        shares: dict[tuple[Broker, int], list[ClientGroup]] = defaultdict(list)
        for number, group in enumerate(wanted):
            shares[coordinators[group], number % _LANES].append(group)

        def one(share: tuple[Broker, int]) -> None:
            for group in shares[share]:
                self._done[group] = self._write(share[0], group, wanted[group])

        ask_each(shares, one)
        return self._done

    def _write(
        self, broker: Broker, group: ClientGroup, offsets: Mapping[TopicPartition, Commit]
    ) -> Written:
        done: dict[TopicPartition, Commit] = {}
        failed: dict[TopicPartition, ClusterError] = {}
        left = sorted(offsets)
        for first in range(0, len(left), _PARTITIONS):
            theirs = left[first : first + _PARTITIONS]
            if broker in self._silent:
                failed |= dict.fromkeys(theirs, _unasked(self._silent[broker]))
                continue
            try:
                for tp, error in self._asked(broker, group, theirs, offsets):
                    if error is None:
                        done[tp] = offsets[tp]
                    else:
                        failed[tp] = error
            except ClusterError as error:
                failed |= dict.fromkeys(theirs, error)
                if isinstance(error, UnreachableError):
                    self._silent[broker] = error
        return Answers(done, failed)

    def _asked(
        self,
        broker: Broker,
        group: ClientGroup,
        tps: Sequence[TopicPartition],
        offsets: Mapping[TopicPartition, Commit],
    ) -> Iterator[tuple[TopicPartition, ClusterError | None]]:
        what, deadline = f"writing the offsets of {group}", Deadline.after(self._patience)
        if group.kind is GroupKind.SHARE:
            answer = self._control.ask(broker, _starts(group, tps, offsets), deadline, what)
            if answer.error_code:
                raise self._refused(what, answer.error_code, group)
            rows = ((each.topic_name, each.partitions) for each in answer.responses)
        else:
            request = _commits(group, tps, offsets)
            answer = self._control.ask(broker, request, deadline, what, newest=_TOPICS_BY_NAME)
            rows = ((each.name, each.partitions) for each in answer.topics)
        for name, partitions in rows:
            for said in partitions:
                tp, code = TopicPartition(TopicName(name), said.partition_index), said.error_code
                yield tp, self._refused(f"{what} in {tp}", code, group) if code else None

    def _refused(self, what: str, code: int, group: ClientGroup) -> ClusterError:
        acl = f"Read on group {group.name} and on its topics"
        return refused(self._control.side, what, code, acl=acl)


def _commits(
    group: ClientGroup, tps: Iterable[TopicPartition], offsets: Mapping[TopicPartition, Commit]
) -> Any:
    """Return a commit of nobody: generation -1, and no leader epoch.

    Epochs of another cluster mean nothing here; a consumer that finds one may reset its position.
    """
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic.OffsetCommitRequestPartition

    def one(name: TopicName, number: int) -> Any:
        commit = offsets[TopicPartition(name, number)]
        return partition(
            partition_index=number,
            committed_offset=commit.offset,
            committed_leader_epoch=-1,
            committed_metadata=commit.metadata,
        )

    topics = by_topic(tps, lambda name, p: topic(name=name, partitions=[one(name, n) for n in p]))
    return OffsetCommitRequest(
        group_id=group.name, generation_id_or_member_epoch=-1, member_id="", topics=topics
    )


def _starts(
    group: ClientGroup, tps: Iterable[TopicPartition], offsets: Mapping[TopicPartition, Commit]
) -> Any:
    topic = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    partition = topic.AlterShareGroupOffsetsRequestPartition

    def one(name: TopicName, number: int) -> Any:
        at = offsets[TopicPartition(name, number)].offset
        return partition(partition_index=number, start_offset=at)

    topics = by_topic(
        tps, lambda name, p: topic(topic_name=name, partitions=[one(name, n) for n in p])
    )
    return AlterShareGroupOffsetsRequest(group_id=group.name, topics=topics)


def delete_groups(
    control: Control, groups: Mapping[ClientGroup, Broker], deadline: Deadline
) -> Answers[ClientGroup, ClientGroup]:
    """Delete groups without members, with all their offsets."""
    by_name = {group.name: group for group in groups}
    shares: dict[Broker, list[str]] = defaultdict(list)
    for group, broker in groups.items():
        shares[broker].append(group.name)
    done: dict[ClientGroup, ClientGroup] = {}
    failed: dict[ClientGroup, ClusterError] = {}

    def one(broker: Broker) -> None:
        what = "deleting groups"
        request = DeleteGroupsRequest(groups_names=shares[broker])
        for each in control.ask(broker, request, deadline, what).results:
            group = by_name[each.group_id]
            if each.error_code:
                acl = f"Delete on group {group.name}"
                failed[group] = refused(control.side, f"deleting {group}", each.error_code, acl=acl)
            else:
                done[group] = group

    for broker, error in ask_each(shares, one).items():
        failed |= {by_name[name]: error for name in shares[broker]}
    return Answers(done, failed)


def delete_offsets(
    control: Control,
    group: ClientGroup,
    broker: Broker,
    tps: Iterable[TopicPartition],
    deadline: Deadline,
) -> Written:
    """Delete the commits of a consumer group without members in some partitions."""
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition = topic.OffsetDeleteRequestPartition
    one: Callable[[TopicName, Sequence[int]], Any] = lambda name, p: topic(  # noqa: E731
        name=name, partitions=[partition(partition_index=n) for n in p]
    )
    what, acl = f"deleting offsets of {group}", f"Delete on group {group.name}"
    request = OffsetDeleteRequest(group_id=group.name, topics=by_topic(tps, one))
    answer = control.ask(broker, request, deadline, what)
    if answer.error_code:
        raise refused(control.side, what, answer.error_code, acl=acl)
    done: dict[TopicPartition, Commit] = {}
    failed: dict[TopicPartition, ClusterError] = {}
    for each in answer.topics:
        for said in each.partitions:
            tp = TopicPartition(TopicName(each.name), said.partition_index)
            if said.error_code:
                failed[tp] = refused(control.side, f"{what} in {tp}", said.error_code, acl=acl)
            else:
                done[tp] = Commit(-1)
    return Answers(done, failed)
