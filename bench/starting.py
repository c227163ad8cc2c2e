"""`bench/start`: where the seconds from `towpath run` to its first record go.

Every Python process of a start marks when what began (`bench/marks`). A start is warm when loops
and Java classes lie in the user's cache, cold when that is empty, as in a user's first run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import latency, throughput
from bench.arena import Arena
from bench.copiers import Towpath, Wish, towpath_environment
from bench.data import WARM, Prepared, prepare
from bench.meter import machine, machine_busy
from bench.pages import RESULTS, publish
from bench.report import table

ROOT = Path(__file__).resolve().parents[1]
MARKS = ROOT / "bench" / "marks"
END, BEGIN = "ended", "began"
STEPS = (
    ("the command and the file are read", "import towpath.mirror.commands.run", END),
    ("PySpark is imported", "import towpath.engine.session", END),
    ("Spark's JVM answers", "SparkContext._ensure_initialized", END),
    ("Spark's session stands", "session", END),
    ("Spark has made the data source and started the query", "Rounds.__init__", END),
    ("the reader of the query has asked for the round, and it is planned", "plan_round", END),
    ("Spark has planned the job, and a slice begins", "copy", BEGIN),
    ("partitions are opened", "Opener.open", END),
    ("the first batch comes from the source", "Lane.take", BEGIN),
)
"""One after the other: what is done, the mark of it, and which end of that counts."""
BESIDE = (
    ("plan, ledger, lease and topics are done", "_Mirror.prepare", END),
    ("the template has imported what workers need", "import towpath.mirror.run.slices", END),
)
"""What goes on beside them."""
PATIENCE = 300.0
WINDOW = 5.0
WINDOWS = 3
FIRST_RUN = "a user's first run, on brokers that have just started"
FRESH = "warm, on brokers that have just started"
WARM_START = "warm, on the same brokers, after other starts"


@dataclass(frozen=True, slots=True)
class Start:
    """One start, in seconds since the program was started."""

    first: float
    steps: dict[str, float]
    cpu: dict[str, float]
    others: float
    """CPU seconds of processes that are none of Towpath's."""


def main() -> None:
    """Measure, and write the page and its figures."""
    parser = argparse.ArgumentParser(prog="bench/start", description=__doc__)
    parser.add_argument("--starts", type=int, default=5, help="warm ones")
    parser.add_argument("--cold", type=int, default=2, help="cold ones")
    parser.add_argument("--installed", help="a Python with the wheel, for the cold ones")
    parser.add_argument("--before", type=Path, help="clone of an earlier build, beside warm starts")
    parser.add_argument("--more", action="store_true", help="add to the figures of today")
    parser.add_argument("--heap", default="1g", help="of each broker")
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    towpath_environment(ROOT)
    file = wish.out / f"{datetime.now(UTC).date()}-start.json"
    found = json.loads(file.read_text()) if wish.more else _nothing()
    found["loads"].append(os.getloadavg()[0])
    prepared = prepare(WARM.scaled(0.02))
    with (
        suppress(KeyboardInterrupt),  # what was measured by then is kept
        tempfile.TemporaryDirectory(prefix="towpath-bench-") as folder,
    ):
        _measure(wish, Path(folder), prepared, found)
    publish(wish.out, "start", found, _page(found))


def _nothing() -> dict[str, Any]:
    return {"machine": machine(), "loads": [], "warm": [], "before": [], "cold": [], "windows": {}}


def _measure(
    wish: argparse.Namespace, home: Path, prepared: Prepared, found: dict[str, Any]
) -> None:
    """Add to what was found."""
    warm, cold, windows = found["warm"], found["cold"], found["windows"]
    if wish.cold:
        with _scene(home / "first", wish.heap, prepared) as starts:
            ages = windows.setdefault(FIRST_RUN, [])
            starts(cold, wish.installed, ages, empty=True)
    if wish.starts:
        with _scene(home / "second", wish.heap, prepared) as starts:
            starts(warm, None, windows.setdefault(FRESH, []))
            if wish.before:
                starts([], None, clone=wish.before)  # loops and classes go to the cache
            for _ in range(wish.starts - 2):
                if wish.before:
                    starts(found["before"], None, clone=wish.before)
                starts(warm, None)
            starts(warm, None, windows.setdefault(WARM_START, []))
            for _ in range(wish.cold - 1):
                starts(cold, wish.installed, empty=True)


