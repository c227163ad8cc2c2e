"""`bench/restore`: how fast one core makes batches of archived segments, beside a mirror.

What a slice of a restore does with the bytes, from an object in memory to the batches that a lane
sends on, beside what a lane of a mirror does with the same data where it must open its batches. No
broker and no store.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.meter import GIB
from bench.one_core import (
    Fetched,
    Figures,
    arguments,
    cpu,
    fetched,
    held,
    mirror,
    rate_table,
    rates,
    run,
)
from bench.report import table
from towpath.archive.model import PartitionId, Segment, SegmentPlace
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.archive.read.feed.segment_supply import SegmentSupply
from towpath.model.nouns import SegmentFormat, SourceOffset

_WAYS = {
    "parquet": "**a restore from Parquet, lz4**",
    "batches": "a restore from whole batches",
    "mirror": "a mirror that opens its batches and writes them again",
}


class HeldArchive:
    """One segment in memory; see `SegmentArchive`."""

    def __init__(self, data: Fetched, kind: SegmentFormat) -> None:
        self._bytes, footer = held(data, kind)
        groups = len(footer.parts) if kind is SegmentFormat.PARQUET else 0
        place = SegmentPlace(key="bench", size=len(self._bytes), row_groups=groups)
        self.segment = footer.segment(kind, place)
        self.size = len(self._bytes)

    def segments(
        self, partition: PartitionId, first: SourceOffset, end: SourceOffset
    ) -> Sequence[Segment]:
        """See `SegmentArchive`."""
        del partition
        return [self.segment] if first < self.segment.end and end > self.segment.start else []

    def until(self, partition: PartitionId, first: SourceOffset) -> SourceOffset:
        """See `SegmentArchive`."""
        del partition, first
        return self.segment.end

    def begin(self, partition: PartitionId) -> SourceOffset:
        """See `SegmentArchive`."""
        del partition
        return self.segment.start

    def refresh(self) -> bool:
        """See `SegmentArchive`."""
        return False

    def open(self, key: str) -> Any:
        """See `SegmentArchive`."""
        del key
        return io.BytesIO(self._bytes)


def restore(archive: HeldArchive, threads: ThreadPoolExecutor) -> int:
    """Read a segment as a lane gets it; return the bytes of the batches."""
    segment = archive.segment
    wanted = ArchivedRange(partition=segment.partition_id, start=segment.start, end=segment.end)
    chunks = SegmentSupply(archive, wanted, threads).read(segment.start)
    return sum(len(chunk.data) for chunk in chunks)


def measured(name: str, size: int) -> Figures:
    """Return the figures of one data set."""
    data = fetched(name, size)
    with ThreadPoolExecutor(1) as threads:
        archives = {kind: HeldArchive(data, kind) for kind in SegmentFormat}
        took = {
            str(kind): cpu(lambda each=each: restore(each, threads))  # type: ignore[misc]
            for kind, each in archives.items()
        }
        made = restore(archives[SegmentFormat.PARQUET], threads)
    took["mirror"] = cpu(lambda: mirror(data))
    return {
        "about": data.about, "bytes": data.size, "object": archives[SegmentFormat.PARQUET].size,
        "restored": made,
        "rates": rates(data, took),
        "cpu_per_gib": {way: round(took[way] / data.size * GIB, 2) for way in _WAYS},
        "ratio": round(took["mirror"] / took["parquet"], 2),
    }  # fmt: skip


def main() -> int:
    """Measure, and write the page and the figures."""
    return run(arguments(__doc__).parse_args(), "restore", measured, _page)


def _page(sets: dict[str, Figures]) -> Iterator[str]:
    yield "# Restores: the work of one core"
    yield from ("", "MB/s of uncompressed record bytes for each CPU second, the best of five:", "")
    yield from rate_table("way", _WAYS, sets)
    yield from ("", "CPU seconds for each GiB of them:", "")
    yield from rate_table("way", _WAYS, sets, "cpu_per_gib")
    yield from ("", "Goal: at least as fast as the mirror.", "")
    yield from table(
        ("restore from Parquet / mirror", *sets),
        [("", *(each["ratio"] for each in sets.values()))],
    )
    yield from ("", *_METHOD)


_METHOD = (
    "From memory to memory: a restore reads an object (row groups of 64 MiB, zstd level 1), checks"
    " it, and makes the batches that a lane sends on; a mirror opens fetched responses of 1 MiB and"
    " writes their batches again. CPU seconds are those of the process, so other work on the"
    " machine slows caches and memory, but is not counted. Data are those of `bench/segments`.",
)


if __name__ == "__main__":
    sys.exit(main())
