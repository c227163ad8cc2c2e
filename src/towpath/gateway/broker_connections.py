"""The connections to brokers that serve one connection of a client.

A broker answers the requests of a connection in their order, so a queue knows what each answer is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from towpath.gateway.frames import FrameError, Frames

_SMALLEST_ANSWER = 4
_WAITING = 64 << 10
"""Bytes that may wait for the connection to a broker."""

Answered = Callable[["bytearray | None"], None]
"""Called with an answer, `None` if none will come."""


class LegClient(Protocol):
    """Protocol of a client's connection, as its connections to brokers use it."""

    def hold(self, slow: object) -> None:
        """Pause reading from the client until a slow broker accepts more."""

    def release(self, slow: object) -> None:
        """Resume reading from the client, unless another broker is slow."""

    def lost(self, leg: BrokerConnection, why: str) -> None:
        """Note that a connection to a broker was closed."""


class Watch(Protocol):
    """Protocol of the observer of broker connections, for promotions."""

    def began(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was opened."""

    def ended(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was closed, perhaps with unanswered requests."""


@dataclass(slots=True)
class _Pending:
    correlation: int
    answered: Answered
    writes: bool


class BrokerConnection(asyncio.Protocol):
    """A connection to a broker; requests wait until it is established.

    Args:
        client: The client's connection.
        watch: Told of begin and end.

    Attributes:
        sent: How many requests were sent that write; `done`, how many of them were answered.
        until: When its login ends, by the loop's clock; `None` for never.
    """

    def __init__(self, client: LegClient, watch: Watch) -> None:
        self._client, self._watch = client, watch
        self._frames = Frames(_SMALLEST_ANSWER)
        self._pending: deque[_Pending] = deque()
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None
        self._is_left = False
        self.sent = self.done = 0
        self.opening: asyncio.Task[None] | None = None
        self.until: float | None = None
        watch.began(self)

    @property
    def in_doubt(self) -> bool:
        """Whether a request that writes is still unanswered."""
        return self.done < self.sent and self._transport is not None

    @property
    def is_stale(self) -> bool:
        """Whether its login has ended, and nothing waits for an answer."""
        if self.until is None or self._pending:
            return False
        return asyncio.get_running_loop().time() > self.until

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the requests that waited for the connection."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        transport.write(bytes(self._waiting))
        self._waiting.clear()
        self._client.release(self)

    def data_received(self, data: bytes) -> None:
        """Pass complete answers on to the client."""
        try:
            for frame in self._frames.cut(data):
                self._answer(frame)
        except FrameError as error:
            self._client.lost(self, str(error))
            self.end()

    def _answer(self, frame: bytearray) -> None:
        if not self._pending:
            raise FrameError("an answer without a request")
        pending = self._pending.popleft()
        if int.from_bytes(frame[4:8], "big", signed=True) != pending.correlation:
            raise FrameError("an answer to another request")
        self.done += pending.writes
        pending.answered(frame)
        if self._is_left and self.done == self.sent:
            self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the client's connection that no more answers will come."""
        del exc
        self._over("")

    def failed(self, why: str) -> None:
        """Note that no broker accepts a connection."""
        self._over(why)

    def _over(self, why: str) -> None:
        self._watch.ended(self)
        self._transport = None
        self._client.release(self)
        while self._pending:
            self._pending.popleft().answered(None)
        self._client.lost(self, why)

    def pause_writing(self) -> None:
        """Pause reading from the client while the broker is slow."""
        self._client.hold(self)

    def resume_writing(self) -> None:
        """Resume reading from the client."""
        self._client.release(self)

    def send(
        self, frame: bytes | bytearray, correlation: int, answered: Answered, *, writes: bool
    ) -> None:
        """Send a request, once the connection is established."""
        self._pending.append(_Pending(correlation, answered, writes))
        self.sent += writes
        if self._transport is not None:
            self._transport.write(frame)
            return
        self._waiting += frame
        if len(self._waiting) > _WAITING:
            self._client.hold(self)

    def pause(self) -> None:
        """Pause reading from the broker."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading from the broker."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def leave(self) -> None:
        """Close the connection of a departed client once all its writes are answered."""
        self._is_left = True
        if self.done == self.sent:
            self.end()
        else:
            self.resume()

    def end(self) -> None:
        """Close the connection at once."""
        if self.opening is not None:
            self.opening.cancel()
        if self._transport is not None:
            self._transport.abort()
        else:
            self._over("")
