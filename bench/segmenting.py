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
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.meter import GIB
from bench.one_core import (
    MB,
    ROOT,
    Fetched,
    Figures,
    Nowhere,
    arguments,
    cpu,
    egress,
    fetched,
    held,
    mirror,
    rate_table,
    rates,
    run,
)
from bench.report import table
from towpath.archive.format.batches_reader import BatchesObjectReader
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.merging import merge, open_input
from towpath.archive.format.packing import digest_of, pack_rows
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetOptions, is_noise, writer_settings
from towpath.archive.format.schema import ARCHIVED, KEY, VALUE
from towpath.model.nouns import SegmentFormat
from towpath.wire.batch import scan
from towpath.wire.codec import LZ4, NONE
from towpath.wire.collector import Collector
from towpath.wire.opening import open_some
from towpath.wire.sifting import sift

WANTED_RATE, WANTED_SHARE, WANTED_COPY = 150, 0.6, 500
"""Goals: MB/s of uncompressed bytes per core, the part of the limit, MB/s of a compaction."""


def rows_of(raw: bytes, footer: SegmentFooter, name: str) -> pa.Table:
    """Return the rows of a segment in memory."""
    reader = ParquetObjectReader(pa.BufferReader(raw), name)
    return pa.Table.from_batches(reader.rows(footer), ARCHIVED)


def measured(name: str, size: int) -> Figures:
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
        "no codec": cpu(lambda: [pack_rows(each, NONE, apart=True) for each in rows]),
        "back": cpu(lambda: [None for _ in reader.batches(footer, codec=LZ4)]),
        "hand on": cpu(lambda: _hand_on(batches, of_batches)),
        "digest": cpu(lambda: [digest_of(each) for each in rows]),
        "check": cpu(lambda: reader.check(footer)),
        "mirror": cpu(lambda: mirror(data)),
        "copy": cpu(lambda: _merge(raw, 0)),
        "rewrite": cpu(lambda: _merge(raw, 1 << 40)),
    }
    return {
        "about": data.about, "records": data.records, "bytes": data.size,
        "fetched": len(data.buffer), "object": len(raw), "rates": rates(data, took),
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
    """Write rows with pyarrow alone, in the same row groups, with noise as uncompressed as ours."""
    options = ParquetOptions()
    noise = [name for name in (KEY, VALUE) if is_noise(rows.column(name), options)]
    settings = writer_settings(options, noise)
    with pq.ParquetWriter(Nowhere(), ARCHIVED, **settings) as writer:
        at = 0
        for part in footer.parts:
            writer.write_table(rows.slice(at, part.records), part.records)
            at += part.records


def _hand_on(raw: bytes, footer: SegmentFooter) -> None:
    for _ in BatchesObjectReader(io.BytesIO(raw), "bench").batches(footer):
        pass


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
    parser = arguments(__doc__)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    wish = parser.parse_args()
    if wish.peak:
        pa.set_cpu_count(1)
        _measure_peak(wish.peak)
        return 0
    return run(wish, "segments", measured, _page)


_STEPS = {
    "open": "open batches: checksum, decompress",
    "collect": "collect: parse, hash, gaps, views",
    "parquet": "**fetched batches to Parquet, all of it**",
    "plain": "the limit: pyarrow writes the same rows from memory, same settings",
    "snappy": "pyarrow writes them with its own defaults (snappy, dictionaries)",
    "batches": "fetched batches to whole batches, with digest and gaps",
    "read": "read rows",
    "pack": "rows to batches, lz4",
    "no codec": "rows to batches, no codec",
    "back": "**Parquet to batches, lz4, all of it**",
    "hand on": "whole batches to batches",
    "mirror": "a mirror that opens and writes batches again, lz4",
    "digest": "digest of rows",
    "check": "check the hashes of an object",
    "copy": "**compaction that copies row groups**",
    "rewrite": "compaction that writes rows again, and reads them back",
}


def _page(sets: dict[str, Figures]) -> Iterator[str]:
    yield "# Segments: the work of one core"
    yield from ("", "MB/s of uncompressed record bytes for each CPU second, the best of five:", "")
    yield from rate_table("step", _STEPS, sets)
    yield from ("", "## Goals", "")
    yield from table(("goal", "wanted", *sets), _goals(sets))
    yield from ("", "## Sizes and memory", "")
    yield from table(("data", *sets), _sizes(sets))
    yield from ("", *_METHOD)


def _goals(sets: dict[str, Figures]) -> Iterator[tuple[object, ...]]:
    of = sets.values()
    yield ("egress, MB/s per core", WANTED_RATE, *(each["rates"]["parquet"] for each in of))
    yield ("part of the limit", WANTED_SHARE, *(each["share"] for each in of))
    yield ("restore / mirror's re-encoding", 1, *(
        round(each["rates"]["back"] / each["rates"]["mirror"], 2) for each in of))  # fmt: skip
    yield ("compaction, MB/s of packed bytes", WANTED_COPY, *(each["copy_packed"] for each in of))
    yield ("memory besides the program, MiB", "< 500", *(each["peak_mib"]["more"] for each in of))


def _sizes(sets: dict[str, Figures]) -> Iterator[tuple[object, ...]]:
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
