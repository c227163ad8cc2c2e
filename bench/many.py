"""Thousands of partitions, three brokers a side, most of them idle: what they cost, and what waits.

The topics are there on both sides before Towpath starts, and each partition of the source has one
record. A second start finds a ledger that knows all partitions.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from bench import latency
from bench.arena import Arena
from bench.copiers import Towpath, Wish
from bench.meter import Stamp, machine
from bench.pages import publish
from bench.planning import create, rest
from bench.raw import Totals
from bench.report import table
from towpath.dev.broker import LocalCluster

Tell = Callable[[str], None]
Figures = dict[str, Any]

PARTITIONS = 20_000
OF_TOPIC = 10
"""Partitions of each idle topic."""
LOAD = latency.TRICKLE
MOVING = "moving"
"""The topic into which records trickle."""
HEAP = "512m"
PATIENCE = 600.0
SETTLE, IDLE, WINDOW, WAKING = 20.0, 60.0, 20.0, 30.0
"""Seconds of rest that do not count, of rest that count, and of each trickle. In the first one the
partitions wake from their rest, and brokers that are minutes old compile what they need for it."""
CPU_OF = "copier", "source", "target", "others"
GOALS = (
    "Wanted with 20,000 partitions: 6 CPU s a minute when idle, 350 MB for each slice, the first"
    " record within 30 s, p99 of the trickle below 100 ms."
)


def many(out: Path, home: Path | None, partitions: int, tell: Tell) -> int:
    """Measure, and write the page and its figures; return the exit code."""
    told = machine()
    with tempfile.TemporaryDirectory(prefix="towpath-bench-", dir=home) as folder:
        found: Figures = {}
        try:
            _measure(Path(folder), partitions, tell, found)
        except (RuntimeError, TimeoutError, KeyboardInterrupt) as error:
            found["trouble"] = f"{type(error).__name__}: {error}"
            tell(found["trouble"])
    name = f"many{'' if partitions == PARTITIONS else f'-{partitions}'}"
    data = {"machine": told, "partitions": partitions, **found}
    file = publish(out, name, data, _page(told, partitions, found))
    tell(f"written: {file.name}, and the figures beside it")
    return 1 if "trouble" in found else 0


def _measure(home: Path, partitions: int, tell: Tell, found: Figures) -> None:
    idle = [f"many-{n:05}" for n in range((partitions - LOAD.partitions) // OF_TOPIC)]
    wish = Wish((MOVING,), "none", LOAD.partitions, quick=True, also="many-.*")
    with Arena(home, HEAP, brokers=3) as arena:
        copy_of = Towpath(arena, wish, home, MOVING).copy_of
        for cluster, name in ((arena.source, str), (arena.target, copy_of)):
            tell(f"making {partitions:,} partitions")
            create(cluster, [name(MOVING)], LOAD.partitions)
            create(cluster, [name(topic) for topic in idle], OF_TOPIC)
        tell("one record for each partition")
        _fill(arena, {**dict.fromkeys(idle, OF_TOPIC), MOVING: LOAD.partitions})
        rest(arena.source)
        copies = {copy_of(name) for name in (MOVING, *idle)}
        with Totals(_led(arena.target, copies)) as totals:
            with _running(arena, wish, home, totals, partitions, tell) as (first, copier):
                found |= {"first": first}
                found |= _rests(arena, copier, tell)
                found["waking"] = latency.window(arena, copier, MOVING, LOAD, WAKING, settle=0.0)
                tell(f"waking: {found['waking']}")
                found["source"] = latency.window(arena, None, MOVING, LOAD, WINDOW)
                found["trickle"] = latency.window(arena, copier, MOVING, LOAD, WINDOW)
                tell(f"trickle: {found['trickle']}")
                found["peak_mib"] = copier.watch.peaks()
            _fill(arena, {MOVING: LOAD.partitions})
            with _running(arena, wish, home, totals, LOAD.partitions, tell) as (second, _):
                found["second"] = second


def _fill(arena: Arena, counts: Mapping[str, int]) -> None:
    """Produce one record to each partition of these topics."""
    producer = Producer({"bootstrap.servers": arena.source.bootstrap, "linger.ms": 100})
    for topic, count in counts.items():
        for partition in range(count):
            producer.produce(topic, b"x" * 100, partition=partition)
        producer.poll(0)
    if left := producer.flush(PATIENCE):
        raise TimeoutError(f"{left} records could not be produced")


def _led(cluster: LocalCluster, topics: Iterable[str]) -> dict[str, dict[str, list[int]]]:
    """Return which partitions of topics each broker leads."""
    found = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=60)
    led: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for topic in topics:
        for number, partition in found.topics[topic].partitions.items():
            leader = found.brokers[partition.leader]
            led[f"{leader.host}:{leader.port}"][topic].append(number)
    return led


@contextmanager
def _running(
    arena: Arena, wish: Wish, home: Path, totals: Totals, more: int, tell: Tell
) -> Iterator[tuple[Figures, Towpath]]:
    """Run until the target has so many records more; tell what that took."""
    before, began = totals.now(), time.monotonic()
    with Towpath(arena, wish, home, MOVING) as copier:
        first = _await(copier, totals, before + 1) - began
        last = _await(copier, totals, before + more) - began
        started = {
            "first_s": round(first, 1),
            "all_s": round(last, 1),
            "cpu": {role: round(spent, 1) for role, spent in copier.watch.cpu_by_role().items()},
            "load": round(os.getloadavg()[0], 1),
        }
        tell(f"started: {started}")
        yield started, copier


def _await(copier: Towpath, totals: Totals, wanted: int) -> float:
    deadline = time.monotonic() + PATIENCE
    while (seen := totals.now()) < wanted:
        if time.monotonic() > deadline or not copier.running:
            raise TimeoutError(f"{seen} of {wanted} records are there\n{copier.log_end}")
        time.sleep(0.5)
    return time.monotonic()


def _rests(arena: Arena, copier: Towpath, tell: Tell) -> Figures:
    """Return what a copier uses that has nothing to do, and what its brokers use."""
    time.sleep(SETTLE)
    before, stamp = copier.watch.cpu_by_role(), Stamp.now(copier.watch, *arena.pids)
    time.sleep(IDLE)
    after, clocks = copier.watch.cpu_by_role(), Stamp.now(copier.watch, *arena.pids).since(stamp)
    minutes = clocks["seconds"] / 60
    spent = {role: round((after[role] - before.get(role, 0.0)) / minutes, 2) for role in after}
    brokers = {f"{side} brokers": round(clocks[side] / minutes, 2) for side in ("source", "target")}
    found = {"idle": spent, "idle_total": round(sum(spent.values()), 2), "brokers": brokers}
    tell(f"idle: {found}")
    return found


def _page(told: Mapping[str, str], partitions: int, found: Figures) -> Iterator[str]:
    yield f"# {partitions:,} partitions\n"
    yield f"{GOALS} Made by `bench/mirror --sets many`: topics of {OF_TOPIC} partitions and one of"
    yield f"{LOAD.partitions}, on both sides beforehand; three brokers a side with a heap of {HEAP}"
    yield "each, `local[2]`, all on the processors below. The source has one record in each"
    yield f"partition; the second start finds {LOAD.partitions} more.\n"
    yield from _starts({name: found[name] for name in ("first", "second") if name in found})
    if "idle" in found:
        yield from _idle(found)
    if "trickle" in found:
        yield from _trickle(found)
    if "trouble" in found:
        yield f"Not everything could be measured: {found['trouble']}\n"
    yield from (f"- {name}: {value}" for name, value in told.items())


def _starts(starts: Mapping[str, Figures]) -> Iterator[str]:
    rows = [
        (
            name,
            start["first_s"],
            start["all_s"],
            round(sum(start["cpu"].values()), 1),
            ", ".join(f"{role} {spent}" for role, spent in start["cpu"].items()),
            start["load"],
        )
        for name, start in starts.items()
    ]
    head = ("start", "first record, s", "all records, s", "CPU s", "of them", "load")
    yield from table(head, rows)


def _idle(found: Figures) -> Iterator[str]:
    yield "\n## Idle\n"
    whole = ("all of Towpath", found["idle_total"])
    rows = [*found["idle"].items(), whole, *found["brokers"].items()]
    yield from table(("process", "CPU s a minute"), rows)
    if "peak_mib" in found:
        peaks = dict(found["peak_mib"])
        others = [f"{role} {sizes[0]}" for role, sizes in peaks.items() if role != "worker"]
        yield "\nPeaks of resident memory in MiB: the two slices"
        yield f"{', '.join(map(str, peaks['worker'][:2]))}; {', '.join(others)}."


def _trickle(found: Figures) -> Iterator[str]:
    names = {"Towpath, waking": "waking", "source": "source", "Towpath": "trickle"}
    windows: dict[str, Figures] = {name: found[key] for name, key in names.items()}
    yield "\n## Trickle\n"
    yield f"{LOAD}, into {LOAD.partitions} of the partitions, which had rested. The first"
    yield f"{WAKING:.0f} s are told apart: partitions wake, and the brokers, minutes old, compile"
    yield f"the code for it. Then {WINDOW:.0f} s for each consumer. Towpath copies all the while.\n"
    rows = [
        (of, run["p50"], run["p99"], *(run["cpu"][who] for who in CPU_OF), run["loadavg"])
        for of, run in windows.items()
    ]
    cpu = (f"CPU s of {who}" for who in CPU_OF)
    yield from table(("consumer of", "p50, ms", "p99, ms", *cpu, "load"), rows)
    yield ""
