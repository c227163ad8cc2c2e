"""Whatever bytes a client sends, they are relayed, or end its own connection with a reason."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.clients.login_routes import login_steering
from tests.support.clients.promoted_routes import AT_SOURCE, LEADER, framed, produce, promoted
from tests.support.messages.kinds import kinds
from tests.support.session.examples import examples
from towpath.gateway.apis import relayed
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.client_connection import ClientConnection
from towpath.gateway.frames import FrameError, head, uvarint
from towpath.gateway.gateway_counts import ConnectionCounts
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.routes import BrokerPlace, Routes

SECRET = b"hunter2"
WORDS = [b"\x00\x05moved", b"\x06moved", b"\x00\x01g", b"\x02g", b"\x00\x00\x00\x01", b"\x02",
         b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x00", bytes(16), SECRET]  # fmt: skip
pieces = st.one_of(st.sampled_from(WORDS), st.binary(min_size=1, max_size=12))
edits = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), pieces), max_size=5)


REQUESTS = kinds("Request")
RELAYED = {key: high for key, (_, high) in relayed(dict.fromkeys(range(100), (0, 99))).items()}


class Wire(asyncio.Transport):
    """A client's end that reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.is_over = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert len(data) >= 8

    def is_closing(self) -> bool:
        return self.is_over

    def close(self) -> None:
        self.is_over = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class Told:
    """What the gateway is told of connections."""

    def __init__(self) -> None:
        self.counts = ConnectionCounts()

    def opened(self, client: ClientConnection) -> None:
        del client

    def closed(self, client: ClientConnection, why: str) -> None:
        del client, why

    def waits(self, client: ClientConnection, size: int) -> None:
        del client
        assert size >= 0

    def named(self, client: ClientConnection) -> None:
        assert len(client.name[1]) < 1 << 16

    def began(self, leg: BrokerConnection) -> None:
        del leg

    def ended(self, leg: BrokerConnection) -> None:
        del leg


def routes(number: int) -> Routes:
    """Return routes in one of their states."""
    found = promoted() if number > 1 else Routes()
    if number in {1, 3}:
        found.held = frozenset({"moved", "t", ""})
        found.gathering = HeldMembers(frozenset({"g", ""}))
    found.source_away = number == 4
    return found


def play(data: bytes, state: int, home: BrokerPlace, *, logins: bool) -> None:
    told, of, wire = Told(), routes(state), Wire()
    steering = login_steering(of)
    steers = steering if logins else steering._steering

    def connect(client: ClientConnection, _: BrokerPlace) -> BrokerConnection:
        return BrokerConnection(client, told)

    client = ClientConnection(home, connect, steers, told)
    client.login.is_proven = True
    client.connection_made(wire)
    client.data_received(data)
    of.undo()
    client.go_on()
    assert wire.is_over == bool(client._why)
    assert SECRET.decode() not in client._why
    if not wire.is_over:
        client.data_received(b"\xff\xff\xff\xff")
        assert wire.is_over


def changed(frame: bytes, of: list[tuple[int, int, bytes]]) -> bytes:
    """Return a frame with other bytes behind its head."""
    body = bytearray(frame[4:])
    for at, how, piece in of:
        place = 10 + at % max(len(body) - 9, 1)
        if how == 0:
            body[place : place + len(piece)] = piece
        elif how == 1:
            body[place:place] = piece
        elif how == 2:
            del body[place + 1 :]
        else:
            body += piece
    return len(body).to_bytes(4, "big") + bytes(body)


@examples(4, soak=60)
@given(
    key=st.sampled_from(sorted(RELAYED)), version=st.integers(0, 15), edits=edits,
    state=st.integers(0, 4), home=st.sampled_from([AT_SOURCE, LEADER]), logins=st.booleans(),
)  # fmt: skip
def test_a_request_of_any_bytes_is_relayed_or_ends_its_connection(
    key: int, version: int, edits: Any, state: int, home: BrokerPlace, *, logins: bool
) -> None:
    made = REQUESTS[key]()
    version = max(min(version, RELAYED[key], made.max_version), made.min_version)
    if key == 0 and version == 9:
        frame = bytes(framed(produce(["moved", "t"], 10), 9))
    else:
        frame = bytes(framed(made, version))
    play(changed(frame, edits), state, home, logins=logins)


@examples(2, soak=30)
@given(
    key=st.sampled_from(sorted(RELAYED)), version=st.integers(-1, 20), body=st.binary(max_size=60),
    state=st.integers(0, 4), home=st.sampled_from([AT_SOURCE, LEADER]), logins=st.booleans(),
)  # fmt: skip
def test_any_bytes_behind_a_head_are_relayed_or_end_their_connection(
    key: int, version: int, body: bytes, state: int, home: BrokerPlace, *, logins: bool
) -> None:
    start = key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + b"\0\0\0\1\xff\xff"
    whole = start + body
    play(len(whole).to_bytes(4, "big") + whole, state, home, logins=logins)


def test_null_where_a_list_must_be_ends_the_connection_with_a_reason() -> None:
    """Brokers refuse it as well. The search for others that may go on is not disturbed by it."""
    frame = bytes(framed(REQUESTS[44](), 1))
    for state in range(5):
        play(frame[:-4] + b"\0" + frame[-3:], state, AT_SOURCE, logins=False)


@given(st.binary(max_size=20), st.integers(0, 20))
def test_numbers_are_read_or_refused(data: bytes, at: int) -> None:
    try:
        value, end = uvarint(data, at)
    except (IndexError, FrameError):
        return
    assert 0 <= value < 1 << 35
    assert at < end <= min(len(data), at + 5)


@given(st.binary(max_size=30))
def test_a_head_ends_within_its_frame_or_is_refused(data: bytes) -> None:
    frame = len(data).to_bytes(4, "big") + data
    try:
        found = head(frame)
    except FrameError:
        return
    assert 14 <= found.end <= len(frame)
