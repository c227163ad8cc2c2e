"""Strangers flood a gateway with bytes, and its clients and its memory take no notice."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time

import psutil
import pytest

from tests.support.clients.gateways import served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.promoted_routes import framed, produce
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link
from tests.support.messages.asking import version_question

pytestmark = [pytest.mark.broker, pytest.mark.soak]
THREADS = 4
GROWTH = 150 << 20
"""Bytes by which the gateway may grow; what is sent at it is far more."""


def odd(rng: random.Random) -> bytes:
    """Return a frame that a stranger may send."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randint(1, 400))
    if kind == 1:
        frame = bytearray(framed(produce(["t"], 0, rng.choice([0, 1, -1])), rng.randint(3, 9)))
    elif kind == 2:
        head = struct.pack(">hhih", rng.randint(0, 70), rng.randint(0, 15), 1, -1)
        body = head + b"\0" + rng.randbytes(rng.randint(0, 80))
        return struct.pack(">i", len(body)) + body
    else:
        frame = bytearray(version_question(3, 1))
    for _ in range(rng.randint(0, 4)):
        frame[rng.randrange(4, len(frame))] = rng.randrange(256)
    if not rng.randrange(20):
        frame[:4] = struct.pack(">i", 90 << 20)
        frame += rng.randbytes(1 << 20)
    return bytes(frame)


def flood(port: int, seed: int, over: threading.Event, counted: list[int]) -> None:
    rng = random.Random(seed)
    while not over.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as stranger:
                stranger.settimeout(0.2)
                for _ in range(rng.randint(1, 5)):
                    stranger.sendall(odd(rng))
                    counted.append(1)
                if rng.randrange(2):
                    stranger.recv(1 << 16)
        except OSError:
            continue


@pytest.mark.timeout(1200)
def test_a_flood_of_odd_requests_costs_those_who_make_it(
    gateway_link: Link, seed: int, soak_seconds: int
) -> None:
    link, over, counted = gateway_link, threading.Event(), list[int]()
    topic = create_topic(link.source.bootstrap, f"{link.name}.flooded", PARTITIONS)
    gateway = served(link)
    at = [int(each.rsplit(":", 1)[1]) for each in link.gateway.split("'")[1:4:2]]
    process = psutil.Process(gateway._process.pid)
    before = process.memory_info().rss
    traffic = Traffic(link.gateway.split("'")[1], topic)
    strangers = [
        threading.Thread(target=flood, args=(at[n % 2], seed + n, over, counted))
        for n in range(THREADS)
    ]
    most = before
    try:
        traffic.write(0)
        traffic.join(f"{link.name}-readers")
        for each in strangers:
            each.start()
        end = time.monotonic() + min(soak_seconds, 300)
        while time.monotonic() < end:
            most = max(most, process.memory_info().rss)
            time.sleep(0.1)
        traffic.end_writing()
        read = traffic.read[f"{link.name}-readers"]
        wait_until(lambda: len(read) >= traffic.sent[0], "all are read", 60)
    finally:
        over.set()
        for each in strangers:
            each.join()
        traffic.close()
    print(f"{len(counted)} odd frames; the gateway grew by {(most - before) >> 20} MiB")  # noqa: T201
    assert traffic.errors == []
    require_whole(traffic, link.source.bootstrap)
    assert gateway.running
    assert "Traceback" not in gateway.said, gateway.said[-3000:]
    assert len(counted) > 100
    assert most - before < GROWTH
