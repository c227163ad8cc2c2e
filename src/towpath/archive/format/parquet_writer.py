"""Writers of Parquet segment objects, whose rows anyone can query.

A row group is written as soon as enough records are collected, so a segment of any size takes the
memory of one row group. Keys and values have no dictionary and values no statistics: for keys that
differ a dictionary costs three times their bytes, and a value would stand in the page index again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from towpath import __version__
from towpath.archive.format.footer import (
    VERSION,
    SegmentFooter,
    SegmentHead,
    SegmentPart,
    write_footers,
)
from towpath.archive.format.schema import (
    HEADER_KEY,
    HEADER_VALUE,
    KEY,
    LEADER_EPOCH,
    OFFSET,
    PARTITION,
    SCHEMA_ID,
    TIMESTAMP,
    TIMESTAMP_RAW,
    TIMESTAMP_TYPE,
    VALUE,
    WRITTEN,
    archived,
)
from towpath.archive.format.segment_writer import SegmentWriter
from towpath.archive.format.sink import HashedSink, Sink
from towpath.model.nouns import SourceOffset
from towpath.wire.intake import CollectedBatches

FORMAT_KEY, WRITER_KEY, SEGMENTS_KEY = "towpath.format", "towpath.writer", "towpath.segments"
"""Key/values of the footer: version of the format, of the program, and the footers of segments."""
_DICTIONARIES = [HEADER_KEY, HEADER_VALUE, TIMESTAMP_TYPE, PARTITION, LEADER_EPOCH, SCHEMA_ID]
_COUNTED = [OFFSET, TIMESTAMP, TIMESTAMP_TYPE, PARTITION, LEADER_EPOCH, SCHEMA_ID]
_LEAVES = (KEY, VALUE, HEADER_KEY, HEADER_VALUE, *_COUNTED, TIMESTAMP_RAW)
"""All columns as Parquet names them."""
_NOT_COMPRESSED = "none"
_USEFUL = 0.97
"""The part of its size above which a column is not worth compressing."""
_LOOKED_AT, _LOOKED_INTO, _LEAST_SAMPLE = 256, 4096, 4096
"""Elements of a column that are tried, bytes of each, and fewest bytes that tell something."""
_HEADERS_A_ROW = 4
"""A row group also ends when it has so many headers for each row that it may have."""


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """Settings of Parquet objects: codec, row groups and Bloom filters.

    Attributes:
        codec: zstd, lz4, snappy, gzip or none.
        level: Level of the codec; None for its default. Level 1 of zstd is three times as fast as
            level 3, and its files are a tenth larger.
        row_group_bytes: Record bytes of a row group, uncompressed.
        row_group_rows: Most records of a row group.
        bloom: Whether keys have a Bloom filter, for lookups by key.
    """

    codec: str = "zstd"
    level: int | None = 1
    row_group_bytes: int = 64 << 20
    row_group_rows: int = 1_000_000
    bloom: bool = False


class ParquetObject:
    """One Parquet file, opened when the first row group is written.

    Attributes:
        size: Bytes written so far.
    """

    def __init__(
        self,
        begin: Callable[[], Sink],
        options: ParquetOptions | None = None,
        schema: pa.Schema = WRITTEN,
    ) -> None:
        """Prepare to write.

        Args:
            begin: Opens the object; the caller closes it.
            options: How it is written.
            schema: `WRITTEN`, or `ARCHIVED` for rows that were read.
        """
        self.options = options or ParquetOptions()
        self._begin, self._schema = begin, schema
        self._sink: HashedSink | None = None
        self._writer: Any = None
        self._footers: list[SegmentFooter] = []
        self._row_groups = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._sink.size if self._sink else 0

    @property
    def row_groups(self) -> int:
        """Number of row groups written so far."""
        return self._row_groups

    def put(self, rows: pa.Table) -> tuple[int, int, int]:
        """Write a row group. Returns the position, the size and the hash of its bytes."""
        if self._sink is None:
            self._sink = HashedSink(self._begin())
            noise = [name for name in (KEY, VALUE) if is_noise(rows.column(name), self.options)]
            self._writer = pq.ParquetWriter(
                self._sink, self._schema, **writer_settings(self.options, noise)
            )
        at = self._sink.mark()
        self._writer.write_table(rows, len(rows))
        self._row_groups += 1
        return at, self._sink.size - at, self._sink.hash

    def segment(
        self,
        head: SegmentHead,
        *,
        end: SourceOffset | None = None,
        left_out: Collection[int] = (),
        whole: bool = False,
    ) -> ParquetSegmentWriter:
        """Begin a segment; the arguments are those of `ParquetSegmentWriter`."""
        return ParquetSegmentWriter(self, head, end=end, left_out=left_out, whole=whole)

    def add(self, footer: SegmentFooter) -> None:
        """Add the footer of a segment whose row groups are already written."""
        self._footers.append(footer)

    def close(self) -> int:
        """Write the footer. Returns the size of the file, 0 if there is no row group."""
        if self._writer is not None:
            self._writer.add_key_value_metadata(footer_values(self._footers))
            self._writer.close()
        return self.size

    def abort(self) -> None:
        """Discard the file: nothing more is written."""
        if self._sink is not None:
            self._sink.drop()
            self._writer.close()


class ParquetSegmentWriter(SegmentWriter):
    """Writes the records of one partition as one segment of a Parquet object."""

    def __init__(
        self,
        target: ParquetObject,
        head: SegmentHead,
        *,
        end: SourceOffset | None = None,
        left_out: Collection[int] = (),
        whole: bool = False,
    ) -> None:
        """Begin a segment.

        Args:
            target: The object. The row groups of its segments must not mix, so only one of them at
                a time may be written; all others must be `whole`.
            head: What is known of the segment.
            end: Records from this offset on are left out; None for no bound.
            left_out: Producer ids whose records are filtered out.
            whole: Write nothing before `close`. For segments of few records.
        """
        super().__init__(target, head, end, left_out)
        self._target, self._whole = target, whole

    def _took(self, batches: CollectedBatches) -> None:
        del batches  # their records are collected
        if self._due and not self._whole:
            self.flush()

    def flush(self) -> None:
        """Write the waiting records as a row group, to free their memory."""
        collector = self._collector
        bounds, times = collector.bounds, collector.times
        if bounds is None:
            return
        if not self._parts:
            self._first_row_group = self._target.row_groups
        rows = [archived(each, self.head.partition) for each in collector.drain()]
        at, size, hashed = self._target.put(pa.Table.from_batches(rows))
        self._parts.append(
            SegmentPart(
                first=SourceOffset(bounds[0]),
                last=SourceOffset(bounds[1]),
                digest=collector.waiting_digest,
                size=size,
                hash=hashed,
                at=at,
                min_time=times[0] if times else None,
                max_time=times[1] if times else None,
            )
        )
        collector.clear()

    def _end(self) -> None:
        self.flush()

    @property
    def _due(self) -> bool:
        options, collector = self._target.options, self._collector
        many = collector.rows >= options.row_group_rows
        headers = collector.headers >= _HEADERS_A_ROW * options.row_group_rows
        return many or headers or collector.waiting >= options.row_group_bytes


def footer_values(footers: Collection[SegmentFooter]) -> dict[str, str]:
    """Return the key/value metadata of an object with these segments."""
    return {
        FORMAT_KEY: str(VERSION),
        WRITER_KEY: __version__,
        SEGMENTS_KEY: write_footers(footers),
    }


def is_noise(column: pa.ChunkedArray, options: ParquetOptions) -> bool:
    """Return whether the codec hardly compresses a column, judged by a sample."""
    if options.codec == _NOT_COMPRESSED or not len(column):
        return False
    step = max(1, len(column) // _LOOKED_AT)
    some = (column[at].as_py() or b"" for at in range(0, len(column), step))
    sample = b"".join(each[:_LOOKED_INTO] for each in some)
    packed = pa.Codec(options.codec, options.level).compress(sample)
    return packed.size > _USEFUL * len(sample) and len(sample) >= _LEAST_SAMPLE


def writer_settings(options: ParquetOptions, noise: Collection[str] = ()) -> dict[str, Any]:
    """Return the keyword arguments of `pyarrow.parquet.ParquetWriter`.

    Args:
        options: How objects are written.
        noise: Columns that are not compressed.
    """
    codecs = {leaf: options.codec for leaf in _LEAVES if leaf not in noise}
    level = options.level
    return {
        "compression": codecs | dict.fromkeys(noise, _NOT_COMPRESSED),
        "compression_level": None if level is None else dict.fromkeys(codecs, level),
        "use_dictionary": _DICTIONARIES,
        "column_encoding": {OFFSET: "DELTA_BINARY_PACKED", TIMESTAMP: "DELTA_BINARY_PACKED"},
        "write_statistics": _COUNTED,
        "write_page_index": True,
        "write_page_checksum": True,
        # The offset, after key, value, and two of headers.
        "sorting_columns": [pq.SortingColumn(4)],
        "bloom_filter_options": {KEY: True} if options.bloom else None,
        "store_schema": False,
    }
