"""One interface for both segment formats: writers and readers of objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from towpath.archive.format.batches_reader import BatchesObjectReader
from towpath.archive.format.batches_writer import BatchesObject
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetObject, ParquetOptions
from towpath.archive.format.parts import PackedBatches
from towpath.archive.format.segment_writer import SegmentWriter
from towpath.archive.format.sink import Sink
from towpath.archive.format.wanted import ALL, Wanted
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.wire.codec import NONE
from towpath.wire.packing import Rows


class SegmentObjectWriter(Protocol):
    """Protocol of a writer of a segment object."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def segment(
        self,
        head: SegmentHead,
        *,
        end: SourceOffset | None = None,
        left_out: Collection[int] = (),
        whole: bool = False,
    ) -> SegmentWriter:
        """Begin a segment in the object.

        Args:
            head: What is known of the segment.
            end: Records from this offset on are left out; None for no bound.
            left_out: Producer ids whose records are filtered out.
            whole: Write nothing before `close`, as other segments share the object.
        """

    def close(self) -> int:
        """Write the footer. Returns the object's size, 0 if it has no record."""

    def abort(self) -> None:
        """Discard the object: nothing more is written."""


class SegmentObjectReader(Protocol):
    """Protocol of a reader of a segment object.

    Attributes:
        name: The object, for errors.
        footers: What it says of its segments.
    """

    name: str
    footers: tuple[SegmentFooter, ...]

    def segment(self, first_row_group: int = 0) -> SegmentFooter:
        """Return the footer of the segment whose row groups begin with this number.

        Raises:
            CorruptSegmentError: There is no such segment.
        """

    def rows(
        self,
        footer: SegmentFooter,
        wanted: Wanted = ALL,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield a segment's records with the schema `ARCHIVED`, a few megabytes at a time.

        Raises:
            CorruptSegmentError: The object is damaged.
        """

    def part(self, footer: SegmentFooter, index: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of one part of a segment.

        Raises:
            CorruptSegmentError: The object is damaged.
        """

    def batches(
        self, footer: SegmentFooter, wanted: Wanted = ALL, codec: int = NONE
    ) -> Iterator[PackedBatches]:
        """Yield a segment's records as record batches, at their original offsets.

        Batches that were stored whole come as they were fetched, with their own codec; the first
        and the last one may have records outside the segment's range.

        Raises:
            CorruptSegmentError: The object is damaged.
        """

    def columns(
        self, footer: SegmentFooter, wanted: Wanted = ALL, *, append_time: bool = True
    ) -> Iterator[Rows]:
        """Yield a segment's records as columns; use each before taking the next.

        Args:
            footer: The segment.
            wanted: Which records.
            append_time: Whether records with LogAppendTime have that type.

        Raises:
            CorruptSegmentError: The object is damaged.
        """

    def check(self, footer: SegmentFooter) -> None:
        """Check the hashes of all bytes of a segment.

        Raises:
            CorruptSegmentError: They are not those that were written.
        """

    def close(self) -> None:
        """Close the file."""


def write_object(
    kind: SegmentFormat, begin: Callable[[], Sink], options: ParquetOptions | None = None
) -> SegmentObjectWriter:
    """Return a writer of a segment object; the object is opened when the first record arrives.

    Args:
        kind: The format.
        begin: Opens the object; the caller closes it.
        options: How Parquet is written.
    """
    if kind is SegmentFormat.BATCHES:
        return BatchesObject(begin)
    return ParquetObject(begin, options)


def read_object(
    kind: SegmentFormat, source: Any, name: str, rows: int | None = None
) -> SegmentObjectReader:
    """Return a reader of a segment object.

    Args:
        kind: The format.
        source: A file that can be read from any position.
        name: The key of the object, or the name of the file, for errors.
        rows: Most records that are decoded at a time, where they are.

    Raises:
        CorruptSegmentError: The object is damaged, or something else.
        NewerSegmentError: It was written by a newer Towpath.
    """
    if kind is SegmentFormat.BATCHES:
        return BatchesObjectReader(source, name)
    return ParquetObjectReader(source, name, rows)
