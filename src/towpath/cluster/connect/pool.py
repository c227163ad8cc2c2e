"""Pool of connections to the brokers of one cluster."""

from __future__ import annotations

import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from towpath.cluster.connect.connection import Connected
from towpath.cluster.connect.exchange import Address
from towpath.cluster.connect.throttling import Throttling
from towpath.runtime.deadline import Deadline

_NAP = 0.05
_CONNECT_SHARE = 3


class ConnectionPool:
    """Lends connections, which are made on first use, and replaced when lost.

    Threads may share it: each request has a connection to itself.

    Args:
        connect: Makes a connection to an address.
        throttling: Told how long brokers ask to wait.

    Attributes:
        reached: Whether a connection was ever made.
        abandoned: Whether nothing is asked any more.
        throttled: Seconds for which brokers asked us to wait so far.
    """

    def __init__(
        self, connect: Callable[[Address, Deadline], Connected], throttling: Throttling
    ) -> None:
        self._connect, self._throttling = connect, throttling
        self._lock = Lock()
        self._idle: dict[Address, list[Connected]] = defaultdict(list)
        self._muted: dict[Address, Deadline] = {}
        self._lent: set[socket.socket] = set()
        self._closed = False
        self.reached = self.abandoned = False
        self.throttled = 0.0

    def close(self) -> None:
        """Close all connections; a lent one closes when it is given back."""
        with self._lock:
            self._closed = True
            for connections in self._idle.values():
                for connected in connections:
                    connected.socket.close()
            self._idle.clear()

    def abandon(self) -> None:
        """Break off all requests whose answers are awaited; nobody needs these any more."""
        with self._lock:
            self.abandoned = True
            for each in self._lent:
                _break_off(each)

    def has_idle(self, address: Address) -> bool:
        """Return whether an idle connection to an address exists."""
        with self._lock:
            return bool(self._idle.get(address))

    def idle(self) -> Connected | None:
        """Return an idle connection, `None` if there is none."""
        with self._lock:
            return next((one for many in self._idle.values() for one in many), None)

    @contextmanager
    def lend(self, address: Address, deadline: Deadline) -> Iterator[Connected]:
        """Lend a connection for one request; after an error it is closed."""
        connected = self._take(address)
        if connected is None:
            # A host that drops packets must leave time for the others.
            share = Deadline.after(deadline.left() / _CONNECT_SHARE)
            connected = self._connect(address, share)
            self.reached = True
        with self._lock:
            self._lent.add(connected.socket)
            if self.abandoned:  # since the caller looked
                _break_off(connected.socket)
        try:
            yield connected
        except BaseException:
            # A late response would be taken for that of the next request.
            self._returned(connected)
            connected.socket.close()
            raise
        self._returned(connected)
        self._give_back(address, connected)

    def mute(self, address: Address, seconds: float) -> None:
        """Record that a broker throttles this client for `seconds`."""
        if seconds > 0:
            with self._lock:
                self._muted[address] = Deadline.after(seconds)
                self.throttled += seconds
            self._throttling.waits(seconds)

    def mute_left(self, address: Address) -> float:
        """Return the remaining throttle time of a broker in seconds."""
        muted = self._muted.get(address)
        return muted.left() if muted is not None else 0.0

    def wait_unmuted(self, address: Address, deadline: Deadline) -> None:
        """Wait until a broker's throttling ends, and extend the deadline by that time."""
        while (left := min(_NAP, self.mute_left(address))) > 0 and not self._closed:
            began = time.monotonic()
            time.sleep(left)
            deadline.put_off(time.monotonic() - began)

    def _returned(self, connected: Connected) -> None:
        with self._lock:
            self._lent.discard(connected.socket)

    def _give_back(self, address: Address, connected: Connected) -> None:
        with self._lock:
            if self._closed:
                connected.socket.close()
            else:
                self._idle[address].append(connected)

    def _take(self, address: Address) -> Connected | None:
        while True:
            with self._lock:
                if not self._idle.get(address):
                    return None
                connected = self._idle[address].pop()
            if _usable(connected):
                return connected
            connected.socket.close()


def _break_off(connection: socket.socket) -> None:
    with suppress(OSError):
        # That of TLS would let a request that is being sent go on in plain text.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _usable(connected: Connected) -> bool:
    """Whether an idle connection is still open: it is readable once the broker has closed it."""
    if connected.expired:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(connected.socket, selectors.EVENT_READ)
        return not selector.select(0)
