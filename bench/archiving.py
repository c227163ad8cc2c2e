"""`bench/archive`: how fast a full topic is archived, and what that costs, beside others.

Each archiver is started and archives another topic, to be warm; then the topic that counts is shown
with all its records. The clock runs until all of them can be read from the archive.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.support.objects.buckets import Buckets
from tests.support.objects.buckets import fetch as fetch_buckets

from bench import one_core, segmenting, throughput
from bench.archivers import Archiver, Before, IcebergSink, SparkParquet, Task, Towpath
from bench.arena import Arena
from bench.copiers import towpath_environment
from bench.data import SETS, DataSet, Prepared, prepare
from bench.meter import GIB, MIB, Stamp, machine
from bench.pages import RESULTS, head_of_page, head_of_set, publish
from bench.report import table
from bench.telling import end_on_signals, tell
from towpath.model.nouns import SegmentFormat

ROOT = Path(__file__).resolve().parents[1]
MB = 1_000_000
WARM = "warm"
WANTED_RATE, WANTED_SHARE, WANTED_MEMORY = 150, 0.6, 500
"""Goals: MB/s of uncompressed bytes per core, the part of the limit, MiB of a worker."""
_STALL = 300.0
"""Seconds without progress; Spark tells of none before a whole batch is written."""
_QUICK = 0.1
_TIMES = 4
"""How many times the records of `bench/mirror` each set has: some seconds cannot tell how a run
goes on for hours, as processes that have just begun must get their memory first."""
_WARMING = 0.25
"""The part of them that comes first. With less, not all workers have been at work."""
LIMITED = "towpath"
"""The archiver beside which the limit is measured."""
_LIMIT_LASTS = 6.0
"""CPU seconds over which the limit is measured."""

Figures = dict[str, Any]
Make = Callable[[Task, Path, str], Archiver]


def archivers(buckets: Buckets | None, before: Path | None) -> dict[str, tuple[str, Make]]:
    """Return all archivers: what each does, and how it is made."""
    earlier: dict[str, tuple[str, Make]] = {
        "before": ("Towpath before, Parquet into a folder",
                   partial(Before, kind="parquet", clone=before)),
    } if before else {}  # fmt: skip
    found: dict[str, tuple[str, Make]] = earlier | {
        "towpath": ("Towpath, Parquet into a folder", partial(Towpath, kind="parquet")),
    }
    if buckets is not None:
        to_s3 = partial(Towpath, kind="parquet", buckets=buckets)
        found["towpath-s3"] = ("Towpath, Parquet into S3", to_s3)
    return found | {
        "towpath-batches": (
            "Towpath, whole batches into a folder", partial(Towpath, kind="batches")),
        "spark": ("Spark's Kafka source, Parquet into a folder", SparkParquet),
        "iceberg": ("Kafka Connect's Iceberg sink, a folder", IcebergSink),
    }  # fmt: skip


class Measurement:
    """Measures on one arena, and keeps what was found."""

    def __init__(self, arena: Arena, home: Path, factor: float) -> None:
        self._arena, self._home, self._factor = arena, home, factor
        self.found: Figures = {"sets": {}, "trouble": []}

    def measure(self, data: DataSet, wanted: dict[str, tuple[str, Make]]) -> None:
        """Measure one set with everybody."""
        data = data.scaled(self._factor)
        tell(f"{data.name}: making {data.records:,} records")
        prepared, warm = prepare(data), prepare(data.scaled(_WARMING))
        of_set: Figures = {
            "about": data.about, "partitions": data.partitions, "records": data.records,
            "record_bytes": prepared.record_bytes, "wire_bytes": prepared.wire_bytes,
            "limit": {"alone": limit_of(data.name, 1), "together": {}}, "archivers": {},
        }  # fmt: skip
        self.found["sets"][data.name] = of_set
        arena, topic = self._arena, f"archive-{data.name}"
        throughput.load(arena, prepared, topic)
        throughput.load(arena, warm, WARM)
        arena.create(arena.source, "control-iceberg", 1)
        for name, (about, make) in wanted.items():
            arena.hide(topic)
            tell(f"{data.name}: {name}, load {os.getloadavg()[0]:.1f}")
            try:
                with _limited(of_set["limit"], data.name, wanted=name == LIMITED):
                    figures = self._archived(make, name, topic, prepared, warm)
            except Exception as error:  # noqa: BLE001 - one failure must not cost the other figures
                self.found["trouble"].append(f"{data.name}, {name}: {error}")
                tell(traceback.format_exc())
            else:
                of_set["archivers"][name] = {"about": about} | figures
                tell(f"    {figures}")
            finally:
                arena.show(topic)
        for each in (topic, WARM, "control-iceberg"):
            arena.delete(arena.source, each)
            arena.await_gone(each)

    def _archived(
        self, make: Make, name: str, topic: str, data: Prepared, warm: Prepared
    ) -> Figures:
        arena, wanted = self._arena, data.data.records
        task = Task(arena, (WARM, topic), data.data.partitions)
        with make(task, self._home / data.data.name, name) as archiver:
            began = time.monotonic()
            _await(archiver, WARM, warm.data.records)
            ready = time.monotonic() - began
            if isinstance(archiver, IcebergSink):
                archiver.settle(warm.data.records)
            _rest(archiver)
            before_size = archiver.size()
            pids, roles = arena.pids[0], archiver.watch.cpu_by_role()
            before = Stamp.now(archiver.watch, pids, archiver.store_pids)
            arena.show(topic)
            _await(archiver, topic, wanted)
            spent = Stamp.now(archiver.watch, pids, archiver.store_pids).since(before)
            later = archiver.watch.cpu_by_role()
            time.sleep(1)
            surplus = archiver.archived(topic) - wanted
            size = archiver.size() - before_size
            peaks = archiver.watch.peaks()
        gib = data.record_bytes / GIB
        return {
            "ready_s": round(ready, 1),
            "seconds": spent["seconds"],
            "mb_per_s": round(data.record_bytes / MB / spent["seconds"], 1),
            "mb_per_cpu_s": round(data.record_bytes / MB / max(spent["copier"], 0.01), 1),
            "cpu_per_gib": {
                what: round(spent[of] / gib, 2)
                for what, of in (("us", "copier"), ("broker", "source"), ("store", "target"))
            },
            "roles_per_gib": {
                role: round((used - roles.get(role, 0.0)) / gib, 2)
                for role, used in sorted(later.items())
            },
            "cpu": spent,
            "objects_mib": round(size / MIB, 1),
            "peak_mib": peaks,
            "surplus": surplus,
        }


def _await(archiver: Archiver, topic: str, records: int) -> None:
    """Wait until so many records of a topic are archived.

    Raises:
        TimeoutError: The archiver stands still.
        RuntimeError: It ended.
    """
    seen, moved = -1, time.monotonic()
    while (now := archiver.archived(topic)) < records:
        if now > seen:
            seen, moved = now, time.monotonic()
        if archiver.trouble:
            raise RuntimeError(archiver.trouble)
        if time.monotonic() - moved > _STALL:
            raise TimeoutError(
                f"{archiver.name} stands at {now} of {records} records:\n{archiver.log_end}"
            )
        time.sleep(0.05)


def _rest(archiver: Archiver) -> None:
    """Wait until an archiver that has caught up does nothing more."""
    time.sleep(2)
    for _ in range(10):
        before = archiver.watch.cpu()
        time.sleep(1)
        if archiver.watch.cpu() - before < 0.2:
            return


@contextmanager
def _limited(limit: Figures, name: str, *, wanted: bool) -> Iterator[None]:
    """Measure the limit before and after an archiver, as the machine's speed may change."""
    if not wanted:
        yield
        return
    before = limit_of(name, os.cpu_count() or 1)
    yield
    after = limit_of(name, os.cpu_count() or 1)
    limit["together"] = {what: round((before[what] + after[what]) / 2, 1) for what in before}


