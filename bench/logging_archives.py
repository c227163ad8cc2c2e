"""What the commit log of a large archive costs: opening it, following it, writing to it."""

from __future__ import annotations

import argparse
import json
import pickle
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.support.objects.buckets import Buckets
from tests.support.objects.buckets import fetch as fetch_buckets

from bench.meter import MIB, machine
from bench.pages import RESULTS, publish
from bench.report import table
from towpath.archive.keys import checkpoint_key, entry_key, segment_key
from towpath.archive.log import commit_log
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.coding import encode, hashed
from towpath.archive.log.columns import COLUMNS, SegmentTable, TabledPartition
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.entries import Draft, LogEntry, LogWriter
from towpath.archive.log.state import ArchivedTo, ArchiveState
from towpath.archive.model import GapCounts, PartitionId, Segment, SegmentPlace
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.settings import StoreConfig
from towpath.store import Store

REGION, RECORDS = "eu-west-1", 100_000
WRITER = LogWriter(owner="bench", host="bench", work="run", epoch=1, towpath="bench")
GOAL = "wanted: a log with 1,000,000 segments open in under 5 s"
BEGAN = 1_700_000_000_000


def partition_ids(count: int) -> list[TabledPartition]:
    """Return partitions of topics with twenty partitions each."""
    cluster = ClusterId("MkU3OEVBNTcwNTJENDM2Qg")
    return [
        TabledPartition(
            PartitionId(cluster, TopicId(f"id-of-the-topic-{n // 20:06d}"), n % 20),
            TopicName(f"orders-{n // 20}"),
        )
        for n in range(count)
    ]


def filled(segments: int, partitions: int, version: int) -> ArchiveState:
    """Return the state of an archive with so many segments, the numbers of which are random."""
    known, each = partition_ids(partitions), segments // partitions
    rng, rows = np.random.default_rng(1), each * partitions
    place = np.repeat(np.arange(partitions, dtype=np.int32), each)
    start = np.tile(np.arange(each, dtype=np.int64) * RECORDS, partitions)
    time_ms = BEGAN + start // 10 + rng.integers(0, 1000, rows)
    keys = [
        segment_key(REGION, known[p].topic, known[p].id.partition, 0, SourceOffset(s),
                    SourceOffset(s + RECORDS))
        for p, s in zip(place.tolist(), start.tolist(), strict=True)
    ]  # fmt: skip
    columns: dict[str, Any] = {
        "partition": place,
        "level": np.zeros(rows, np.int16),
        "start": start,
        "end": start + RECORDS,
        "raw_bytes": rng.integers(5 << 20, 100 << 20, rows),
        "first": start,
        "last": start + RECORDS - 1,
        "min_time": time_ms,
        "max_time": time_ms + 300_000,
        "records": np.full(rows, RECORDS),
        "unordered": rng.integers(0, 1 << 63, rows, dtype=np.uint64),
        "ordered": rng.integers(0, 1 << 63, rows, dtype=np.uint64),
        "gaps": pa.array([[]] * rows, COLUMNS.field("gaps").type),
        "format": pa.array(["parquet"] * rows).dictionary_encode(),
        "key": keys,
        "size": rng.integers(1 << 20, 30 << 20, rows),
        "first_row_group": np.zeros(rows, np.int32),
        "row_groups": np.ones(rows, np.int32),
        "storage_class": pa.array([""] * rows).dictionary_encode(),
        "created": time_ms + 310_000,
        # As hard to pack as real ones, or the size of the checkpoint would flatter.
        "crc": rng.integers(0, 1 << 32, rows, dtype=np.uint32),
    }
    base = SegmentTable(known, pa.table(columns, COLUMNS))
    end = SourceOffset(each * RECORDS)
    at = {
        known_as.id: ArchivedTo(
            topic=known_as.topic, begin=SourceOffset(0), archived_to=end,
            log_start=SourceOffset(0), stable_end=end, seen=BEGAN,
        )
        for known_as in known
    }  # fmt: skip
    return ArchiveState(
        version=version, time=BEGAN, tip=hashed(b"before"), base=base, partitions=at,
        writers={WRITER.work: WRITER},
    )  # fmt: skip


def following(state: ArchiveState, count: int) -> Draft:
    """Return a draft with one segment for each of so many partitions."""
    return Draft(writer=WRITER, add=tuple(_segment(state, n) for n in range(count)))


def _segment(state: ArchiveState, number: int) -> Segment:
    known = state.base.partitions[number % len(state.base.partitions)]
    start = state.partitions[known.id].archived_to
    end = SourceOffset(start + RECORDS)
    key = segment_key(REGION, known.topic, known.id.partition, 0, start, end)
    return Segment(
        cluster=known.id.cluster, topic_id=known.id.topic_id, topic=known.topic,
        partition=known.id.partition, start=start, end=end, raw_bytes=50 << 20, first=start,
        last=SourceOffset(end - 1), min_time=BEGAN, max_time=BEGAN + 300_000,
        digest=Digest(RECORDS, start * 31 + 7, start * 37 + 11), gaps=GapCounts(),
        place=SegmentPlace(key=key, size=20 << 20, row_groups=1, crc=number), created=BEGAN,
    )  # fmt: skip


