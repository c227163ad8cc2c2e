"""Errors of queries with Towpath's source; Spark shows them."""

from __future__ import annotations

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
    """A topic is another one than that which a query has read so far.

    Args:
        topic: Its name.
    """

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"{topic} was deleted and created again, so offsets mean other records now; begin with"
            " a new checkpoint, or with failOnDataLoss=false read the new topic from its beginning"
        )
