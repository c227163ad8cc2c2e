"""`bench/link`: what a gateway costs its clients, and how long a promotion holds them.

The same load goes to a broker directly, through `towpath gateway`, through Kroxylicious, and
through a relay that decides nothing, in turns. Figures of a load are those of its best turn by
rate, and by CPU of the relay: other work of the machine can only add.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import KafkaException

from bench.arena import Arena
from bench.meter import GIB, MIB, machine, machine_busy
from bench.pages import RESULTS, head_of_page, publish, some_of
from bench.promoting import CASES, promoted
from bench.relay_load import PARTITIONS
from bench.relays import (
    KROXYLICIOUS,
    BareRelay,
    Certificate,
    GatewayRelay,
    KroxyliciousRelay,
    Relay,
)
from bench.report import table
from bench.telling import end_on_signals, tell

DIRECT = "direct"
LOADS: Mapping[str, Mapping[str, Any]] = {
    "produce 1 KB": {"batch": 1024},
    "produce 16 KB": {"batch": 16_384},
    "produce 64 KB": {"batch": 65_536},
    "fetch 1 MiB": {"topic": "full", "kind": "fetch", "batch": MIB, "flying": 1, "connections": 8},
    "16 KB at 10 MB/s": {"batch": 16_384, "rate": 1e7},
    "16 KB at 50 MB/s": {"batch": 16_384, "rate": 5e7},
    "16 KB at 100 MB/s": {"batch": 16_384, "rate": 1e8},
    "16 KB at 10 MB/s, 1,000 connections": {"batch": 16_384, "rate": 1e7, "connections": 1000},
}
OF_TLS = ("produce 16 KB", "fetch 1 MiB", "16 KB at 10 MB/s")
IDLE = 1000
SETS = ("loads", "tls", "idle", "promotions")
Turn = dict[str, Any]


def main() -> int:
    """Measure, and write the page and its figures."""
    parser = argparse.ArgumentParser(prog="bench/link", description=__doc__)
    parser.add_argument("--sets", type=some_of(SETS), default=SETS, help=", ".join(SETS))
    parser.add_argument("--rounds", type=int, default=3, help="turns of each load")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    parser.add_argument("--out", type=Path, default=RESULTS)
    wish = parser.parse_args()
    end_on_signals()
    found: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "loads": {},
        "tls": {},
        "idle": {},
        "promotions": [],
        "trouble": "",
    }
    with tempfile.TemporaryDirectory(prefix="towpath-bench-") as home:
        try:
            _all(wish, found, Path(home))
        except (RuntimeError, OSError, subprocess.SubprocessError, KafkaException) as error:
            # What was measured before stays.
            found["trouble"] = f"{type(error).__name__}: {error}"
    is_whole = set(wish.sets) == set(SETS) and not found["trouble"]
    publish(wish.out, "link" if is_whole else "link-part", found, _page(found))
    return 1 if found["trouble"] else 0


def _all(wish: argparse.Namespace, found: dict[str, Any], home: Path) -> None:
    if {*wish.sets} - {"promotions"}:
        _measured(wish, found, home)
    if "promotions" in wish.sets:
        with Arena(home / "promotions", "1g") as arena:
            for case in CASES:
                tell(f"a promotion with {case}")
                found["promotions"].append(promoted(arena, home, case))


def _measured(wish: argparse.Namespace, found: dict[str, Any], home: Path) -> None:
    with Arena(home, "1g") as arena:
        arena.create(arena.source, "load", PARTITIONS)
        arena.create(arena.source, "full", PARTITIONS)
        _load(arena.source.bootstrap, {"topic": "full", "batch": 65_536, "seconds": 3.0})
        if "loads" in wish.sets or "idle" in wish.sets:
            _relays(wish, found, arena, home, None)
        if "tls" in wish.sets:
            _relays(wish, found, arena, home, Certificate.made(home))


def _relays(
    wish: argparse.Namespace,
    found: dict[str, Any],
    arena: Arena,
    home: Path,
    tls: Certificate | None,
) -> None:
    kinds = (GatewayRelay, KroxyliciousRelay) if tls else (
        GatewayRelay, KroxyliciousRelay, BareRelay,
    )  # fmt: skip
    with ExitStack() as stack:
        relays = [
            stack.enter_context(kind(home, arena.source, arena.target, tls)) for kind in kinds
        ]
        for each in relays:
            each.await_open()
        if tls is None and "idle" in wish.sets:
            found["idle"] = {each.name: _idle(each) for each in relays}
        if tls is None and "loads" not in wish.sets:
            return
        for name, load in LOADS.items():
            if tls is not None and name not in OF_TLS:
                continue
            turns: dict[str, list[Turn]] = {}
            for number in range(wish.rounds):
                order = [None, *relays] if number % 2 == 0 else [*reversed(relays), None]
                for relay in order:
                    if relay is None and tls is not None:
                        continue
                    who = relay.name if relay else DIRECT
                    tell(f"{name}{' with TLS' if tls else ''}: {who}, turn {number + 1}")
                    asked = {"seconds": wish.seconds, "topic": "load", **load, "tls": bool(tls)}
                    turns.setdefault(who, []).append(_turn(arena, relay, asked))
            found["tls" if tls else "loads"][name] = turns


def _turn(arena: Arena, relay: Relay | None, asked: Mapping[str, Any]) -> Turn:
    """Put a load once on a broker or a relay in front of it."""
    (broker,) = arena.source.identities
    address = relay.address if relay else arena.source.bootstrap

    def clocks() -> tuple[float, float, float]:
        of_broker = sum(psutil.Process(broker.pid).cpu_times()[:2])
        return relay.watch.cpu() if relay else 0.0, of_broker, machine_busy()

    before = clocks()
    figures = _load(address, asked)
    relayed, of_broker, busy = (b - a for a, b in zip(before, clocks(), strict=True))
    gib = figures["total"] / GIB
    others = max(0.0, busy - relayed - of_broker - figures["whole_cpu"])
    return figures | {
        "relay": relayed / gib,
        "broker": of_broker / gib,
        "others": others,
    }


def _load(address: str, asked: Mapping[str, Any]) -> Turn:
    words = [sys.executable, "-m", "bench.relay_load", address, json.dumps(asked)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"a load ended with {done.returncode}: {done.stderr[-2000:]}")
    answer: Turn = json.loads(done.stdout.splitlines()[-1])
    return answer


def _idle(relay: Relay) -> dict[str, float]:
    """Return the memory of a relay, in MiB, without clients and with idle ones."""
    process = psutil.Process(relay.pid)
    before = process.memory_info().rss
    asked = {"topic": "load", "kind": "idle", "connections": IDLE, "ready": True}
    words = [sys.executable, "-m", "bench.relay_load", relay.address, json.dumps(asked)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as load:
        assert load.stdout is not None  # noqa: S101
        load.stdout.readline()
        after = process.memory_info().rss
        load.communicate("\n")
    return {"before": before / MIB, "after": after / MIB}


def _page(found: Mapping[str, Any]) -> Iterator[str]:
    yield from head_of_page("A gateway, and a promotion", found)
    yield ""
    yield "Made by `bench/link`; client, relay and broker share the machine. `bare` is a relay in"
    yield "Python that decides nothing: the limit. Kroxylicious is"
    yield f"{KROXYLICIOUS}, the newest one whose jars Maven Central has, without filters, with"
    yield "-Xmx512m. The best of each load's turns; p50, p99 and p99.9 are milliseconds from a"
    yield "request to its answer; CPU is seconds per GiB; `others` are the CPU seconds of other"
    yield "processes in that turn."
    for key, title in (("loads", "Loads"), ("tls", "With TLS")):
        if found[key]:
            yield from ("", f"## {title}", "")
            yield from _loads(found[key])
    if found["idle"]:
        yield from ("", f"## Memory with {IDLE:,} idle connections, MiB", "")
        rows = [
            (who, f"{each['before']:.0f}", f"{each['after']:.0f}")
            for who, each in found["idle"].items()
        ]
        yield from table(("relay", "before", "with them"), rows)
    if found["trouble"]:
        yield from ("", f"Not all was measured: {found['trouble']}")
    if found["promotions"]:
        yield from ("", "## Promotions", "")
        yield "Producers of 1 KB batches at 200 requests/s in all, and one consumer of librdkafka."
        yield ""
        names = ("connections", "partitions", "state", "held", "longest_send", "silent")
        moves = [tuple(f"{each[name]}" for name in names) for each in found["promotions"]]
        head = ("connections", "partitions", "outcome", "held ms", "longest send ms", "silent ms")
        yield from table(head, moves)
    for each in found["promotions"]:
        if each.get("behind"):
            yield ""
            yield (
                f"Behind the first of them, batches of 16 KB went through the gateway to the target"
                f" at {each['behind']['mb']:.0f} MB/s, for {each['behind']['cpu']:.2f} CPU s per"
                " GiB."
            )


def _loads(loads: Mapping[str, Mapping[str, list[Turn]]]) -> Iterator[str]:
    rows = []
    for name, turns in loads.items():
        rates = {who: max(each["mb"] for each in part) for who, part in turns.items()}
        for who, part in turns.items():
            best = max(part, key=lambda each: each["mb"])
            calm = min(part, key=lambda each: each["p99"])
            share = f"{rates[who] / rates[DIRECT]:.2f}" if DIRECT in rates else ""
            times = [f"{calm[each]:.2f}" for each in ("p50", "p99", "p999")]
            cpu = f"{min(each['relay'] for each in part):.2f}" if who != DIRECT else ""
            figures = (f"{best['mb']:.0f}", f"{best['requests']:,.0f}", share, *times, cpu)
            rows.append((name, who, *figures, f"{best['others']:.1f}"))
    head = ("load", "through", "MB/s", "requests/s", "of direct", "p50", "p99", "p99.9")
    yield from table((*head, "CPU of relay", "others"), rows)


if __name__ == "__main__":
    sys.exit(main())
