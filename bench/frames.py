"""What PySpark jobs cost with Towpath's source and sink, beside those of Spark itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from bench.archivers import kafka_jars
from bench.arena import Arena
from bench.data import Prepared
from bench.meter import GIB, Stamp
from bench.report import table
from bench.telling import tell
from bench.watched import WatchedProcess

WHO = ("kafka", "towpath")
WORKS = ("read", "identity", "stream")
WANTED = 0.6
"""Upper bound of Towpath's CPU, as a part of that of Spark's own source and sink."""
ROUNDS = 3
_PATIENCE = 900.0


class SparkJobs(WatchedProcess):
    """A driver that does one job after the other, warm.

    Args:
        who: `kafka` for Spark's own source and sink, or `towpath`.
        arena: The clusters.
        home: Where its files go.
    """

    def __init__(self, who: str, arena: Arena, home: Path) -> None:
        super().__init__(home / f"frames-{who}", "out")
        self._who, self._arena, self._number = who, arena, 0

    def do(self, *words: str) -> None:
        """Do a job, and wait for its end.

        Raises:
            RuntimeError: The driver ended.
            TimeoutError: It takes too long.
        """
        (self._folder / "ask").write_text(" ".join(words))
        (self._folder / "ask").replace(self._folder / f"{self._number}.ask")
        done, deadline = self._folder / f"{self._number}.done", time.monotonic() + _PATIENCE
        while not done.exists():
            if not self.running:
                raise RuntimeError(f"Spark with {self._who} ended:\n{self.log_end}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{' '.join(words)} takes too long:\n{self.log_end}")
            time.sleep(0.02)
        self._number += 1

    def _command(self) -> Sequence[str]:
        jars = [",".join(kafka_jars())] if self._who == "kafka" else []
        clusters = self._arena.source.bootstrap, self._arena.target.bootstrap
        program = [sys.executable, "-m", "bench.frames_spark", self._who]
        return [*program, *clusters, str(self._folder), *jars]


def measure(arena: Arena, data: Prepared, topic: str, home: Path) -> list[dict[str, Any]]:
    """Measure all jobs of both by turns, after one of each that does not count."""
    found, last = [], ""
    with ExitStack() as stack:
        both = {who: stack.enter_context(SparkJobs(who, arena, home)) for who in WHO}
        for number, work, who in product(range(ROUNDS + 1), WORKS, WHO):
            copy = f"{topic}.{who}.{work}.{number}"
            arena.create(arena.target, copy, data.data.partitions)
            run = _measured(arena, both[who], data, (work, topic, copy))
            # One job later: a topic that is deleted before the markers of its transactions are
            # written holds up all transactions of the broker for half a minute.
            if last:
                arena.delete(arena.target, last)
            last = copy
            tell(f"{who}, {work}: {run}")
            if number:
                found.append({"who": who, "work": work, "round": number, **run})
    return found


def _measured(
    arena: Arena, jobs: SparkJobs, data: Prepared, words: tuple[str, str, str]
) -> dict[str, Any]:
    source, target = arena.pids
    before = Stamp.now(jobs.watch, source, target)
    jobs.do(*words)
    spent = Stamp.now(jobs.watch, source, target).since(before)
    copied = 0
    if words[0] != "read":
        with arena.ends(arena.target, words[2], data.data.partitions) as ends:
            copied = ends.total()
    gib = data.record_bytes / GIB
    return {
        "seconds": spent["seconds"],
        "records_per_s": round(data.data.records / spent["seconds"]),
        "cpu_per_gib": round(spent["copier"] / gib, 2),
        "target_per_gib": round(spent["target"] / gib, 2),
        "others": spent["others"],
        "offsets": copied,
    }


def page(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what was found as a table, and whether the goal was reached."""
    head = ("job", "who", "round", "records/s", "CPU s per GiB", "target broker", "others CPU s")
    rows = [
        (
            run["work"], run["who"], run["round"], f"{run['records_per_s']:,}",
            run["cpu_per_gib"], run["target_per_gib"], f"{run['others']:.1f}",
        )
        for run in found
    ]  # fmt: skip
    yield from table(head, rows)
    yield ""
    yield from table(("job", "CPU / that of Spark's own, wanted", "found", "reached"), goals(found))


def goals(found: Sequence[dict[str, Any]]) -> list[Sequence[Any]]:
    """Return for each job what part of the CPU of Spark's own it costs, by the medians."""
    rows: list[Sequence[Any]] = []
    for work in WORKS:
        theirs, ours = (
            sorted(r["cpu_per_gib"] for r in found if r["who"] == who and r["work"] == work)
            for who in WHO
        )
        if theirs and ours:
            ratio = ours[len(ours) // 2] / max(theirs[len(theirs) // 2], 0.01)
            reached = "yes" if ratio <= WANTED else "**no**"
            rows.append((work, f"at most {WANTED}", f"{ratio:.2f}", reached))
    return rows
