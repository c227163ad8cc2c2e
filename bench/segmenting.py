"""`bench/segments`: how fast one core makes segments of fetched batches, and batches of segments.

No brokers and no store: what is measured is what a slice of an archive does with the bytes. Beside
it stands the limit, pyarrow writing the same rows from memory with the same settings.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.data import SETS, prepare
from bench.functions import number_batches
from bench.meter import GIB, machine
from bench.report import table
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.segments.format.batches_reader import BatchesObjectReader
from towpath.segments.format.files import write_object
from towpath.segments.format.footer import SegmentFooter, SegmentHead
from towpath.segments.format.merging import merge, open_input
from towpath.segments.format.packing import digest_of, pack_rows
from towpath.segments.format.parquet_reader import ParquetObjectReader
from towpath.segments.format.parquet_writer import ParquetOptions, writer_settings
from towpath.segments.format.schema import ARCHIVED
from towpath.segments.format.sink import Sink
from towpath.wire.batch import LENGTH, POSITION, Buffer, scan
from towpath.wire.codec import LZ4
from towpath.wire.collector import Collector
from towpath.wire.opened import open_batches
from towpath.wire.opening import open_some
from towpath.wire.reencode import reencode_opened
from towpath.wire.sifting import sift

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("keyed", "small-records", "incompressible")
WANTED_RATE, WANTED_SHARE, WANTED_COPY = 150, 0.6, 500
"""Goals: MB/s of uncompressed bytes per core, the part of the limit, MB/s of a compaction."""
MB = 1_000_000
_REPEAT = 5
_TOGETHER = 1 << 20
"""Bytes of a fetch response for one partition, about (`max.partition.fetch.bytes`)."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Fetched batches of one partition.

    Attributes:
        name: The data set.
        about: What it is.
        buffer: The batches.
        size: Uncompressed bytes of the records.
        records: Their number.
    """

    name: str
    about: str
    buffer: Buffer
    size: int
    records: int

    def responses(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of each response."""
        found = scan(self.buffer, 0, len(self.buffer))
        ends = (found[:, POSITION] + found[:, LENGTH]).tolist()
        start = 0
        for end in ends:
            if end - start >= _TOGETHER or end == ends[-1]:
                yield start, end
                start = end


def fetched(name: str, size: int) -> Fetched:
    """Return about so many uncompressed bytes of a data set."""
    data = next(each for each in SETS if each.name == name)
    small = replace(data.scaled(0), partitions=1, records=data.per_batch * 20)
    of_small = prepare(small).record_bytes / small.records
    count = max(1, round(size / of_small / data.per_batch)) * data.per_batch
    made = prepare(replace(small, records=count))
    buffer: Buffer = np.frombuffer(bytearray(b"".join(made.batches[0])), np.uint8)
    number_batches(buffer)
    found = scan(buffer, 0, len(buffer))
    opened = open_batches(buffer, found[:, POSITION].copy(), found[:, LENGTH].copy())
    return Fetched(name, data.about, buffer, opened.size(), opened.count())


def head() -> SegmentHead:
    return SegmentHead(
        cluster=ClusterId("bench"), topic_id=TopicId("bench"), topic=TopicName("bench"),
        partition=0, start=SourceOffset(0),
    )  # fmt: skip


