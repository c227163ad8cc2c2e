"""Reading a range in a task, and writing what the query made of it, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dataframes.errors import TransformTaskError
from towpath.dataframes.reading import read_range
from towpath.dataframes.sink.messages import OffsetsWritten, TaskPlace
from towpath.dataframes.sink.task import RowRoutes, TaskWriter
from towpath.dataframes.transform import handover
from towpath.dataframes.transform.job import NOBODY, TransformJob, TransformRange
from towpath.ledger.transformed import (
    PositionsTopic,
    TransformedPosition,
    encode,
    positions_topic,
    transactional_id,
)
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.wire import plain


def read(job: TransformJob, wanted: TransformRange) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range, and tell the writer how many there were.

    Raises:
        TransformTaskError: It cannot be read.
    """
    if wanted.who == NOBODY and not job.proves:  # nobody asks how many there were
        yield from read_range(job.source, wanted.part, headers=True, fails=True)
        return
    count = 0
    try:
        for batch in read_range(job.source, wanted.part, headers=True, fails=True):
            count += len(batch)
            yield batch
    except Exception as error:
        raise _failed(wanted, error) from error
    handover.tell(wanted.part, count)


def write(job: TransformJob, wanted: TransformRange, batches: Iterable[pa.RecordBatch]) -> None:
    """Write the rows of a task and its new position, and commit both.

    Where Spark plays a task again, the attempt before may have committed, or another driver.

    Raises:
        TransformTaskError: A row cannot be a record, or the target did not take all.
    """
    rows = _Rows(batches)
    with Admin(job.sink.cluster, Side.TARGET) as admin:
        writing = _Transaction(job, wanted, admin)
        try:
            if handover.task().attemptNumber() and writing.was_committed():
                return
            writing.commit(rows)
        except Exception as error:
            writing.give_up()
            if rows.failed:  # Spark knows why, and says it
                raise
            raise _failed(wanted, error) from error


def _failed(wanted: TransformRange, error: Exception) -> TransformTaskError:
    text = str(error) if isinstance(error, TransformTaskError) else f"{wanted.part.value}: {error}"
    return TransformTaskError(" ".join(text.split()))


class _Rows:
    """The rows of a task, which remember whether they could not be made.

    Attributes:
        failed: Whether the query failed before all rows had come.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self.failed = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except Exception:
            self.failed = True
            raise


class _Transaction:
    """The transaction of one range."""

    def __init__(self, job: TransformJob, wanted: TransformRange, admin: Admin) -> None:
        self._job, self._wanted, self._admin = job, wanted, admin
        self._id = transactional_id(job.link, wanted.part.tp)
        self._transactions = admin.producers.transactions(self._id, job.sink.timeout)
        self._who = wanted.who
        self._writer: TaskWriter | None = None

    def was_committed(self) -> bool:
        """Fence the attempt before, and return whether it had committed the range.

        Raises:
            TransformTaskError: Another driver has gone on from there.
        """
        wanted, tp = self._wanted, self._wanted.part.tp
        self._who = self._transactions.fence(self._deadline())
        with Client(self._job.sink.cluster, Side.TARGET, self._admin) as client:
            known = PositionsTopic(self._admin, client, self._job.link).read().get(tp)
        at = known.end if known is not None else wanted.before.end
        if at == wanted.part.end:
            return True
        if known is not None and known.end != wanted.planned:
            raise TransformTaskError(f"{wanted.part.value}: another run has gone on to {known.end}")
        return False

    def commit(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the rows and the position behind them, and commit both."""
        wanted, end = self._wanted, self._wanted.part.end
        told = self._rows(batches)
        written, size = (sum(each.records for each in told), sum(each.bytes for each in told))
        read = handover.heard(wanted.part)
        position = wanted.before.then(end, read, written, size, self._query())
        self._put(position.by(self._who.producer_id, self._who.epoch))
        self._transactions.end(self._who, self._deadline(), commit=True)

    def _query(self) -> str:
        source = str(self._wanted.part.tp.topic)
        info = self._admin.topics.find(TopicName(self._job.names.get(source, source)))
        return self._job.query_for(len(info.partitions) if info is not None else 0)

    def give_up(self) -> None:
        """Stop sending; who plans the range again aborts the transaction."""
        if self._writer is not None:
            self._writer.close()

    def _rows(self, found: Iterator[pa.RecordBatch]) -> list[OffsetsWritten]:
        first = next(found, None)
        if first is None:
            return []
        sink = self._job.sink
        if "topic" not in first.schema.names:
            sink = replace(sink, topic=str(self._wanted.part.tp.topic))
        tp = self._wanted.part.tp
        routes = RowRoutes(self._job.names, keyless=tp.partition)
        place = TaskPlace(tp.partition, self._job.link, 0, self._id)
        self._writer = TaskWriter(sink, place, self._admin, self._who, routes)
        return self._writer.rows_of(_all(first, found))

    def _put(self, position: TransformedPosition) -> None:
        """Write the position in the transaction."""
        who, tp = self._who, TopicPartition(positions_topic(self._job.link), 0)
        self._transactions.add(who, [tp], self._deadline())
        batch = plain.encode(
            [encode(self._wanted.part.tp, position)],
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            base_sequence=0,
            transactional=True,
        )
        with Client(self._job.sink.cluster, Side.TARGET, self._admin) as client:
            client.produce(tp, memoryview(batch), self._id)

    def _deadline(self) -> Deadline:
        return Deadline.after(self._job.sink.cluster.request_timeout)


def _all(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest
