"""What clients take of a gateway is bounded: connections, memory, and the time until a request."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clients.promoted_routes import framed, produce
from tests.support.messages.asking import version_question
from towpath.dev import ports
from towpath.gateway import client_limits
from towpath.gateway.client_limits import FIRST, LINGER, ClientLimits
from towpath.gateway.server import Behind, Gateway
from towpath.model.nouns import ClusterId
from towpath.settings import LinkConfig

TAKEN = {18: (0, 4), 3: (0, 13), 0: (3, 9), 17: (0, 1), 36: (0, 2)}
MIB = 1 << 20
SASL = {"mechanism": "PLAIN", "username": "u", "password": "env:P"}


@dataclass(eq=False)
class Client:
    is_served: bool = False
    is_over: bool = False


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60)), max_size=40))
def test_those_that_take_most_are_closed_until_the_rest_fits(moves: list[tuple[int, int]]) -> None:
    limits = ClientLimits[Client](10, 100, lambda: 0.0)
    clients, sizes = [Client() for _ in range(6)], dict.fromkeys(range(6), 0)
    for number, size in moves:
        limits.takes(clients[number], size)
        sizes[number] = size
        for client, why in limits.excess():
            at = clients.index(client)
            assert sizes[at] == max(sizes.values())
            assert str(sizes[at]) in why
            sizes[at] = 0
        assert limits.waiting == sum(sizes.values()) <= 100


def test_a_connection_without_a_request_is_closed_after_its_time() -> None:
    now = [0.0]
    limits = ClientLimits[Client](10, 100, lambda: now[0])
    silent, served, gone = Client(), Client(is_served=True), Client()
    for each in (silent, served, gone):
        assert limits.opened(each) == ""
    limits.closed(gone)
    assert [*limits.late()] == []
    now[0] = FIRST + 1
    assert [client for client, _ in limits.late()] == [silent]
    assert [*limits.late()] == []
    assert limits.turned_away == 1


def test_a_closed_connection_that_takes_no_answers_is_cut() -> None:
    now = [0.0]
    limits = ClientLimits[Client](10, 100, lambda: now[0])
    over = Client(is_over=True)
    limits.opened(over)
    assert [*limits.lingering([over])] == []
    now[0] = LINGER + 1
    assert [*limits.lingering([over, Client()])] == [over]


def test_more_connections_than_may_be_are_closed() -> None:
    limits = ClientLimits[Client](1, 100, lambda: 0.0)
    first, second = Client(), Client()
    assert limits.opened(first) == ""
    assert "more than 1 connections (`gateway.connections`)" in limits.opened(second)
    limits.closed(first)
    limits.closed(second)
    assert limits.opened(Client()) == ""


def served(
    client: Callable[[int, Gateway], Any], *, sasl: bool = False, **limits: Any
) -> tuple[Any, Gateway]:
    """Serve, with a broker behind that never answers, while a client does something."""
    port, of_broker, broker = ports.reserve(3)
    login = {"sasl": SASL} if sasl else {}
    silent = socket.create_server(("127.0.0.1", broker))
    config = LinkConfig.model_validate(
        {
            "source": {"bootstrap": f"127.0.0.1:{broker}", **login},
            "target": {"bootstrap": "b:1"},
            "link": "l",
            "topics": {"include": ["t"]},
            "gateway": {
                "listen": f"127.0.0.1:{port}",
                "nodes": {1: f"127.0.0.1:{of_broker}"},
                **limits,
            },
        }
    )

    async def play() -> tuple[Any, Gateway]:
        assert config.gateway is not None
        gateway = Gateway(config, config.gateway, Behind((), TAKEN, ClusterId("c")))
        stop = threading.Event()
        serving = asyncio.create_task(gateway.serve(stop))

        async def sweep() -> None:
            while True:
                gateway.sweep()
                await asyncio.sleep(0.05)

        sweeping = asyncio.create_task(sweep())
        try:
            found = await asyncio.to_thread(client, port, gateway)
        finally:
            sweeping.cancel()
            stop.set()
            await serving
        return found, gateway

    try:
        return asyncio.run(play())
    finally:
        silent.close()


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_half_open_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_limits, "FIRST", 0.2)

    def many(port: int, _: Gateway) -> bool:
        opened = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(200)]
        for each in opened:
            each.sendall(b"\0")
        with socket.create_connection(("127.0.0.1", port), 10) as good:
            good.sendall(version_question(3, 7))
            assert good.recv(1 << 16)[4:8] == (7).to_bytes(4, "big")
            gone = all(map(is_closed, opened))
            good.sendall(version_question(3, 8))
            assert good.recv(1 << 16)[4:8] == (8).to_bytes(4, "big"), "others live"
        for each in opened:
            each.close()
        return gone

    found, gateway = served(many)
    assert found
    assert gateway.limits.turned_away == 200


def test_connections_beyond_their_number_are_closed() -> None:
    def many(port: int, _: Gateway) -> list[bool]:
        opened = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(3)]
        found = [is_closed(opened[2])]
        opened[0].sendall(version_question(3, 7))
        found.append(opened[0].recv(4) != b"")
        for each in opened:
            each.close()
        return found

    assert served(many, connections=2)[0] == [True, True]


def held(port: int, gateway: Gateway) -> int:
    """Send large requests of held topics on many connections; return the most that waited."""
    frame = bytes(framed(produce(["held"], 0), 9))
    large = bytearray(frame)
    large[4 + 10 + 1 :] = bytes(16 * MIB)  # no request any more, but its size is what counts
    opened, most = [], 0
    gateway.routes.held = frozenset({"held"})
    for _ in range(12):
        each = socket.create_connection(("127.0.0.1", port), 10)
        each.settimeout(5)
        opened.append(each)
        try:
            each.sendall((len(large) + 1000).to_bytes(4, "big") + large[4:])
        except OSError:
            continue
        most = max(most, gateway.limits.waiting)
    end = time.monotonic() + 30
    while not gateway.limits.turned_away and time.monotonic() < end:
        time.sleep(0.02)
    for each in opened:
        each.close()
    return most


def test_what_waits_for_all_clients_together_is_bounded() -> None:
    most, gateway = served(held, memory="64MiB")
    assert 16 * MIB < most <= 64 * MIB
    assert gateway.limits.turned_away >= 12 - 4 - 1


def test_strangers_send_small_frames_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its login is accepted a client's requests are those of a login."""
    monkeypatch.setenv("P", "secret")

    def stranger(port: int, _: Gateway) -> bool:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(MIB.to_bytes(4, "big") + bytes(100))
            return is_closed(connection)

    assert served(stranger, sasl=True)[0]
