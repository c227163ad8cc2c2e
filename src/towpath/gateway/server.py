"""The listeners for clients, and the connections to the brokers behind them."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from towpath.cluster.connect.exchange import Address, Versions, address_text
from towpath.cluster.connect.security import listener_context
from towpath.cluster.metadata import Broker
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import relayed
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.broker_dialing import BrokerDialing
from towpath.gateway.client_connection import ClientConnection
from towpath.gateway.client_limits import ClientLimits
from towpath.gateway.ended_clients import EndedClients
from towpath.gateway.fenced_members import FencedMembers
from towpath.gateway.frames import ClientName
from towpath.gateway.gateway_counts import ConnectionCounts, GatewayCounts, MoveCounts
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.listener_errors import instead, why_not
from towpath.gateway.listening import listener
from towpath.gateway.login_steering import LoginSteering
from towpath.gateway.metadata_merging import MetadataMerging, SourceBrokers
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.receive_buffer import ReceiveBuffer
from towpath.gateway.relayed_nodes import RelayedNode, RelayedNodes
from towpath.gateway.routes import SOURCE, TARGET, BrokerPlace, Cluster, Routes
from towpath.gateway.server_names import NamedEntrance, ServerNames
from towpath.gateway.steering import Steering
from towpath.gateway.target_steering import TargetSteering
from towpath.gateway.write_drains import WriteDrains
from towpath.model.errors import ClusterError, ConfigError, ConfigProblem
from towpath.model.nouns import ClusterId, TopicName
from towpath.runtime import log
from towpath.settings import LinkConfig
from towpath.settings.sections.gateway import GatewayConfig
from towpath.settings.sections.groups import GroupsConfig

OF_TARGET = 1000
"""The target's broker N is at the port of the gateway + 1 + this + N."""
SPREAD = 60
"""Seconds over which the connections of a client are closed once it may leave."""
_HANDSHAKE = 10.0
"""Seconds within which a client must have agreed on encryption."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The clusters behind a gateway.

    Attributes:
        brokers: The live brokers of the source.
        versions: Lowest and highest version of each request that all brokers of both take.
        cluster: The cluster id that clients are told.
        targets: The brokers of the target.
        away: Why the source could not be reached, `None` if it could.
    """

    brokers: tuple[Broker, ...]
    versions: Versions
    cluster: ClusterId
    targets: tuple[Broker, ...] = ()
    away: ClusterError | None = None


