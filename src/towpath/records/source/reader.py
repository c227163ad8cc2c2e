"""Who reads source partitions: what the fetcher and the source side ask of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from towpath.cluster.data.buffers import Frame
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.jobs import Owner


class SourceReader(Owner, Protocol):
    """Reads one source partition: a lane, which writes it to the target, or any other reader.

    Attributes:
        failures: Errors in a row, for the back-off.
    """

    failures: int

    @property
    def source(self) -> TopicPartition:
        """The source partition."""

    @property
    def source_id(self) -> TopicId:
        """Id of the topic that is to be read; another topic of that name is not."""

    @property
    def expected(self) -> SourceOffset:
        """The next source offset to fetch."""

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch taken in, or -1."""

    @property
    def held(self) -> int:
        """Bytes that were taken in and are not done with; while they are many, none is fetched."""

    @property
    def pending(self) -> bool:
        """Whether anything that was taken in is not done with."""

    @property
    def has_end(self) -> bool:
        """Whether it is to reach an end, so that it must not wait for ever."""

    @property
    def begins_later(self) -> bool:
        """Whether it may begin at a later offset: it has nothing yet, and needs no certain one."""

    def take(self, frame: Frame, start: int, end: int, aborted: Sequence[tuple[int, int]]) -> None:
        """Take in the batches at [start, end) of a frame that are new; the source works, then.

        Args:
            frame: Its buffer is used again when nobody holds it any more.
            start: Where the first batch begins; it may have records before `expected`.
            end: Where the last batch ends.
            aborted: The aborted transactions among them: producer id and first offset of each.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were taken in.
        """

    def look(self, offset: SourceOffset) -> int:
        """Count how often in a row what came from the source at `offset` was damaged."""

    def hinder(self, side: Side, why: Reason) -> None:
        """Tell what keeps it from moving now, until `side` works again."""

    def relieve(self, side: Side) -> None:
        """Take back the trouble with a side that works again."""

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Go on at another source offset; the records between cannot be had."""

    def end(self, why: Reason) -> None:
        """Stop behind what was taken in: the source has nothing more."""

    def stop(self, why: Reason) -> None:
        """Move no more in this round."""


R = TypeVar("R", bound=SourceReader)
R_contra = TypeVar("R_contra", bound=SourceReader, contravariant=True)


class Feed(Protocol[R_contra]):
    """What hands batches to readers: a fetcher, or anything else that has batches.

    Attributes:
        share: Bytes that each reader may always hold.
        ended: It hands out nothing any more.
    """

    share: int
    ended: bool

    @property
    def throttled(self) -> float:
        """Seconds for which brokers asked to wait."""

    def add(self, reader: R_contra) -> None:
        """Feed `reader` from now on, from where it stands."""

    def remove(self, reader: R_contra) -> None:
        """Feed `reader` no more."""

    def park(self, reader: R_contra) -> None:
        """Feed `reader`, which stands elsewhere now, when it moves again, or after a while."""

    def doubt(self, reader: R_contra) -> None:
        """What came for `reader` is damaged: feed it no more, and next time from elsewhere."""

    def room(self, reader: R_contra) -> None:
        """Some of the reader's bytes are done with; go on if it was held back."""

    def refill(self) -> None:
        """Go on where memory was lacking, as far as there is some now."""

    def end(self) -> None:
        """Feed no reader any more, whoever adds one."""

    def close(self) -> None:
        """Close all connections."""
