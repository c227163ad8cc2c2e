"""The messages from tasks to their driver; imports neither numba nor Arrow, to start fast."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.model.nouns import TopicPartition


@dataclass(frozen=True, slots=True)
class OffsetsWritten:
    """The offsets of the records that a task wrote to a partition; others may lie between them.

    Attributes:
        tp: The partition.
        first: The first offset.
        last: The last one.
        records: Number of records.
        bytes: Bytes of their batches.
    """

    tp: TopicPartition
    first: int
    last: int
    records: int
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """The identity of a task: its query, batch, number and transactional id.

    Attributes:
        task: Its number in the batch.
        query: The id of the query, or of the run of a batch.
        batch: The number of the micro-batch, 0 for a batch.
        transactional_id: That of the task, `None` to write without transactions.
    """

    task: int
    query: str
    batch: int
    transactional_id: str | None


@dataclass(frozen=True, slots=True)
class DriverTurn:
    """The right of a driver to decide on the next batch, until another one begins.

    Attributes:
        who: Its producer.
        number: The number of the last decision.
        at: The partition with whose commit decisions are kept, `None` before the first one.
    """

    who: ProducerEpoch
    number: int = -1
    at: TopicPartition | None = None


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """The outcome of a task: the written offsets, and its producer.

    Attributes:
        place: The task.
        who: The producer, `None` if nothing was to be written.
        written: The offsets of its records.
        driver: The turn of the driver that planned the batch.
        was_written: Whether the batch had been written before a restart, so that its rows were
            passed over.
    """

    place: TaskPlace
    who: ProducerEpoch | None = None
    written: tuple[OffsetsWritten, ...] = ()
    driver: DriverTurn | None = None
    was_written: bool = False

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(each.records for each in self.written)
