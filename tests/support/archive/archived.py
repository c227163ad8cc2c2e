"""Archived records in memory, and a supply of them, as a store would have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from towpath.archive.format.schema import ARCHIVED
from towpath.archive.read.feed.encoding import encoded, nothing
from towpath.archive.read.feed.supply import Chunk, Chunks
from towpath.model.nouns import SourceOffset
from towpath.wire.codec import LZ4
from towpath.wire.plain import Record

MICROS = 1000
_MOST = (1 << 62) // MICROS


def archived(records: Sequence[Record]) -> pa.RecordBatch:
    """Return records as an archive has them."""
    return pa.RecordBatch.from_pylist([_row(each) for each in records], schema=ARCHIVED)


def _row(record: Record) -> dict[str, object]:
    fits = -_MOST < record.timestamp < _MOST
    micros = record.timestamp * MICROS if fits and record.timestamp != -1 else None
    return {
        "key": record.key,
        "value": record.value,
        "headers": [{"key": name, "value": value} for name, value in record.headers],
        "offset": record.offset,
        "timestamp": micros,
        "timestamp_type": 0,
        "partition": 0,
        "leader_epoch": None,
        "schema_id": None,
        "timestamp_raw": None if fits else record.timestamp,
    }


@dataclass
class Archived:
    """What is archived of one partition: records in order, and gaps [first, end) of markers.

    Attributes:
        end: The offset behind the last one.
        together: Records in a chunk.
        before: Called before each chunk, with its first offset; it may raise.
    """

    records: Sequence[Record]
    end: int
    markers: Sequence[tuple[int, int]] = ()
    together: int = 7
    codec: int = LZ4
    before: Callable[[SourceOffset], None] = lambda _: None
    reads: list[int] = field(default_factory=list)
    weight: int = 1 << 20

    def read(self, first: SourceOffset) -> Chunks:
        self.reads.append(first)
        wanted = [record for record in self.records if record.offset >= first]
        parts = [wanted[at : at + self.together] for at in range(0, len(wanted), self.together)]
        at = int(first)
        for part in parts:
            self.before(SourceOffset(at))
            data = bytearray()
            for record in part:
                data += self._gaps(at, record.offset)
                data += encoded(archived([record]), self.codec)
                at = record.offset + 1
            yield Chunk(data, SourceOffset(at))
        self.before(SourceOffset(at))
        yield Chunk(self._gaps(at, self.end), SourceOffset(self.end))

    def _gaps(self, first: int, end: int) -> bytearray:
        data = bytearray()
        for start, stop in self.markers:
            if first <= start and stop <= end:
                data += nothing(start, stop)
        return data
