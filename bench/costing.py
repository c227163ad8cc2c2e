"""`bench/cost`: CPU seconds of whole archives and restores, from the start to the end of a program.

Towpath beside an earlier build, beside a program written by hand with the usual libraries, and
beside pyarrow alone, on the same topics, brokers and records. A tiny topic tells what a start
costs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import archiving, one_core, throughput
from bench.arena import Arena
from bench.copiers import towpath_environment
from bench.data import SETS, DataSet, Prepared, prepare
from bench.meter import GIB, Stamp, Watch, machine
from bench.pages import RESULTS, head_of_page, head_of_set, publish
from bench.report import table
from bench.telling import end_on_signals, tell

ROOT = Path(__file__).resolve().parents[1]
NOW, BEFORE, HAND, LIMIT = "now", "before", "hand", "limit"
ABOUT = {
    BEFORE: "Towpath before",
    NOW: "Towpath",
    HAND: "by hand, confluent-kafka and pyarrow",
    LIMIT: "pyarrow alone",
}
START = "start"
_PATIENCE = 600.0
_LOOKS = 0.05
"""Seconds between two looks at the processes, as what they used is lost with their end."""
_MB = 1_000_000
_WORKERS = ("worker", "worker daemon")
"""Who runs slices; a worker that has just begun has the name of what it was forked from."""

Figures = dict[str, Any]


class Spent:
    """A command that was run to its end, and what it used."""

    def __init__(self, words: Sequence[str], folder: Path, clone: Path, brokers: Any) -> None:
        """Run it.

        Raises:
            RuntimeError: It failed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join((str(clone / "src"), str(clone)))
        words = ["/usr/bin/env", f"PYTHONPATH={path}", *words]
        with (folder / "out").open("ab") as out:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        watch = Watch(process.pid, _LOOKS)
        before = Stamp.now(watch, *brokers)
        watch.start()
        try:
            code = process.wait(_PATIENCE)
        finally:
            process.kill()
        spent = Stamp.now(watch, *brokers).since(before)
        watch.stop()
        if code:
            told = (folder / "out").read_text(errors="replace").splitlines()[-20:]
            raise RuntimeError("\n".join((f"{' '.join(words)} failed:", *told)))
        self.figures: Figures = {
            "cpu": round(spent["copier"], 2),
            "seconds": round(spent["seconds"], 1),
            "brokers": round(spent["source"] + spent["target"], 2),
            "others": round(spent["others"], 2),
            "roles": {role: round(cpu, 2) for role, cpu in sorted(watch.cpu_by_role().items())},
        }


@dataclass(slots=True)
class Measurement:
    """Measures on one arena.

    Attributes:
        arena: Its clusters.
        home: Where files go.
        clones: The folders of the builds, by who they are.
        times: How often everything is done.
        found: What was found.
    """

    arena: Arena
    home: Path
    clones: dict[str, Path]
    times: int
    found: Figures

    def measure(self, data: DataSet) -> None:
        """Measure one set."""
        tell(f"{data.name}: making {data.records:,} records")
        prepared, topic = prepare(data), f"cost-{data.name}"
        of_set: Figures = {
            "about": data.about, "partitions": data.partitions, "records": data.records,
            "record_bytes": prepared.record_bytes, "archive": {}, "restore": {},
        }  # fmt: skip
        self.found["sets"][data.name] = of_set
        throughput.load(self.arena, prepared, topic)
        for number in range(self.times):
            for who in (*self.clones, HAND):
                try:
                    self._both(who, number, data, topic, of_set)
                except Exception as error:  # noqa: BLE001 - one failure must not cost the others
                    self.found["trouble"].append(f"{data.name}, {who}: {error}")
                    tell(traceback.format_exc())
        if data.name != START:
            self._limit(data, prepared, of_set)
        self.arena.delete(self.arena.source, topic)

    def _both(self, who: str, number: int, data: DataSet, topic: str, of_set: Figures) -> None:
        folder = self.home / data.name / f"{who}-{number}"
        copy = f"{folder.name}.{topic}"
        self._add(of_set["archive"], who, f"{data.name} to Parquet",
                  self._archive(who, topic, folder), folder)  # fmt: skip
        if who == HAND:
            self.arena.create(self.arena.target, copy, data.partitions)
        self._add(of_set["restore"], who, f"{data.name} from Parquet",
                  self._restore(who, copy, folder), folder)  # fmt: skip
        with self.arena.ends(self.arena.target, copy, data.partitions) as ends:
            if ends.total() != data.records:
                raise RuntimeError(f"{copy} has {ends.total()} of {data.records} records")
        self.arena.delete(self.arena.target, copy)

    def _add(
        self, figures: Figures, who: str, doing: str, words: Sequence[str], folder: Path
    ) -> None:
        load = os.getloadavg()[0]
        spent = Spent(words, folder, self.clones.get(who, ROOT), self.arena.pids).figures
        tell(f"{doing}, {who}, load {load:.1f}: {spent}")
        figures.setdefault(who, []).append(spent | {"load": round(load, 1)})

    def _archive(self, who: str, topic: str, folder: Path) -> Sequence[str]:
        bootstrap = self.arena.source.bootstrap
        folder.mkdir(parents=True)
        if who == HAND:
            return [sys.executable, "-m", "bench.by_hand", "archive", bootstrap, topic, str(folder)]
        told = {
            "kind": "archive",
            "archive": "bench",
            "source": {"bootstrap": bootstrap},
            "target": {"bootstrap": self.arena.target.bootstrap},
            "store": {"url": (folder / "store").as_uri()},
            "region": "bench",
            "topics": {"include": [topic]},
            "restore": {"topics": {"rename": f"{folder.name}.{{topic}}"}},
        }
        file = folder / "archive.yaml"
        file.write_text(json.dumps(told))
        file.chmod(0o600)
        return self._towpath(who, "archive", file, "--until-caught-up")

    def _restore(self, who: str, copy: str, folder: Path) -> Sequence[str]:
        if who == HAND:
            bootstrap = self.arena.target.bootstrap
            return [sys.executable, "-m", "bench.by_hand", "restore", bootstrap, copy, str(folder)]
        return self._towpath(who, "restore", folder / "archive.yaml")

    def _towpath(self, who: str, what: str, *words: Path | str) -> Sequence[str]:
        python = self.clones[who] / ".venv" / "bin" / "python"
        return [str(python), "-m", "towpath", what, "run", *map(str, words), "--parallelism", "2"]

    def _limit(self, data: DataSet, prepared: Prepared, of_set: Figures) -> None:
        """Measure pyarrow alone: it writes the same rows from memory, and reads the archive."""
        rate = archiving.limit_of(data.name, 1)["plain"] * _MB
        of_set["archive"][LIMIT] = [{"cpu": round(prepared.record_bytes / rate, 2)}]
        folder = self.home / data.name / f"{NOW}-0"
        words = [sys.executable, "-m", "bench.by_hand", "read", str(folder / "store")]
        self._add(of_set["restore"], LIMIT, f"{data.name} read", words, folder)