@contextmanager
def _scene(home: Path, heap: str, prepared: Prepared) -> Iterator[Starter]:
    """Start two brokers; yield what starts Towpath on them."""
    with Arena(home, heap) as arena:
        throughput.load(arena, prepared, "warm")
        yield Starter(arena, home, prepared)


class Starter:
    """Starts Towpath on two brokers, again and again, with links of their own."""

    def __init__(self, arena: Arena, home: Path, prepared: Prepared) -> None:
        self._arena, self._home, self._prepared = arena, home, prepared
        self._number = 0

    def __call__(
        self,
        into: list[dict[str, Any]],
        python: str | None,
        windows: list[dict[str, Any]] | None = None,
        *,
        empty: bool = False,
        clone: Path | None = None,
    ) -> None:
        """Start it once, and stop it.

        Args:
            into: Gets the start.
            python: Where Towpath is installed; `None` means the environment of this repository.
            windows: Filled with how old the first records are.
            empty: Whether the user's cache is empty.
            clone: Where the code is; by default here.
        """
        self._number += 1
        label = f"start{self._number}"
        self._arena.create(self._arena.source, label, latency.PARTITIONS)
        variables = {"PYTHONPATH": os.pathsep.join(self._path(python))}
        if clone is not None:
            variables["PYTHONPATH"] = os.pathsep.join((str(clone / "src"), str(clone)))
        if empty:
            variables["TOWPATH_HOME"] = str(self._home / f"cache-{label}")
        marked = clone is None
        running = self._running(python or sys.executable, label, variables, marked=marked)
        with running as (copier, start):
            into.append(asdict(start))
            if windows is not None:
                windows.extend(
                    latency.window(
                        self._arena, copier, label, latency.NATURAL, WINDOW, settle=0.0, beside=True
                    )
                    for _ in range(WINDOWS)
                )

    def _path(self, python: str | None) -> Iterator[str]:
        yield str(MARKS)
        if python is None:
            yield os.environ["PYTHONPATH"]

    @contextmanager
    def _running(
        self, python: str, label: str, variables: Mapping[str, str], *, marked: bool
    ) -> Iterator[tuple[Towpath, Start]]:
        """Start Towpath; yield it when its first record is on the target.

        Marks follow the source of today, so an earlier build has none.
        """
        marks = self._home / f"marks-{label}"
        marks.mkdir()
        partitions = self._prepared.data.partitions
        wish = Wish(("warm", label), "none", partitions, quick=True, python=python)
        busy, began = machine_busy(), time.time()  # noqa: TID251 - the marks are of the same clock
        before = dict(os.environ)
        os.environ.update(variables, TOWPATH_BENCH_MARKS=str(marks))
        with Towpath(self._arena, wish, self._home, label) as copier:
            os.environ.clear()
            os.environ.update(before)
            copy = copier.copy_of("warm")
            first = self._arena.await_records(self._arena.target, copy, partitions, 1, PATIENCE)
            spent = copier.watch.cpu_by_role()
            others = machine_busy() - busy - sum(spent.values())
            yield copier, Start(first, _steps(marks, began) if marked else {}, spent, others)


