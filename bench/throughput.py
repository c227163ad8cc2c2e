"""How fast a full topic is copied, and what that costs.

The clock starts at the first record that the target shows of the topic and stops when it holds
all; records that were there at the first look do not count. So neither the start of a program nor
the wait for the next look for new topics is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.arena import Arena
from bench.copiers import Copier
from bench.data import Prepared
from bench.meter import GIB, MIB, Stamp
from bench.raw import Ends, send

Figures = dict[str, Any]
FIRST = 180.0
"""Seconds within which the first record must show."""
_FEW = 100
"""Topics with more partitions are asked for their ends less often, since each look costs more."""

STALL = 120.0
"""Seconds without any progress after which a copier is given up."""


def load(arena: Arena, data: Prepared, topic: str) -> None:
    """Create a topic on the source and fill it."""
    arena.create(arena.source, topic, data.data.partitions)
    send(arena.source.addresses[0], topic, data.batches)


def raw(arena: Arena, data: Prepared, topic: str) -> Figures:
    """Measure the limit: batches that lie in memory, sent by plain sockets."""
    arena.create(arena.target, topic, data.data.partitions)
    source, target = arena.pids
    before = Stamp.now(None, source, target)
    send(arena.target.addresses[0], topic, data.batches)
    spent = Stamp.now(None, source, target).since(before)
    # We ourselves are the copier here.
    spent["copier"], spent["own"] = spent["own"], 0.0
    arena.delete(arena.target, topic)
    return _figures(data, data.data.records, spent)


def copied(
    arena: Arena,
    copier: Copier,
    data: Prepared,
    topic: str,
    show: Callable[[], None],
    source: Sequence[int] | None = None,
) -> Figures:
    """Measure a copier that is warm; `show` lifts the curtain before the topic.

    Args:
        arena: Its clusters.
        copier: The copier.
        data: What the topic holds.
        topic: Its name.
        show: Lets the copier see it.
        source: Processes of what is read from; the source's brokers by default.

    Raises:
        TimeoutError: The copier stands still.
        RuntimeError: It ended.
    """
    wanted, partitions = data.data.records, data.data.partitions
    pause = 0.05 if partitions <= _FEW else 0.25
    brokers, target = arena.pids
    source = brokers if source is None else source
    with arena.ends(arena.target, copier.copy_of(topic), partitions) as ends:
        show()
        shown = time.monotonic()
        missed = _await(ends, 1, copier, 0.02, FIRST)
        before = Stamp.now(copier.watch, source, target)
        _await(ends, wanted, copier, pause, STALL)
        spent = Stamp.now(copier.watch, source, target).since(before)
        time.sleep(1)
        surplus = ends.total() - wanted
    figures = _figures(data, wanted - missed, spent)
    return figures | {
        "found_after": round(before.at - shown, 2),
        "surplus": surplus,
    }


def _await(ends: Ends, wanted: int, copier: Copier, pause: float, patience: float) -> int:
    """Wait until the target has so many records; return how many it has then.

    The patience is that without any progress.
    """
    seen, moved = 0, time.monotonic()
    while True:
        now = ends.total()
        if now >= wanted:
            return now
        if now > seen:
            seen, moved = now, time.monotonic()
        if not copier.running:
            raise RuntimeError(f"{copier.name} ended:\n{copier.log_end}")
        if time.monotonic() - moved > patience:
            raise TimeoutError(
                f"{copier.name} stands at {now} of {wanted} records:\n{copier.log_end}"
            )
        time.sleep(pause)


def _figures(data: Prepared, records: int, spent: dict[str, float]) -> Figures:
    """Return the figures of a run that copied so many of the records."""
    share = records / data.data.records
    size = data.record_bytes * share
    seconds = max(spent["seconds"], 0.001)
    gib = max(size / GIB, 1e-9)
    return {
        "records": records,
        "seconds": spent["seconds"],
        "records_per_s": round(records / seconds),
        "mib_per_s": round(size / MIB / seconds, 1),
        "wire_mib_per_s": round(data.wire_bytes * share / MIB / seconds, 1),
        "cpu": spent,
        "cpu_per_gib": {
            name: round(spent[name] / gib, 2) for name in ("copier", "source", "target")
        },
    }
