"""Who has batches for target partitions: what the producer asks of each."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol, TypeVar

from towpath.model.nouns import Side, TopicId, TopicPartition
from towpath.records.items import Batch


class SendQueue(Protocol):
    """What a sender has in its queue, sent or not."""

    @property
    def waiting(self) -> Sized:
        """What was not sent yet."""

    @property
    def next_time(self) -> int | None:
        """The timestamp in ms of the next batch, `None` if none waits."""

    def __bool__(self) -> bool:
        """Whether anything is in it."""


class Sender(Protocol):
    """Has batches for one target partition: a lane, or whatever else has some."""

    @property
    def target(self) -> TopicPartition:
        """The target partition."""

    @property
    def target_id(self) -> TopicId:
        """Id of the target topic."""

    @property
    def queue(self) -> SendQueue:
        """Its queue."""

    def next_batch(self) -> Batch | None:
        """Return the next batch to send, `None` if none may be sent now."""

    def relieve(self, side: Side) -> None:
        """Take back the trouble with a side that works again."""


S = TypeVar("S", bound=Sender)
