"""Readers of Parquet segment objects: footers, and rows by offset and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.damage import BY_DAMAGE
from towpath.archive.format.footer import VERSION, SegmentFooter, SegmentPart, read_footers
from towpath.archive.format.packing import BATCH_BYTES, columns_of
from towpath.archive.format.parquet_writer import FORMAT_KEY, SEGMENTS_KEY
from towpath.archive.format.parts import PackedBatches
from towpath.archive.format.plain_column import PageError, PlainColumn
from towpath.archive.format.schema import (
    ARCHIVED,
    HEADERS,
    LEADER_EPOCH,
    OFFSET,
    TIMESTAMP,
    TIMESTAMP_RAW,
    TIMESTAMP_TYPE,
    VALUE,
)
from towpath.archive.format.wanted import ALL, Wanted
from towpath.archive.format.window import WindowedFile
from towpath.model.errors import TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import SourceOffset
from towpath.wire.codec import NONE
from towpath.wire.packing import RowPacker, Rows
from towpath.wire.records import ByteColumn

_KEY_AT, _VALUE_AT = 0, 1
"""Columns of keys and of values: none before them has columns inside."""
_PACKED = (HEADERS, OFFSET, TIMESTAMP, TIMESTAMP_TYPE, LEADER_EPOCH, TIMESTAMP_RAW)
"""The other columns that go into batches."""
_AT_ONCE = 8 << 20
"""Bytes of rows that are decoded at once."""
_PIECE = 1 << 20
_NO_VALUES: ByteColumn = np.empty((0, 2), np.int64), np.empty(0, np.uint8)


class ParquetObjectReader:
    """Reads one Parquet segment object.

    Attributes:
        name: The object, for errors.
        footers: What it says of its segments.
    """

    def __init__(self, source: Any, name: str, most_rows: int | None = None) -> None:
        """Read the footer.

        Args:
            source: A file that pyarrow can read from any position, or a path.
            name: The key of the object, or the name of the file.
            most_rows: Most records that are decoded at a time; by default some megabytes are.

        Raises:
            CorruptSegmentError: It is not a Parquet file with segments.
            NewerSegmentError: It was written by a newer Towpath.
        """
        self.name, self._most_rows = name, most_rows
        with self._told():
            self._source = pa.OSFile(source) if isinstance(source, str) else source
            self._file = pq.ParquetFile(
                self._source, pre_buffer=True, page_checksum_verification=True
            )
            self.footers = self._footers()
            columns = self._file.schema_arrow
        self._window: WindowedFile | None = None
        self._whole: pq.ParquetFile | None = None
        if not columns.remove_metadata().equals(ARCHIVED, check_metadata=True):
            raise CorruptSegmentError(name, "its columns are not those of a segment")

    def segment(self, first_row_group: int = 0) -> SegmentFooter:
        """Return the footer of the segment whose row groups begin with this number.

        Raises:
            CorruptSegmentError: There is no such segment.
        """
        for footer in self.footers:
            if footer.parts and footer.first_row_group == first_row_group:
                return footer
        raise CorruptSegmentError(self.name, f"no segment begins at row group {first_row_group}")

    def rows(
        self,
        footer: SegmentFooter,
        wanted: Wanted = ALL,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield a segment's records with the schema `ARCHIVED`, a few megabytes at a time.

        Row groups without wanted records are not read.

        Args:
            footer: The segment.
            wanted: Which records.
            columns: Names of the columns; None for all.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        names = list(ARCHIVED.names if columns is None else columns)
        for index, part in enumerate(footer.parts):
            if wanted.meets(part):
                yield from self._row_group(footer.first_row_group + index, part, wanted, names)

    def part(self, footer: SegmentFooter, index: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of one row group of a segment.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        return self.row_group(footer.first_row_group + index, footer.parts[index])

    def row_group(self, number: int, part: SegmentPart) -> Iterator[pa.RecordBatch]:
        """Yield the records of the row group that a part describes.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        return self._row_group(number, part, ALL, ARCHIVED.names)

    def batches(
        self, footer: SegmentFooter, wanted: Wanted = ALL, codec: int = NONE
    ) -> Iterator[PackedBatches]:
        """Yield a segment's records as record batches, at their original offsets.

        A batch has no holes, so that lanes send it on unopened.

        Args:
            footer: The segment.
            wanted: Which records.
            codec: Number of the codec of the batches.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        packer = RowPacker(codec, most=BATCH_BYTES, apart=True)
        for run in packer.all_of(self.columns(footer, wanted)):
            yield PackedBatches(run.data, SourceOffset(run.last + 1))

    def columns(
        self, footer: SegmentFooter, wanted: Wanted = ALL, *, append_time: bool = True
    ) -> Iterator[Rows]:
        """Yield a segment's records as columns (`SegmentObjectReader.columns`).

        Keys and values of row groups that are wanted as a whole stay where they are decompressed.
        """
        for index, part in enumerate(footer.parts):
            number = footer.first_row_group + index
            if wanted.holds(part) and self._is_plain(number):
                yield from self._plain(number, part, append_time)
            elif wanted.meets(part):
                for rows in self._row_group(number, part, wanted, ARCHIVED.names):
                    yield columns_of(rows, append_time=append_time)

    def check(self, footer: SegmentFooter) -> None:
        """Check the hashes of all row groups of a segment.

        Raises:
            CorruptSegmentError: They are not those that were written.
        """
        for part in footer.parts:
            if hash_at(self._source, part) != part.hash:
                raise self._changed(part)

    def close(self) -> None:
        """Close the file."""
        if self._whole is not None:
            self._whole.close()
        self._file.close(force=True)

    def _footers(self) -> tuple[SegmentFooter, ...]:
        values = self._file.metadata.metadata or {}
        version = values.get(FORMAT_KEY.encode(), b"").decode(errors="replace")
        if not version.isdigit():
            raise CorruptSegmentError(self.name, "it is a Parquet file that Towpath did not write")
        if int(version) > VERSION:
            raise NewerSegmentError(self.name, version, VERSION)
        try:
            return read_footers(values.get(SEGMENTS_KEY.encode(), b"").decode())
        except BY_DAMAGE as error:
            raise CorruptSegmentError(self.name, f"its footer: {foreign(error)}") from error

    def _row_group(
        self, number: int, part: SegmentPart, wanted: Wanted, names: list[str]
    ) -> Iterator[pa.RecordBatch]:
        whole = wanted.holds(part)
        needed = [] if whole else [OFFSET]
        needed += [] if wanted.at_any_time else [TIMESTAMP, TIMESTAMP_RAW]
        read = [name for name in ARCHIVED.names if name in {*names, *needed}]
        with self._told():
            file = self._checked(part) if VALUE in read else self._file
            at_once = self._rows_at_once(number, part)
            batches = file.iter_batches(at_once, [number], read, use_threads=False)
            count = 0
            while (rows := next(batches, None)) is not None:
                count += len(rows)
                rows = rows if whole else rows.filter(pa.array(wanted.mask(rows)))
                if len(rows):
                    yield rows.select(names).replace_schema_metadata(None)
        self._read_all(number, part, count)

    def _is_plain(self, number: int) -> bool:
        """Whether the keys and values of a row group can be taken from their pages."""
        return all(PlainColumn.can_read(each) for each in self._bytes_of(number))

    def _bytes_of(self, number: int) -> list[Any]:
        """Return what the footer says of the keys and the values of a row group."""
        group = self._file.metadata.row_group(number)
        return [group.column(at) for at in (_KEY_AT, _VALUE_AT)]

    def _plain(self, number: int, part: SegmentPart, append_time: bool) -> Iterator[Rows]:
        """Yield the columns of a row group that `_is_plain`."""
        with self._told():
            file = self._checked(part)
            assert self._window is not None  # noqa: S101  # it holds what was checked
            keys, values = (PlainColumn(self._window.held, of) for of in self._bytes_of(number))
            names = [name for name in _PACKED if append_time or name != TIMESTAMP_TYPE]
            at_once = self._rows_at_once(number, part)
            count = 0
            for rows in file.iter_batches(at_once, [number], names, use_threads=False):
                first, count = count, count + len(rows)
                whole = columns_of(
                    rows, append_time=append_time, keys=keys.take(len(rows)), values=_NO_VALUES
                )
                while first < count:  # page by page, while a page is in the processor's cache
                    some = values.some(count - first)
                    yield whole.part(first - count + len(rows), some)
                    first += len(some[0])
        self._read_all(number, part, count, reuse=True)

    def _rows_at_once(self, number: int, part: SegmentPart) -> int:
        size: int = self._file.metadata.row_group(number).total_byte_size
        at_once = max(1, part.records * _AT_ONCE // max(size, 1))
        return min(at_once, self._most_rows or at_once)

    def _read_all(self, number: int, part: SegmentPart, count: int, *, reuse: bool = False) -> None:
        """Hold nothing of a row group that was read, and see that it had as many records."""
        if self._window is not None:
            self._window.let_go(reuse=reuse)
        if count != part.records:
            raise CorruptSegmentError(
                self.name, f"row group {number} has {count} records instead of {part.records}"
            )

    def _checked(self, part: SegmentPart) -> pq.ParquetFile:
        """Return the file with a row group in memory that is known to be as it was written.

        One hash of the whole row group costs a tenth of the checksums of its pages.

        Raises:
            CorruptSegmentError: The row group has changed.
        """
        if self._window is None or self._whole is None:
            self._window = WindowedFile(self._source)
            self._whole = pq.ParquetFile(
                self._window, metadata=self._file.metadata, pre_buffer=False
            )
        if self._window.hold(part.at, part.size) != part.hash:
            raise self._changed(part)
        return self._whole

    def _changed(self, part: SegmentPart) -> CorruptSegmentError:
        text = f"bytes {part.at} to {part.at + part.size} have changed"
        return CorruptSegmentError(self.name, text)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say which object is damaged. Errors of the store, or of the file system, stay."""
        try:
            yield
        except TowpathError:
            raise
        except OSError as error:
            if error.errno is not None:
                raise
            raise CorruptSegmentError(self.name, foreign(error)) from error
        except PageError as error:
            raise CorruptSegmentError(self.name, str(error)) from error
        except BY_DAMAGE as error:
            raise CorruptSegmentError(self.name, foreign(error)) from error


def hash_at(source: Any, part: SegmentPart) -> int:
    """Compute the hash of a part's bytes, as in `SegmentPart.hash`."""
    found = xxhash.xxh3_64()
    for at in range(part.at, part.at + part.size, _PIECE):
        source.seek(at)
        found.update(source.read(min(_PIECE, part.at + part.size - at)))
    return found.intdigest()
