"""The check of the token, before anything else of a request is read."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from towpath.model.secret import Secret

_Scope: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[_Scope, _Receive, _Send], Awaitable[None]]
"""An application of ASGI 3."""

_WHY = b'{"detail":"send the token of the service as `Authorization: Bearer TOKEN`"}'
_MOST = 1 << 20
"""Bytes of a body that is read."""


class TokenCheck:
    """An application behind a token.

    Args:
        app: The application.
        token: The token.
        without: Paths that need none.
    """

    def __init__(self, app: Application, token: Secret, without: frozenset[str]) -> None:
        self._app, self._token, self._without = app, token, without

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if scope["path"] not in self._without and not self._knows(headers):
            await _refuse(send, 401, _WHY, (b"www-authenticate", b"Bearer"))
        elif b"transfer-encoding" in headers:
            await _refuse(send, 411, b'{"detail":"send the length of the body (Content-Length)"}')
        elif _too_large(headers):
            await _refuse(send, 413, b'{"detail":"the body is too large"}')
        else:
            await self._app(scope, receive, send)

    def _knows(self, headers: dict[bytes, bytes]) -> bool:
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        wanted = self._token.reveal().encode()
        return kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), wanted)


def _too_large(headers: dict[bytes, bytes]) -> bool:
    length = headers.get(b"content-length", b"0")
    return not length.isdigit() or int(length) > _MOST


async def _refuse(send: _Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"application/json"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
