"""Protocol of senders, which have batches for target partitions."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol, TypeVar

from towpath.model.nouns import Side, TopicId, TopicPartition
from towpath.records.items import Batch


class SendQueue(Protocol):
    """Protocol of a sender's queue: batches in flight, and waiting ones."""

    @property
    def waiting(self) -> Sized:
        """The items that were not sent yet."""

    @property
    def next_time(self) -> int | None:
        """Timestamp in ms of the next batch, `None` if none waits."""

    def __bool__(self) -> bool:
        """Whether the queue holds anything."""


class Sender(Protocol):
    """Protocol of a sender of batches for one target partition, such as a lane."""

    @property
    def target(self) -> TopicPartition:
        """The target partition to write to."""

    @property
    def target_id(self) -> TopicId:
        """The id of the target topic."""

    @property
    def queue(self) -> SendQueue:
        """The queue of the sender's batches."""

    def next_batch(self) -> Batch | None:
        """Return the next batch to send, `None` if none may be sent now."""

    def relieve(self, side: Side) -> None:
        """Clear the trouble of a side that works again."""


S = TypeVar("S", bound=Sender)