def limit_of(name: str, count: int) -> Figures:
    """Return what each of some processes can do at once."""
    command = [sys.executable, "-m", "bench.archiving", "--limit", name]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
    told = [json.loads(each.communicate()[0]) for each in running]
    return {what: round(sum(each[what] for each in told) / count, 1) for what in told[0]}


def _measure_limit(name: str) -> None:
    """Print MB per CPU second: pyarrow writing the same rows from memory, and us beside it."""
    data = one_core.fetched(name, 96 << 20)
    raw, footer = one_core.held(data, SegmentFormat.PARQUET)
    rows = segmenting.rows_of(raw, footer, name)

    def ours() -> None:
        one_core.egress(data, SegmentFormat.PARQUET, one_core.Nowhere())

    took = {
        "plain": one_core.mean_cpu(lambda: segmenting.write_plain(rows, footer), _LIMIT_LASTS),
        "ours": one_core.mean_cpu(ours, _LIMIT_LASTS),
    }
    print(json.dumps({what: data.size / MB / seconds for what, seconds in took.items()}))


def main() -> int:
    """Run; return 0 when everything was measured, 1 when something failed."""
    wish = _arguments()
    end_on_signals()
    towpath_environment(ROOT)
    pa.set_cpu_count(1)
    if wish.limit:
        _measure_limit(wish.limit)
        return 0
    now = datetime.now(UTC)
    found: Figures = {"date": now.strftime("%Y-%m-%d %H:%M UTC"), "machine": machine()}
    factor = _QUICK if wish.quick else wish.factor
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=wish.home)
        home = Path(stack.enter_context(scratch))
        program = fetch_buckets()
        buckets = Buckets(program, home / "s3") if program else None
        if buckets is not None:
            stack.callback(buckets.stop)
        known = archivers(buckets, wish.before)
        wanted = {name: known[name] for name in wish.only.split(",") or known if name in known}
        arena = stack.enter_context(Arena(home, "1g"))
        measurement = Measurement(arena, home, factor)
        try:
            for data in SETS:
                if data.name in wish.sets:
                    more = replace(data, records=data.records * _TIMES)
                    measurement.measure(more, wanted or known)
        except KeyboardInterrupt:
            measurement.found["trouble"].append("interrupted")
    found |= measurement.found
    whole = not (wish.quick or wish.only or found["trouble"])
    sets = "" if wish.sets == one_core.NAMES else "-" + "-".join(wish.sets)
    publish(wish.out, f"archive{sets}{'' if whole else '-part'}", found, _page(found))
    return 1 if found["trouble"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/archive", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records: a try")
    parser.add_argument("--factor", type=float, default=1.0, help="on the number of records")
    one_core.add_sets(parser)
    parser.add_argument("--before", type=Path, help="clone of an earlier build, beside this one")
    parser.add_argument("--only", default="", help="archivers, such as towpath,spark")
    parser.add_argument("--limit", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def _page(found: Figures) -> Iterator[str]:
    yield from head_of_page("Archiving", found)
    for name, of_set in found["sets"].items():
        wire = f", {of_set['wire_bytes'] / MIB:,.0f} MiB on the wire"
        yield from head_of_set(name, of_set, wire)
        yield ""
        yield from table(_HEAD, (_row(each) for each in of_set["archivers"].values()))
        yield from ("", *_beside_before(of_set), "", *_goals(of_set))
        yield from ("", *_memory(of_set))
    if found["trouble"]:
        yield from ("", "## What failed", "", *(f"- {each}" for each in found["trouble"]))
    yield from ("", "## How it was measured", "", _METHOD)


_HEAD = (
    "who",
    "MB/s",
    "MB per CPU s",
    "CPU s per GiB: archiver",
    "broker",
    "store",
    "of others",
    "objects, MiB",
)


def _row(each: Figures) -> tuple[object, ...]:
    per_gib = each["cpu_per_gib"]
    return (
        each["about"], each["mb_per_s"], each["mb_per_cpu_s"], per_gib["us"], per_gib["broker"],
        per_gib["store"] or None, f"{each['cpu']['others']} s", each["objects_mib"],
    )  # fmt: skip


def _goals(of_set: Figures) -> Iterator[str]:
    limit, ours = of_set["limit"], of_set["archivers"].get("towpath")
    rows: list[tuple[object, ...]] = [
        (f"{what}, {how}, MB per CPU s", "", limit[how][of])
        for what, of in (("pyarrow from memory", "plain"), ("fetched batches to Parquet", "ours"))
        for how in ("alone", "together")
        if limit[how]
    ]
    if ours:
        workers = ours["peak_mib"].get("worker", [0])
        rows += [
            ("egress, MB per CPU s", f"at least {WANTED_RATE}", ours["mb_per_cpu_s"]),
            ("part of that limit", f"at least {WANTED_SHARE}",
             round(ours["mb_per_cpu_s"] / limit["together"]["plain"], 2)),
            ("memory of a worker, MiB", f"under {WANTED_MEMORY}", max(workers)),
        ]  # fmt: skip
    yield from table(("what", "wanted", "found"), rows)


def _beside_before(of_set: Figures) -> Iterator[str]:
    known = of_set["archivers"]
    if {"before", "towpath"} <= known.keys():
        now, then = known["towpath"], known["before"]
        rate = now["mb_per_s"] / then["mb_per_s"]
        cpu = now["cpu_per_gib"]["us"] / max(then["cpu_per_gib"]["us"], 0.01)
        yield f"Beside the build before: {rate:.2f} of its rate, {cpu:.2f} of its CPU."


def _memory(of_set: Figures) -> Iterator[str]:
    rows = [
        (each["about"],
         ", ".join(f"{role} {cpu}" for role, cpu in each["roles_per_gib"].items() if cpu),
         ", ".join(f"{role} {max(peaks)}" for role, peaks in each["peak_mib"].items()))
        for each in of_set["archivers"].values()
    ]  # fmt: skip
    yield from table(("who", "CPU s per GiB by process", "largest resident MiB"), rows)


_METHOD = """
Broker, archiver and store share the processors above, so only ratios within this page mean
something. The topic is filled first and hidden by an ACL. Each archiver is started, archives
another topic to be warm, and then finds the full one. The clock runs from the end of the ACL
until all records can be read: from the commit log, behind the last micro-batch, in the newest
snapshot; so a wait of up to 0.3 s for the next look is in it, and up to 5 s for the commit of the
Iceberg sink. MB are of keys, values and headers, uncompressed. CPU is that of all processes of an
archiver (driver, and JVM or Python workers), of the broker, and of the S3 store
(versitygw), within the same time. All write zstd at level 1. Spark's source is its connector
4.2.0, the newest that there is, with `local[2]` and a heap of 2 GiB; the Iceberg sink is 1.12.0
in one worker with two tasks and a heap of 2 GiB, and writes value, offset, partition and time,
without keys and headers. Towpath runs with its defaults in two slots, without Spark, so its
segments have 100 MiB before compression. The limit is pyarrow
writing the same rows from Arrow arrays in memory to nowhere, with the settings that Towpath has:
one thread, no broker, no store. It is measured in one process alone, and in one on each core at
once, as cores share caches and units; the goal is compared with the latter, because broker and
archiver use all cores, too. That one is measured just before and just after Towpath, and both
figures are means: of the limit over some seconds, of Towpath over its whole run.
""".strip()


if __name__ == "__main__":
    sys.exit(main())
