"""Answers of a node about itself: mode, migration flag, finalized features, software."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.cluster.connect.connection import DESCRIBE_QUORUM, Greeting, greet
from towpath.cluster.release import METADATA_VERSION, release_of_level
from towpath.kraft.facts.nouns import BrokerMode
from towpath.kraft.metadata.controllers import SIDE
from towpath.runtime.deadline import Deadline
from towpath.settings.address import host_and_port
from towpath.settings.sections.clusters import ClusterConfig

_LEADER_AND_ISR, _VOTE = 4, 52
"""Api keys: what only a broker in ZooKeeper mode takes, and what only a controller takes."""
_FETCH, _FETCH_OF_3_9 = 1, 17
"""The request whose newest version tells Kafka 3.9 from older releases (KIP-853)."""
_NEWEST_OF_ZOOKEEPER = "3.9"


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The answer of a node about itself.

    Attributes:
        mode: How a broker keeps its metadata; None for a controller.
        flag: Whether it has the migration's flag.
        features: Finalized levels by name, as it knows them.
        software: Its release, such as "3.9", as far as it can be told: patch releases differ in
            nothing that a node tells.
    """

    mode: BrokerMode | None
    flag: bool
    features: Mapping[str, int]
    software: str | None


def ask_node(
    address: str, login: ClusterConfig, deadline: Deadline, side: str = SIDE
) -> NodeAnswer:
    """Return a node's answer about itself, which needs no login.

    Args:
        address: HOST:PORT.
        login: Has `tls`, if the port is encrypted.
        deadline: How long to wait.
        side: How errors name the cluster.

    Raises:
        UnreachableError: Nothing answers there, or not as Kafka does.
    """
    said = greet(login, side, host_and_port(address), deadline)
    return NodeAnswer(_mode(said), said.migrating, dict(said.features), _software(said))


def _mode(said: Greeting) -> BrokerMode | None:
    if _LEADER_AND_ISR in said.api_versions:
        return BrokerMode.MIGRATION if said.migrating else BrokerMode.ZOOKEEPER
    if _VOTE in said.api_versions or DESCRIBE_QUORUM not in said.api_versions:
        return None
    return BrokerMode.KRAFT


def _software(said: Greeting) -> str | None:
    level = said.supported.get(METADATA_VERSION)
    return _by_requests(said) if level is None else str(release_of_level(level))


def _by_requests(said: Greeting) -> str | None:
    """Return the release of a broker in ZooKeeper mode, which tells no levels that it supports."""
    _, newest = said.api_versions.get(_FETCH, (0, 0))
    if _LEADER_AND_ISR not in said.api_versions:
        return None
    return _NEWEST_OF_ZOOKEEPER if newest >= _FETCH_OF_3_9 else f"before {_NEWEST_OF_ZOOKEEPER}"
