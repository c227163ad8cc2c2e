"""The gentle end of a client's connection: every request that was relayed is answered before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto

from towpath.gateway.apis import Api
from towpath.gateway.frames import Head, acks_of

_PAUSE = 2.0
"""Seconds to wait for a moment without a request on its way; then new ones are not taken."""
_PATIENCE = 10.0
"""Seconds for the last answers, and for the client to close its side."""


class _Phase(Enum):
    SERVING = auto()
    LAST_ANSWERS = auto()
    SAID = auto()


class Retiring:
    """Closes a client's connection once nothing is on its way.

    The client is told by an end of the stream behind the last answer. What it sent meanwhile is not
    relayed, so it sends that elsewhere. Records for which it expects no answer are relayed all the
    same, as it would not send them again.

    Args:
        transport: The connection.
        end: Closes the connection at once.
    """

    def __init__(self, transport: asyncio.Transport, end: Callable[[str], None]) -> None:
        self._transport, self._end = transport, end
        self._phase = _Phase.SERVING
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_PAUSE, self._close_door)

    def takes(self, frame: bytearray, asked: Head) -> bool:
        """Return whether a request is still relayed."""
        if self._phase is _Phase.SERVING:
            return True
        return asked.key == Api.PRODUCE and acks_of(frame, asked) == 0

    def answered(self) -> None:
        """Say that the connection ends, as every request is answered."""
        if self._phase is _Phase.SAID:
            return
        self._phase = _Phase.SAID
        self._wait(self._over)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def over(self) -> None:
        """Note that the connection has ended."""
        self._timer.cancel()

    def _close_door(self) -> None:
        self._phase = _Phase.LAST_ANSWERS
        self._wait(self._over)

    def _wait(self, then: Callable[[], None]) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(_PATIENCE, then)

    def _over(self) -> None:
        self._end("")
