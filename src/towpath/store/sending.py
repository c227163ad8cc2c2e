"""HTTP connections whose timeout starts once the request has left this machine.

A socket takes bytes long before they are sent: on a slow line, megabytes of a part wait in its
buffer when all of it was handed over. If the time for an answer counted from then, no such part
could ever be written there, however often it is repeated.
"""

from __future__ import annotations

import fcntl
import select
import struct
import termios
import time
from socket import socket
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

_LOOK = 0.25
"""Seconds between two looks at what is left to send."""


class PatientConnection(HTTPConnection):
    """A connection without TLS whose timeout starts once the request has been sent."""

    def getresponse(self) -> Any:
        """Return the answer to the request."""
        _await_sent(self.sock)
        return super().getresponse()


class PatientSecureConnection(HTTPSConnection):
    """A TLS connection whose timeout starts once the request has been sent."""

    def getresponse(self) -> Any:
        """Return the answer to the request."""
        _await_sent(self.sock)
        return super().getresponse()


class _PatientPool(HTTPConnectionPool):
    ConnectionCls = PatientConnection


class _PatientSecurePool(HTTPSConnectionPool):
    ConnectionCls = PatientSecureConnection


def patient(manager: PoolManager) -> PoolManager:
    """Make a urllib3 manager use connections that wait for sent requests, and return it."""
    manager.pool_classes_by_scheme = {"http": _PatientPool, "https": _PatientSecurePool}
    return manager


def _await_sent(sock: socket | None) -> None:
    """Return when something is answered, or all is sent.

    Raises:
        TimeoutError: Nothing has moved for the time in which a piece of a body must be sent.
    """
    limit = None if sock is None else sock.gettimeout()
    if sock is None or limit is None:
        return
    left, since = _unsent(sock), time.monotonic()
    while left and not select.select([sock], [], [], min(_LOOK, limit))[0]:
        now = _unsent(sock)
        if now < left:
            since = time.monotonic()
        elif time.monotonic() - since > limit:
            raise TimeoutError
        left = now


def _unsent(sock: socket) -> int:
    """Return how many bytes a peer has not acknowledged yet, 0 where nobody can tell."""
    try:
        return int(struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0])
    except (OSError, ValueError):
        return 0
