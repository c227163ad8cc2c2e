"""The control plane of one cluster: offsets, producers and records of partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka.protocol.admin import DeleteRecordsRequest, DescribeProducersRequest
from kafka.protocol.consumer import (
    ListOffsetsRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
)

from towpath.cluster.admin.brokers import BrokerAdmin
from towpath.cluster.admin.leaders import Leaders, Question, ask_leaders
from towpath.cluster.admin.markers import Wanted, refusal, write_markers
from towpath.cluster.admin.transactions import Transactions
from towpath.cluster.codes import refused
from towpath.cluster.metadata import Answers, ProducerState
from towpath.model.deadline import Deadline
from towpath.model.errors import RefusedError
from towpath.model.nouns import ProducerId, TopicName, TopicPartition

T = TypeVar("T")

_LATEST, _EARLIEST = -1, -2
_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""


class PartitionAdmin(BrokerAdmin):
    """Asks about offsets and producers, deletes records; see `towpath.cluster.admin.Admin`."""

    def earliest(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the first offset that is still there; for `patience` see `ask_leaders`."""
        return self._list_offsets(tps, lambda _: _EARLIEST, patience=patience)

    def latest(
        self,
        tps: Iterable[TopicPartition],
        *,
        committed: bool = False,
        patience: float | None = None,
        leaders: Leaders | None = None,
    ) -> Answers[TopicPartition, int]:
        """Return the high watermark: the offset behind the last record on all in-sync replicas.

        Args:
            tps: The partitions.
            committed: Stop before the first transaction that is still open.
            patience: See `ask_leaders`.
            leaders: See `ask_leaders`.
        """
        return self._list_offsets(
            tps, lambda _: _LATEST, committed=committed, patience=patience, leaders=leaders
        )

    def log_ends(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the log end offset of each leader, which the high watermark may trail.

        A leader answers OffsetForLeaderEpoch for its own epoch with its log end offset (KIP-320;
        Kafka's `LeaderEpochFileCache.endOffsetFor`). Where the cluster tells no epochs, the answer
        is the high watermark.
        """
        wanted = tuple(tps)
        epochs = self._epochs(wanted)
        question = Question(
            "asking for the log end of", lambda theirs: _for_epochs(theirs, epochs),
            _epoch_ends, acl="Describe",
        )  # fmt: skip
        known = [tp for tp in wanted if epochs.get(tp, -1) >= 0]
        found = ask_leaders(self._control, question, known, patience)
        unknown = [tp for tp in wanted if epochs.get(tp, -1) < 0 or found.get(tp) == -1]
        marks = self.latest(unknown, patience=patience)
        return Answers({**found, **marks}, {**found.failed, **marks.failed})

    def _epochs(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        found = self._metadata(tuple({tp.topic for tp in tps}))
        infos = {tp: found.partition(tp) for tp in tps}
        return {tp: info.epoch for tp, info in infos.items() if info is not None}

    def at_time(
        self, tps: Iterable[TopicPartition], ms: int, *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the offset of the first record of this time or later, else the log's end.

        For `patience` see `ask_leaders`.
        """
        found = self._list_offsets(tps, lambda _: ms, patience=patience)
        younger = [tp for tp, offset in found.items() if offset < 0]
        if not younger:
            return found
        ends = self.latest(younger, patience=patience)
        sure = {tp: offset for tp, offset in found.items() if offset >= 0}
        return Answers({**sure, **ends}, {**found.failed, **ends.failed})

    def first_times(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the time of the first record, in ms since 1970, -1 where there is none.

        For `patience` see `ask_leaders`.
        """
        return self._list_offsets(tps, lambda _: 0, lambda said: said.timestamp, patience=patience)

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the offset at which a leader epoch of each partition ended.

        That is where the next epoch with records begins, or the log end offset (KIP-320); -1 where
        the leader does not know. For `patience` see `ask_leaders`.
        """
        question = Question(
            "asking for the end of a leader epoch of",
            lambda theirs: _for_epochs(theirs, epochs, current=False),
            _epoch_ends, acl="Describe",
        )  # fmt: skip
        return ask_leaders(self._control, question, epochs, patience)

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that a consumer group has committed; partitions without are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def producers(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, dict[ProducerId, int]]:
        """Return which producer ids the leader remembers, and the last sequence of each."""
        return self._producers(tps, _sequences, patience)

    def producer_states(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        """Return what the leader remembers of producers that have an id (KIP-664)."""
        return self._producers(tps, _states, patience)

    def _producers(
        self,
        tps: Iterable[TopicPartition],
        read: Callable[[Any], T],
        patience: float | None = None,
    ) -> Answers[TopicPartition, T]:
        kind = DescribeProducersRequest.TopicRequest
        question = Question(
            "asking for the producers of",
            lambda theirs: DescribeProducersRequest(
                topics=_by_topic(theirs, lambda name, p: kind(name=name, partition_indexes=p))
            ),
            lambda answer: _each(answer, read), acl="Read",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps, patience)

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

    def write_markers(
        self, markers: Wanted, *, patience: float, leaders: Leaders | None = None
    ) -> Answers[TopicPartition, None]:
        """Write markers; see `towpath.cluster.admin.markers.write_markers`."""
        return write_markers(self._control, markers, patience, leaders)

    def marker_refusal(self) -> RefusedError | None:
        """Return why the target takes no markers; see `towpath.cluster.admin.markers.refusal`."""
        return refusal(self._control)

    def transactions(self, transactional_id: str) -> Transactions:
        """Return the transactions of an id; nothing is asked yet."""
        return Transactions(self._control, transactional_id)

    def _list_offsets(
        self,
        tps: Iterable[TopicPartition],
        when: Callable[[TopicPartition], int],
        read: Callable[[Any], int] = lambda said: said.offset,
        *,
        committed: bool = False,
        patience: float | None = None,
        leaders: Leaders | None = None,
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
            lambda answer: _each(answer, lambda said: int(read(said))), acl="Describe",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps, patience, leaders)

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


def _for_epochs(
    tps: Sequence[TopicPartition], epochs: Mapping[TopicPartition, int], *, current: bool = True
) -> Any:
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partition = topic.OffsetForLeaderPartition

    def one(name: TopicName, numbers: Sequence[int]) -> Any:
        rows = []
        for number in numbers:
            epoch = epochs[TopicPartition(name, number)]
            leads = epoch if current else -1
            rows.append(partition(partition=number, current_leader_epoch=leads, leader_epoch=epoch))
        return topic(topic=name, partitions=rows)

    return OffsetForLeaderEpochRequest(replica_id=-1, topics=_by_topic(tps, one))


def _epoch_ends(answer: Any) -> Iterator[tuple[TopicPartition, int, int]]:
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.topic), said.partition)
            yield tp, said.error_code, int(said.end_offset)


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
        said.current_txn_start_offset, said.producer_epoch, said.coordinator_epoch,
    )  # fmt: skip
