"""Row groups of a merged object: large ones are copied, small adjacent ones are combined.

What is copied has the hash of the bytes that were written. What is written again is read back, and
must have the digest that its parts have together.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol

import pyarrow as pa

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.footer import SegmentFooter, SegmentPart
from towpath.archive.format.packing import digest_of
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetObject, ParquetOptions
from towpath.archive.format.row_groups import RowGroupSource
from towpath.archive.format.schema import ARCHIVED
from towpath.model.digest import Digest

GOOD_BYTES = 16 << 20
"""Uncompressed bytes from which on a row group is copied as it is."""


class PartReader(Protocol):
    """Protocol of a reader of a segment's parts."""

    @property
    def name(self) -> str:
        """The name of the object, for errors."""

    def part(self, footer: SegmentFooter, index: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of one part of a segment.

        Raises:
            CorruptSegmentError: The object is damaged.
        """


@dataclass(frozen=True, slots=True)
class MergedInput:
    """A segment that is merged into another one.

    Attributes:
        footer: The segment.
        reader: Reads its object; None for a segment of gaps alone.
        source: Copies row groups of its object; None for an object of batches, or where all
            records are to be written again.
    """

    footer: SegmentFooter
    reader: PartReader | None = None
    source: RowGroupSource | None = None


class RowGroupWriting:
    """Writes the row groups of a merged segment.

    Args:
        copy: Copies a row group to the new object.
        options: How row groups are written that are not copied.
        good_bytes: Uncompressed bytes from which on a row group is copied as it is.

    Attributes:
        parts: The row groups so far.
    """

    def __init__(
        self,
        copy: Callable[[RowGroupSource, int, SegmentPart], SegmentPart],
        options: ParquetOptions,
        good_bytes: int,
    ) -> None:
        self.parts: list[SegmentPart] = []
        self._copy_to, self._options, self._good_bytes = copy, options, good_bytes
        self._small: list[SegmentPart] = []
        self._rows: list[pa.RecordBatch] = []
        self._bytes = 0

    def add(self, given: MergedInput) -> None:
        """Copy the large row groups of a segment, and keep the rows of small ones."""
        for index, part in enumerate(given.footer.parts):
            number = given.footer.first_row_group + index
            if given.source and given.source.bytes_of(number) >= self._good_bytes:
                self.copy(given.source, number, part)
            else:
                self.keep(part, rows_of(given, index))

    def copy(self, source: RowGroupSource, number: int, part: SegmentPart) -> None:
        """Copy a row group unchanged, after the rows that were kept."""
        self.write_small()
        self.parts.append(self._copy_to(source, number, part))

    def write_small(self) -> None:
        """Write the kept rows as one row group."""
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
        self.parts.append(self._copy_to(RowGroupSource(file, "of the compaction"), 0, part))

    def keep(self, part: SegmentPart, rows: list[pa.RecordBatch]) -> None:
        """Keep the rows of a small row group for a combined one."""
        self._small.append(part)
        self._rows += rows
        self._bytes += sum(each.nbytes for each in rows)
        many = sum(len(each) for each in self._rows) >= self._options.row_group_rows
        if many or self._bytes >= self._options.row_group_bytes:
            self.write_small()


def rows_of(given: MergedInput, index: int) -> list[pa.RecordBatch]:
    """Return the records of one part of an input.

    Raises:
        CorruptSegmentError: They are not those that were written.
    """
    if given.reader is None:
        raise ValueError("a segment of records without an object")
    part = given.footer.parts[index]
    rows = list(given.reader.part(given.footer, index))
    _same(rows, part, given.reader.name)
    return rows


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
