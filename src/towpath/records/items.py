"""Items of a partition's queue: batches, fills, waits, stops and mode changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.client import Client
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import Reason
from towpath.wire.batch import CODEC_AT, CODEC_MASK, Table
from towpath.wire.tally import NOTHING_DONE, OffsetTally


@dataclass(slots=True, kw_only=True)
class Batch:
    """A stamped batch to be sent. It covers the source offsets [base, end).

    Attributes:
        data: Its bytes.
        frame: The buffer that holds them, to be released.
        count: Number of records.
        sequence: Sequence of the first record.
        crc: Its checksum.
        epoch: Leader epoch at the source, -1 if unknown.
        time: Largest timestamp in ms.
        pieces: Rows of source offset and length: where its records are at the source, if there are
            holes between them.
        sent: It was sent before, so the target may hold it: it must be sent again unchanged.
        joined: It was made of small uncompressed batches, so joining it again costs little.
        settled: It was made of waiting batches, or these could not be joined. It is sent as it is:
            no record is joined twice while it waits.
        tally: What the change of the partition did to the source records of this batch.
        dropped_from: Where the records begin that the change dropped right before `base`, if it
            dropped some.
    """

    data: memoryview
    frame: Frame | None
    base: SourceOffset
    end: SourceOffset
    count: int
    sequence: int
    crc: int
    epoch: int
    time: int
    pieces: Table | None = None
    sent: bool = False
    joined: bool = False
    settled: bool = False
    tally: OffsetTally = NOTHING_DONE
    dropped_from: SourceOffset | None = None

    @property
    def begin(self) -> SourceOffset:
        """The source offset after the previous item."""
        return self.base if self.dropped_from is None else self.dropped_from

    @property
    def places(self) -> Table:
        """Source offsets of the batch's records, as rows of offset and length."""
        if self.pieces is not None:
            return self.pieces
        return np.array([(self.base, self.count)], np.int64)

    @property
    def size(self) -> int:
        """Size of the batch in bytes."""
        return len(self.data)

    @property
    def codec(self) -> int:
        """Number of the batch's codec; see `wire/codec.py`."""
        return self.data[CODEC_AT] & CODEC_MASK

    def release(self) -> None:
        """Release the buffer that holds the batch."""
        if self.frame is not None:
            self.frame.release()
            self.frame = None


@dataclass(slots=True)
class Fill:
    """Source offsets [base, end) that hold no record visible to consumers.

    Attributes:
        epoch: Leader epoch of the last of them, -1 if unknown.
        holes: How many of them compaction left empty, or the change of the partition.
        lost: They held records that are lost, so nothing takes their place on the target. The end
            is before the base if the source log was truncated.
        tally: What the change of the partition did to the source records here.
    """

    base: SourceOffset
    end: SourceOffset
    epoch: int = -1
    holes: int = 0
    lost: bool = False
    tally: OffsetTally = NOTHING_DONE

    @property
    def begin(self) -> SourceOffset:
        """The source offset after the previous item."""
        return self.base

    def joins(self, behind: Fill) -> bool:
        """Return whether this fill and the next one can be merged."""
        return self.end == behind.base and self.lost == behind.lost

    def cut(self, at: SourceOffset) -> tuple[Fill, Fill]:
        """Split the fill at offset `at`."""
        holes = min(self.holes, at - self.base)
        before, behind = self.tally.cut((at, self.end))
        first = Fill(self.base, at, -1, holes, tally=before)
        rest = Fill(at, self.end, self.epoch, self.holes - holes, tally=behind)
        return first, rest


@dataclass(slots=True)
class BecomeMapped:
    """Queue item: from source offset `base` on, the partition's offsets are mapped."""

    base: SourceOffset
    why: Reason


@dataclass(slots=True)
class Stop:
    """Queue item: the partition stops here, for the reason `why`."""

    why: Reason


@dataclass(slots=True, eq=False)
class Wait:
    """Queue item: later items wait until an external condition holds.

    Attributes:
        why: What the partition waits for.
        ready: Returns whether that has happened. Blocking, with its own time limit.
        bounded: `ready` ends the wait by itself, so it is asked as often as it takes.
        asked: How often `ready` was called.
        since: When it was called first, in monotonic seconds.
        over: That has happened.
    """

    why: Reason
    ready: Callable[[], bool]
    bounded: bool = False
    asked: int = 0
    since: float = 0.0
    over: bool = False


Item = Batch | Fill | BecomeMapped | Stop | Wait


class TransactionalWriter(Protocol):
    """Protocol of a transactional writer, for targets that refuse derived producer ids."""

    def write(self, client: Client, batches: Sequence[Batch]) -> list[TargetOffset]:
        """Write batches in one transaction. Returns the base offset of each. Blocking."""
