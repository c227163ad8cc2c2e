"""The files of an archive that make up the table of a topic.

A table has the objects that the commit log names, as they are. Where an object also holds row
groups that the commit log does not name any more (a compaction has replaced some of the segments
that share it), a copy of the others stands for it, as a table can only have whole files.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Container, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.schema import ARCHIVED, OFFSET
from towpath.archive.format.summed_file import SummedFile, require_crc
from towpath.archive.keys import is_shared, registered_key
from towpath.archive.log import Archive, SegmentPiece
from towpath.archive.model import PartitionId
from towpath.model.errors import ObjectExistsError
from towpath.model.foreign import foreign
from towpath.model.nouns import SegmentFormat, TopicName
from towpath.store import Store

_NO_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableObject:
    """An object of the archive with records of a topic.

    Attributes:
        key: Its key.
        size: Its size in bytes.
        crc: The CRC-32 of its bytes; `None` where the commit log has none.
        records: Number of records that the commit log knows in it.
        row_groups: First and number of the row groups of each segment, in order.
        cuts: Likewise of segments of which only offsets [first, end) count, as another history
            has the rest, with these offsets. `records` has all of their records.
    """

    key: str
    size: int
    crc: int | None
    records: int
    row_groups: tuple[tuple[int, int], ...]
    cuts: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def content(self) -> str:
        """A text that identifies the valid row groups and offsets."""
        return f"{self.row_groups} {self.cuts}" if self.cuts else f"{self.row_groups}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicObjects:
    """The objects of an archive with records of one topic.

    Attributes:
        objects: The Parquet objects, by their keys.
        batches: Number of segments of whole batches, which no table can have.
        batch_records: Number of their records.
    """

    objects: Mapping[str, TableObject]
    batches: int = 0
    batch_records: int = 0

    @property
    def digest(self) -> str:
        """A digest that changes whenever other files must be registered."""
        told = sorted(f"{each.key} {each.content}" for each in self.objects.values())
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def objects_of(archive: Archive, partitions: set[PartitionId]) -> TopicObjects:
    """Return the objects with valid records of some partitions."""
    found: defaultdict[str, list[SegmentPiece]] = defaultdict(list)
    batches = batch_records = 0
    for partition in sorted(partitions):
        for piece in archive.pieces(partition):
            segment = piece.segment
            if segment.place is None:
                continue
            if segment.format is SegmentFormat.BATCHES:
                batches += 1
                batch_records += segment.records
            else:
                found[segment.place.key].append(piece)
    return TopicObjects(
        objects={key: _object(key, pieces) for key, pieces in found.items()},
        batches=batches,
        batch_records=batch_records,
    )


def _object(key: str, pieces: list[SegmentPiece]) -> TableObject:
    groups: list[tuple[int, int]] = []
    cuts: list[tuple[int, int, int, int]] = []
    size, crc = 0, None
    for segment, first, end in pieces:
        assert segment.place is not None  # noqa: S101  # by the caller
        size, crc = segment.place.size, segment.place.crc
        place = segment.place.first_row_group, segment.place.row_groups
        if (first, end) == (segment.start, segment.end):
            groups.append(place)
        else:
            cuts.append((*place, first, end))
    return TableObject(
        key=key,
        size=size,
        crc=crc,
        records=sum(each.segment.records for each in pieces),
        row_groups=tuple(sorted(groups)),
        cuts=tuple(sorted(cuts)),
    )


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Finds the files of a topic's table, and writes copies where they are needed.

    Attributes:
        store: The store.
        region: The region.
        topic: The topic.
        replaced: Keys of objects of which segments were removed.
    """

    store: Store
    region: str
    topic: TopicName
    replaced: Container[str]

    def key(self, found: TableObject, there: Container[str]) -> str:
        """Return the key of the table's file for an object.

        Args:
            found: The object.
            there: Keys of the files that the table has already; these are not looked at.

        Raises:
            CorruptSegmentError: The object is no Parquet file, has too few records, or its bytes
                have changed.
            StoreError: The store cannot be read or written.
        """
        if not is_shared(found.key) and not found.cuts:
            if found.key not in there:
                self._prove(found)
            return found.key
        if found.key in there and found.key not in self.replaced and not found.cuts:
            return found.key
        copy = registered_key(self.region, self.topic, f"{found.key} {found.content}")
        if copy in there:
            return copy
        self._prove(found)
        return self._cut(found, copy) if found.cuts else self._looked_at(found, copy)

    def _prove(self, found: TableObject) -> None:
        """Compare the bytes of an object with the checksum in the commit log.

        A catalog takes bounds of columns from footers, by which engines leave files out. A footer
        that has changed would hide records, and a copy would get a checksum of its own.
        """
        if found.crc is None:
            return
        told = self.store.head(found.key)
        if told.crc is not None:
            require_crc(found.key, told.crc, found.crc)
            return
        with (
            closing(self.store.reader(found.key)) as object_,
            closing(SummedFile(object_, found.key, found.crc)) as file,
        ):
            file.require()

    def _cut(self, found: TableObject, copy: str) -> str:
        """Write the rows of an object that count, row group by row group, as it may be large."""
        whole = ((*each, 0, _NO_END) for each in found.row_groups)
        with self.store.reader(found.key, found.size) as source, suppress(ObjectExistsError):
            try:
                file = pq.ParquetFile(source)
                with self.store.writer(copy, expected=found.size * 2) as out:
                    with pq.ParquetWriter(out, ARCHIVED, compression="zstd") as writer:
                        for at, count, first, end in sorted([*whole, *found.cuts]):
                            for group in range(at, at + count):
                                rows = file.read_row_group(group)
                                offsets = rows[OFFSET]
                                inside = pc.and_(
                                    pc.greater_equal(offsets, first), pc.less(offsets, end)
                                )
                                writer.write_table(rows.filter(inside).cast(ARCHIVED))
                    out.close()
            except (pa.ArrowException, IndexError) as error:
                raise CorruptSegmentError(found.key, foreign(error)) from None
        return copy

    def _looked_at(self, found: TableObject, copy: str) -> str:
        with self.store.reader(found.key, found.size) as source:
            try:
                file = pq.ParquetFile(source)
                if file.metadata.num_rows == found.records:
                    return found.key
                groups = chain.from_iterable(range(at, at + n) for at, n in found.row_groups)
                rows = file.read_row_groups([*groups])
            except (pa.ArrowException, IndexError) as error:
                raise CorruptSegmentError(found.key, foreign(error)) from None
        if len(rows) != found.records:
            why = f"its segments have {len(rows)} records, and the commit log says {found.records}"
            raise CorruptSegmentError(found.key, why)
        out = io.BytesIO()
        with pq.ParquetWriter(out, ARCHIVED, compression="zstd") as writer:
            writer.write_table(rows.cast(ARCHIVED))
        self.store.put(copy, out.getvalue())
        return copy
