"""A relay that decides nothing, as the limit: `python -m bench.bare_relay PORT BROKER_PORT`."""

from __future__ import annotations

import asyncio
import sys


class Side(asyncio.Protocol):
    """One of the two connections of a client.

    Args:
        broker: The broker's port, 0 for the connection to it.
    """

    def __init__(self, broker: int = 0) -> None:
        self._broker = broker
        self.other: Side | None = None
        self.transport: asyncio.Transport
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect to the broker, or send it what waited for that."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self.transport = transport
        if self._broker:
            asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        side = Side()
        side.other = self
        await asyncio.get_running_loop().create_connection(lambda: side, "127.0.0.1", self._broker)
        self.other = side
        side.transport.writelines(self._early)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on."""
        if self.other is None:
            self._early.append(data)
        else:
            self.other.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the other one."""
        del exc
        if self.other is not None:
            self.other.transport.close()


async def main(port: int, broker: int) -> None:
    """Relay until stopped."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Side(broker), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
