"""Which files of an archive make up the table of a topic.

A table has the objects that the commit log names, as they are. Where an object also holds row
groups that the commit log does not name any more (a compaction has replaced some of the segments
that share it), a copy of the others stands for it, as a table can only have whole files.
"""

from __future__ import annotations

import hashlib
import io
from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from towpath.model.errors import CorruptSegmentError
from towpath.model.foreign import foreign
from towpath.model.nouns import SegmentFormat, TopicName
from towpath.segments.format.schema import ARCHIVED
from towpath.segments.keys import is_shared, registered_key
from towpath.segments.log import ArchiveState
from towpath.segments.model import PartitionId, Segment
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class TableObject:
    """An object of the archive with records of a topic.

    Attributes:
        key: Its key.
        size: Its size in bytes.
        records: Number of records that the commit log knows in it.
        row_groups: First and number of the row groups of each segment, in order.
    """

    key: str
    size: int
    records: int
    row_groups: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicObjects:
    """What an archive holds of a topic.

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
        """A text that is another one if anything else is to be registered."""
        told = sorted(f"{each.key} {each.row_groups}" for each in self.objects.values())
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def objects_of(state: ArchiveState, partitions: set[PartitionId]) -> TopicObjects:
    """Return the objects of some partitions."""
    found: defaultdict[str, list[Segment]] = defaultdict(list)
    batches = batch_records = 0
    for partition in sorted(partitions):
        for segment in state.segments(partition):
            if segment.place is None:
                continue
            if segment.format is SegmentFormat.BATCHES:
                batches += 1
                batch_records += segment.records
            else:
                found[segment.place.key].append(segment)
    return TopicObjects(
        objects={key: _object(key, segments) for key, segments in found.items()},
        batches=batches,
        batch_records=batch_records,
    )


def _object(key: str, segments: list[Segment]) -> TableObject:
    places = [each.place for each in segments if each.place is not None]
    return TableObject(
        key=key,
        size=places[0].size,
        records=sum(each.records for each in segments),
        row_groups=tuple(sorted((each.first_row_group, each.row_groups) for each in places)),
    )


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Finds the files of the table of a topic, and writes copies where they are needed.

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
        """Return the key of the file that stands for an object.

        Args:
            found: The object.
            there: Keys of the files that the table has already; these are not looked at.

        Raises:
            CorruptSegmentError: The object is no Parquet file, or has too few records.
            StoreError: The store cannot be read or written.
        """
        if not is_shared(found.key):
            return found.key
        if found.key in there and found.key not in self.replaced:
            return found.key
        copy = registered_key(self.region, self.topic, f"{found.key} {found.row_groups}")
        return copy if copy in there else self._looked_at(found, copy)

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
