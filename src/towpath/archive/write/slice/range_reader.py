"""The reading of one range from the source's leader, and its queue of batches. Pure.

What is fetched waits here, in the order of the source, until it is written. So the next answer is
under way while this one is decoded.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from towpath.archive.model import BatchMark, GapKind
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.cluster.data.buffers import Frame
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.wire import batch as wire
from towpath.wire.legacy import modernise

_MAGIC_AT = 16
_DELETE_HORIZON = 1 << 6
"""The attribute of batches in which the log cleaner noted when tombstones may go (KIP-534)."""


@dataclass(slots=True)
class FetchedPart:
    """Fetched batches that wait to be written to a segment.

    Attributes:
        frame: The buffer that holds them, to be released.
        start: Position of the first batch.
        end: Position after the last one.
        table: The batches, as `batch.scan` found them.
        aborted: Producer id and first offset of each aborted transaction among them.
        modernised: They were of an older format, so their headers are not those of the source.
    """

    frame: Frame
    start: int
    end: int
    table: wire.Table
    aborted: tuple[tuple[int, int], ...]
    modernised: bool = False

    @property
    def size(self) -> int:
        """Size of the batches in bytes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Hole:
    """Offsets up to `end` that hold no record, with the reason."""

    end: SourceOffset
    kind: GapKind


def mark_before(table: wire.Table, offset: int) -> BatchMark | None:
    """Return the mark of the last batch that begins before an offset, or `None`.

    Args:
        table: Batches, as `batch.scan` found them.
        offset: The offset.
    """
    rows = table[table[:, wire.BASE] < offset]
    if not len(rows) or rows[-1, wire.LEADER_EPOCH] < 0:
        return None
    row = rows[-1].tolist()
    was_cleaned = row[wire.ATTRIBUTES] & _DELETE_HORIZON
    return BatchMark(
        base=SourceOffset(row[wire.BASE]),
        last=SourceOffset(row[wire.LAST]),
        epoch=row[wire.LEADER_EPOCH],
        crc=-1 if was_cleaned else row[wire.CRC],
        records=row[wire.COUNT],
        producer=row[wire.PRODUCER],
    )


