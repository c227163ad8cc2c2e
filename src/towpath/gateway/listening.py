"""Sockets that listen for clients."""

from __future__ import annotations

import socket

from towpath.cluster.connect.exchange import Address

_BACKLOG = 1024


def listener(at: Address, *, shares: bool) -> socket.socket:
    """Return a socket that listens; connections to it send small answers without delay.

    asyncio asks for that (TCP_NODELAY) only where a socket was made with the number of TCP, which
    `socket.create_server` leaves out. Without it an answer waits until the client has confirmed the
    one before, for up to 40 ms.

    Args:
        at: Host and port.
        shares: Whether other processes listen there, too.

    Raises:
        OSError: Nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
    made = socket.create_server(at, family=family, backlog=_BACKLOG, reuse_port=shares)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what it accepts inherits that
    return made
