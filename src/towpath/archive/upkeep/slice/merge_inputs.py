"""The inputs of a merge, opened one after the other; small objects are read ahead."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from itertools import islice

import pyarrow as pa

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.gaps import Gaps
from towpath.archive.format.merging import open_input
from towpath.archive.format.regrouping import MergedInput, rows_of
from towpath.archive.format.summed_file import SummedFile
from towpath.archive.model import GapCounts, GapKind, OffsetGap, Segment, SegmentPlace
from towpath.model.digest import Digest
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.store import Store

_WHOLE = 4 << 20
"""Bytes of an object that is read as a whole, ahead of its turn."""
_AHEAD = 8


def inputs_of(
    store: Store, segments: Sequence[Segment], rows: int | None = None
) -> Iterator[MergedInput]:
    """Yield segments as merge inputs; each is valid until the next one is requested.

    Then all bytes of its object have the checksum that the commit log has.

    Args:
        store: Where their objects are.
        segments: The segments, in order.
        rows: Records that are decoded at a time, where they must be.

    Raises:
        CorruptSegmentError: An object is damaged, or holds another segment than the log says.
        NewerSegmentError: A newer Towpath wrote an object.
        StoreError: An object is not there, or cannot be read.
    """
    reads = (_read_ahead(store, each.place) for each in segments)
    ahead = deque(islice(reads, _AHEAD))
    for segment in segments:
        read = ahead.popleft()
        ahead.extend(islice(reads, 1))
        if segment.place is None:
            yield MergedInput(footer_of_gaps(segment))
            continue
        place, key = segment.place, segment.place.key
        source = io.BytesIO(read.result()) if read is not None else store.reader(key)
        with closing(source), closing(SummedFile(source, key, place.crc)) as file:
            with file.believed_if_whole():
                found = open_input(
                    segment.format, file, key, place.first_row_group, rows, proven=file.proven
                )
            found.footer.require_holds(segment, key)
            yield found
            file.require()


def _read_ahead(store: Store, place: SegmentPlace | None) -> Future[bytes] | None:
    if place is None or place.size > _WHOLE:
        return None
    return store.threads.submit(store.get, place.key)


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The records of a segment, held in memory.

    Attributes:
        name: The object that they come from, for errors.
        parts: The records of each part.
    """

    name: str
    parts: tuple[list[pa.RecordBatch], ...]

    def part(self, footer: SegmentFooter, index: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of one part of the segment."""
        del footer
        yield from self.parts[index]


def held_inputs(store: Store, key: str, segments: Sequence[Segment]) -> list[MergedInput]:
    """Read several segments of one object into memory as merge inputs.

    Raises:
        CorruptSegmentError: The object is damaged, or holds other segments than the log says.
        NewerSegmentError: A newer Towpath wrote it.
        StoreError: It is not there, or cannot be read.
    """
    found: list[MergedInput] = []
    crc = segments[0].place.crc if segments[0].place else None
    with closing(store.reader(key)) as source, closing(SummedFile(source, key, crc)) as file:
        with file.believed_if_whole():
            reader = read_object(segments[0].format, file, key)
        for each in segments:
            assert each.place is not None  # noqa: S101  # it is in this object
            footer = reader.segment(each.place.first_row_group)
            footer.require_holds(each, key)
            given = MergedInput(footer, reader)
            parts = tuple(rows_of(given, index) for index in range(len(footer.parts)))
            found.append(MergedInput(footer, HeldRows(key, parts)))
        file.require()
    return found


def footer_of_gaps(segment: Segment) -> SegmentFooter:
    """Return the footer of a segment without an object.

    The log says how many offsets of each kind it has, and not which ones: where it has several
    kinds, each is one gap, in the order of `GapKind`.
    """
    at, gaps = segment.start, list[OffsetGap]()
    for kind in GapKind:
        if count := segment.gaps.get(kind):
            gaps.append(OffsetGap(at, SourceOffset(at + count), kind))
            at = gaps[-1].end
    return SegmentFooter(
        head=SegmentHead(
            cluster=segment.cluster,
            topic_id=segment.topic_id,
            topic=segment.topic,
            partition=segment.partition,
            level=segment.level,
            start=segment.start,
        ),
        end=segment.end,
        raw_bytes=0,
        digest=Digest(),
        gaps=Gaps.of(gaps),
        parts=(),
        created=segment.created,
    )


def require_equal(made: Segment, segments: Sequence[Segment], name: str) -> None:
    """Raise unless a merged segment has the same range, records and gaps as its inputs.

    Raises:
        CorruptSegmentError: It does not.
    """
    digest = reduce(Digest.then, (each.digest for each in segments), Digest())
    gaps = reduce(GapCounts.then, (each.gaps for each in segments), GapCounts())
    wanted = segments[0].start, segments[-1].end, digest, gaps
    if (made.start, made.end, made.digest, made.gaps) != wanted:
        raise CorruptSegmentError(
            name, f"it has {made.digest} and {made.gaps}; its inputs have {digest} and {gaps}"
        )


def require_written(
    store: Store, kind: SegmentFormat, place: SegmentPlace, footers: Sequence[SegmentFooter]
) -> None:
    """Raise unless an object just written can be opened and has the expected footer.

    Raises:
        CorruptSegmentError: It does not.
        StoreError: It cannot be read.
    """
    with closing(store.reader(place.key)) as file:
        if read_object(kind, file, place.key).footers != tuple(footers):
            raise CorruptSegmentError(place.key, "its footer is not the one that was written")
