"""Offsets of partitions, and the deletion of the records before an offset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafka.protocol.admin import DeleteRecordsRequest
from kafka.protocol.consumer import ListOffsetsRequest, OffsetForLeaderEpochRequest

from towpath.cluster.admin.leaders import (
    KnownLeaders,
    Question,
    ask_leaders,
    by_topic,
    each_partition,
)
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers
from towpath.model.nouns import TopicName, TopicPartition

_LATEST, _EARLIEST = -1, -2


class EpochEnd(NamedTuple):
    """The end of a leader epoch, as reported by a leader (KIP-279).

    Attributes:
        epoch: The largest epoch in its log that is not larger; -1 where old brokers do not tell,
            or none is known.
        end: The offset at which that epoch ended, or the log end; -1 if none is known.
    """

    epoch: int
    end: int


class OffsetAdmin:
    """Looks up offsets of partitions, and deletes records."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def earliest(
        self,
        tps: Iterable[TopicPartition],
        *,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
    ) -> Answers[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return self._list_offsets(tps, lambda _: _EARLIEST, patience=patience, leaders=leaders)

    def latest(
        self,
        tps: Iterable[TopicPartition],
        *,
        committed: bool = False,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
    ) -> Answers[TopicPartition, int]:
        """Return the high watermark of each partition, or its last stable offset.

        Args:
            tps: The partitions.
            committed: Return the last stable offset: that of the first open transaction.
            patience: See `ask_leaders`.
            leaders: See `ask_leaders`.
        """
        return self._list_offsets(
            tps, lambda _: _LATEST, committed=committed, patience=patience, leaders=leaders
        )

    def log_ends(
        self,
        tps: Iterable[TopicPartition],
        *,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
        epochs: Mapping[TopicPartition, int] | None = None,
    ) -> Answers[TopicPartition, int]:
        """Return the leader's log end offset of each partition; the high watermark may trail.

        A leader answers OffsetForLeaderEpoch for its own epoch with its log end offset (KIP-320;
        Kafka's `LeaderEpochFileCache.endOffsetFor`). Where the cluster tells no epochs, the answer
        is the high watermark.

        Args:
            tps: The partitions.
            patience: See `ask_leaders`.
            leaders: See `ask_leaders`.
            epochs: The leader epochs, by callers who know them already.
        """
        wanted = tuple(tps)
        if epochs is None:
            epochs, told = self._epochs(wanted)
            leaders = told if leaders is None else leaders
        now = epochs
        question = Question(
            "asking for the log end of",
            lambda theirs: _for_epochs(theirs, now),
            _epoch_ends,
            acl="Describe",
        )
        known = [tp for tp in wanted if now.get(tp, -1) >= 0]
        found = ask_leaders(self._control, question, known, patience, leaders)
        unknown = [tp for tp in wanted if now.get(tp, -1) < 0 or found.get(tp) == -1]
        marks = self.latest(unknown, patience=patience, leaders=leaders)
        return Answers({**found, **marks}, {**found.failed, **marks.failed})

    def at_time(
        self, tps: Iterable[TopicPartition], ms: int, *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the first offset with this timestamp or a later one, else the log end.

        For `patience` see `ask_leaders`.
        """
        return self.at_times(dict.fromkeys(tps, ms), patience=patience)

    def at_times(
        self, times: Mapping[TopicPartition, int], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the first offset with each timestamp (ms) or a later one, else the log end.

        For `patience` see `ask_leaders`.
        """
        found = self._list_offsets(times, times.__getitem__, patience=patience)
        younger = [tp for tp, offset in found.items() if offset < 0]
        if not younger:
            return found
        ends = self.latest(younger, patience=patience)
        sure = {tp: offset for tp, offset in found.items() if offset >= 0}
        return Answers({**sure, **ends}, {**found.failed, **ends.failed})

    def first_times(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the timestamp of the first record, in ms since 1970; -1 for an empty log.

        For `patience` see `ask_leaders`.
        """
        return self._list_offsets(tps, lambda _: 0, lambda said: said.timestamp, patience=patience)

    def last_epochs(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, int]:
        """Return the leader epoch in which the last batch of each log came, -1 if unknown.

        A leader tells it with the log end (KIP-320). For `patience` see `ask_leaders`.
        """
        return self._list_offsets(
            tps, lambda _: _LATEST, lambda said: getattr(said, "leader_epoch", -1),
            patience=patience,
        )  # fmt: skip

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
            _epoch_ends,
            acl="Describe",
        )
        return ask_leaders(self._control, question, epochs, patience)

    def epoch_answers(
        self,
        epochs: Mapping[TopicPartition, int],
        *,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
    ) -> Answers[TopicPartition, EpochEnd]:
        """Return the latest leader epoch not after the given one, and its end, by partition.

        For `patience` and `leaders` see `ask_leaders`.
        """
        question = Question(
            "asking for the end of a leader epoch of",
            lambda theirs: _for_epochs(theirs, epochs, current=False),
            _epoch_answers,
            acl="Describe",
        )
        return ask_leaders(self._control, question, epochs, patience, leaders)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> Answers[TopicPartition, int]:
        """Delete all records before these offsets; return the new log start offsets."""
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
                topics=by_topic(theirs, one), timeout_ms=self._control.timeout_ms
            ),
            lambda answer: each_partition(answer, lambda said: int(said.low_watermark)),
            acl="Delete",
        )
        return ask_leaders(self._control, question, before)

    def _epochs(
        self, tps: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], KnownLeaders]:
        """Return the leader epoch and the leader of each partition that has them."""
        found = self._control.found({tp.topic for tp in tps})
        epochs, leaders = dict[TopicPartition, int](), KnownLeaders()
        for tp in tps:
            info, leader = found.partition(tp), found.leader(tp)
            if info is not None:
                epochs[tp] = info.epoch
            if leader is not None:
                leaders[tp] = leader
        return epochs, leaders

    def _list_offsets(
        self,
        tps: Iterable[TopicPartition],
        when: Callable[[TopicPartition], int],
        read: Callable[[Any], int] = lambda said: said.offset,
        *,
        committed: bool = False,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
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
                replica_id=-1,
                isolation_level=int(committed),
                topics=by_topic(theirs, one),
                timeout_ms=self._control.timeout_ms,
            ),
            lambda answer: each_partition(answer, lambda said: int(read(said))),
            acl="Describe",
        )
        return ask_leaders(self._control, question, tps, patience, leaders)


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

    return OffsetForLeaderEpochRequest(replica_id=-1, topics=by_topic(tps, one))


def _epoch_answers(answer: Any) -> Iterator[tuple[TopicPartition, int, EpochEnd]]:
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.topic), said.partition)
            epoch = int(getattr(said, "leader_epoch", -1))
            yield tp, said.error_code, EpochEnd(epoch, int(said.end_offset))


def _epoch_ends(answer: Any) -> Iterator[tuple[TopicPartition, int, int]]:
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.topic), said.partition)
            yield tp, said.error_code, int(said.end_offset)
