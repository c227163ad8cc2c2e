"""Making one segment of several ones that follow each other.

Row groups of a good size are copied as they are; neighbours that are small are read and written
again as one. What is copied has the hash of the bytes that were written. What is written again is
read back, and must have the digest that its parts have together. So the new segment holds the same
records, or there is none.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa

from towpath.model.clock import now_ms
from towpath.model.digest import Digest
from towpath.model.errors import CorruptSegmentError
from towpath.model.nouns import SegmentFormat
from towpath.segments.format.batches_reader import BatchesObjectReader
from towpath.segments.format.batches_writer import BatchesObject
from towpath.segments.format.footer import SegmentFooter, SegmentPart
from towpath.segments.format.gaps import Gaps
from towpath.segments.format.packing import digest_of
from towpath.segments.format.parquet_reader import ParquetObjectReader
from towpath.segments.format.parquet_writer import ParquetObject, ParquetOptions
from towpath.segments.format.row_groups import RowGroupCopier, RowGroupSource
from towpath.segments.format.schema import ARCHIVED
from towpath.segments.format.sink import Sink

GOOD_BYTES = 16 << 20
"""Uncompressed bytes from which on a row group is copied as it is."""


@dataclass(frozen=True, slots=True)
class MergedInput:
    """A segment that becomes part of another one.

    Attributes:
        footer: The segment.
        reader: Reads its object; None for a segment of gaps alone.
        source: Copies row groups of its object; None for an object of batches.
    """

    footer: SegmentFooter
    reader: ParquetObjectReader | BatchesObjectReader | None = None
    source: RowGroupSource | None = None


def open_input(
    kind: SegmentFormat, source: Any, name: str, first_row_group: int = 0
) -> MergedInput:
    """Return a segment as an input.

    Args:
        kind: The format of its object.
        source: The object, as a file that can be read from any position.
        name: Its key, for errors.
        first_row_group: The first row group of the segment.

    Raises:
        CorruptSegmentError: The object is damaged, or something else.
        NewerSegmentError: It was written by a newer Towpath.
    """
    if kind is SegmentFormat.BATCHES:
        batches = BatchesObjectReader(source, name)
        return MergedInput(batches.segment(), batches)
    reader = ParquetObjectReader(source, name)
    return MergedInput(reader.segment(first_row_group), reader, RowGroupSource(source, name))


def merge(
    inputs: Iterable[MergedInput],
    begin: Callable[[], Sink],
    *,
    level: int,
    options: ParquetOptions | None = None,
    good_bytes: int = GOOD_BYTES,
) -> tuple[SegmentFooter, int]:
    """Write a Parquet object with all records of some segments, as one segment.

    Args:
        inputs: The segments, in order. Each is used up before the next one is asked for.
        begin: Opens the object, if there is a record; the caller closes it.
        level: Level of the new segment.
        options: How row groups are written that are not copied.
        good_bytes: Uncompressed bytes from which on a row group is copied as it is.

    Returns:
        The footer of the new segment, and the size of the object.

    Raises:
        CorruptSegmentError: An input is damaged, or what was written differs from the inputs.
        ValueError: The segments do not follow each other.
    """
    merging = _Merging(begin, options or ParquetOptions(), good_bytes)
    footers: list[SegmentFooter] = []
    for each in inputs:
        _follows(footers, each.footer)
        footers.append(each.footer)
        merging.add(each)
    merging.write_small()
    footer = _joined(footers, level, merging.parts)
    return footer, merging.close(footer)


def merge_batches(
    inputs: Iterable[MergedInput], begin: Callable[[], Sink], *, level: int
) -> tuple[SegmentFooter, int]:
    """Write an object of whole batches with those of some others; see `merge`.

    Raises:
        CorruptSegmentError: An input is damaged.
        TypeError: A segment is not an object of batches.
        ValueError: The segments do not follow each other.
    """
    target = BatchesObject(begin)
    footers: list[SegmentFooter] = []
    parts: list[SegmentPart] = []
    for each in inputs:
        _follows(footers, each.footer)
        footers.append(each.footer)
        for part in each.footer.parts:
            if not isinstance(each.reader, BatchesObjectReader):
                raise TypeError("an object of another format cannot be copied as batches")
            data = each.reader.bytes_of(part)
            parts.append(replace(part, at=target.sink.size))
            target.sink.write(data)
    footer = _joined(footers, level, parts)
    target.add(footer)
    return footer, target.close()


class _Merging:
    """The new object while it is made."""

    def __init__(self, begin: Callable[[], Sink], options: ParquetOptions, good_bytes: int) -> None:
        self.parts: list[SegmentPart] = []
        self._begin, self._options, self._good_bytes = begin, options, good_bytes
        self._copier: RowGroupCopier | None = None
        self._small: list[SegmentPart] = []
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, given: MergedInput) -> None:
        """Copy the row groups of a segment, or keep their rows for a new one."""
        for index, part in enumerate(given.footer.parts):
            number = given.footer.first_row_group + index
            if given.source and given.source.bytes_of(number) >= self._good_bytes:
                self.write_small()
                self._copy(given.source, number, part)
            else:
                self._keep(given, index, part)

    def write_small(self) -> None:
        """Write the rows that were kept as one row group."""
        if not self._small:
            return
        digest = reduce(Digest.then, (part.digest for part in self._small), Digest())
        lows = [part.min_time for part in self._small if part.min_time is not None]
        highs = [part.max_time for part in self._small if part.max_time is not None]
        part = SegmentPart(
            first=self._small[0].first,
            last=self._small[-1].last,
            digest=digest,
            size=0,
            hash=0,
            at=0,
            min_time=min(lows, default=None),
            max_time=max(highs, default=None),
        )
        file, part = _encoded(pa.Table.from_batches(self._rows, ARCHIVED), part, self._options)
        self._small, self._rows, self._bytes = [], [], 0
        self._copy(RowGroupSource(file, "of the compaction"), 0, part)

    def close(self, footer: SegmentFooter) -> int:
        """Write the footer. Returns the size of the object, 0 if it has no record."""
        return self._copier.close([footer]) if self._copier else 0

    def _copy(self, source: RowGroupSource, number: int, part: SegmentPart) -> None:
        if self._copier is None:
            self._copier = RowGroupCopier(self._begin())
        self.parts.append(self._copier.copy(source, number, part))

    def _keep(self, given: MergedInput, index: int, part: SegmentPart) -> None:
        if given.reader is None:
            raise ValueError("a segment of records without an object")
        rows = list(given.reader.part(given.footer, index))
        _same(rows, part, given.reader.name)
        self._small.append(part)
        self._rows += rows
        self._bytes += sum(each.nbytes for each in rows)
        many = sum(len(each) for each in self._rows) >= self._options.row_group_rows
        if many or self._bytes >= self._options.row_group_bytes:
            self.write_small()


def _encoded(
    rows: pa.Table, part: SegmentPart, options: ParquetOptions
) -> tuple[io.BytesIO, SegmentPart]:
    """Return a file with one row group, which was read back, and what it holds."""
    file = io.BytesIO()
    target = ParquetObject(lambda: file, options, ARCHIVED)
    at, size, hashed = target.put(rows)
    target.close()
    written = replace(part, at=at, size=size, hash=hashed)
    reader = ParquetObjectReader(pa.BufferReader(file.getbuffer()), "of the compaction")
    _same(reader.row_group(0, written), written, reader.name)
    return file, written


def _same(rows: Iterable[pa.RecordBatch], part: SegmentPart, name: str) -> None:
    """Raise if rows are not those that a part says it has."""
    digest = reduce(Digest.then, map(digest_of, rows), Digest())
    if digest != part.digest:
        raise CorruptSegmentError(
            name, f"the records from {part.first} to {part.last} are not those that were written"
        )


def _follows(before: Sequence[SegmentFooter], footer: SegmentFooter) -> None:
    if not before:
        return
    one, other = before[-1], footer
    names = [(each.head.cluster, each.head.topic_id, each.head.partition) for each in (one, other)]
    if names[0] != names[1] or one.end != other.head.start:
        raise ValueError(
            f"the segment [{other.head.start}, {other.end}) does not follow"
            f" [{one.head.start}, {one.end})"
        )


def _joined(
    footers: Sequence[SegmentFooter], level: int, parts: Sequence[SegmentPart]
) -> SegmentFooter:
    """Return the footer of the new segment."""
    if not footers:
        raise ValueError("a segment of no segments")
    digest = reduce(Digest.then, (each.digest for each in footers), Digest())
    if reduce(Digest.then, (part.digest for part in parts), Digest()) != digest:
        raise CorruptSegmentError("of the compaction", "the digests of its parts do not add up")
    return SegmentFooter(
        head=replace(footers[-1].head, level=level, start=footers[0].head.start),
        end=footers[-1].end,
        raw_bytes=sum(each.raw_bytes for each in footers),
        digest=digest,
        gaps=reduce(Gaps.then, (each.gaps for each in footers)),
        parts=tuple(parts),
        created=now_ms(),
    )
