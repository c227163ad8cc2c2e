"""Connections of a gateway without sockets, and what is told of them."""

from __future__ import annotations

import asyncio

from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.client_connection import ClientConnection
from towpath.gateway.frames import ClientName
from towpath.gateway.gateway_counts import ConnectionCounts


class Wire(asyncio.Transport):
    """What was written, and whether it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.is_over = b"", False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.is_over

    def abort(self) -> None:
        self.is_over = True

    def resume_reading(self) -> None:
        pass


def receive(leg: BrokerConnection, data: bytes) -> None:
    """Let a broker say something."""
    leg.get_buffer(-1)[: len(data)] = data
    leg.buffer_updated(len(data))


class Seen:
    """What a connection told."""

    def __init__(self) -> None:
        self.why: list[str] = []
        self.names: list[ClientName] = []
        self.clients: list[ClientConnection] = []
        self.counts = ConnectionCounts()

    def opened(self, client: ClientConnection) -> None:
        self.clients.append(client)

    def waits(self, client: ClientConnection, size: int) -> None:
        del client
        assert size >= 0

    def named(self, client: ClientConnection) -> None:
        self.names.append(client.name)

    def closed(self, client: ClientConnection, why: str) -> None:
        del client
        self.why.append(why)


class NoBroker:
    """Stands for what is told of connections to brokers, of which there are none."""

    def began(self, leg: BrokerConnection) -> None:
        del leg

    def ended(self, leg: BrokerConnection) -> None:
        del leg
