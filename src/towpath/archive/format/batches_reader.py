"""Readers of segment objects that hold whole record batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.batches_writer import TAIL, TAIL_MAGIC
from towpath.archive.format.footer import VERSION, SegmentFooter, SegmentPart
from towpath.archive.format.packing import columns_of
from towpath.archive.format.parts import PackedBatches
from towpath.archive.format.schema import ARCHIVED, archived
from towpath.archive.format.wanted import ALL, Wanted
from towpath.model.errors import CorruptBatchError
from towpath.model.foreign import foreign
from towpath.model.nouns import SourceOffset
from towpath.wire.batch import LAST, Buffer, scan
from towpath.wire.collector import Collector
from towpath.wire.intake import collect
from towpath.wire.packing import Rows

_TAIL_READ = 64 << 10
"""Bytes at the end that are read at first; most footers are smaller."""
_AT_ONCE = 8 << 20
"""Bytes of records that become rows at once."""


class BatchesObjectReader:
    """Reads one segment object of whole record batches.

    Attributes:
        name: The object, for errors.
        footers: What it says of its only segment.
    """

    def __init__(self, source: Any, name: str) -> None:
        """Read the footer.

        Args:
            source: A file that can be read from any position.
            name: The key of the object, or the name of the file.

        Raises:
            CorruptSegmentError: It is not an object of batches.
            NewerSegmentError: It was written by a newer Towpath.
        """
        self.name = name
        self._source = source
        self.footers: tuple[SegmentFooter, ...] = (self._footer(),)

    def segment(self, first_row_group: int = 0) -> SegmentFooter:
        """Return the footer of the segment.

        Raises:
            CorruptSegmentError: Another one is asked for, and there is only one.
        """
        if first_row_group:
            raise CorruptSegmentError(self.name, "an object of batches has one segment")
        return self.footers[0]

    def rows(
        self,
        footer: SegmentFooter,
        wanted: Wanted = ALL,
        columns: Sequence[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the segment's records with the schema `ARCHIVED`, a few megabytes at a time.

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
                for rows in self.part(footer, index):
                    mask = wanted.mask(rows)
                    kept = rows if mask.all() else rows.filter(pa.array(mask))
                    if len(kept):
                        yield kept.select(names)

    def part(self, footer: SegmentFooter, index: int) -> Iterator[pa.RecordBatch]:
        """Yield the records of one part of the segment.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        part = footer.parts[index]
        collector = Collector(part.first, part.last + 1)
        buffer: Buffer = np.frombuffer(self.bytes_of(part), np.uint8)
        try:
            for _ in collect(collector, buffer, 0, len(buffer), part.aborted):
                if collector.waiting >= _AT_ONCE:
                    yield from self._drained(collector, footer)
        except CorruptBatchError as error:
            raise self._damaged(part, error.why) from error
        if collector.rows:
            yield from self._drained(collector, footer)
        if collector.digest.records != part.records:
            raise self._damaged(
                part, f"{collector.digest.records} records instead of {part.records}"
            )

    def batches(
        self, footer: SegmentFooter, wanted: Wanted = ALL, codec: int = 0
    ) -> Iterator[PackedBatches]:
        """Yield the segment's batches as they were fetched.

        Args:
            footer: The segment.
            wanted: Which records; batches that hold others, too, come whole.
            codec: Has no effect: each batch keeps its codec.

        Raises:
            CorruptSegmentError: The object is damaged.
        """
        del codec
        for part in footer.parts:
            if wanted.meets(part):
                data = self.bytes_of(part)
                with_offsets = self._scanned(part, np.frombuffer(data, np.uint8))
                yield PackedBatches(data, SourceOffset(with_offsets), part.aborted)

    def columns(
        self, footer: SegmentFooter, wanted: Wanted = ALL, *, append_time: bool = True
    ) -> Iterator[Rows]:
        """Yield the segment's records as columns (`SegmentObjectReader.columns`)."""
        for rows in self.rows(footer, wanted):
            yield columns_of(rows, append_time=append_time)

    def bytes_of(self, part: SegmentPart) -> bytearray:
        """Read the bytes of a part, and check their hash.

        Raises:
            CorruptSegmentError: They are not those that were written.
        """
        data = bytearray(self._read(part.at, part.size))
        if len(data) != part.size or xxhash.xxh3_64_intdigest(data) != part.hash:
            raise self._damaged(part, "they have changed")
        return data

    def check(self, footer: SegmentFooter) -> None:
        """Check the hashes of all batches of the segment.

        Raises:
            CorruptSegmentError: They are not those that were written.
        """
        for part in footer.parts:
            self.bytes_of(part)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _drained(self, collector: Collector, footer: SegmentFooter) -> list[pa.RecordBatch]:
        partition = footer.head.partition
        rows = [archived(each, partition).cast(ARCHIVED) for each in collector.drain()]
        collector.clear(let_go=True)
        return rows

    def _scanned(self, part: SegmentPart, buffer: Buffer) -> int:
        """Return the offset behind the last batch."""
        try:
            return int(scan(buffer, 0, len(buffer))[-1, LAST]) + 1
        except CorruptBatchError as error:
            raise self._damaged(part, error.why) from error

    def _footer(self) -> SegmentFooter:
        size = self._source.seek(0, 2)
        tail = self._read(max(0, size - _TAIL_READ), _TAIL_READ)
        if len(tail) < TAIL.size or tail[-len(TAIL_MAGIC) :] != TAIL_MAGIC:
            raise CorruptSegmentError(self.name, "it does not end as an object of batches does")
        length, _ = TAIL.unpack(tail[-TAIL.size :])
        if length > size - TAIL.size:
            raise CorruptSegmentError(self.name, f"its footer of {length} bytes is not there")
        text = self._read(size - TAIL.size - length, length)
        try:
            return self._told(json.loads(text))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise CorruptSegmentError(self.name, f"its footer: {foreign(error)}") from error

    def _told(self, told: dict[str, Any]) -> SegmentFooter:
        if int(told["format"]) > VERSION:
            raise NewerSegmentError(self.name, str(told["format"]), VERSION)
        return SegmentFooter.read(told["segments"][0])

    def _read(self, at: int, size: int) -> bytes:
        self._source.seek(at)
        data: bytes = self._source.read(size)
        return data

    def _damaged(self, part: SegmentPart, why: str) -> CorruptSegmentError:
        return CorruptSegmentError(self.name, f"bytes {part.at} to {part.at + part.size}: {why}")
