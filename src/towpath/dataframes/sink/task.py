"""Writing of a task's rows as records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch, Transactions
from towpath.dataframes.errors import RowError
from towpath.dataframes.sink.columns import (
    Index,
    RowBatch,
    grouped,
    joined,
    picked_rows,
    row_batch,
)
from towpath.dataframes.sink.messages import OffsetsWritten, TaskPlace, TaskWritten
from towpath.dataframes.sink.options import SinkOptions
from towpath.dataframes.sink.packer import BatchPacker
from towpath.dataframes.sink.sender import BatchSender
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.chance import CHANCE
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.runtime.garbage import keep_loaded
from towpath.wire import plain
from towpath.wire.packing import Rows

_WAITING_BYTES = 32 << 20
"""Bytes of records in unfinished batches from which on all are finished."""


def write_task(
    options: SinkOptions, place: TaskPlace, batches: Iterable[pa.RecordBatch]
) -> TaskWritten:
    """Write the rows of a task; its transaction, if it has one, stays open for the driver.

    Raises:
        ClusterError: The cluster refused a record, or did not answer.
        RowError: A row cannot be a record.
    """
    with Admin(options.cluster, Side.TARGET) as admin:
        writing = TaskWriter(options, place, admin)
        try:
            written = writing.all_of(batches)
        except BaseException:
            writing.give_up()
            raise
    keep_loaded()
    return written


@dataclass(frozen=True, slots=True)
class RowRoutes:
    """Where rows go, if that is not for the rows alone to say.

    Attributes:
        names: By the topic that a row names, the topic that it is written to; a row that names
            another one is refused. `None` to write each row to the topic that it names.
        keyless: The partition of rows without key and partition, beyond the last one counted from
            the first again; `None` to let them go in turns.
    """

    names: Mapping[str, str] | None = None
    keyless: int | None = None

    def topic(self, named: str) -> str:
        """Return the topic that rows are written to.

        Raises:
            RowError: They name a topic that they may not be written to.
        """
        if self.names is None:
            return named
        if named not in self.names:
            raise RowError(f"a row names topic {named}, which is not among the topics of the link")
        return self.names[named]

    def parted(
        self, batch: RowBatch, count_of: Callable[[str], int], turn: int
    ) -> Iterator[Mapping[TopicPartition, Rows]]:
        """Yield, for each topic, the rows of each partition.

        Args:
            batch: The rows.
            count_of: Returns the number of partitions of a topic.
            turn: Where rows go that have neither key nor partition, unless `keyless` says it.

        Raises:
            RowError: A row names a topic or a partition that it may not be written to.
        """
        for topic, of_topic, numbers in self._numbered(batch, count_of, turn):
            yield {
                TopicPartition(topic, number): picked_rows(batch.rows, joined(of_topic, picked))
                for number, picked in grouped(numbers)
            }

    def places(
        self, batch: RowBatch, count_of: Callable[[str], int], turn: int = 0
    ) -> Sequence[TopicPartition]:
        """Return the partition of each row; arguments and errors are those of `parted`."""
        found = dict[int, TopicPartition]()
        for topic, of_topic, numbers in self._numbered(batch, count_of, turn):
            rows = range(len(numbers)) if of_topic is None else of_topic.tolist()
            found |= {
                row: TopicPartition(topic, number)
                for row, number in zip(rows, numbers.tolist(), strict=True)
            }
        return [found[row] for row in range(len(found))]

    def _numbered(
        self, batch: RowBatch, count_of: Callable[[str], int], turn: int
    ) -> Iterator[tuple[TopicName, Index | None, Index]]:
        """Yield each topic with its rows, and the partition of each of them."""
        for named, of_topic in batch.by_topic():
            topic = self.topic(named)
            count = count_of(topic)
            keyless = turn if self.keyless is None else self.keyless
            numbers = batch.partitions(topic, of_topic, count, keyless % count)
            yield TopicName(topic), of_topic, numbers


class TaskWriter:
    """The work of one task; nothing is asked of the cluster before there is a row.

    Args:
        options: What is written, and how.
        place: The task.
        admin: The target.
        who: The producer, if the driver has begun its transactions; else the task does.
        routes: Where rows go.
    """

    def __init__(
        self,
        options: SinkOptions,
        place: TaskPlace,
        admin: Admin,
        who: ProducerEpoch | None = None,
        routes: RowRoutes | None = None,
    ) -> None:
        self._options, self._place, self._admin = options, place, admin
        self._transactions: Transactions | None = None
        self._who, self._routes = who, routes or RowRoutes()
        if who is not None and place.transactional_id is not None:
            self._transactions = self._of(place.transactional_id)
        self._sender = BatchSender(options.cluster, admin, place.transactional_id)
        self._packers: dict[TopicPartition, BatchPacker] = {}
        self._counts: dict[str, int] = {}
        self._turn = CHANCE.randrange(1 << 20)

    def all_of(self, batches: Iterable[pa.RecordBatch]) -> TaskWritten:
        """Write rows, and the receipts of them if they are wanted."""
        written = self.rows_of(batches)
        if self._who is None:
            return TaskWritten(self._place)
        if self._options.receipts is not None:
            self._tell(self._options.receipts, written)
        return TaskWritten(self._place, self._who, tuple(written))

    def rows_of(self, batches: Iterable[pa.RecordBatch]) -> list[OffsetsWritten]:
        """Write rows, and return their offsets once brokers have all of them."""
        for batch in batches:
            if len(batch):
                self._take(row_batch(batch, self._options.topic))
            if sum(each.waiting for each in self._packers.values()) > _WAITING_BYTES:
                self._flush()
        self._flush()
        return self._sender.finish()

    def close(self) -> None:
        """Stop sending."""
        self._sender.close()

    def give_up(self) -> None:
        """End what was begun."""
        self.close()
        if self._transactions is not None and self._who is not None and self._packers:
            with suppress(ClusterError):  # another attempt ends it, or the broker
                self._transactions.end(self._who, self._deadline(), commit=False)

    def _deadline(self) -> Deadline:
        return Deadline.after(self._options.cluster.request_timeout)

    def _take(self, batch: RowBatch) -> None:
        for parts in self._routes.parted(batch, self._count, self._turn):
            self._begin([*parts])
            for tp, rows in parts.items():
                for sealed in self._packers[tp].take(rows):
                    self._sender.send(tp, sealed)
        self._turn += 1

    def _count(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        if topic not in self._counts:
            if topic == self._options.receipts:
                raise RowError(f"topic {topic} is that of the receipts, and takes no rows")
            info = self._admin.topics.find(TopicName(topic))
            if info is None:
                raise RowError(f"topic {topic} does not exist; create it first")
            self._counts[topic] = len(info.partitions)
        return self._counts[topic]

    def _begin(self, tps: list[TopicPartition]) -> None:
        """Take up partitions, in the transaction if there is one."""
        new = [tp for tp in tps if tp not in self._packers]
        if not new:
            return
        who = self._producer()
        if self._transactions is not None:
            self._transactions.add(who, new, self._deadline())
        options = self._options
        inside = self._transactions is not None
        for tp in new:
            self._packers[tp] = BatchPacker(
                who, options.codec, options.batch_bytes, transactional=inside
            )

    def _producer(self) -> ProducerEpoch:
        if self._who is None:
            name = self._place.transactional_id
            if name is None:
                self._who = self._admin.producers.new_id()
            else:
                self._transactions = self._of(name)
                self._who = self._transactions.fence(self._deadline())
        return self._who

    def _of(self, name: str) -> Transactions:
        return self._admin.producers.transactions(name, self._options.timeout)

    def _flush(self) -> None:
        for tp, packer in self._packers.items():
            for sealed in packer.flush():
                self._sender.send(tp, sealed)

    def _tell(self, topic: str, written: list[OffsetsWritten]) -> None:
        """Write to the topic of receipts which offsets the records have."""
        info = self._admin.topics.find(TopicName(topic))
        if info is None:
            raise RowError(f"topic {topic} of the option receipts does not exist; create it first")
        tp = TopicPartition(TopicName(topic), self._place.task % len(info.partitions))
        who = self._producer()
        if self._transactions is not None:
            self._transactions.add(who, [tp], self._deadline())
        batch = plain.encode(
            [*_receipts(self._place, written)],
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            base_sequence=0,
            transactional=self._transactions is not None,
        )
        sender = BatchSender(self._options.cluster, self._admin, self._place.transactional_id)
        try:
            sender.send(tp, (memoryview(batch), len(written)))
            sender.finish()
        finally:
            sender.close()


def _receipts(place: TaskPlace, written: list[OffsetsWritten]) -> Iterator[plain.Record]:
    for each in written:
        told = {
            "query": place.query, "batch": place.batch, "task": place.task,
            "topic": each.tp.topic, "partition": each.tp.partition,
            "first": each.first, "last": each.last, "records": each.records,
        }  # fmt: skip
        yield plain.Record(str(each.tp).encode(), json.dumps(told).encode(), timestamp=now_ms())
