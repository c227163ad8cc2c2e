"""A channel whose connection breaks while something is sent."""

from __future__ import annotations

import socket

from towpath.cluster.channel import BufferPool, Channel
from towpath.cluster.connection import Connected
from towpath.cluster.reactor import Reactor


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
