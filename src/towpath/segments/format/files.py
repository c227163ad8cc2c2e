"""The two formats of segments behind one interface: what writes an object, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.segments.format.batches_reader import BatchesObjectReader
from towpath.segments.format.batches_writer import BatchesObject
from towpath.segments.format.footer import SegmentFooter, SegmentHead
from towpath.segments.format.parquet_reader import ParquetObjectReader
from towpath.segments.format.parquet_writer import ParquetObject, ParquetOptions
from towpath.segments.format.parts import PackedBatches
from towpath.segments.format.sink import Sink
from towpath.segments.format.wanted import ALL, Wanted
from towpath.segments.model import GapKind
from towpath.wire.aborted import Aborted
from towpath.wire.batch import NO_END, Buffer
from towpath.wire.codec import NONE


class SegmentWriter(Protocol):
    """Writes the records of one partition as one segment of an object.

    Attributes:
        head: What is known of the segment.
    """

    head: SegmentHead

    @property
    def expected(self) -> SourceOffset:
        """The next offset to take in."""

    @property
    def records(self) -> int:
        """Number of records so far."""

    @property
    def raw_bytes(self) -> int:
        """Bytes of keys, values and headers plus 16 for each record, so far."""

    @property
    def held(self) -> int:
        """Bytes of memory in use."""

    def take(
        self, buffer: Buffer, start: int, end: int, aborted: Aborted = (), until: int = NO_END
    ) -> None:
        """Take in fetched batches; the buffer may be used again after the call.

        Args:
            buffer: Bytes as a broker sent them.
            start: Position of the first batch. It may have records before `expected`.
            end: Position after the last byte.
            aborted: Producer id and first offset of each aborted transaction among them.
            until: Batches that begin at this offset or behind it are left out, for another segment
                or another call with the same bytes.

        Raises:
            CorruptBatchError: A batch is damaged; those before it were taken in.
        """

    def pass_over(self, end: SourceOffset, kind: GapKind) -> None:
        """Note that no offset from `expected` to `end` holds a record, and why."""

    def flush(self) -> None:
        """Write what waits, to free its memory."""

    def close(self, end: SourceOffset, kind: GapKind = GapKind.COMPACTED) -> SegmentFooter:
        """End the segment. The object must still be closed.

        Args:
            end: End of its range, exclusive.
            kind: Why no offset from `expected` to the end holds a record.
        """


class SegmentObjectWriter(Protocol):
    """An object with segments that is being written."""

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
        """Begin a segment.

        Args:
            head: What is known of the segment.
            end: Records from this offset on are left out; None for no bound.
            left_out: Producer ids whose records are filtered out.
            whole: Write nothing before `close`, as other segments share the object.
        """

    def close(self) -> int:
        """Write the footer. Returns the size of the object, 0 if it has no record."""

    def abort(self) -> None:
        """Write nothing more."""


class SegmentObjectReader(Protocol):
    """Reads an object with segments.

    Attributes:
        name: The object, for errors.
        footers: What it says of its segments.
    """

    name: str
    footers: tuple[SegmentFooter, ...]

    def segment(self, first_row_group: int = 0) -> SegmentFooter:
        """Return the footer of the segment that begins with a row group.

        Raises:
            CorruptSegmentError: There is no such segment.
        """

    def rows(
        self,
        footer: SegmentFooter,
        wanted: Wanted = ALL,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records of a segment, with the schema `ARCHIVED`, some megabytes at a time.

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
        """Yield the records of a segment as record batches, at their own offsets.

        Batches that were stored whole come as they were fetched, with their own codec; the first
        and the last one may have records outside the segment's range.

        Raises:
            CorruptSegmentError: The object is damaged.
        """

    def check(self, footer: SegmentFooter) -> None:
        """Read the bytes of a segment, and compare their hashes.

        Raises:
            CorruptSegmentError: They are not those that were written.
        """

    def close(self) -> None:
        """Close the file."""


def write_object(
    kind: SegmentFormat, begin: Callable[[], Sink], options: ParquetOptions | None = None
) -> SegmentObjectWriter:
    """Return what writes an object, which begins with its first record.

    Args:
        kind: The format.
        begin: Opens the object; the caller closes it.
        options: How Parquet is written.
    """
    if kind is SegmentFormat.BATCHES:
        return BatchesObject(begin)
    return ParquetObject(begin, options)


def read_object(kind: SegmentFormat, source: Any, name: str) -> SegmentObjectReader:
    """Return what reads an object.

    Args:
        kind: The format.
        source: A file that can be read from any position.
        name: The key of the object, or the name of the file, for errors.

    Raises:
        CorruptSegmentError: The object is damaged, or something else.
        NewerSegmentError: It was written by a newer Towpath.
    """
    if kind is SegmentFormat.BATCHES:
        return BatchesObjectReader(source, name)
    return ParquetObjectReader(source, name)