class Nowhere(io.RawIOBase):
    """Takes bytes and forgets them, as memory that grows would be measured, too."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return len(data)


def egress(data: Fetched, kind: SegmentFormat, out: Sink) -> SegmentFooter:
    """Make a segment as a slice does."""
    target = write_object(kind, lambda: out)
    writer = target.segment(head())
    for start, end in data.responses():
        writer.take(data.buffer, start, end)
    footer = writer.close(writer.expected)
    target.close()
    return footer


def held(data: Fetched, kind: SegmentFormat) -> tuple[bytes, SegmentFooter]:
    """Return a segment in memory."""
    out = io.BytesIO()
    footer = egress(data, kind, out)
    return out.getvalue(), footer


def rows_of(raw: bytes, footer: SegmentFooter, name: str) -> pa.Table:
    """Return the rows of a segment in memory."""
    reader = ParquetObjectReader(pa.BufferReader(raw), name)
    return pa.Table.from_batches(reader.rows(footer), ARCHIVED)


def cpu(function: Callable[[], object]) -> float:
    """Return the fewest CPU seconds of some calls."""
    function()
    spent = []
    for _ in range(_REPEAT):
        began = time.process_time()
        function()
        spent.append(time.process_time() - began)
    return max(min(spent), 1e-9)


def measured(name: str, size: int) -> dict[str, Any]:
    """Return the figures of one data set: MB/s of uncompressed record bytes per core."""
    data = fetched(name, size)
    raw, footer = held(data, SegmentFormat.PARQUET)
    batches, of_batches = held(data, SegmentFormat.BATCHES)
    reader = ParquetObjectReader(pa.BufferReader(raw), name)
    rows = list(reader.rows(footer))
    rows_held = pa.Table.from_batches(rows, ARCHIVED)
    took = {
        "open": cpu(lambda: _open(data)),
        "collect": _collecting(data),
        "parquet": cpu(lambda: egress(data, SegmentFormat.PARQUET, Nowhere())),
        "plain": cpu(lambda: write_plain(rows_held, footer)),
        "snappy": cpu(lambda: pq.write_table(rows_held, Nowhere())),
        "batches": cpu(lambda: egress(data, SegmentFormat.BATCHES, Nowhere())),
        "read": cpu(lambda: [None for _ in reader.rows(footer)]),
        "pack": cpu(lambda: [pack_rows(each, LZ4, apart=True) for each in rows]),
        "back": cpu(lambda: [None for _ in reader.batches(footer, codec=LZ4)]),
        "hand on": cpu(lambda: _hand_on(batches, of_batches)),
        "digest": cpu(lambda: [digest_of(each) for each in rows]),
        "check": cpu(lambda: reader.check(footer)),
        "mirror": cpu(lambda: mirror(data)),
        "copy": cpu(lambda: _merge(raw, 0)),
        "rewrite": cpu(lambda: _merge(raw, 1 << 40)),
    }
    rates = {what: round(data.size / MB / seconds) for what, seconds in took.items()}
    return {
        "about": data.about, "records": data.records, "bytes": data.size,
        "fetched": len(data.buffer), "object": len(raw), "rates": rates,
        "share": round(took["plain"] / took["parquet"], 2),
        "copy_packed": round(len(raw) / MB / took["copy"]),
        "cpu_per_gib": round(took["parquet"] / data.size * GIB, 2),
        "peak_mib": _peak(name),
    }  # fmt: skip


def _open(data: Fetched) -> None:
    for start, end in data.responses():
        found = scan(data.buffer, start, end)
        for _ in open_some(data.buffer, found, sift(found, ())):
            pass


def _collecting(data: Fetched) -> float:
    """Return the CPU seconds of the compiled pass over opened batches, with drained arrays."""
    opened = []
    for start, end in data.responses():
        found = scan(data.buffer, start, end)
        opened += list(open_some(data.buffer, found, sift(found, ())))

    def collect() -> None:
        collector = Collector(0)
        for each in opened:
            collector.add(*each)
            if collector.waiting >= ParquetOptions().row_group_bytes:
                collector.drain()
                collector.clear(let_go=True)  # the opened batches are collected again

    return cpu(collect)


def write_plain(rows: pa.Table, footer: SegmentFooter) -> None:
    """Write rows with pyarrow alone, in the same row groups."""
    settings = writer_settings(ParquetOptions())
    with pq.ParquetWriter(Nowhere(), ARCHIVED, **settings) as writer:
        at = 0
        for part in footer.parts:
            writer.write_table(rows.slice(at, part.records), part.records)
            at += part.records


def _hand_on(raw: bytes, footer: SegmentFooter) -> None:
    for _ in BatchesObjectReader(io.BytesIO(raw), "bench").batches(footer):
        pass


def mirror(data: Fetched) -> None:
    """Do what a lane does with batches that it must open."""
    for start, end in data.responses():
        found = scan(data.buffer, start, end)
        where = (np.ascontiguousarray(found[:, at]) for at in (POSITION, LENGTH))
        reencode_opened(open_batches(data.buffer, *where), max_bytes=512 << 10)


def _merge(raw: bytes, good_bytes: int) -> None:
    source = io.BytesIO(raw)
    given = open_input(SegmentFormat.PARQUET, source, "bench")
    merge([given], Nowhere, level=1, good_bytes=good_bytes)


def _peak(name: str) -> dict[str, int]:
    """Return resident MiB of a process before and at the peak of writing a segment of 100 MiB."""
    command = [sys.executable, "-m", "bench.segmenting", "--peak", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _measure_peak(name: str) -> None:
    """Print the figures of `_peak`. The bytes that are fetched count neither way."""
    data = fetched(name, 100 << 20)
    egress(fetched(name, 1 << 20), SegmentFormat.PARQUET, Nowhere())
    before = psutil.Process().memory_info().rss
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of what made the data
    egress(data, SegmentFormat.PARQUET, Nowhere())
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))
    print(json.dumps({"before": before >> 20, "more": (peak - before) >> 20}))


def main() -> int:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=200, help="MiB of each data set")
    parser.add_argument("--sets", default=",".join(NAMES))
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    wish = parser.parse_args()
    pa.set_cpu_count(1)
    if wish.peak:
        _measure_peak(wish.peak)
        return 0
    found: dict[str, Any] = {"machine": machine(), "sets": {}}
    for name in wish.sets.split(","):
        found["sets"][name] = measured(name, wish.mib << 20)
    stem = f"{datetime.now(UTC).date()}-segments"
    wish.out.mkdir(parents=True, exist_ok=True)
    (wish.out / f"{stem}.json").write_text(json.dumps(found, indent=1) + "\n")
    page = "\n".join(_page(found)) + "\n"
    (wish.out / f"{stem}.md").write_text(page)
    print(page)
    return 0


_STEPS = {
    "open": "open batches: checksum, decompress",
    "collect": "collect: parse, hash, gaps, views",
    "parquet": "**fetched batches to Parquet, all of it**",
    "plain": "the limit: pyarrow writes the same rows from memory, same settings",
    "snappy": "pyarrow writes them with its own defaults (snappy, dictionaries)",
    "batches": "fetched batches to whole batches, with digest and gaps",
    "read": "read rows",
    "pack": "rows to batches, lz4",
    "back": "**Parquet to batches, lz4, all of it**",
    "hand on": "whole batches to batches",
    "mirror": "a mirror that opens and writes batches again, lz4",
    "digest": "digest of rows",
    "check": "check the hashes of an object",
    "copy": "**compaction that copies row groups**",
    "rewrite": "compaction that writes rows again, and reads them back",
}


def _page(found: dict[str, Any]) -> Iterator[str]:
    sets: dict[str, Any] = found["sets"]
    yield "# Segments: the work of one core"
    yield ""
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())
    yield from ("", "MB/s of uncompressed record bytes for each CPU second, the best of five:", "")
    yield from table(
        ("step", *sets), [(text, *(each["rates"][step] for each in sets.values()))
                          for step, text in _STEPS.items()]
    )  # fmt: skip
    yield from ("", "## Goals", "")
    yield from table(("goal", "wanted", *sets), _goals(sets))
    yield from ("", "## Sizes and memory", "")
    yield from table(("data", *sets), _sizes(sets))
    yield from ("", *_METHOD)


def _goals(sets: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    of = sets.values()
    yield ("egress, MB/s per core", WANTED_RATE, *(each["rates"]["parquet"] for each in of))
    yield ("part of the limit", WANTED_SHARE, *(each["share"] for each in of))
    yield ("restore / mirror's re-encoding", 1, *(
        round(each["rates"]["back"] / each["rates"]["mirror"], 2) for each in of))  # fmt: skip
    yield ("compaction, MB/s of packed bytes", WANTED_COPY, *(each["copy_packed"] for each in of))
    yield ("memory besides the program, MiB", "< 500", *(each["peak_mib"]["more"] for each in of))


def _sizes(sets: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    of = sets.values()
    yield ("what it is", *(each["about"] for each in of))
    yield ("records", *(f"{each['records']:,}" for each in of))
    for what, name in (("uncompressed", "bytes"), ("fetched", "fetched"), ("object", "object")):
        yield (f"{what}, MiB", *(f"{each[name] / (1 << 20):,.1f}" for each in of))
    yield ("egress, CPU s per GiB", *(each["cpu_per_gib"] for each in of))
    yield ("resident before, MiB", *(each["peak_mib"]["before"] for each in of))
    yield ("more while writing 100 MiB", *(each["peak_mib"]["more"] for each in of))


_METHOD = (
    "No broker, no store: bytes from memory to memory. Responses have about 1 MiB, row groups 64"
    " MiB, zstd level 1. The limit writes the same rows into the same row groups with the same"
    " settings, from Arrow arrays; it neither opens batches nor hashes records. CPU seconds are"
    " those of the process, so other work on the machine slows caches and memory, but is not"
    " counted. Data are those of `bench/mirror`, with their headers.",
)


if __name__ == "__main__":
    sys.exit(main())
