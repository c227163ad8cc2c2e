"""What the measurements are held to, and what they found. A goal that is missed fails nothing."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, str, str]

IDLE_NOISE = 0.6
"""CPU seconds per minute, one percent of a processor, that cannot be told from nothing."""


def goals(found: dict[str, Any]) -> list[Row]:
    """Return each goal that could be looked at: what, wanted, found, reached."""
    return [
        *_keyed(found["sets"].get("keyed", {})),
        *_not_slower(found["sets"]),
        *_mixed(found["sets"]),
        *_latency(found["latency"]),
        *_memory(found["peak_mib"]),
        *_start(found["first_record_s"]),
        *_idle(found["idle"]),
    ]


def _row(goal: str, value: float, limit: float, *, least: bool = False, form: str = ".2f") -> Row:
    wanted = f"{'at least' if least else 'at most'} {limit:g}"
    reached = value >= limit if least else value <= limit
    return goal, wanted, format(value, form), "yes" if reached else "**no**"


def _keyed(of_set: dict[str, Any]) -> Iterator[Row]:
    ours, mm2, raw = (of_set.get(who) for who in ("towpath", "mm2", "raw"))
    if ours and mm2:
        ratio = ours["cpu_per_gib"]["copier"] / max(mm2["cpu_per_gib"]["copier"], 0.01)
        yield _row("keyed: copier CPU / MirrorMaker 2's", ratio, 0.1, form=".3f")
    if ours and raw:
        ratio = ours["records_per_s"] / raw["records_per_s"]
        yield _row("keyed: rate / raw loader's", ratio, 0.9, least=True)


def _not_slower(sets: dict[str, Any]) -> Iterator[Row]:
    for name, of_set in sets.items():
        if (ours := of_set.get("towpath")) and (mm2 := of_set.get("mm2")):
            ratio = ours["records_per_s"] / mm2["records_per_s"]
            yield _row(f"{name}: rate / MirrorMaker 2's", ratio, 1.0, least=True)


def _mixed(sets: dict[str, Any]) -> Iterator[Row]:
    """Yield the goals of small batches whose codecs alternate: medians over the rounds."""

    def all_of(name: str, who: str) -> list[dict[str, Any]]:
        runs = (of_set.get(who) for key, of_set in sets.items() if key.rpartition("-")[0] == name)
        return [run for run in runs if run]

    def median(runs: list[dict[str, Any]], key: str) -> float:
        return float(statistics.median(max(run["cpu"][key], 0.01) for run in runs))

    for mixed, alike, who in (
        ("mixed-few", "one-codec-few", "towpath"),
        ("mixed-few", "one-codec-few", "before"),
        ("mixed", "one-codec", "towpath"),
        ("mixed", "no-codec", "towpath"),
        ("mixed", "one-codec", "mm2"),
    ):
        if (ours := all_of(mixed, who)) and (theirs := all_of(alike, who)):
            for key in ("seconds", "copier"):
                what = "time" if key == "seconds" else "CPU"
                ratio = median(ours, key) / median(theirs, key)
                yield _row(f"{who}: {what} of {mixed} / of {alike}", ratio, 1.5)
    for name in ("mixed", "one-codec", "no-codec"):
        if (ours := all_of(name, "towpath")) and (theirs := all_of(name, "mm2")):
            ratio = median(ours, "copier") / median(theirs, "copier")
            yield _row(f"{name}: copier CPU / MirrorMaker 2's", ratio, 0.25, form=".3f")


def _latency(windows: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    for who, runs in windows.items():
        for run in runs:
            if not who.startswith("towpath") or not run.get("records"):
                continue
            what = f"{who}, {run['load']}"
            if ", " in who:  # something changes meanwhile
                yield _row(f"{what}: p99 ms", run["p99"], 30)
                yield _row(f"{what}: largest gap ms", run["gap"], 150)
                continue
            if run["rate"] <= 1000:
                yield _row(f"{what}: p99 ms", run["p99"], 15)
            else:
                yield _row(f"{what}: p50 ms", run["p50"], 10)
                yield _row(f"{what}: p99 ms", run["p99"], 100)


def _memory(peaks: dict[str, dict[str, list[int]]]) -> Iterator[Row]:
    sizes = [size for roles in peaks.values() for size in roles.get("worker", ())]
    if sizes:
        yield _row("largest Python worker, MiB", max(sizes), 350, form=".0f")


def _start(seconds: dict[str, list[float]]) -> Iterator[Row]:
    if starts := seconds.get("towpath"):
        yield _row("first record, median of all starts, s", statistics.median(starts), 12)


def _idle(idle: dict[str, dict[str, Any]]) -> Iterator[Row]:
    if run := idle.get("towpath"):
        more = run["cpu_per_minute"] - run["cpu_per_minute_before"]
        yield _row("1,000 idle partitions: CPU s/min that they add", more, IDLE_NOISE)
