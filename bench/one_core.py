"""What one core does with the bytes of segments: data in memory, CPU seconds, and a page.

`bench/segments`, `bench/restore` and the limit of `bench/archive` stand on this. No broker and no
store: what is measured is what slices do with the bytes.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.data import SETS, prepare
from bench.functions import number_batches
from bench.meter import machine
from bench.pages import RESULTS, publish, some_of
from bench.report import table
from towpath.archive.format.either_format import write_object
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.sink import Sink
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.wire.batch import LENGTH, POSITION, Buffer, scan
from towpath.wire.opened import open_batches
from towpath.wire.reencode import reencode_opened

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("keyed", "small-records", "incompressible")
MB = 1_000_000
_REPEAT = 5
_TOGETHER = 1 << 20
"""Bytes of a fetch response for one partition, about (`max.partition.fetch.bytes`)."""

Figures = dict[str, Any]


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


def head(start: int = 0) -> SegmentHead:
    return SegmentHead(
        cluster=ClusterId("bench"), topic_id=TopicId("bench"), topic=TopicName("bench"),
        partition=0, start=SourceOffset(start),
    )  # fmt: skip


class Nowhere(io.RawIOBase):
    """Takes bytes and forgets them, as memory that grows would be measured, too."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return len(data)


def egress(data: Fetched, kind: SegmentFormat, out: Sink, start: int = 0) -> SegmentFooter:
    """Make a segment as a slice does."""
    target = write_object(kind, lambda: out)
    writer = target.segment(head(start))
    for first, end in data.responses():
        writer.take(data.buffer, first, end)
    footer = writer.close(writer.expected)
    target.close()
    return footer


def held(data: Fetched, kind: SegmentFormat) -> tuple[bytes, SegmentFooter]:
    """Return a segment in memory."""
    out = io.BytesIO()
    footer = egress(data, kind, out)
    return out.getvalue(), footer


def cpu(function: Callable[[], object]) -> float:
    """Return the fewest CPU seconds of some calls."""
    function()
    spent = []
    for _ in range(_REPEAT):
        began = time.process_time()
        function()
        spent.append(time.process_time() - began)
    return max(min(spent), 1e-9)


def mean_cpu(function: Callable[[], object], lasts: float) -> float:
    """Return the CPU seconds of a call, on average over so many CPU seconds of calls."""
    function()
    began, calls = time.process_time(), 0
    while time.process_time() - began < lasts:
        function()
        calls += 1
    return (time.process_time() - began) / calls


def mirror(data: Fetched) -> None:
    """Do what a lane does with batches that it must open."""
    for start, end in data.responses():
        found = scan(data.buffer, start, end)
        where = (np.ascontiguousarray(found[:, at]) for at in (POSITION, LENGTH))
        reencode_opened(open_batches(data.buffer, *where), max_bytes=512 << 10)


def arguments(about: str | None, mib: int = 200) -> argparse.ArgumentParser:
    """Return the words that each of these benchmarks takes."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--mib", type=int, default=mib, help="MiB of each data set")
    add_sets(parser)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser


def add_sets(parser: argparse.ArgumentParser) -> None:
    """Add the word that tells which sets are measured; all are, where it is missing."""
    parser.add_argument("--sets", type=some_of(NAMES), default=NAMES, help=", ".join(NAMES))


def run(
    wish: argparse.Namespace,
    stem: str,
    measured: Callable[[str, int], Figures],
    page: Callable[[dict[str, Figures]], Iterator[str]],
) -> int:
    """Measure the sets; write the figures, and a page of them behind what machine this is.

    Args:
        wish: What `arguments` found.
        stem: Name of the files, behind the date.
        measured: Returns the figures of a set of so many bytes.
        page: Yields the lines of the page, of the figures by set.
    """
    pa.set_cpu_count(1)
    about, sets = machine(), {}
    for name in wish.sets:
        sets[name] = measured(name, wish.mib << 20)
    title, *lines = page(sets)
    text = (title, "", *(f"- {name}: {value}" for name, value in about.items()), *lines)
    publish(wish.out, stem, {"machine": about, "sets": sets}, text)
    return 0


def rates(data: Fetched, took: dict[str, float]) -> dict[str, int]:
    """Return MB/s of uncompressed record bytes of each way."""
    return {way: round(data.size / MB / seconds) for way, seconds in took.items()}


def rate_table(
    what: str, ways: dict[str, str], sets: dict[str, Figures], figure: str = "rates"
) -> Iterator[str]:
    """Return a table of a figure: a row for each way, a column for each set."""
    rows = [(text, *(each[figure][way] for each in sets.values())) for way, text in ways.items()]
    return table((what, *sets), rows)
