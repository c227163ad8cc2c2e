"""Merging of consecutive segments into one segment.

Row groups of a good size are copied as they are; neighbours that are small are read and written
again as one. What is copied has the hash of the bytes that were written. What is written again is
read back, and must have the digest that its parts have together. So the new segment holds the same
records, or there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.batches_reader import BatchesObjectReader
from towpath.archive.format.batches_writer import BatchesObject
from towpath.archive.format.either_format import SegmentObjectReader, read_object
from towpath.archive.format.footer import SegmentFooter, SegmentPart
from towpath.archive.format.gaps import Gaps
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.regrouping import GOOD_BYTES, MergedInput, RowGroupWriting
from towpath.archive.format.row_groups import RowGroupCopier, RowGroupSource
from towpath.archive.format.sink import Sink
from towpath.model.digest import Digest
from towpath.model.nouns import SegmentFormat
from towpath.runtime.clock import now_ms


def open_input(
    kind: SegmentFormat,
    source: Any,
    name: str,
    first_row_group: int = 0,
    rows: int | None = None,
    *,
    proven: bool = True,
) -> MergedInput:
    """Open a segment's object as an input of a merge.

    Args:
        kind: The format of its object.
        source: The object, as a file that can be read from any position.
        name: Its key, for errors.
        first_row_group: The first row group of the segment.
        rows: Most records that are decoded at a time, where they are.
        proven: See `input_of`.

    Raises:
        CorruptSegmentError: The object is damaged, or something else.
        NewerSegmentError: It was written by a newer Towpath.
    """
    reader = read_object(kind, source, name, rows)
    return input_of(reader, reader.segment(first_row_group), source, proven=proven)


def input_of(
    reader: SegmentObjectReader, footer: SegmentFooter, source: Any, *, proven: bool
) -> MergedInput:
    """Return a segment of an already open object as an input of a merge.

    Args:
        reader: Reads the object.
        footer: The segment.
        source: The object, as a file that can be read from any position.
        proven: Whether all bytes of the object are compared with a checksum. If not, nothing
            proves statistics and indexes, so no row group is copied with them: all records are
            written again.

    Raises:
        CorruptSegmentError: The object is damaged.
    """
    copies = proven and isinstance(reader, ParquetObjectReader)
    return MergedInput(footer, reader, RowGroupSource(source, reader.name) if copies else None)


def merge(
    inputs: Iterable[MergedInput],
    begin: Callable[[], Sink],
    *,
    level: int,
    options: ParquetOptions | None = None,
    good_bytes: int = GOOD_BYTES,
) -> tuple[SegmentFooter, int]:
    """Write a Parquet object that holds all records of some segments as one segment.

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
    target = MergedObject(begin, options, good_bytes)
    footer = target.merge(inputs, level)
    return footer, target.close()


class MergedObject:
    """A Parquet object made of existing ones, with one segment or several.

    Args:
        begin: Opens the object, if there is a record; the caller closes it.
        options: How row groups are written that are not copied.
        good_bytes: Uncompressed bytes from which on a row group is copied as it is.
    """

    def __init__(
        self,
        begin: Callable[[], Sink],
        options: ParquetOptions | None = None,
        good_bytes: int = GOOD_BYTES,
    ) -> None:
        self._begin, self._good_bytes = begin, good_bytes
        self._options = options or ParquetOptions()
        self._copier: RowGroupCopier | None = None
        self._footers: list[SegmentFooter] = []

    def merge(self, inputs: Iterable[MergedInput], level: int) -> SegmentFooter:
        """Add consecutive segments as one segment; returns its footer. See `merge`."""
        first = self._copier.row_groups if self._copier else 0
        merging = RowGroupWriting(self.copy, self._options, self._good_bytes)
        footers: list[SegmentFooter] = []
        for each in inputs:
            _follows(footers, each.footer)
            footers.append(each.footer)
            merging.add(each)
        merging.write_small()
        return self.add(_joined(footers, level, merging.parts), first)

    def add(self, footer: SegmentFooter, first_row_group: int) -> SegmentFooter:
        """Add the footer of a segment whose row groups are written, and return the footer."""
        if footer.parts:
            footer = replace(footer, first_row_group=first_row_group)
            self._footers.append(footer)
        return footer

    def copy(self, source: RowGroupSource, number: int, part: SegmentPart) -> SegmentPart:
        """Copy a row group. Returns its part at the new position."""
        if self._copier is None:
            self._copier = RowGroupCopier(self._begin())
        return self._copier.copy(source, number, part)

    @property
    def row_groups(self) -> int:
        """Number of row groups written so far."""
        return self._copier.row_groups if self._copier else 0

    def close(self) -> int:
        """Write the footer. Returns the object's size, 0 if it has no record."""
        return self._copier.close(self._footers) if self._copier else 0


def merge_batches(
    inputs: Iterable[MergedInput], begin: Callable[[], Sink], *, level: int
) -> tuple[SegmentFooter, int]:
    """Write an object of whole batches that merges several segments; see `merge`.

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
