"""Brokers behind one port, told apart by the names that clients give in TLS handshakes (SNI)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import cast
from weakref import WeakKeyDictionary

from typing_extensions import override

from towpath.gateway.routes import BrokerPlace


class ServerNames:
    """The broker that each name stands for.

    Args:
        first: Where clients go who give another name, or none: those that connect first.
    """

    def __init__(self, first: BrokerPlace) -> None:
        self._first = first
        self._places: dict[str, BrokerPlace] = {}
        self._given: WeakKeyDictionary[ssl.SSLObject, str] = WeakKeyDictionary()

    def add(self, name: str, place: BrokerPlace) -> None:
        """Let a name stand for a broker."""
        self._places[name.lower()] = place

    def note(self, connection: ssl.SSLObject, name: str | None) -> None:
        """Note the name that a client gave, in the handshake."""
        if name is not None:
            self._given[connection] = name.lower()

    def place(self, connection: ssl.SSLObject | None) -> BrokerPlace:
        """Return the broker that a client connected to."""
        name = self._given.get(connection, "") if connection is not None else ""
        return self._places.get(name, self._first)


class NamedEntrance(asyncio.Protocol):
    """A connection until its handshake is over; then its protocol is that of a client.

    Args:
        names: What names stand for.
        client: Makes the protocol for a client of a broker.
    """

    def __init__(
        self, names: ServerNames, client: Callable[[BrokerPlace], asyncio.Protocol]
    ) -> None:
        self._names, self._client = names, client

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hand over to the protocol of a client."""
        made = self._client(self._names.place(transport.get_extra_info("ssl_object")))
        cast("asyncio.Transport", transport).set_protocol(made)
        made.connection_made(transport)
