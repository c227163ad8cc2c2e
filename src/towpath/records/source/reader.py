"""Protocols of readers of source partitions, and of the feeds that serve them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from towpath.cluster.data.buffers import Frame
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.jobs import Owner
from towpath.records.source.trouble import SourceLoss


class SourceReader(Owner, Protocol):
    """Reads one source partition, for example a lane, which writes it to the target.

    Attributes:
        failures: Errors in a row, for the back-off.
    """

    failures: int

    @property
    def source(self) -> TopicPartition:
        """The source partition that is read."""

    @property
    def source_id(self) -> TopicId:
        """Id of the topic to read, which excludes another topic of the same name."""

    @property
    def expected(self) -> SourceOffset:
        """The next source offset to fetch."""

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch that was taken in, -1 if unknown."""

    def taken_after(self, epoch: int) -> SourceOffset:
        """Return the first offset taken in from a later leader epoch.

        It is `expected` if none was, as far as the reader knows.
        """

    @property
    def held(self) -> int:
        """Bytes taken in and still held; fetching pauses while they are many."""

    @property
    def pending(self) -> bool:
        """Whether the reader still holds data that it took in."""

    @property
    def has_end(self) -> bool:
        """Whether the reader must reach an end, so that it must not wait for ever."""

    @property
    def begins_later(self) -> bool:
        """Whether the reader has read nothing, and so may begin at a later offset."""

    def take(self, frame: Frame, start: int, end: int, aborted: Sequence[tuple[int, int]]) -> None:
        """Add the new batches in [start, end) of a fetched frame.

        Args:
            frame: The buffer, which is used again when nobody holds it.
            start: Where the first batch begins. It may have records before `expected`.
            end: Where the last batch ends.
            aborted: Producer id and first offset of each aborted transaction among them.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were taken in.
        """

    def look(self, offset: SourceOffset) -> int:
        """Return how often in a row the batch fetched at `offset` was damaged."""

    def hinder(self, side: Side, why: Reason) -> None:
        """Record what keeps the reader from moving until `side` works again."""

    def relieve(self, side: Side) -> None:
        """Clear the trouble of a side that works again."""

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Continue at another source offset. The records between are lost."""

    def end(self, why: Reason) -> None:
        """Stop after everything taken in so far, as the source has nothing more."""

    def stop(self, why: Reason) -> None:
        """Stop the reader for the rest of the round."""


R = TypeVar("R", bound=SourceReader)
R_contra = TypeVar("R_contra", bound=SourceReader, contravariant=True)


class Elsewhere(Protocol[R_contra]):
    """Protocol of an archive that may have records which the source has deleted."""

    def take(self, reader: R_contra, what: SourceLoss) -> bool:
        """Feed a reader with lost records from elsewhere, then let the source continue.

        Returns:
            Whether that is tried. Otherwise the records are lost.
        """


class Feed(Protocol[R_contra]):
    """Hands batches to readers: a fetcher, or anything else that has batches.

    Attributes:
        share: Bytes that each reader may always hold.
        ended: No reader is fed any more.
    """

    share: int
    ended: bool

    @property
    def throttled(self) -> float:
        """Seconds for which brokers throttled the feed."""

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Connect to the brokers of partitions that are added later."""

    def add(self, reader: R_contra) -> None:
        """Start feeding `reader` from `expected`."""

    def remove(self, reader: R_contra) -> None:
        """Stop feeding `reader`."""

    def park(self, reader: R_contra) -> None:
        """Stop feeding a reader at a changed offset, until the reader moves or some time passes."""

    def doubt(self, reader: R_contra) -> None:
        """Stop feeding `reader` after a damaged batch, and use another source next time."""

    def room(self, reader: R_contra) -> None:
        """Continue to feed a paused `reader`, if it has room again."""

    def refill(self) -> None:
        """Continue with readers that waited for memory, as far as memory allows."""

    def news(self) -> None:
        """Check for more to read, as the driver has announced new records."""

    def end(self) -> None:
        """Stop feeding all readers, also those added later."""

    def close(self) -> None:
        """Close all connections."""