class Gateway:
    """A gateway with its listeners; made and used within one event loop.

    Args:
        config: The link.
        section: Its section `gateway`.
        behind: The cluster that it relays to.

    Attributes:
        nodes: The brokers of the source, and where clients reach them.
        targets: Those of the target, once something is promoted.
        routes: What is held and promoted.
        counts: The connections of clients.
        leaving: Which clients may go on without it.
        limits: What clients take of it.

    Raises:
        ConfigError: Addresses cannot be listened on.
    """

    def __init__(self, config: LinkConfig, section: GatewayConfig, behind: Behind) -> None:
        self._config, self._section = config, section
        self._clusters = {Cluster.SOURCE: config.source, Cluster.TARGET: config.target}
        self._loop = asyncio.get_running_loop()
        first = TARGET if section.reads_target else SOURCE
        self._names = ServerNames(first)
        noted = self._names.note
        self._tls = listener_context(section.tls, noted) if section.tls is not None else None
        self._listeners: list[socket.socket] = []
        self._servers: list[asyncio.Task[asyncio.Server]] = []
        self._buffer = ReceiveBuffer()
        self._failed: list[ConfigProblem] = []
        self._clients = set[ClientConnection]()
        self._behind = behind
        self._drains = WriteDrains(self._loop.time)
        self.counts, self.routes = ConnectionCounts(), Routes()
        self.routes.outside = lambda topic: not config.topics.matches(TopicName(topic))
        self.limits = ClientLimits[ClientConnection](
            section.connections, section.memory, self._loop.time
        )
        self._ended = EndedClients(self._tell_ended, self._loop.time)
        self.leaving = LeavingClients(self.routes, self._loop.time, self._came_back)
        host, port = section.host, section.address[1]
        pattern = section.names or ""
        self.nodes = RelayedNodes(
            host, port, section.named, self._open(Cluster.SOURCE), pattern=pattern
        )
        self.targets = RelayedNodes(
            host, port if pattern else port + OF_TARGET, section.named_targets,
            self._open(Cluster.TARGET), shift=0, pattern=pattern,
        )  # fmt: skip
        brokers = {Cluster.SOURCE: self.nodes, Cluster.TARGET: self.targets}
        self._dialing = BrokerDialing(self._clusters, brokers)
        self.routes.mirror = self._mirror() if section.reads_target else None
        merging = MetadataMerging(self.routes, self.targets)
        answers = {
            Cluster.SOURCE: AnswerChanges(
                self.nodes, behind.cluster, merging, self.routes.returned_ids.shown
            ),
            Cluster.TARGET: AnswerChanges(
                self.targets,
                behind.cluster,
                SourceBrokers(self.routes, self.nodes),
                self.routes.ids.shown,
            ),
        }
        checked = behind.cluster if section.adopt else None
        self._own = OwnAnswers(relayed(behind.versions), checked)
        asking = {each for each in Cluster if self._clusters[each].sasl is not None}
        if self.routes.mirror is not None:
            how = self._own, answers, self.routes, self.wake, self.leaving, self.routes.mirror
            steering: Steering = TargetSteering(*how)
        else:
            steering = Steering(
                self._own,
                answers,
                self.routes,
                self.wake,
                self.leaving,
                logins=bool(asking),
                adopts=section.adopt,
            )
        self._logins = LoginSteering(steering, answers, self.routes, asking) if asking else None
        self._steering = self._logins or steering
        self._listen(section.address, "gateway.listen", first)
        self.nodes.learn(behind.brokers)
        if section.reads_target:
            self.targets.learn(behind.targets)
        if self._failed:
            self._close()
            raise ConfigError(tuple(self._failed))

    def _mirror(self) -> MirrorReads:
        """Return what is known at first of topics that are read from the target."""
        topics, groups = self._config.topics, self._config.groups or GroupsConfig()
        return MirrorReads(
            lambda topic: topics.matches(TopicName(topic)),
            groups.matches,
            self._loop.time,
            FencedMembers(self._loop.time),
            self._config.link,
        )

    async def serve(self, stop: threading.Event) -> None:
        """Relay until `stop` is set, then close all connections."""
        await self._loop.run_in_executor(None, stop.wait)
        for each in self._servers:
            (await each).close()
        for client in [*self._clients]:
            client.end("")
        self._close()
        self._ended.close()

    def counted(self, moves: MoveCounts) -> GatewayCounts:
        """Return the present counters, with those of requests to move topics."""
        return GatewayCounts(
            connections=replace(self.counts),
            moves=moves,
            clients=len(self._clients),
            waiting=sum(client.is_waiting for client in self._clients),
            brokers=self._drains.connections,
            promoted=len(self.routes.topics),
            away=self.routes.source_away,
            leaving=self.leaving.counts(),
            buffered=self.limits.waiting,
            turned_away=self.limits.turned_away,
        )

    def opened(self, client: ClientConnection) -> None:
        """Count an opened client connection."""
        self._clients.add(client)
        self.counts.all += 1
        why = self.limits.opened(client)
        if why:
            client.abort(why)

    def named(self, client: ClientConnection) -> None:
        """Note whose connection it is."""
        self.leaving.began(client.name)

    def waits(self, client: ClientConnection, size: int) -> None:
        """Note how many bytes wait for a client; if it is too much, close where most do."""
        self.limits.takes(client, size)
        for each, why in self.limits.excess():
            each.abort(why)

    def sweep(self) -> None:
        """Close connections whose time is over; called every second."""
        for each, why in self.limits.late():
            each.abort(why)
        for each in [*self.limits.lingering(self._clients)]:
            each.abort("")
        if self.routes.mirror is not None and self.routes.mirror.fenced.counts():
            self.wake()
        self._ended.sweep()

    def retire(self) -> None:
        """Close some connections of clients that may leave; called every second.

        Of each client it is one at a time, so that it never loses all brokers that it knows.
        """
        closed = Counter[ClientName]()
        for client in [*self._clients]:
            if client.is_waiting or client.is_retiring:
                continue
            most = self.leaving.connections(client.name) // SPREAD
            if closed[client.name] <= most and self.leaving.retires(client.name):
                closed[client.name] += 1
                client.retire()

    def _came_back(self, name: ClientName) -> None:
        facts = {"host": name[0], "client": name[1]}
        log.event("client.returned", self._config.link, "", facts, trouble=True)

    def closed(self, client: ClientConnection, why: str) -> None:
        """Count a closed client connection, and log it if the gateway had to close it."""
        self._clients.discard(client)
        self.limits.closed(client)
        if client.name[0]:
            self.leaving.ended(client.name, retired=client.is_retiring)
        if why:
            self.counts.ended += 1
            self._ended.ended(why)

    def _tell_ended(self, why: str, count: int) -> None:
        times: dict[str, str | int] = {"connections": count} if count > 1 else {}
        log.event("client.ended", self._config.link, "", {"why": why, **times}, trouble=True)

    def wake(self) -> None:
        """Let all connections check again whether their requests may continue."""
        self._loop.call_soon(self._go_on)

    def began(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was opened."""
        self._drains.began(leg)

    def ended(self, leg: BrokerConnection) -> None:
        """Note that a connection to a broker was closed."""
        self._drains.ended(leg)

    @property
    def drains(self) -> WriteDrains:
        """The connections to brokers with requests that may still write."""
        return self._drains

    def learn_brokers(self, brokers: Iterable[Broker]) -> None:
        """Add brokers of the source, or update their addresses."""
        self.nodes.learn(brokers)

    def learn_source(self, brokers: Iterable[Broker], versions: Versions) -> None:
        """Add the brokers and request versions of a source that was away."""
        self.nodes.learn(brokers)
        self._own.narrow(versions)

    def show_target(self) -> tuple[ConfigProblem, ...]:
        """Listen for clients of the target's brokers; return the listeners that failed."""
        self._failed.clear()
        self.targets.learn(self._behind.targets)
        return tuple(self._failed)

    def _go_on(self) -> None:
        for client in [*self._clients]:
            client.go_on()

    def _open(self, cluster: Cluster) -> Callable[[int, RelayedNode], None]:
        """Return what listens for clients of a broker, which may appear at any time."""
        section = "nodes" if cluster is Cluster.SOURCE else "targets"

        def opened(number: int, node: RelayedNode) -> None:
            if self._section.names is not None:
                self._names.add(node.shown[0], BrokerPlace(cluster, number))
                return
            at = self._section.listener_of(node.shown, of_source=cluster is Cluster.SOURCE)
            self._listen(at, f"gateway.{section}.{number}", BrokerPlace(cluster, number))

        return opened

    def _listen(self, at: Address, key: str, home: BrokerPlace) -> None:
        try:
            made = listener(at, shares=self._section.processes > 1)
        except (OSError, OverflowError) as error:
            why = f"{address_text(at)} cannot be listened on: {why_not(error)}"
            self._failed.append(ConfigProblem(key, f"{why}; {instead(error)}"))
            log.event("listener.failed", self._config.link, key, {"why": why}, trouble=True)
            return
        self._listeners.append(made)
        serving = self._loop.create_server(
            self._entrance(home),
            sock=made,
            ssl=self._tls,
            ssl_handshake_timeout=_HANDSHAKE if self._tls else None,
        )
        self._servers.append(self._loop.create_task(serving))

    def _entrance(self, home: BrokerPlace) -> Callable[[], asyncio.Protocol]:
        """Return what makes the protocol of a new connection."""
        if self._section.names is not None:
            return lambda: NamedEntrance(self._names, self._client)
        return lambda: self._client(home)

    def _client(self, home: BrokerPlace) -> ClientConnection:
        if home == SOURCE and self._logins is not None and self.routes.source_away:
            home = TARGET  # there is nobody else to log in to
        logs_in = self._clusters[home.cluster].sasl is not None
        return ClientConnection(home, self._leg, self._steering, self, logs_in=logs_in)

    def _leg(self, client: ClientConnection, place: BrokerPlace) -> BrokerConnection:
        leg = BrokerConnection(client, self, self._buffer)
        self._dialing.open(leg, place)
        return leg

    def _close(self) -> None:
        for each in self._servers:
            each.cancel()
        for made in self._listeners:
            made.close()
