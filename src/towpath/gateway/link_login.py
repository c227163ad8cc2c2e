"""The link's own login on a connection to a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from towpath.cluster.codes import code
from towpath.cluster.connect.security import sasl_mechanism
from towpath.gateway.frames import FrameError, Frames
from towpath.gateway.recoding import decoded
from towpath.settings import ClusterConfig

_USABLE = 0.85
"""Share of a session's lifetime that is used: the rest is for in-flight requests."""
_SMALLEST_ANSWER = 4
_VERSION = 1
_ANSWERS = {
    SaslHandshakeRequest: SaslHandshakeResponse,
    SaslAuthenticateRequest: SaslAuthenticateResponse,
}


class LinkLoginError(OSError):
    """A broker does not accept the login of the link; `strerror` tells why, without a secret."""

    def __init__(self, why: str) -> None:
        super().__init__(0, f"it does not accept the login of the link: {why}")


class LinkLogin(asyncio.Protocol):
    """Logs in on a new connection, which somebody else uses afterwards.

    Args:
        config: The cluster, with a login.
        host: The broker's host.
    """

    def __init__(self, config: ClusterConfig, host: str) -> None:
        self._config, self._host = config, host
        self._frames = Frames(_SMALLEST_ANSWER)
        self._answers: asyncio.Queue[bytearray | None] = asyncio.Queue()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep complete answers."""
        try:
            for frame in self._frames.cut(data):
                self._answers.put_nowait(frame)
        except FrameError:
            self._answers.put_nowait(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits that there is no answer."""
        del exc
        self._answers.put_nowait(None)

    async def go(self) -> float | None:
        """Log in; return for how many seconds it is good, `None` for ever.

        What blocks, such as a command that prints a token, does so in another thread.

        Raises:
            LinkLoginError: It was refused.
        """
        assert self._config.sasl is not None  # noqa: S101, the caller asked
        await self._ask(SaslHandshakeRequest(mechanism=self._config.sasl.mechanism))
        mechanism = await _aside(partial(sasl_mechanism, self._config, self._host))
        lifetime = 0
        while not mechanism.is_done():
            said = await _aside(mechanism.auth_bytes)
            answer = await self._ask(SaslAuthenticateRequest(auth_bytes=said))
            lifetime = answer.session_lifetime_ms
            await _aside(partial(mechanism.receive, answer.auth_bytes))
        if not mechanism.is_authenticated():
            raise LinkLoginError("the exchange ended without one")
        return lifetime / 1000 * _USABLE if lifetime > 0 else None

    def hand_over(self, to: asyncio.BaseProtocol) -> None:
        """Let somebody else use the connection."""
        self._transport.set_protocol(to)
        to.connection_made(self._transport)

    def end(self) -> None:
        """Close the connection, as it is of no use."""
        self._transport.abort()

    async def _ask(self, asked: Any) -> Any:
        asked.API_VERSION = _VERSION
        asked.with_header(correlation_id=0, client_id="towpath")
        self._transport.write(bytes(asked.encode(header=True, framed=True)))
        frame = await self._answers.get()
        if frame is None:
            raise LinkLoginError("it ended the connection")
        answer = decoded(_ANSWERS[type(asked)], frame, _VERSION)
        if answer.error_code:
            raise LinkLoginError(code(answer.error_code).name)
        return answer


async def _aside(what: Callable[[], Any]) -> Any:
    """Call something of a library in another thread.

    Raises:
        LinkLoginError: It failed; what it says may hold a secret.
    """
    try:
        return await asyncio.to_thread(what)
    except Exception as error:
        raise LinkLoginError(f"{type(error).__name__} on our side") from error
