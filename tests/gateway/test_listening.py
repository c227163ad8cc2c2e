"""Sockets on which a gateway listens."""

from __future__ import annotations

import asyncio
import socket

import pytest

from towpath.dev import ports
from towpath.gateway.listening import listener


class Accepted(asyncio.Protocol):
    """Tells of its socket."""

    def __init__(self, told: asyncio.Future[int]) -> None:
        self._told = told

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        made = transport.get_extra_info("socket")
        self._told.set_result(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        transport.close()


@pytest.mark.parametrize("shares", [False, True])
def test_small_answers_wait_for_nobody(*, shares: bool) -> None:
    """Else the second of two answers waits until the client has confirmed the first one."""

    async def accepted() -> int:
        loop, (port,) = asyncio.get_running_loop(), ports.reserve(1)
        told: asyncio.Future[int] = loop.create_future()
        at = "127.0.0.1", port
        server = await loop.create_server(lambda: Accepted(told), sock=listener(at, shares=shares))
        async with server:
            _, writer = await asyncio.open_connection(*at)
            found = await told
            writer.close()
        return found

    assert asyncio.run(accepted()) == 1
