"""Channels: a connection that breaks while something is sent, and one that the broker mutes."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Callable

import pytest

from towpath.cluster.connect.connection import Connected
from towpath.cluster.data import channel as channels
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.reactor import Reactor


def test_a_connection_that_breaks_while_sending_is_told_behind_the_sender() -> None:
    """Whoever sends walks over what the loss changes."""
    reactor = Reactor()
    lost: list[str] = []
    ours, theirs = socket.socketpair()
    channel = Channel(reactor, Connected(ours, None, {}), BufferPool(0), lost.append)
    theirs.close()
    for _ in range(2):
        channel.send(3, 1, [b"request"], lambda _: None)
        assert (lost, channel.waiting > 0) == ([], True)
    for _ in range(2):
        reactor.turn(0)
        assert (len(lost), channel.closed) == (1, True)
    reactor.close()


def test_a_muted_channel_sends_nothing_and_misses_no_answer_meanwhile() -> None:
    """A broker that throttles a client reads nothing for the time that it named (KIP-219)."""
    reactor = Reactor()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    channel = Channel(reactor, Connected(ours, None, {}), BufferPool(0), lambda _: None)
    began = time.monotonic()
    channel.send(3, 1, [b"first"], lambda _: None)
    assert theirs.recv(1000).endswith(b"first")
    channel.mute(0.3)
    channel.mute(0.1)  # a shorter mute does not end the longer one
    channel.send(3, 1, [b"second"], lambda _: None)
    came = b""
    while not came:
        assert time.monotonic() < began + 10
        reactor.turn(0.01)
        try:
            came = theirs.recv(1000)
        except BlockingIOError:
            silent = channel.silence  # it may be muted no longer, and not have sent so far
            assert not silent or time.monotonic() > began + 0.3
    assert time.monotonic() - began > 0.3
    assert came.endswith(b"second")
    time.sleep(0.01)
    assert channel.silence > 0  # an answer is due from now on
    channel.close()
    theirs.close()
    reactor.close()


def test_bytes_that_wait_for_more_of_them_are_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The channel is woken for much at a time; on a slow line some wait in the socket for long."""
    monkeypatch.setattr(channels, "_QUIET", 0.0)
    reactor = Reactor()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    channel = Channel(reactor, Connected(ours, None, {}), BufferPool(0), lambda _: None)
    body = random.randbytes(1 << 20)
    answers: list[bytes] = []
    channel.send(3, 1, [b"request"], lambda frame: answers.append(bytes(frame.view[4:])))
    theirs.sendall(struct.pack(">ii", 4 + len(body), 1) + body[:1000])
    turn_until(reactor, lambda: channel.silence < 0.05)
    for at in range(1000, 5000, 1000):  # far from what wakes it
        time.sleep(0.1)
        reactor.turn(0)
        assert channel.silence > 0.05
        theirs.sendall(body[at : at + 1000])
        turn_until(reactor, lambda: channel.silence < 0.05)
    assert not answers
    for at in range(5000, len(body), 70_000):
        theirs.sendall(body[at : at + 70_000])
        reactor.turn(0)
    turn_until(reactor, lambda: bool(answers))
    assert answers == [body]
    channel.send(3, 1, [b"another"], lambda frame: answers.append(bytes(frame.view[4:])))
    theirs.sendall(struct.pack(">ii", 5, 2) + b"!")
    turn_until(reactor, lambda: len(answers) == 2)
    assert answers[1] == b"!"
    channel.close()
    theirs.close()
    reactor.close()


def turn_until(reactor: Reactor, is_so: Callable[[], bool]) -> None:
    began = time.monotonic()
    reactor.turn(0.01)
    while not is_so():
        assert time.monotonic() < began + 10
        reactor.turn(0.01)
