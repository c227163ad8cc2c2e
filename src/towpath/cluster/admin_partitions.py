"""The control plane of one cluster: offsets, producers and records of partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka.protocol.admin import DeleteRecordsRequest, DescribeProducersRequest
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest

from towpath.cluster.admin_brokers import BrokerAdmin
from towpath.cluster.codes import refused
from towpath.cluster.leaders import Question, ask_leaders
from towpath.cluster.metadata import Answers, ProducerState
from towpath.cluster.transactions import Transactions
from towpath.model.deadline import Deadline
from towpath.model.nouns import ProducerId, TopicName, TopicPartition

T = TypeVar("T")

_LATEST, _EARLIEST = -1, -2
_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""


class PartitionAdmin(BrokerAdmin):
    """Asks about offsets and producers, deletes records; see `towpath.cluster.admin.Admin`."""

    def earliest(self, tps: Iterable[TopicPartition]) -> Answers[TopicPartition, int]:
        """Return the first offset that is still there."""
        return self._list_offsets(tps, lambda _: _EARLIEST)

    def latest(
        self, tps: Iterable[TopicPartition], *, committed: bool = False
    ) -> Answers[TopicPartition, int]:
        """Return the offset behind the last record that all in-sync replicas have.

        Args:
            tps: The partitions.
            committed: Stop before the first transaction that is still open.
        """
        return self._list_offsets(tps, lambda _: _LATEST, committed=committed)

    def at_time(self, tps: Iterable[TopicPartition], ms: int) -> Answers[TopicPartition, int]:
        """Return the offset of the first record of this time or later, else the log's end."""
        found = self._list_offsets(tps, lambda _: ms)
        younger = [tp for tp, offset in found.items() if offset < 0]
        if not younger:
            return found
        ends = self.latest(younger)
        sure = {tp: offset for tp, offset in found.items() if offset >= 0}
        return Answers({**sure, **ends}, {**found.failed, **ends.failed})

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that a consumer group has committed; partitions without are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def producers(
        self, tps: Iterable[TopicPartition]
    ) -> Answers[TopicPartition, dict[ProducerId, int]]:
        """Return which producer ids the leader remembers, and the last sequence of each."""
        return self._producers(tps, _sequences)

    def producer_states(
        self, tps: Iterable[TopicPartition]
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        """Return what the leader remembers of producers that have an id (KIP-664)."""
        return self._producers(tps, _states)

    def _producers(
        self, tps: Iterable[TopicPartition], read: Callable[[Any], T]
    ) -> Answers[TopicPartition, T]:
        kind = DescribeProducersRequest.TopicRequest
        question = Question(
            "asking for the producers of",
            lambda theirs: DescribeProducersRequest(
                topics=_by_topic(theirs, lambda name, p: kind(name=name, partition_indexes=p))
            ),
            lambda answer: _each(answer, read), acl="Read",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> Answers[TopicPartition, int]:
        """Delete all records before these offsets; return where each log begins now."""
        topic = DeleteRecordsRequest.DeleteRecordsTopic
        partition = topic.DeleteRecordsPartition

        def one(name: TopicName, numbers: Sequence[int]) -> Any:
            rows = [
                partition(partition_index=number, offset=before[TopicPartition(name, number)])
                for number in numbers
            ]
            return topic(name=name, partitions=rows)

        question = Question(
            "deleting records of",
            lambda theirs: DeleteRecordsRequest(
                topics=_by_topic(theirs, one), timeout_ms=self._timeout_ms
            ),
            lambda answer: _each(answer, lambda said: int(said.low_watermark)), acl="Delete",
        )  # fmt: skip
        return ask_leaders(self._control, question, before)

    def transactions(self, transactional_id: str) -> Transactions:
        """Return the transactions of an id; nothing is asked yet."""
        return Transactions(self._control, transactional_id)

    def _list_offsets(
        self,
        tps: Iterable[TopicPartition],
        when: Callable[[TopicPartition], int],
        *,
        committed: bool = False,
    ) -> Answers[TopicPartition, int]:
        topic = ListOffsetsRequest.ListOffsetsTopic
        partition = topic.ListOffsetsPartition

        def one(name: TopicName, numbers: Sequence[int]) -> Any:
            rows = [
                partition(partition_index=n, timestamp=when(TopicPartition(name, n)))
                for n in numbers
            ]
            return topic(name=name, partitions=rows)

        question = Question(
            "asking for offsets of",
            lambda theirs: ListOffsetsRequest(
                replica_id=-1, isolation_level=int(committed), topics=_by_topic(theirs, one),
                timeout_ms=self._timeout_ms,
            ),
            lambda answer: _each(answer, lambda said: int(said.offset)), acl="Describe",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps)

    def _committed(
        self, group: str, tps: Sequence[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        what = f"asking for the offsets of group {group}"
        acl = f"Describe on group {group} and on its topics"
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = _by_topic(tps, lambda name, p: kind(name=name, partition_indexes=p))
        request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=True)
        coordinator = self._control.coordinator(group, deadline)
        answer = self._control.ask(coordinator, request, deadline, what, newest=_GROUP_BY_NAME)
        if answer.error_code:
            raise refused(self._side, what, answer.error_code, acl=acl)
        found = {}
        for tp, number, offset in _each(answer, lambda said: int(said.committed_offset)):
            if number:
                raise refused(self._side, f"{what} in {tp}", number, acl=acl)
            if offset >= 0:
                found[tp] = offset
        return found


def _by_topic(
    tps: Iterable[TopicPartition], make: Callable[[TopicName, Sequence[int]], T]
) -> list[T]:
    grouped: dict[TopicName, list[int]] = defaultdict(list)
    for tp in tps:
        grouped[tp.topic].append(tp.partition)
    return [make(name, numbers) for name, numbers in grouped.items()]


def _each(answer: Any, read: Callable[[Any], T]) -> Iterator[tuple[TopicPartition, int, T]]:
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.name), said.partition_index)
            yield tp, said.error_code, read(said)


def _sequences(said: Any) -> dict[ProducerId, int]:
    return {ProducerId(state.producer_id): state.last_sequence for state in said.active_producers}


def _states(said: Any) -> tuple[ProducerState, ...]:
    return tuple(map(_state, said.active_producers))


def _state(said: Any) -> ProducerState:
    return ProducerState(
        ProducerId(said.producer_id), said.last_sequence, said.last_timestamp,
        said.current_txn_start_offset,
    )  # fmt: skip
