"""Bounds of what clients take of the gateway: connections, memory, and time until a request. Pure.

A client that reads slowly, or is held, is not read from; so it takes at most a few requests and
answers of memory. Of many such clients at once the ones that take most are closed first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

FIRST = 30.0
"""Seconds within which a connection must bring its first request, and its login."""
LINGER = 10.0
"""Seconds that a client gets to take the last answers of a connection that ends."""


class LimitedClient(Protocol):
    """Protocol of a client's connection, as its limits see it."""

    @property
    def is_served(self) -> bool:
        """Whether it brought a request, and its login if it needs one."""

    @property
    def is_over(self) -> bool:
        """Whether it was closed, but for its last answers."""


C = TypeVar("C", bound=LimitedClient)


class ClientLimits(Generic[C]):
    """What the connections of clients take now, and which of them must be closed.

    Args:
        connections: The most connections.
        memory: The most bytes that may wait in the gateway for clients, all together.
        now: Tells the time, in seconds.

    Attributes:
        waiting: Bytes that wait.
        turned_away: Connections that were closed by a limit.
    """

    def __init__(self, connections: int, memory: int, now: Callable[[], float]) -> None:
        self._connections, self._memory, self._now = connections, memory, now
        self._sizes: dict[C, int] = {}
        self._young: dict[C, float] = {}
        self._old: dict[C, float] = {}
        self._count = self.waiting = self.turned_away = 0

    def opened(self, client: C) -> str:
        """Add a connection; return why it must be closed, "" if it need not."""
        self._count += 1
        self._young[client] = self._now()
        if self._count <= self._connections:
            return ""
        self.turned_away += 1
        return f"there are more than {self._connections} connections (`gateway.connections`)"

    def closed(self, client: C) -> None:
        """Remove a connection."""
        self._count -= 1
        self.takes(client, 0)
        self._young.pop(client, None)
        self._old.pop(client, None)

    def takes(self, client: C, size: int) -> None:
        """Note how many bytes wait for a client."""
        self.waiting += size - self._sizes.pop(client, 0)
        if size:
            self._sizes[client] = size

    def excess(self) -> Iterator[tuple[C, str]]:
        """Yield connections that must be closed at once, and why, until the rest fits."""
        while self.waiting > self._memory and self._sizes:
            client = max(self._sizes, key=self._sizes.__getitem__)
            size = self._sizes[client]
            self.takes(client, 0)
            self.turned_away += 1
            yield client, f"{size} bytes wait for it, and all together more than `gateway.memory`"

    def late(self) -> Iterator[tuple[C, str]]:
        """Yield connections that must be closed at once as their time is over, and why."""
        for client, begun in [*self._young.items()]:
            if self._now() - begun > FIRST:
                del self._young[client]
                if not (client.is_served or client.is_over):
                    self.turned_away += 1
                    yield client, f"it brought no request or no login within {FIRST:g} s"

    def lingering(self, clients: Iterable[C]) -> Iterator[C]:
        """Yield connections that were closed, and do not take their last answers."""
        for client in clients:
            if client.is_over and self._now() - self._old.setdefault(client, self._now()) > LINGER:
                yield client
