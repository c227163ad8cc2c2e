"""The supply of a target partition whose records are selected by key."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa

from towpath.archive.errors import WithheldError
from towpath.archive.format.either_format import SegmentObjectReader
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.schema import KEY, OFFSET
from towpath.archive.format.wanted import Wanted
from towpath.archive.read.feed.encoding import nothing
from towpath.archive.read.feed.keyed_layout import KeyedLayout, KeyPass
from towpath.archive.read.feed.restore_work import ArchivedRange, KeyedRange
from towpath.archive.read.feed.segment_supply import Picked, SegmentArchive, SegmentSupply
from towpath.archive.read.feed.supply import Chunk, Chunks
from towpath.model.nouns import SourceOffset
from towpath.wire.batch import Mask
from towpath.wire.placing import NOWHERE, hashes, places


class KeyedSupply:
    """Supplies the records whose keys belong to one target partition; implements `Supply`.

    Args:
        archive: The archive.
        wanted: Which records of a topic are read.
        threads: Open objects ahead.
    """

    def __init__(
        self, archive: SegmentArchive, wanted: KeyedRange, threads: ThreadPoolExecutor
    ) -> None:
        self._archive, self._wanted, self._threads = archive, wanted, threads

    @property
    def weight(self) -> int:
        """Approximate bytes of memory that reading takes, without the chunks already yielded."""
        stretches = self._wanted.layout.stretches
        firsts = {each.source: each for each in stretches}.values()
        return max((self._supply(each).weight for each in firsts), default=0)

    def read(self, first: SourceOffset) -> Chunks:
        """Yield the batches from a position on; offsets are positions in the layout."""
        at = told = SourceOffset(0)
        for stretch in self._wanted.layout.stretches:
            at = stretch.stop
            if at <= first:
                continue
            for chunk in self._of(stretch, stretch.offset(first)):
                told = SourceOffset(chunk.told)
                yield chunk
        if told < at:  # else nobody would know that no record is left
            yield Chunk(nothing(at - 1, at), at, told=at)

    def _of(self, stretch: KeyPass, offset: SourceOffset) -> Chunks:
        """Yield what one stretch has from an archived offset on, at positions of the layout."""
        try:
            for chunk in self._supply(stretch).read(offset):
                end = stretch.position(chunk.end)
                yield Chunk(chunk.data, end, told=end if chunk.data else SourceOffset(0))
        except WithheldError as error:
            first, end = stretch.position(error.first), stretch.position(error.end)
            raise WithheldError(first, end, error.why, is_final=error.is_final) from error

    def _supply(self, stretch: KeyPass) -> SegmentSupply:
        wanted = ArchivedRange(
            partition=stretch.source,
            start=stretch.start,
            end=stretch.end,
            codec=self._wanted.codec,
            batch_bytes=self._wanted.batch_bytes,
        )
        picker = _Picker(stretch, self._wanted.layout, self._wanted.number)
        return SegmentSupply(self._archive, wanted, self._threads, picker.pick)


class _Picker:
    """Picks the records of a stretch that belong to one partition of the target."""

    def __init__(self, stretch: KeyPass, layout: KeyedLayout, number: int) -> None:
        self._stretch, self._layout, self._number = stretch, layout, number

    def pick(
        self, reader: SegmentObjectReader, footer: SegmentFooter, wanted: Wanted
    ) -> Iterator[Picked]:
        """Yield the selected rows of a segment, with positions in place of offsets."""
        for index, part in enumerate(footer.parts):
            if not wanted.meets(part) or not self._may_have(reader, footer, index):
                continue
            for rows in reader.part(footer, index):
                chosen = self._chosen(rows) & wanted.mask(rows)
                if chosen.any():
                    end = min(int(rows.column(OFFSET)[-1].as_py()) + 1, wanted.end)
                    yield self._placed(rows.filter(pa.array(chosen))), SourceOffset(end)

    def _may_have(self, reader: SegmentObjectReader, footer: SegmentFooter, index: int) -> bool:
        """Whether a part has such records, by its keys, where these can be read alone."""
        if not isinstance(reader, ParquetObjectReader):
            return True
        part = footer.parts[index]
        within = Wanted(part.first, part.last + 1)
        keys = reader.rows(footer, within, (KEY, OFFSET))
        return any(self._chosen(rows).any() for rows in keys)

    def _chosen(self, rows: pa.RecordBatch) -> Mask:
        """Return which rows belong to the partition, and are due in this pass."""
        found = hashes(rows.column(KEY))
        due: Mask = places(found, self._layout.before) == self._stretch.source.partition
        due |= found == NOWHERE
        if self._stretch.moved:
            due = ~due
        offsets = np.asarray(rows.column(OFFSET))
        there = np.where(
            found == NOWHERE, offsets % self._layout.count, places(found, self._layout.count)
        )
        chosen: Mask = due & (there == self._number)
        return chosen

    def _placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        offsets = np.asarray(rows.column(OFFSET)) - self._stretch.start + self._stretch.at
        return rows.set_column(rows.schema.get_field_index(OFFSET), OFFSET, pa.array(offsets))