def main() -> int:
    """Run; return 0 when everything was measured, 1 when something failed."""
    wish = _arguments()
    end_on_signals()
    towpath_environment(ROOT)
    now = datetime.now(UTC)
    found: Figures = {
        "date": now.strftime("%Y-%m-%d %H:%M UTC"), "machine": machine(), "sets": {}, "trouble": [],
    }  # fmt: skip
    clones = {NOW: ROOT} if wish.before is None else {BEFORE: wish.before, NOW: ROOT}
    with ExitStack() as stack:
        scratch = tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=wish.home)
        home = Path(stack.enter_context(scratch))
        arena = stack.enter_context(Arena(home, "1g"))
        measurement = Measurement(arena, home, clones, wish.times, found)
        tiny = replace(SETS[0], name=START, about="8,000 of the same", records=8_000, per_batch=200)
        for data in (tiny, *(each for each in SETS if each.name in wish.sets)):
            if data.name == START:
                measurement.measure(data)
            else:
                measurement.measure(data.scaled(wish.factor / 2))
    part = "" if wish.factor == 1 and not found["trouble"] else "-part"
    publish(wish.out, f"cost{part}", found, _page(found))
    return 1 if found["trouble"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/cost", description=__doc__)
    parser.add_argument("--before", type=Path, help="a clone that stands at an earlier commit")
    parser.add_argument("--times", type=int, default=1, help="how often; medians are shown")
    parser.add_argument("--factor", type=float, default=1.0, help="on the number of records")
    one_core.add_sets(parser)
    parser.add_argument("--home", type=Path, help="folder for the data, removed at the end")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def _page(found: Figures) -> Iterator[str]:
    yield from head_of_page("What archives and restores cost", found)
    for name, of_set in found["sets"].items():
        yield from head_of_set(name, of_set)
        for what, head in (("archive", "to Parquet in a folder"), ("restore", "from it")):
            yield ""
            yield from table(_head(head), _rows(of_set, what, name))
    if found["trouble"]:
        yield from ("", "## What failed", "", *(f"- {each}" for each in found["trouble"]))
    yield from ("", "## How it was measured", "", _METHOD)


def _head(what: str) -> Sequence[str]:
    return (
        what, "CPU s, start included", "of before", "of by hand", "CPU s per GiB, workers alone",
        "CPU s by process", "of brokers", "of others", "load",
    )  # fmt: skip


def _rows(of_set: Figures, what: str, name: str) -> Iterator[tuple[object, ...]]:
    figures, gib = of_set[what], of_set["record_bytes"] / GIB
    total = {who: _median(each, "cpu") for who, each in figures.items()}
    for who in filter(figures.__contains__, ABOUT):
        roles = figures[who][-1].get("roles", {})
        workers = [
            sum(each.get("roles", {}).get(of, 0) for of in _WORKERS) for each in figures[who]
        ]
        rest = statistics.median(workers) or total[who]
        yield (
            ABOUT[who], total[who], _ratio(total, who, BEFORE), _ratio(total, who, HAND),
            None if name == START else round(rest / gib, 2),
            ", ".join(f"{role} {cpu}" for role, cpu in roles.items() if cpu),
            *(_median(figures[who], each) for each in ("brokers", "others", "load")),
        )  # fmt: skip


def _median(each: Sequence[Figures], figure: str) -> Any:
    return round(statistics.median(run[figure] for run in each), 2) if figure in each[0] else None


def _ratio(found: dict[str, float], who: str, beside: str) -> float | None:
    return round(found[who] / found[beside], 2) if found.get(beside) else None


_METHOD = """
Each command is a process of its own, warm by nothing but its caches of compiled loops and Java
classes, and runs to its end: `archive run --until-caught-up`, `restore run`. CPU seconds are those
of all its processes (driver, JVM, Python workers) from start to end, looked at every 50 ms, so the
last 50 ms of each may be missing. The start is the same for a topic of 8,000 records. What workers
use alone tells how a large archive goes on, where the start no longer counts. The program by hand
(`bench/by_hand.py`) consumes with confluent-kafka into columns that pyarrow writes as zstd at level
1, and produces the rows of such files by lz4; it keeps no offsets, finds no gaps, proves nothing.
pyarrow alone writes the same rows from memory with the settings of Towpath (that is without a
start), and reads the rows of the archive. Where several runs were made, medians are shown. Brokers
and commands share the processors above, so only ratios within this page mean something; "of others"
are CPU seconds of processes that are none of these.
""".strip()


if __name__ == "__main__":
    sys.exit(main())
