"""One connection of a client, and the one to the broker that it is relayed to.

A broker answers the requests of a connection in their order, so a queue knows what each answer is.
Answers of the gateway's own wait there for those before them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from towpath.gateway.answers import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.asked import CHANGES
from towpath.gateway.frames import SMALLEST, FrameError, Frames, Head, acks, head
from towpath.gateway.own import OwnAnswers
from towpath.gateway.recoding import Change

_SMALLEST_ANSWER = 4
_WAITING = 64 << 10
"""Bytes that may wait for the connection to the broker."""


class Told(Protocol):
    """Told of what connections do."""

    def opened(self, client: ClientConnection) -> None:
        """Count a connection of a client."""

    def closed(self, client: ClientConnection, why: str) -> None:
        """Count the end of one; `why` is "" where the client ended it."""


@dataclass(slots=True)
class _Due:
    """An answer that is due.

    Attributes:
        correlation: What it begins with.
        version: Its version.
        change: What changes it, `None` if it passes as it is.
        own: The answer of the gateway, `None` if the broker answers.
    """

    correlation: int
    version: int
    change: Change | None
    own: bytes | None = None


class ClientConnection(asyncio.Protocol):
    """A client's connection.

    Args:
        connect: Opens the connection to the broker.
        answers: Changes the broker's answers.
        own: Gives the gateway's own answers.
        told: Told of the connection's begin and end.
    """

    def __init__(
        self,
        connect: Callable[[BrokerConnection], asyncio.Task[None]],
        answers: AnswerChanges,
        own: OwnAnswers,
        told: Told,
    ) -> None:
        self._connect, self._answers, self._own, self._told = connect, answers, own, told
        self._frames = Frames(SMALLEST)
        self._due: deque[_Due] = deque()
        self._why = ""
        self._waits_for = set[object]()
        self._transport: asyncio.Transport
        self._upstream: BrokerConnection
        self._opening: asyncio.Task[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to relay."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._told.opened(self)
        self._upstream = BrokerConnection(self)
        self._opening = self._connect(self._upstream)

    def data_received(self, data: bytes) -> None:
        """Relay the requests that are whole."""
        try:
            for frame in self._frames.cut(data):
                self._request(frame)
        except FrameError as error:
            self.end(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the broker's connection, too."""
        del exc
        self._opening.cancel()
        self._upstream.end()
        self._told.closed(self, self._why)

    def pause_writing(self) -> None:
        """Read no more from the broker, nor from the client: it does not take its answers."""
        self._upstream.pause()
        self.hold(self)

    def resume_writing(self) -> None:
        """Read from both again."""
        self._upstream.resume()
        self.release(self)

    def hold(self, slow: object) -> None:
        """Read no more from the client, until what is slow takes more."""
        self._waits_for.add(slow)
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def release(self, slow: object) -> None:
        """Read from the client again, unless something else is slow."""
        self._waits_for.discard(slow)
        if not (self._waits_for or self._transport.is_closing()):
            self._transport.resume_reading()

    def end(self, why: str) -> None:
        """End both connections.

        Args:
            why: Why the gateway ends them, "" if the broker did.
        """
        self._why = self._why or why
        if not self._transport.is_closing():
            self._transport.close()

    def answered(self, frame: bytearray) -> None:
        """Hand on an answer of the broker, and those of the gateway that waited for it.

        Raises:
            FrameError: It answers no request.
        """
        if not self._due:
            raise FrameError("an answer without a request")
        due = self._due.popleft()
        if int.from_bytes(frame[4:8], "big", signed=True) != due.correlation:
            raise FrameError("an answer to another request")
        self._transport.write(frame if due.change is None else due.change(frame, due.version))
        self._give_own()

    def _give_own(self) -> None:
        while self._due and self._due[0].own is not None:
            self._transport.write(self._due.popleft().own or b"")

    def _request(self, frame: bytearray) -> None:
        asked = head(frame)
        own = self._own.answer(frame, asked)
        if own is not None:
            self._due.append(_Due(asked.correlation, asked.version, None, own))
            self._give_own()
            return
        if not self._own.takes(asked):
            raise FrameError(f"request {asked.key} of version {asked.version} is not relayed")
        if _is_answered(frame, asked):
            change = self._answers.change_of(asked.key)
            self._due.append(_Due(asked.correlation, asked.version, change))
        alter = CHANGES.get(asked.key)
        self._upstream.send(frame if alter is None else alter(frame, asked.version))


def _is_answered(frame: bytearray, asked: Head) -> bool:
    return asked.key != Api.PRODUCE or acks(frame, asked) != 0


class BrokerConnection(asyncio.Protocol):
    """The connection to the broker; what is sent before it stands waits."""

    def __init__(self, client: ClientConnection) -> None:
        self._client = client
        self._frames = Frames(_SMALLEST_ANSWER)
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send what waited."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        transport.write(bytes(self._waiting))
        self._waiting.clear()
        self._client.release(self)

    def data_received(self, data: bytes) -> None:
        """Hand on the answers that are whole."""
        try:
            for frame in self._frames.cut(data):
                self._client.answered(frame)
        except FrameError as error:
            self._client.end(str(error))
            self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the client's connection, too."""
        del exc
        self._client.end("")

    def pause_writing(self) -> None:
        """Read no more from the client: the broker is slower."""
        self._client.hold(self)

    def resume_writing(self) -> None:
        """Read from the client again."""
        self._client.release(self)

    def send(self, frame: bytes | bytearray) -> None:
        """Send a request, at the latest when the connection stands."""
        if self._transport is not None:
            self._transport.write(frame)
            return
        self._waiting += frame
        if len(self._waiting) > _WAITING:
            self._client.hold(self)

    def failed(self, why: str) -> None:
        """End the client's connection: no broker accepts one."""
        self._client.end(why)

    def pause(self) -> None:
        """Read no more from the broker."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read from the broker again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def end(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.abort()
