"""Errors of queries with Towpath's source; Spark shows them."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.model.nouns import TopicName, TopicPartition


class RecordsLostError(RuntimeError):
    """Records that a query should read are no longer there.

    Args:
        tp: The partition.
        first: The first offset that is lost.
        end: The offset behind the last one.
    """

    def __init__(self, tp: TopicPartition, first: int, end: int) -> None:
        super().__init__(
            f"{tp}: offsets {first} to {end - 1} were deleted before they were read; with"
            " failOnDataLoss=false they are skipped, and told in the log of the task"
        )


class TopicMadeAgainError(RuntimeError):
    """A topic was deleted and created again while a query read it.

    Args:
        topic: Its name.
    """

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"{topic} was deleted and created again, so offsets mean other records now; begin with"
            " a new checkpoint, or with failOnDataLoss=false read the new topic from its beginning"
        )


class TopicGoneError(RuntimeError):
    """A topic that a query reads is no longer there.

    Args:
        topic: Its name.
        ends: The offset up to which each partition was read.
    """

    def __init__(self, topic: TopicName, ends: Mapping[str, int]) -> None:
        named = ", ".join(f"{number}: {offset}" for number, offset in ends.items())
        super().__init__(
            f"{topic} is gone: it was deleted, or this login may no longer describe it. What it had"
            f" behind the offsets up to which it was read ({named}) is lost; with"
            " failOnDataLoss=false the query goes on without it, and tells that"
        )


class RowError(RuntimeError):
    """A row that cannot be a record.

    Args:
        text: Why.
    """


class TornBatchError(RuntimeError):
    """A batch that was decided, but whose records brokers dropped in part.

    Args:
        batch: Its number.
        tasks: The tasks whose records are missing.
        records: How many records these had.
        why: What the coordinator answered.
    """

    def __init__(self, batch: int, tasks: tuple[int, ...], records: int, why: str) -> None:
        super().__init__(batch, tasks, records, why)
        self.batch, self.tasks, self.records, self.why = batch, tasks, records, why

    def __str__(self) -> str:
        named = ", ".join(map(str, self.tasks))
        return (
            f"batch {self.batch} is written in part: after it was decided, the brokers aborted the"
            f" transactions of tasks {named} with {self.records} records ({self.why}); with"
            " failOnDataLoss=false the query goes on without them"
        )


class LateCommitError(RuntimeError):
    """A batch that took longer than its transactions may be open; nothing of it is written.

    Args:
        task: The task whose transaction has ended.
        timeout: Seconds that a transaction may be open.
        why: What the coordinator answered.
    """

    def __init__(self, task: int, timeout: float, why: str) -> None:
        super().__init__(task, timeout, why)
        self.task, self.timeout, self.why = task, timeout, why

    def __str__(self) -> str:
        return (
            f"the transaction of task {self.task} ended before the batch was complete ({self.why}),"
            f" and nothing of the batch is written; it may be open for {self.timeout:.0f} s: write"
            " smaller batches (maxOffsetsPerTrigger), raise kafka.transaction.timeout.ms up to the"
            " brokers' transaction.max.timeout.ms, or write without transactions"
            " (exactlyOnce=false)"
        )


class TransformTaskError(RuntimeError):
    """Records of a range of a source partition that did not get through the query.

    Args:
        text: The range, and why.
    """
