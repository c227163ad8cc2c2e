"""A connection that takes no answers, or asks for what is not relayed."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.metadata import ApiVersionsResponse

from tests.support.clients.wires import NoBroker, Seen
from tests.support.messages.asking import version_question
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.client_connection import ClientConnection, ClientSteering
from towpath.gateway.frames import Head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.passing_requests import NOTHING, PassingRule
from towpath.gateway.recoding import LATE, LateAnswer
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.routes import SOURCE, BrokerPlace, Cluster, Routes
from towpath.gateway.steering import Steering
from towpath.model.nouns import ClusterId

MOST = 24 << 20
TAKEN = {18: (0, 4), 3: (0, 13), 16: (0, 5)}


class LateSteering:
    """Relays everything, and lets each answer come late."""

    def step(self, frame: bytearray, asked: Head, client: ClientConnection) -> RequestStep:
        del asked
        return RequestStep(sends=(Sent(client.home, frame, lambda f, _: LateAnswer(f)),))

    def passing(self, client: ClientConnection) -> PassingRule:
        del client
        return NOTHING


async def serving(
    seen: Seen, broker: int | None = None, steering: ClientSteering | None = None
) -> asyncio.Server:
    """Listen for clients, with no broker behind, or one at a port."""
    loop, routes = asyncio.get_running_loop(), Routes()
    nodes = RelayedNodes("h", 1, {}, lambda *_: None)
    answers = dict.fromkeys(Cluster, AnswerChanges(nodes, ClusterId("c")))
    leaving = LeavingClients(routes, loop.time)
    steers = steering or Steering(OwnAnswers(TAKEN), answers, routes, lambda: None, leaving)

    def client() -> ClientConnection:
        def connect(of: ClientConnection, _: BrokerPlace) -> BrokerConnection:
            made = BrokerConnection(of, NoBroker())
            if broker is not None:
                opening = loop.create_connection(lambda: made, "127.0.0.1", broker)
                made.opening = loop.create_task(opened(opening))
            return made

        return ClientConnection(SOURCE, connect, steers, seen)

    return await loop.create_server(client, "127.0.0.1", 0)


async def opened(opening: Coroutine[Any, Any, Any]) -> None:
    await opening


def flood(port: int) -> int:
    """Ask without taking answers until no more is taken; return the bytes that were."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(1)
        sent, block = 0, version_question(3, 1) * 2000
        while sent < MOST:
            try:
                sent += connection.send(block)
            except TimeoutError:
                break
        return sent


def ask(port: int, frame: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(frame)
        return connection.recv(1 << 16)


def played(
    seen: Seen,
    client: Callable[[int], object],
    broker: int | None = None,
    steering: ClientSteering | None = None,
) -> object:
    async def play() -> object:
        server = await serving(seen, broker, steering)
        port = server.sockets[0].getsockname()[1]
        found = await asyncio.get_running_loop().run_in_executor(None, client, port)
        server.close()
        return found

    return asyncio.run(play())


@pytest.mark.slow
def test_a_client_that_takes_no_answers_is_not_read_from() -> None:
    sent = played(Seen(), flood)
    assert isinstance(sent, int)
    assert 0 < sent < MOST


@pytest.mark.parametrize(("version", "error", "told"), [(0, 0, 0), (3, 0, 3), (4, 0, 4)])
def test_the_gateway_says_itself_which_versions_it_takes(
    version: int, error: int, told: int
) -> None:
    answer = played(Seen(), lambda port: ask(port, version_question(version, 7)))
    assert isinstance(answer, bytes)
    found = ApiVersionsResponse.decode(memoryview(answer)[4:], version=told, header=True)
    assert found.error_code == error
    assert {each.api_key: (each.min_version, each.max_version) for each in found.api_keys} == TAKEN


def test_a_newer_client_gets_the_versions_in_the_oldest_form() -> None:
    newer = bytearray(version_question(4, 7))
    newer[6:8] = (5).to_bytes(2, "big")
    answer = played(Seen(), lambda port: ask(port, bytes(newer)))
    assert isinstance(answer, bytes)
    found = ApiVersionsResponse.decode(memoryview(answer)[4:], version=0, header=True)
    assert found.error_code == 35
    assert len(found.api_keys) == len(TAKEN)


def test_a_request_that_is_not_relayed_ends_its_connection_and_is_named() -> None:
    seen = Seen()
    produce = bytearray(version_question(3, 7))
    produce[4:6] = (0).to_bytes(2, "big")
    assert played(seen, lambda port: ask(port, bytes(produce))) == b""
    assert seen.why == ["request 0 of version 3 is not relayed"]


@contextmanager
def short_broker(answers: int) -> Iterator[int]:
    """A broker that answers one request of each connection, then closes it; yield its port.

    Args:
        answers: How many connections it answers; it closes later ones at once.
    """
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in itertools.count():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                frame = connection.recv(1 << 16)
                if number < answers and frame:
                    connection.sendall((4).to_bytes(4, "big") + frame[8:12])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def ask_slowly(port: int) -> list[bytes]:
    """Ask three times, each time when the broker has closed the connection of the time before."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        answers = []
        for number in range(3):
            connection.sendall(list_groups(number))
            answers.append(connection.recv(1 << 16))
            time.sleep(0.2)
        return answers


def list_groups(correlation: int) -> bytes:
    made = ListGroupsRequest()
    made.API_VERSION = 0
    made.with_header(correlation_id=correlation, client_id="t")
    return bytes(made.encode(header=True, framed=True))


def test_a_client_is_not_told_that_a_broker_closed_a_connection_that_owed_nothing() -> None:
    seen = Seen()
    with short_broker(answers=2) as broker:
        answers = played(seen, ask_slowly, broker)
    assert answers == [(4).to_bytes(4, "big") + n.to_bytes(4, "big") for n in range(2)] + [b""]
    assert seen.why == [""], "the third request was not answered, so its client is told"


def test_an_answer_may_come_late() -> None:
    """Where a broker says at once, each time, that there is nothing yet."""

    def ask_once(port: int) -> float:
        begun = time.monotonic()
        assert ask(port, list_groups(0)) == (4).to_bytes(4, "big") + bytes(4)
        return time.monotonic() - begun

    with short_broker(answers=1) as broker:
        took = played(Seen(), ask_once, broker, LateSteering())
    assert isinstance(took, float)
    assert took >= LATE - 0.01


def test_a_client_is_known_by_its_host_and_its_client_id() -> None:
    seen = Seen()
    played(seen, lambda port: ask(port, version_question(3, 7)))
    assert seen.names == [("127.0.0.1", "t")]


def test_a_retired_connection_ends_after_its_answers() -> None:
    seen = Seen()

    async def play() -> bytes:
        server = await serving(seen)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(version_question(3, 7))
        got = await reader.read(4)
        seen.clients[0].retire()
        writer.write(version_question(3, 8))  # too late: it is sent elsewhere
        got += await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await writer.wait_closed()
        while not seen.why:
            await asyncio.sleep(0.01)
        server.close()
        return got

    answer = asyncio.run(play())
    assert int.from_bytes(answer[:4], "big") == len(answer) - 4, "one answer, and a whole one"
    assert int.from_bytes(answer[4:8], "big") == 7
    assert seen.why == [""], "nothing is told as a failure"