def fill(store: Store, segments: int, partitions: int, entries: int, added: int) -> dict[str, Any]:
    """Write a checkpoint, and entries behind it."""
    state = filled(segments, partitions, 1_000)
    with timed() as took:
        LogCheckpoints(store, REGION).write(state)
    size = store.head(checkpoint_key(REGION, 1_000)).size
    for _ in range(entries):
        draft = following(state, added)
        entry = LogEntry(
            version=state.version + 1, time=state.time + 1000, writer=WRITER, before=state.tip,
            add=draft.add,
        )  # fmt: skip
        data = encode(entry)
        store.put_new(entry_key(REGION, entry.version), data)
        state = state.after([(entry, hashed(data))])
    return {"write checkpoint": took(), "checkpoint MiB": size / MIB}


def look(config: StoreConfig) -> dict[str, Any]:
    """Open a log and use it, in this process."""
    before = _peak()
    with Store(config) as store:
        with timed() as took:
            log = CommitLog.open(store, REGION)
        opened, cpu, peak = took(), took.cpu(), _peak()
        state = log.state
        found = [_per_second(partial(_find, state, number)) for number in (1, 7, 13)]
        commits = []
        for _ in range(30):
            draft = following(log.state, 100)
            with timed() as took:
                log.append(draft)
            commits.append(took())
        commit_log.CHECKPOINT_EACH = 1 << 60
        with timed() as took:
            log.checkpoint()
    return {
        "open": opened, "CPU to open": cpu, "peak MiB": peak / MIB, "before MiB": before / MIB,
        "segments": len(state.table()), "lookups a second": statistics.median(found),
        "commit ms": 1000 * statistics.median(commits), "slowest commit ms": 1000 * max(commits),
        "checkpoint": took(),
    }  # fmt: skip


def _find(state: ArchiveState, number: int) -> int:
    known = state.base.partitions[number % len(state.base.partitions)]
    return len(state.segments(known.id, number * RECORDS, number * RECORDS + 5))


def _per_second(call: Callable[[], int]) -> float:
    count, began = 0, time.monotonic()
    while time.monotonic() - began < 0.5:
        count += call()
    return count / (time.monotonic() - began)


class Took:
    """Seconds, and CPU seconds of this process."""

    def __init__(self) -> None:
        self._began, self._cpu = time.monotonic(), time.process_time()
        self.end()

    def end(self) -> None:
        """Stop both clocks."""
        self._seconds = time.monotonic() - self._began
        self._used = time.process_time() - self._cpu

    def __call__(self) -> float:
        return self._seconds

    def cpu(self) -> float:
        """Return the CPU seconds."""
        return self._used


@contextmanager
def timed() -> Iterator[Took]:
    """Measure what is done in this context."""
    took = Took()
    yield took
    took.end()


def _peak() -> int:
    """Return the most memory of this process; `ru_maxrss` would include that of its parent."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) * 1024


def _looked(config: StoreConfig, folder: Path) -> dict[str, Any]:
    path = folder / "config"
    path.write_bytes(pickle.dumps(config))
    words = [sys.executable, "-m", "bench.logging_archives", "--look", str(path)]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def measure(segments: int, partitions: int, entries: int, added: int) -> dict[str, Any]:
    """Fill a log on files and one in a real S3 store, and open each in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = fetch_buckets()
        if program is None:
            sys.exit("the S3 store is built with Go, and there is no `go` on PATH")
        buckets = Buckets(program, folder / "s3")
        try:
            configs = {
                "file://": StoreConfig.model_validate({"url": (folder / "files").as_uri()}),
                "s3:// (versitygw)": buckets.new(),
            }
            for kind, config in configs.items():
                with Store(config) as store:
                    written = fill(store, segments, partitions, entries, added)
                rows.append({"store": kind, **written, **_looked(config, folder)})
        finally:
            buckets.stop()
    return {
        "segments": segments, "partitions": partitions, "entries": entries, "added": added,
        "rows": rows, "machine": machine(),
    }  # fmt: skip


def page(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page."""
    heads = [name for name in found["rows"][0] if name != "store"]
    rows = [[head, *(_shown(row[head]) for row in found["rows"])] for head in heads]
    yield from ("# The commit log of a large archive", "", f"{GOAL}. Made by `bench/archive_log`.")
    yield from ("", *table(("", *(row["store"] for row in found["rows"])), rows), "")
    yield (
        f"A checkpoint with {found['segments']:,} segments of {found['partitions']:,}"
        f" partitions, and {found['entries']} entries behind it that add {found['added']}"
        " segments each."
        " Opening reads all of that in a new process, imports not counted. A commit adds 100"
        " segments. Seconds, unless the name says something else; memory is the peak of the"
        " process once the log is open, and before."
    )
    yield from ("", *(f"- {name}: {value}" for name, value in found["machine"].items()))


def _shown(value: float) -> str:
    return f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:.2f}"


def main() -> None:
    """Measure, and write a page and its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1_000)
    parser.add_argument("--entries", type=int, default=200, help="entries behind the checkpoint")
    parser.add_argument("--added", type=int, default=100, help="segments of each entry")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--look", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.look:
        print(json.dumps(look(pickle.loads(given.look.read_bytes()))))  # noqa: S301 - ours
        return
    found = measure(given.segments, given.partitions, given.entries, given.added)
    publish(given.out, "archive-log", found, page(found))


if __name__ == "__main__":
    main()
