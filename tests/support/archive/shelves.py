"""An archive of segments in memory, whose objects can go, move and break while they are read."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.archive.segments import TINY, written, written_whole
from tests.support.logs.logs import Log
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.model import PartitionId, Segment, SegmentPlace
from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.wire.batch import NO_END


@dataclass
class MemoryArchive:
    """The segments of partitions, and the objects.

    Attributes:
        known: What the log says, as far as it was read.
        added: What it says besides; `refresh` reads it.
        opened: The keys of objects, in the order in which they were opened.
    """

    known: list[Segment] = field(default_factory=list)
    objects: dict[str, bytes] = field(default_factory=dict)
    added: list[Segment] | None = None
    opened: list[str] = field(default_factory=list)

    def segments(
        self, partition: PartitionId, first: SourceOffset, end: SourceOffset
    ) -> Sequence[Segment]:
        found = [each for each in self.known if each.partition_id == partition]
        return [each for each in found if each.end > first and each.start < end][:2]

    def until(self, partition: PartitionId, first: SourceOffset) -> SourceOffset:
        del partition, first
        return SourceOffset(NO_END)

    def begin(self, partition: PartitionId) -> SourceOffset:
        starts = (each.start for each in self.known if each.partition_id == partition)
        return min(starts, default=SourceOffset(0))

    def refresh(self) -> bool:
        added, self.added = self.added, None
        self.known = self.known if added is None else added
        return added is not None

    def open(self, key: str) -> Any:
        if key not in self.objects:
            raise ObjectMissingError(key, "read it")
        self.opened.append(key)
        return io.BytesIO(self.objects[key])

    def put(
        self,
        data: bytes,
        footer: SegmentFooter,
        name: str = "",
        kind: SegmentFormat = SegmentFormat.PARQUET,
    ) -> Segment:
        """Add the object of one segment; return the segment."""
        key = f"{footer.head.start}-{footer.end}{name}"
        place = None
        if footer.parts:
            self.objects[key] = data
            place = SegmentPlace(key=key, size=len(data))
        return footer.segment(kind, place)

    def archive(
        self,
        log: Log,
        cuts: Sequence[int],
        end: int,
        kinds: Sequence[SegmentFormat] = (SegmentFormat.PARQUET,),
    ) -> list[Segment]:
        """Archive a log in segments that begin at these offsets, in formats by turns."""
        made = []
        stops = zip(cuts, [*cuts[1:], end], itertools.cycle(kinds), strict=False)
        for first, stop, kind in stops:
            whole = kind is SegmentFormat.BATCHES
            data = written_whole(log, first, stop) if whole else written(log, first, stop, TINY)
            made.append(self.put(*data, kind=kind))
        self.known += made
        return made

    def compact(self, log: Log, segments: Sequence[Segment]) -> None:
        """Replace segments by one with the same range; the log says so when it is read again."""
        first, last = segments[0], segments[-1]
        data, footer = written(log, first.start, last.end, TINY)
        joined = replace(self.put(data, footer, "-compacted"), level=1)
        self.added = [each for each in self.known if each not in segments]
        self.added.append(joined)
        self.added.sort(key=lambda each: each.start)
