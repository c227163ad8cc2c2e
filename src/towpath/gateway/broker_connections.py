"""The connections to brokers that serve one connection of a client.

A broker answers the requests of a connection in their order, so a queue knows what each answer is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from towpath.gateway.fetch_answers import FetchAnswer
from towpath.gateway.frame_walks import PREFIX
from towpath.gateway.frames import LARGEST, FrameError, Frames
from towpath.gateway.receive_buffer import ReceiveBuffer

_SMALLEST_ANSWER = 4
_WAITING = 64 << 10
"""Bytes that may wait for the connection to a broker."""

Answered = Callable[["bytearray | None"], None]
"""Called with an answer, `None` if none will come."""
Begun = Callable[[int], "FetchAnswer | None"]
"""Called with the size of an answer that begins to come; returns it if it passes in pieces."""


class LegClient(Protocol):
    """Protocol of a client's connection, as its connections to brokers use it."""

    @property
    def name(self) -> tuple[str, str]:
        """The host and the client id, empty before the first request."""

    def hold(self, slow: object) -> None:
        """Pause reading from the client until a slow broker accepts more."""

    def release(self, slow: object) -> None:
        """Resume reading from the client, unless another broker is slow."""

    def lost(self, leg: BrokerConnection, why: str) -> None:
        """Note that a connection to a broker was closed."""

    def pass_on(self, pieces: Iterable[memoryview | bytes], *, last: bool) -> bool:
        """Send pieces of an answer; return whether they are kept until the client takes them."""

    def flush(self) -> None:
        """Send the answers that are due."""


class Watch(Protocol):
    """Protocol of the observer of broker connections, for promotions."""

    def began(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was opened."""

    def ended(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was closed, perhaps with unanswered requests."""


class _Pending(NamedTuple):
    correlation: int
    answered: Answered
    writes: bool
    begun: Begun | None


class BrokerConnection(asyncio.BufferedProtocol):
    """A connection to a broker; requests wait until it is established.

    Args:
        client: The client's connection.
        watch: Told of begin and end.
        buffer: Where its bytes are received.

    Attributes:
        sent: How many requests were sent that write; `done`, how many of them were answered.
        until: When its login ends, by the loop's clock; `None` for never.
    """

    def __init__(
        self, client: LegClient, watch: Watch, buffer: ReceiveBuffer | None = None
    ) -> None:
        self._client, self._watch = client, watch
        self._buffer = buffer or ReceiveBuffer()
        self._passing: FetchAnswer | None = None
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
    def client(self) -> tuple[str, str]:
        """The host and the client id of whose requests it carries."""
        return self._client.name

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

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where bytes are received."""
        del sizehint
        return self._buffer.view

    def buffer_updated(self, nbytes: int) -> None:
        """Pass answers on to the client, those to Fetch as they come."""
        view, at = self._buffer.view[:nbytes], 0
        try:
            while at < nbytes:
                at += self._take(view[at:])
        except FrameError as error:
            self._client.lost(self, str(error))
            self.end()
        self._client.flush()

    def _take(self, view: memoryview) -> int:
        """Take bytes up to the end of an answer; return how many of them belong to it."""
        if self._passing is None and not self._frames.held:
            self._passing = self._begun(view)
        if self._passing is not None:
            return self._pass(view, self._passing)
        frame, took = self._frames.take(view)
        if frame is not None:
            self._answer(frame)
        return took

    def _begun(self, view: memoryview) -> FetchAnswer | None:
        """Return the answer that begins here if it passes in pieces."""
        pending = self._pending[0] if self._pending else None
        if pending is None or pending.begun is None or len(view) < PREFIX.size:
            return None
        size, correlation = PREFIX.unpack_from(view)
        if correlation != pending.correlation or not _SMALLEST_ANSWER <= size <= LARGEST:
            return None  # which is told where it is cut
        return pending.begun(PREFIX.size - _SMALLEST_ANSWER + size)

    def _pass(self, view: memoryview, answer: FetchAnswer) -> int:
        took = min(len(view), answer.left)
        pieces = answer.passed(view[:took])
        if answer.left == 0:
            self._passing = None
            self.done += self._pending.popleft().writes
        if self._client.pass_on(pieces, last=answer.left == 0):
            self._buffer.renew()
        return took

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
        self._client.flush()
        self._client.lost(self, why)

    def pause_writing(self) -> None:
        """Pause reading from the client while the broker is slow."""
        self._client.hold(self)

    def resume_writing(self) -> None:
        """Resume reading from the client."""
        self._client.release(self)

    def send(
        self,
        frame: bytes | bytearray | memoryview,
        correlation: int,
        answered: Answered,
        *,
        writes: bool,
        begun: Begun | None = None,
    ) -> None:
        """Send a request, once the connection is established.

        Args:
            frame: The request.
            correlation: What its answer begins with.
            answered: Called with the answer.
            writes: Whether a promotion has to wait for its answer.
            begun: Called where the answer begins to come, if it may pass in pieces.
        """
        self.expect(correlation, answered, writes=writes, begun=begun)
        self.write(frame)

    def expect(
        self, correlation: int, answered: Answered, *, writes: bool, begun: Begun | None = None
    ) -> None:
        """Await the answer to a request that `write` sends next."""
        self._pending.append(_Pending(correlation, answered, writes, begun))
        self.sent += writes

    def write(self, frames: bytes | bytearray | memoryview) -> None:
        """Send requests, once the connection is established."""
        if self._transport is not None:
            self._transport.write(frames)
            return
        self._waiting += frames
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
