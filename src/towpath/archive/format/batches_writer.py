"""Segment objects of whole record batches, kept as fetched: producer ids, markers, checksums.

    batches, one behind the other | footer, JSON | its size, 8 bytes, little endian | magic, 8 bytes

Such an object costs nearly nothing to write, and a restore hands its batches on unopened. What its
records are is found all the same: batches are opened to count, to hash and to note gaps.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from towpath import __version__
from towpath.archive.format.footer import VERSION, SegmentFooter, SegmentHead, SegmentPart
from towpath.archive.format.segment_writer import SegmentWriter
from towpath.archive.format.sink import HashedSink, Sink
from towpath.model.digest import Digest
from towpath.model.nouns import SourceOffset
from towpath.wire import sifting
from towpath.wire.batch import BASE, LENGTH, NO_END, POSITION, PRODUCER
from towpath.wire.collector import Collector
from towpath.wire.intake import CollectedBatches

TAIL_MAGIC = b"TOWPATHB"
TAIL = struct.Struct("<Q8s")
PART_BYTES = 4 << 20
"""Approximate bytes of a part, which is read and checked as a whole."""
_MOST_WAITING = 16 << 20
"""Bytes of batches without a record that wait for the first record."""


class BatchesObject:
    """One segment object of whole batches, opened when the first record arrives.

    If there are so many batches without a record that they cannot wait for one, it begins with
    them; without any record it is of no use, then.

    Args:
        begin: Opens the object; the caller closes it.
        part_bytes: Bytes of a part, about.
    """

    def __init__(self, begin: Callable[[], Sink], part_bytes: int = PART_BYTES) -> None:
        self.part_bytes = part_bytes
        self._begin = begin
        self._sink: HashedSink | None = None
        self._footer: SegmentFooter | None = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._sink.size if self._sink else 0

    @property
    def sink(self) -> HashedSink:
        """The destination of the batches; opens the object on first use."""
        if self._sink is None:
            self._sink = HashedSink(self._begin())
        return self._sink

    def segment(
        self,
        head: SegmentHead,
        *,
        end: SourceOffset | None = None,
        left_out: Collection[int] = (),
        whole: bool = False,  # noqa: ARG002  # an object of batches has one segment
    ) -> BatchesSegmentWriter:
        """Begin the object's segment; the arguments are those of `BatchesSegmentWriter`."""
        return BatchesSegmentWriter(self, head, end=end, left_out=left_out)

    def add(self, footer: SegmentFooter) -> None:
        """Set the footer, after all batches are written."""
        self._footer = footer

    def close(self) -> int:
        """Write the footer. Returns the object's size; 0 if it has no record, and must go."""
        if self._sink is None or self._footer is None or not self._footer.parts:
            return 0
        told = {"format": VERSION, "writer": __version__, "segments": [self._footer.told()]}
        text = json.dumps(told, separators=(",", ":")).encode()
        self._sink.write(text + TAIL.pack(len(text), TAIL_MAGIC))
        return self.size

    def abort(self) -> None:
        """Discard the object: nothing more is written."""
        if self._sink is not None:
            self._sink.drop()
        self._footer = None


