"""`bench/restore_whole`: how fast whole topics come back into a broker, beside a mirror.

`towpath restore run` from a folder and from S3, as Parquet and as whole batches, beside
`towpath run` that must open all batches, as it adds a header to each record. All write to the same
broker, and read the same records.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.objects.buckets import Buckets
from tests.support.objects.buckets import fetch as fetch_buckets

from bench import archivers, one_core, throughput
from bench.archivers import Task
from bench.arena import Arena
from bench.copiers import Copier, Towpath, Wish, towpath_environment
from bench.data import SETS, DataSet, Prepared, prepare
from bench.meter import machine
from bench.pages import RESULTS, head_of_page, head_of_set, publish
from bench.report import table
from bench.telling import end_on_signals, tell

ROOT = Path(__file__).resolve().parents[1]
MIRROR, PLAIN = "mirror", "plain"
_HEADER = "changes:\n  - topics: ['.*']\n    headers: [{name: env, value: prod}]\n"
_ABOUT = {
    PLAIN: "mirror that opens no batch",
    MIRROR: "mirror that adds a header to each record",
    "parquet": "restore from Parquet in a folder",
    "parquet-s3": "restore from Parquet in S3",
    "batches": "restore from whole batches in a folder",
}
"""The first one finds a target that has just begun, and makes it warm for the others."""

Figures = dict[str, Any]


class Restorer(Copier):
    """`towpath restore run` on two slots of this machine."""

    name = "restore"

    def __init__(self, arena: Arena, wish: Wish, home: Path, label: str, archive: Path) -> None:
        super().__init__(arena, wish, home, label)
        self._archive = archive

    def _command(self) -> Sequence[str]:
        told = json.loads(self._archive.read_text())
        told |= {
            "target": {"bootstrap": self._arena.target.bootstrap},
            "restore": {
                "topics": {"include": list(self._wish.topics), "rename": f"{self.alias}.{{topic}}"}
            },
        }
        file = self._folder / "archive.yaml"
        file.write_text(json.dumps(told))
        file.chmod(0o600)
        words = ("restore", "run", str(file), "--parallelism", "2")
        return [sys.executable, "-m", "towpath", *words]


@dataclass(slots=True)
class Measurement:
    """Measures on one arena.

    Attributes:
        arena: Its clusters.
        home: Where files go.
        buckets: The S3 store, if one can be had.
        found: What was found.
    """

    arena: Arena
    home: Path
    buckets: Buckets | None
    found: Figures

    def measure(self, data: DataSet, ways: Sequence[str]) -> None:
        """Measure one set in all ways."""
        tell(f"{data.name}: making {data.records:,} records")
        prepared, topic = prepare(data), f"restore-{data.name}"
        of_set: Figures = {
            "about": data.about, "partitions": data.partitions, "records": data.records,
            "record_bytes": prepared.record_bytes, "ways": {},
        }  # fmt: skip
        self.found["sets"][data.name] = of_set
        throughput.load(self.arena, prepared, topic)
        for way in ways:
            tell(f"{data.name}: {way}, load {os.getloadavg()[0]:.1f}")
            try:
                figures = self._restored(way, prepared, topic)
            except Exception as error:  # noqa: BLE001 - one failure must not cost the other figures
                self.found["trouble"].append(f"{data.name}, {way}: {error}")
                tell(traceback.format_exc())
            else:
                of_set["ways"][way] = figures
                tell(f"    {figures}")

    def _restored(self, way: str, data: Prepared, topic: str) -> Figures:
        wish = Wish((topic,), data.data.codec_name, data.data.partitions)
        home, label = self.home / data.data.name, f"{data.data.name}-{way}"
        copier, source = self._copier(way, wish, home, label, data)
        with copier:
            figures = throughput.copied(self.arena, copier, data, topic, lambda: None, source)
            figures["peak_mib"] = copier.watch.peaks()
        self.arena.delete(self.arena.target, copier.copy_of(topic))
        return figures

    def _copier(
        self, way: str, wish: Wish, home: Path, label: str, data: Prepared
    ) -> tuple[Copier, Sequence[int] | None]:
        if way in {MIRROR, PLAIN}:
            changed = replace(wish, more=_HEADER if way == MIRROR else "")
            return Towpath(self.arena, changed, home, label), None
        kind, _, where = way.partition("-")
        buckets = self.buckets if where else None
        task = Task(self.arena, wish.topics, wish.partitions)
        made = archivers.Towpath(task, home / "archives", way, kind, buckets)
        with made:
            while made.archived(wish.topics[0]) < data.data.records:
                if made.trouble:
                    raise RuntimeError(made.trouble)
                time.sleep(0.2)
        file = home / "archives" / way / "archive.yaml"
        return Restorer(self.arena, wish, home, label, file), made.store_pids


def main() -> int:
    """Run; return 0 when everything was measured, 1 when something failed."""
    wish = _arguments()
    end_on_signals()
    towpath_environment(ROOT)
    now = datetime.now(UTC)
    told = now.strftime("%Y-%m-%d %H:%M UTC")
    found: Figures = {"date": told, "machine": machine(), "sets": {}, "trouble": []}
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=wish.home)
        home = Path(stack.enter_context(scratch))
        program = fetch_buckets()
        buckets = Buckets(program, home / "s3") if program else None
        if buckets is not None:
            stack.callback(buckets.stop)
        arena = stack.enter_context(Arena(home, "1g"))
        measurement = Measurement(arena, home, buckets, found)
        for data in SETS:
            if data.name in wish.sets:
                scaled = data.scaled(wish.factor / 2)
                measurement.measure(scaled, wish.only.split(",") if wish.only else [*_ABOUT])
    whole = wish.sets == one_core.NAMES and wish.factor == 1 and not wish.only
    part = "" if whole and not found["trouble"] else "-part"
    publish(wish.out, f"restore-whole{part}", found, _page(found))
    return 1 if found["trouble"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/restore_whole", description=__doc__)
    parser.add_argument("--factor", type=float, default=1.0, help="on the number of records")
    one_core.add_sets(parser)
    parser.add_argument("--only", default="", help=f"of {', '.join(_ABOUT)}")
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def _page(found: Figures) -> Iterator[str]:
    yield from head_of_page("Restores into a broker", found)
    for name, of_set in found["sets"].items():
        yield from head_of_set(name, of_set)
        yield ""
        yield from table(_HEAD, (_row(_ABOUT[way], each) for way, each in of_set["ways"].items()))
        yield from ("", *_goal(of_set["ways"]))
    if found["trouble"]:
        yield from ("", "## What failed", "", *(f"- {each}" for each in found["trouble"]))
    yield from ("", "## How it was measured", "", _METHOD)


_HEAD = ("who", "MiB/s", "records/s", "CPU s per GiB: us", "source or store", "target", "of others",
         "largest worker, MiB")  # fmt: skip


def _row(about: str, each: Figures) -> tuple[object, ...]:
    per_gib = each["cpu_per_gib"]
    return (
        about, each["mib_per_s"], f"{each['records_per_s']:,}", per_gib["copier"],
        per_gib["source"], per_gib["target"], f"{each['cpu']['others']} s",
        max(each["peak_mib"].get("worker", [0])),
    )  # fmt: skip


def _goal(ways: Figures) -> Iterator[str]:
    if not {"parquet", MIRROR} <= ways.keys():
        return
    ours, mirror = ways["parquet"], ways[MIRROR]
    rows = [
        ("MiB/s", 1, round(ours["mib_per_s"] / mirror["mib_per_s"], 2)),
        ("work of a CPU second", 1,
         round(mirror["cpu_per_gib"]["copier"] / max(ours["cpu_per_gib"]["copier"], 0.01), 2)),
    ]  # fmt: skip
    yield from table(("restore from Parquet / mirror that opens its batches", "wanted", "found"),
                     rows)  # fmt: skip


_METHOD = """
Two brokers, the store (versitygw) and the copier share the processors above, so only ratios within
this page mean something. A full topic is archived first, which is not measured. Each way is a
process of its own with two slots, and none is warm: compiled loops come from the cache, workers
begin anew, for a mirror with Spark. The target's broker is warm for all but the first way. The
clock runs from the first record on the target until it has all, and CPU is that of the same time:
of all processes of the copier (driver, workers, a mirror's JVM), of the broker or store that is
read, and of the target's broker. Records that were there at the first look do not count. MiB are of
keys, values and headers, uncompressed. A restore writes lz4, the mirror the codec of the source's
batches.
""".strip()


if __name__ == "__main__":
    sys.exit(main())
