"""Observation of a whole cluster: ZooKeeper, the metadata log, and each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from towpath.kraft.config import KraftBroker, KraftConfig, KraftController
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.comparison import compare
from towpath.kraft.facts.health import health_of
from towpath.kraft.facts.image import ImageComparison
from towpath.kraft.facts.nouns import LogState, NodeId, Role
from towpath.kraft.facts.seen import (
    ClusterSeen,
    MetadataLogSeen,
    NodeSeen,
    Observation,
    QuorumSeen,
    Unseen,
    ZooKeeperSeen,
)
from towpath.kraft.facts.servers import EnsembleSeen
from towpath.kraft.journal import KraftJournal
from towpath.kraft.look.cached import Remembered
from towpath.kraft.look.cluster import ClusterReader
from towpath.kraft.look.node_files import client_ports, read_files
from towpath.kraft.look.processes import Processes
from towpath.kraft.metadata.answers import NodeAnswer, ask_node
from towpath.kraft.metadata.controllers import login_of
from towpath.kraft.metadata.log import LogReader
from towpath.kraft.reach.driver import Driver
from towpath.model.errors import TowpathError, UnreachableError
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

T = TypeVar("T")
_AT_ONCE = 16
"""Nodes that are asked side by side."""
_ELECTION = 4.0
"""Seconds for which controllers that run may be without a leader."""
_ENSEMBLE = 10.0
"""Seconds for which what servers of ZooKeeper told of themselves is taken as true."""
_ANSWER = 1.5
"""Seconds for which a node may be silent; one that is down costs a look no more."""


class Observer:
    """Observes a cluster repeatedly; each time only new metadata log records are read.

    Args:
        config: The file.
        drivers: One for each node.
        zookeeper: Reads ZooKeeper.
        ensemble: Asks its servers how they are; is called once ZooKeeper was read.
        journal: Tells what steps have proven.
    """

    def __init__(
        self,
        config: KraftConfig,
        drivers: Mapping[NodeId, Driver],
        zookeeper: Callable[[Deadline], ZooKeeperSeen],
        journal: KraftJournal,
        ensemble: Callable[[Deadline], EnsembleSeen],
    ) -> None:
        self._ensemble = ensemble
        self._told = Remembered[EnsembleSeen](_ENSEMBLE)
        self._config, self._drivers, self._zookeeper = config, drivers, zookeeper
        self._journal = journal
        self._log, self._cluster = LogReader(config), ClusterReader(config.cluster)
        self._client_ports: dict[NodeId, range] = {}
        self._processes = Processes()

    def close(self) -> None:
        """Close the connections to controllers."""
        self._log.close()

    def look(self, deadline: Deadline) -> Observation:
        """Return an observation of the whole cluster; `unseen` names what did not answer."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            zookeeper = pool.submit(self._zookeeper, deadline)
            servers = pool.submit(self._servers, zookeeper, deadline)
            brokers = self._nodes(pool, Role.BROKER, self._config.brokers)
            controllers = self._nodes(pool, Role.CONTROLLER, self._config.controllers.nodes)
            log = pool.submit(self._read_log, tuple(controllers.values()), deadline)
            cluster = pool.submit(self._look_at_cluster, tuple(brokers.values()))
        unseen = list[Unseen]()
        znodes = _result(zookeeper, "ZooKeeper", unseen)
        ensemble = _result(servers, "the servers of ZooKeeper", unseen)
        quorum, records = _result(log, "the controllers", unseen) or (None, None)
        return Observation(
            at=now_ms(),
            zookeeper=znodes,
            quorum=quorum,
            log=records,
            brokers=_results(brokers, unseen),
            controllers=_results(controllers, unseen),
            health=health_of(znodes, records),
            comparison=_compared(znodes, records),
            unseen=tuple(unseen),
            proven=self._journal.proven,
            ensemble=ensemble,
            cluster=cluster.result(),
        )

    def _look_at_cluster(self, brokers: Iterable[Future[NodeSeen]]) -> ClusterSeen | None:
        seen = (each.result() if each.exception() is None else None for each in brokers)
        return self._cluster.look(seen)

    def _servers(self, zookeeper: Future[ZooKeeperSeen], deadline: Deadline) -> EnsembleSeen | None:
        """Ask the servers now and then: while one of them is silent it takes long."""
        if zookeeper.exception() is not None:
            return None
        return self._told.get(lambda: self._ensemble(deadline))

    def _read_log(
        self, controllers: Iterable[Future[NodeSeen]], deadline: Deadline
    ) -> tuple[QuorumSeen, MetadataLogSeen] | None:
        """Read the metadata log, unless every controller is known to be down."""
        if all(_is_down(each) for each in controllers):
            return None
        quorum = self._log.read_quorum(Deadline.after(min(_ELECTION, deadline.left())))
        return quorum, self._log.read(quorum, deadline)

    def _nodes(
        self, pool: ThreadPoolExecutor, role: Role, nodes: Iterable[KraftBroker | KraftController]
    ) -> Mapping[NodeId, Future[NodeSeen]]:
        return {NodeId(each.id): pool.submit(self._node, role, each) for each in nodes}

    def _node(self, role: Role, node: KraftBroker | KraftController) -> NodeSeen:
        data = node.data if isinstance(node, KraftController) else ""
        files = read_files(self._drivers[NodeId(node.id)], NodeId(node.id), node.properties, data)
        told = self._answer(role, node.address)
        answer = told if files.running else None
        process = self._processes.look(
            NodeId(node.id), self._drivers[NodeId(node.id)], running=files.running
        )
        return NodeSeen(
            id=NodeId(node.id),
            role=role,
            running=files.running,
            mode=answer.mode if answer else None,
            flag=answer.flag if answer else None,
            properties=files.properties,
            stale=files.stale,
            meta=files.meta,
            features=answer.features if answer else {},
            software=answer.software if answer else None,
            build=process.build,
            heap=process.heap,
            arguments=process.arguments,
            variables=process.variables,
            free_bytes=files.free_bytes,
            client_ports=self._ports_of(NodeId(node.id)) if files.running else None,
            elsewhere=told is not None and not files.running,
            epochs=files.epochs,
        )

    def _ports_of(self, node: NodeId) -> range | None:
        """Return what a host that was asked once is not asked again."""
        if node not in self._client_ports and (told := client_ports(self._drivers[node])):
            self._client_ports[node] = told
        return self._client_ports.get(node)

    def _answer(self, role: Role, address: str) -> NodeAnswer | None:
        login = self._config.cluster if role is Role.BROKER else login_of(self._config)
        try:
            return ask_node(address, login, Deadline.after(_ANSWER))
        except UnreachableError:
            return None


def _is_down(node: Future[NodeSeen]) -> bool:
    return node.exception() is None and not node.result().running


def _compared(
    zookeeper: ZooKeeperSeen | None, log: MetadataLogSeen | None
) -> ImageComparison | None:
    """Compare while both are written: before that the log is empty, afterwards ZooKeeper is old."""
    if zookeeper is None or log is None or log.state is not LogState.MIGRATION:
        return None
    return compare(zookeeper.image, log.image)


def _results(
    asked: Mapping[NodeId, Future[NodeSeen]], unseen: list[Unseen]
) -> Mapping[NodeId, NodeSeen]:
    found = {node: _result(each, f"node {node}", unseen) for node, each in asked.items()}
    return {node: each for node, each in found.items() if each is not None}


def _result(asked: Future[T], what: str, unseen: list[Unseen]) -> T | None:
    try:
        return asked.result()
    except TowpathError as error:
        why = error.happened if isinstance(error, DriverError) else str(error)
        unseen.append(Unseen(what, why))
        return None
