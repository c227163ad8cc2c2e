"""How long a promotion holds producers and consumers, by connections and partitions."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer

from bench.arena import Arena
from bench.meter import GIB, cpu
from bench.telling import tell
from towpath.dev import ports

_PATIENCE = 180.0


@dataclass(frozen=True, slots=True)
class Case:
    """How many clients and partitions there are."""

    connections: int
    partitions: int

    def __str__(self) -> str:
        return f"{self.connections:,} connections and {self.partitions:,} partitions"


CASES = (Case(1, 4), Case(100, 400), Case(1000, 400), Case(100, 4000))


def promoted(arena: Arena, home: Path, case: Case) -> dict[str, Any]:
    """Promote a topic under load once; return the pauses, in milliseconds."""
    topic = f"moves-{case.connections}-{case.partitions}"
    arena.create(arena.source, topic, case.partitions)
    listen, node, other = ports.reserve(3)
    file = home / f"{topic}.yaml"
    file.write_text(
        f"source: {{bootstrap: '{arena.source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{arena.target.bootstrap}'}}\n"
        f"link: {topic}\ntopics: {{include: ['{topic}']}}\nrecords: {{start: earliest}}\n"
        f"groups: {{include: ['{topic}']}}\n"
        f"gateway: {{listen: '127.0.0.1:{listen}', nodes: {{1: '127.0.0.1:{node}'}},"
        f" targets: {{1: '127.0.0.1:{other}'}}, hold: 10s}}\n"
    )
    words = [sys.executable, "-m", "towpath"]
    asked = {
        "topic": topic, "batch": 1024, "rate": 200 * 1024, "connections": case.connections,
        "partitions": case.partitions, "seconds": _PATIENCE, "warm": 0.0, "ready": True,
    }  # fmt: skip
    load_words = [sys.executable, "-m", "bench.relay_load", f"127.0.0.1:{node}", json.dumps(asked)]
    started: list[subprocess.Popen[Any]] = []
    reader = _Reader(f"127.0.0.1:{listen}", topic)
    try:
        started += [_quiet([*words, each, str(file)]) for each in ("run", "gateway")]
        _until(lambda: not ports.is_free(node), "the gateway listens")
        pipe = subprocess.PIPE
        load = subprocess.Popen(load_words, stdin=pipe, stdout=pipe, text=True)
        started.append(load)
        assert load.stdout is not None and load.stdin is not None  # noqa: S101, PT018
        load.stdout.readline()
        load.stdin.write("\n")
        load.stdin.flush()
        reader.start()
        _until(lambda: reader.count > 100, "records are read")
        done: dict[str, Any] = {}
        for _ in range(5):
            answer = subprocess.run(
                [*words, "promote", str(file), "-o", "json"], capture_output=True, check=False
            )
            done = json.loads(answer.stdout)
            tell(f"  {done['state']}: {[each['text'] for each in done['reasons']][:1]}")
            if done["state"] == "promoted":
                break
            time.sleep(5)
        before = reader.count
        _until(lambda: reader.count > before + 100, "records are read on")
        load.stdin.write("\n")
        figures = json.loads(load.communicate()[0].splitlines()[-1])
        behind = _behind(other, topic, case, started[1].pid) if case.connections == 1 else None
    finally:
        reader.over.set()
        for each in started:
            each.terminate()
        for each in started:
            each.wait(60)
        if reader.is_alive():
            reader.join()
    return {
        "connections": case.connections,
        "partitions": case.partitions,
        "state": done["state"],
        "held": done["held_ms"],
        "longest_send": round(figures["longest"]),
        "silent": round(1000 * reader.silent),
        "behind": behind,
    }


def _behind(port: int, topic: str, case: Case, gateway: int) -> dict[str, float]:
    """Write to the promoted topic through the gateway; return its rate, and CPU s per GiB."""
    asked = {"topic": topic, "batch": 16_384, "partitions": case.partitions, "seconds": 4.0}
    words = [sys.executable, "-m", "bench.relay_load", f"127.0.0.1:{port}", json.dumps(asked)]
    before = cpu(gateway)
    found = subprocess.run(words, capture_output=True, text=True, check=True)
    figures = json.loads(found.stdout)
    return {"mb": figures["mb"], "cpu": (cpu(gateway) - before) / (figures["total"] / GIB)}


def _quiet(words: list[str]) -> subprocess.Popen[Any]:
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class _Reader(threading.Thread):
    """A member of a group that reads until it is over.

    Attributes:
        count: How many records it read.
        silent: The longest time between two of them, in seconds.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(name="bench-reader")
        self._address, self._topic = bootstrap, topic
        self.over, self.count, self.silent = threading.Event(), 0, 0.0

    def run(self) -> None:
        config = {
            "bootstrap.servers": self._address, "group.id": self._topic, "log_level": 0,
            "auto.offset.reset": "earliest", "heartbeat.interval.ms": 500,
        }  # fmt: skip
        with closing(Consumer(config)) as consumer:
            consumer.subscribe([self._topic])
            last = 0.0
            while not self.over.is_set():
                message = consumer.poll(0.2)
                if message is None or message.error() is not None:
                    continue
                now = time.monotonic()
                self.silent = max(self.silent, now - (last or now))
                last, self.count = now, self.count + 1


def _until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain until {what}")
        time.sleep(0.1)