@dataclass(slots=True)
class _Stretch:
    """A part of a segment that is still being written.

    Attributes:
        waiting: Its bytes, as long as it has no record and is not large.
        active: Producer ids of the aborted transactions that go on.
    """

    at: int = 0
    size: int = 0
    digest: Digest = field(default_factory=Digest)
    bounds: tuple[int, int] = (NO_END, -1)
    times: tuple[int, int] | None = None
    waiting: list[bytes] = field(default_factory=list)
    aborted: list[tuple[int, int]] = field(default_factory=list)
    active: set[int] = field(default_factory=set)

    def note(self, collector: Collector) -> None:
        """Add the records that the collector holds."""
        if collector.bounds is None:
            return
        self.digest = self.digest.then(collector.waiting_digest)
        self.bounds = (min(self.bounds[0], collector.bounds[0]), collector.bounds[1])
        if collector.times:
            low, high = self.times or collector.times
            self.times = (min(low, collector.times[0]), max(high, collector.times[1]))

    def note_aborted(self, batches: CollectedBatches) -> None:
        """Add the aborted transactions in some batches."""
        special = np.flatnonzero(
            (batches.kinds == sifting.ABORTED) | (batches.kinds == sifting.MARKER)
        )
        for index in special.tolist():
            producer = int(batches.table[index, PRODUCER])
            if batches.kinds[index] == sifting.MARKER:
                self.active.discard(producer)
            elif producer not in self.active:
                self.active.add(producer)
                self.aborted.append((producer, int(batches.table[index, BASE])))

    def part(self, hashed: int) -> SegmentPart:
        """Return the stretch as a part of the segment."""
        return SegmentPart(
            first=SourceOffset(self.bounds[0]),
            last=SourceOffset(self.bounds[1]),
            digest=self.digest,
            size=self.size,
            hash=hashed,
            at=self.at,
            min_time=self.times[0] if self.times else None,
            max_time=self.times[1] if self.times else None,
            aborted=tuple(self.aborted),
        )


class BatchesSegmentWriter(SegmentWriter):
    """Writes the batches of one partition to a segment object, as they were fetched.

    A batch that begins before the range, or ends behind it, is kept whole; the footer's range says
    which of its records belong to the segment.
    """

    def __init__(
        self,
        target: BatchesObject,
        head: SegmentHead,
        *,
        end: SourceOffset | None = None,
        left_out: Collection[int] = (),
    ) -> None:
        """Begin a segment.

        Args:
            target: The object.
            head: What is known of the segment.
            end: Batches from this offset on are left out; None for no bound.
            left_out: Producer ids whose batches are filtered out.
        """
        super().__init__(target, head, end, left_out)
        self._target = target
        self._stretch = _Stretch()

    @property
    def held(self) -> int:
        """Bytes in memory that are not written yet; always 0."""
        return super().held + sum(map(len, self._stretch.waiting))

    def _took(self, batches: CollectedBatches) -> None:
        self._write(batches)
        self._collector.clear()

    def flush(self) -> None:
        """Do nothing: batches are written at once."""

    def _end(self) -> None:
        if self._stretch.digest.records:
            self._end_part()

    def _write(self, batches: CollectedBatches) -> None:
        stretch = self._stretch
        if (
            stretch.size >= self._target.part_bytes
            and stretch.digest.records
            and self._collector.rows
        ):
            self._end_part()
            stretch = self._stretch
        stretch.note(self._collector)
        stretch.note_aborted(batches)
        for data in _kept(batches):
            stretch.size += len(data)
            if stretch.digest.records or stretch.size > _MOST_WAITING:
                self._send(data)
            else:
                stretch.waiting.append(bytes(data))

    def _send(self, data: memoryview) -> None:
        sink, stretch = self._target.sink, self._stretch
        for each in stretch.waiting:
            sink.write(each)
        stretch.waiting.clear()
        sink.write(data)

    def _end_part(self) -> None:
        sink = self._target.sink
        self._parts.append(self._stretch.part(sink.hash))
        self._stretch = _Stretch(at=sink.mark())


def _kept(batches: CollectedBatches) -> list[memoryview]:
    """Return the bytes of the batches that are not filtered out, neighbours together."""
    table = batches.table[batches.kinds != sifting.FILTERED]
    if not len(table):
        return []
    ends = table[:, POSITION] + table[:, LENGTH]
    breaks = np.flatnonzero(table[1:, POSITION] != ends[:-1]) + 1
    firsts = np.append(0, breaks)
    lasts = np.append(breaks, len(table)) - 1
    view = memoryview(batches.buffer.data)
    return [
        view[start:end]
        for start, end in zip(table[firsts, POSITION].tolist(), ends[lasts].tolist(), strict=True)
    ]