class RangeReader:
    """Reads a planned range; implements `SourceReader`.

    Args:
        work: The range.
        clock: Returns the seconds that tell how long nothing came.

    Attributes:
        work: The range.
        items: What was fetched and is not written yet, in order.
        trouble: What keeps the range from moving now, `None` if nothing does.
        stopped: Nothing more is fetched, and what waits is dropped.
        busy: As for any owner of jobs.
        openings: As for any owner of jobs.
        failures: Errors in a row.
        behind: The batch in the source's log that has the offset before the range, `None` if it
            was not found.
        diverged: The source's log does not have what was read, or archived, before.
    """

    def __init__(self, work: PlannedRange, clock: Callable[[], float] = time.monotonic) -> None:
        self.work, self._clock = work, clock
        self.items: deque[FetchedPart | Hole] = deque()
        self.trouble: Reason | None = None
        self.stopped = self.busy = False
        self.openings = self.failures = 0
        self._source = TopicPartition(work.topic, work.id.partition)
        self._expected = SourceOffset(work.start - 1) if work.looks_back else work.start
        self._epoch = work.epoch
        self.behind: BatchMark | None = None
        self.diverged = False
        self._held = 0
        self._ended = False
        self._side: Side | None = None
        self._looked = (-1, 0)
        self._moved = clock()

    @property
    def source(self) -> TopicPartition:
        """The partition to read."""
        return self._source

    @property
    def source_id(self) -> TopicId:
        """Id of the topic to read."""
        return self.work.id.source.topic_id

    @property
    def expected(self) -> SourceOffset:
        """The next offset to fetch."""
        return self._expected

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch that was fetched, -1 if unknown."""
        return self._epoch

    def taken_after(self, epoch: int) -> SourceOffset:
        """Return `expected`, as the archive detects truncation by comparing records."""
        del epoch
        return self._expected

    @property
    def held(self) -> int:
        """Bytes of the batches that wait to be written."""
        return self._held

    @property
    def pending(self) -> bool:
        """Whether batches wait to be written."""
        return bool(self.items)

    @property
    def has_end(self) -> bool:
        """Whether the reader has an end; a range always does."""
        return True

    @property
    def begins_later(self) -> bool:
        """Whether the reader may begin later; a range never does, as missing offsets are gaps."""
        return False

    @property
    def fetched(self) -> bool:
        """Whether nothing is left to fetch."""
        return self._ended or self.stopped or self._expected >= self.work.end

    @property
    def idle(self) -> float:
        """Seconds since the last fetched batch, by the clock of the reader."""
        return self._clock() - self._moved

    def take(self, frame: Frame, start: int, end: int, aborted: Sequence[tuple[int, int]]) -> None:
        """Queue the batches in [start, end) of a frame for writing.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were kept.
        """
        if start == end or self.fetched:
            return
        if end - start > _MAGIC_AT and frame.buffer[start + _MAGIC_AT] < wire.MAGIC:
            data = modernise(frame.view[start:end])
            newer = frame.instead(data)
            self._keep(newer, 0, len(data), aborted, modernised=True)
            newer.release()
        else:
            self._keep(frame, start, end, aborted)

    def _keep(
        self,
        frame: Frame,
        start: int,
        end: int,
        aborted: Sequence[tuple[int, int]],
        *,
        modernised: bool = False,
    ) -> None:
        damaged: CorruptBatchError | None = None
        try:
            table = wire.scan(frame.buffer, start, end)
        except CorruptBatchError as error:
            table, damaged = wire.scan(frame.buffer, start, start + error.at), error
        new = table[:, wire.LAST] >= self._expected if len(table) else np.zeros(0, np.bool_)
        if self._expected < self.work.start and not modernised:
            self.behind = mark_before(table, self.work.start)
        if new.any():
            # All of them, also old ones: whether a transaction was aborted shows from the first on.
            last = table[-1].tolist()
            stop = last[wire.POSITION] + last[wire.LENGTH]
            part = FetchedPart(frame.hold(), start, stop, table, tuple(aborted), modernised)
            self.items.append(part)
            self._held += part.size
            self._expected, self._epoch = SourceOffset(last[wire.LAST] + 1), last[wire.LEADER_EPOCH]
            self._moved = self._clock()
            self.failures, self.trouble, self._side = 0, None, None
        if damaged is not None:
            raise damaged

    def next(self) -> FetchedPart | Hole:
        """Remove and return the next queued item. The queue must not be empty."""
        item = self.items.popleft()
        if isinstance(item, FetchedPart):
            self._held -= item.size
        return item

    def stand_back(self, offset: SourceOffset) -> None:
        """Fetch again from an offset after which batches are damaged."""
        self._drop()
        self._expected, self._epoch = offset, -1

    def look(self, offset: SourceOffset) -> int:
        """Return how often in a row the batch fetched at `offset` was damaged."""
        last, times = self._looked
        self._looked = (offset, times + 1 if offset == last else 1)
        return self._looked[1]

    def hinder(self, side: Side, why: Reason) -> None:
        """Record what keeps the range from moving until `side` works again."""
        self._side, self.trouble = side, why

    def relieve(self, side: Side) -> None:
        """Clear the trouble of a side that works again."""
        if side is self._side:
            self._side, self.trouble = None, None

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Continue at a later offset, as the source deleted those before.

        A log that was cut below what was read has nothing more for this range.
        """
        if source < self._expected or ReasonCode.SOURCE_CUT in why.codes:
            self.diverged = True
            self.end(why)
            return
        end = min(source, self.work.end)
        if end > self.work.start:
            self.items.append(Hole(end, GapKind.RETENTION))
        self._expected, self._epoch = max(end, self.work.start), -1
        self._moved = self._clock()

    def empty(self) -> None:
        """Record that the log holds nothing from `expected` to the end of the range."""
        self.items.append(Hole(self.work.end, GapKind.COMPACTED))
        self._expected = self.work.end

    def end(self, why: Reason) -> None:
        """Stop fetching, with a reason. Queued batches are still written."""
        self._ended, self.trouble = True, why

    def suffice(self) -> None:
        """Stop fetching because enough is queued. Queued batches are still written."""
        self._ended = True

    def leave(self) -> None:
        """Leave the rest of the range to another cycle, without an error."""
        self._ended = True
        self._drop()

    def stop(self, why: Reason) -> None:
        """Stop at once. Queued batches are dropped."""
        self.stopped, self.trouble = True, why
        self._drop()

    @property
    def is_short(self) -> bool:
        """Whether the reading stopped before the end of the range."""
        return self.stopped or (self._ended and self._expected < self.work.end)

    def _drop(self) -> None:
        while self.items:
            item = self.next()
            if isinstance(item, FetchedPart):
                item.frame.release()
