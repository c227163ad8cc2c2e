"""The listeners of a gateway, and the connections to the brokers behind them."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from towpath.cluster.connect.exchange import Address, Versions, address_text
from towpath.cluster.connect.security import ssl_context
from towpath.cluster.metadata import Broker
from towpath.gateway.answers import AnswerChanges
from towpath.gateway.apis import relayed
from towpath.gateway.nodes import RelayedNode, RelayedNodes
from towpath.gateway.own import OwnAnswers
from towpath.gateway.relay import BrokerConnection, ClientConnection
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import ClusterId
from towpath.runtime import log
from towpath.settings import LinkConfig
from towpath.settings.sections.gateway import GatewayConfig

_BACKLOG = 1024
_PATIENCE = 5.0
"""Seconds within which a broker must accept a connection."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The cluster behind a gateway.

    Attributes:
        brokers: Its live brokers.
        versions: Lowest and highest version of each request that all of them take.
        cluster: The cluster id that clients are told.
    """

    brokers: tuple[Broker, ...]
    versions: Versions
    cluster: ClusterId


@dataclass(slots=True)
class ConnectionCounts:
    """Connections of clients: all so far, and those that the gateway ended."""

    all: int = 0
    ended: int = 0


class Gateway:
    """A gateway; made and used within one event loop.

    Args:
        config: The link.
        section: Its section `gateway`.
        behind: The cluster that it relays to.

    Attributes:
        nodes: The brokers, and where clients reach them.
        counts: The connections of clients.

    Raises:
        ConfigError: Addresses cannot be listened on.
    """

    def __init__(self, config: LinkConfig, section: GatewayConfig, behind: Behind) -> None:
        self._config, self._host = config, section.address[0]
        self._loop = asyncio.get_running_loop()
        self._listeners: list[socket.socket] = []
        self._servers: list[asyncio.Task[asyncio.Server]] = []
        self._failed: list[ConfigProblem] = []
        self._clients = set[ClientConnection]()
        self._turn = itertools.count()
        self._own = OwnAnswers(relayed(behind.versions))
        self.counts = ConnectionCounts()
        self.nodes = RelayedNodes(section.host, section.address[1], section.named, self._open)
        self._answers = AnswerChanges(self.nodes, behind.cluster)
        self._listen(section.address, "gateway.listen", self._brokers)
        self.nodes.learn(behind.brokers)
        if self._failed:
            self._close()
            raise ConfigError(tuple(self._failed))

    async def serve(self, stop: threading.Event) -> None:
        """Relay until `stop` is set; then end all connections."""
        await self._loop.run_in_executor(None, stop.wait)
        for each in self._servers:
            (await each).close()
        for client in [*self._clients]:
            client.end("")
        self._close()

    def opened(self, client: ClientConnection) -> None:
        """Count a connection of a client."""
        self._clients.add(client)
        self.counts.all += 1

    def closed(self, client: ClientConnection, why: str) -> None:
        """Count the end of one; it is logged where the gateway had to end it."""
        self._clients.discard(client)
        if why:
            self.counts.ended += 1
            log.event("client.ended", self._config.link, "", {"why": why}, trouble=True)

    def _brokers(self) -> Sequence[Address]:
        """Return where brokers are, another one first each time."""
        found = [node.broker for _, node in self.nodes]
        first = next(self._turn) % max(len(found), 1)
        return found[first:] + found[:first]

    def _open(self, number: int, node: RelayedNode) -> None:
        """Listen for clients of a broker; it may have appeared while clients are connected."""
        at = self._host, node.shown[1]
        self._listen(at, f"gateway.nodes.{number}", lambda: [node.broker])

    def _listen(self, at: Address, key: str, brokers: Callable[[], Sequence[Address]]) -> None:
        family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
        try:
            listener = socket.create_server(at, family=family, backlog=_BACKLOG)
        except (OSError, OverflowError) as error:
            said = error.strerror if isinstance(error, OSError) else "there is no such port"
            why = f"{address_text(at)} cannot be listened on: {said}"
            self._failed.append(ConfigProblem(key, f"{why}; name another port"))
            log.event("listener.failed", self._config.link, key, {"why": why}, trouble=True)
            return
        self._listeners.append(listener)
        made = self._loop.create_server(lambda: self._client(brokers), sock=listener)
        self._servers.append(self._loop.create_task(made))

    def _client(self, brokers: Callable[[], Sequence[Address]]) -> ClientConnection:
        def connect(upstream: BrokerConnection) -> asyncio.Task[None]:
            return self._loop.create_task(self._connect(upstream, brokers()))

        return ClientConnection(connect, self._answers, self._own, self)

    async def _connect(self, upstream: BrokerConnection, brokers: Sequence[Address]) -> None:
        """Connect to the first of these brokers that accepts it."""
        why = "the cluster has no broker"
        tls = ssl_context(self._config.source.tls) if self._config.source.tls else None
        for at in brokers:
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._loop.create_connection(
                        lambda: upstream, *at, ssl=tls, server_hostname=at[0] if tls else None
                    )
            except OSError as error:  # also those of TLS, and of time
                why = f"{address_text(at)} is away: {error.strerror or type(error).__name__}"
            else:
                return
        upstream.failed(why)

    def _close(self) -> None:
        for each in self._servers:
            each.cancel()
        for listener in self._listeners:
            listener.close()