def _steps(folder: Path, since: float) -> dict[str, float]:
    marks = [json.loads(line) for file in folder.iterdir() for line in file.open()]
    lacking = [mark["what"] for mark in marks if mark["what"].startswith("lacking")]
    if lacking:
        raise LookupError(f"marks must follow the source: {lacking}")
    return {
        what: min(mark[end] for mark in marks if mark["what"] == name) - since
        for what, name, end in (*STEPS, *BESIDE)
    }


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    yield "# The start of a run\n"
    yield "Made by `bench/start`: one topic of 8 partitions, two brokers, `local[2]`, on the"
    yield "processors below, which brokers and Towpath share. Medians. Warm starts are those of an"
    yield "environment made by `scripts/setup`, cold ones those of an installed wheel with an empty"
    load = ", ".join(f"{each:.1f}" for each in found["loads"])
    yield f"cache. Load of the machine: {load}.\n"
    for kind, starts in (("Warm", found["warm"]), ("Cold, with an empty cache", found["cold"])):
        if starts:
            yield from _starts(kind, starts)
    yield from _beside_before(found["before"], found["warm"])
    yield from _first_records(found["windows"])
    yield ""
    yield from (f"- {name}: {value}" for name, value in found["machine"].items())


def _starts(kind: str, starts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    def median(values: Iterator[float]) -> float:
        return statistics.median(values)

    yield f"## {kind}: {len(starts)} starts\n"
    each = ", ".join(f"{start['first']:.1f}" for start in starts)
    yield f"First record after {each} s.\n"
    rows, last = [], 0.0
    for what, *_ in STEPS:
        at = median(start["steps"][what] for start in starts)
        rows.append((what, f"{at:.2f}", f"{at - last:.2f}"))
        last = at
    at = median(start["first"] for start in starts)
    rows.append(("the first record is on the target", f"{at:.2f}", f"{at - last:.2f}"))
    yield from table(("until", "at, s", "takes, s"), rows)
    yield "\nBeside that:\n"
    yield from table(
        ("what", "at, s"),
        [(what, f"{median(s['steps'][what] for s in starts):.2f}") for what, *_ in BESIDE],
    )
    yield "\nCPU until the first record:\n"
    roles = sorted({role for start in starts for role in start["cpu"]})
    spent = [(role, median(s["cpu"].get(role, 0.0) for s in starts)) for role in roles]
    total = median(sum(start["cpu"].values()) for start in starts)
    others = median(start["others"] for start in starts)
    of_roles = [(role, f"{seconds:.2f}") for role, seconds in spent]
    both = ("all of Towpath", f"{total:.2f}"), ("others, brokers too", f"{others:.2f}")
    yield from table(("process", "CPU s"), (*of_roles, *both))
    yield ""


def _beside_before(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    if not (before and now):
        return

    def row(what: str, of: Callable[[Mapping[str, Any]], float]) -> tuple[str, ...]:
        then, today = (statistics.median(map(of, each)) for each in (before, now))
        return what, f"{then:.2f}", f"{today:.2f}", f"{today / then:.2f}"

    yield "## Beside the build before, warm, in turns\n"
    yield from table(
        ("what", "before", "now", "ratio"),
        (
            row("first record after, s", lambda start: float(start["first"])),
            row("CPU s until then", lambda start: float(sum(start["cpu"].values()))),
        ),
    )
    yield ""


def _first_records(windows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    yield "## First records\n"
    yield f"How old records are when a consumer gets them, {latency.NATURAL}, in windows of"
    yield f"{WINDOW:.0f} s that follow each other, all of each counted: p50 / p99 in ms. The second"
    yield "row of each is a consumer of the source, which takes the same records at the same time."
    most = max(map(len, windows.values()), default=0)
    heads = ("start", "consumer of", *(f"window {number + 1}" for number in range(most)))
    rows = []
    for who, runs in windows.items():
        lacking = [""] * (most - len(runs))
        rows.append((who, "the target", *map(_ages, runs), *lacking))
        rows.append((who, "the source", *(_ages(run["source"]) for run in runs), *lacking))
    yield from table(heads, rows)


def _ages(run: Mapping[str, Any]) -> str:
    return f"{run['p50']:.1f} / {run['p99']:.1f}"


if __name__ == "__main__":
    main()
