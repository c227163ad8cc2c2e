"""Observation of a cluster's environment: hosts, users of ZooKeeper, managers of files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from towpath.kraft.config import KraftConfig, KubernetesDriver
from towpath.kraft.errors import DriverError, ZooKeeperError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import ClientsSeen, Surroundings
from towpath.kraft.look.hosts import addresses_from, ask_hosts, resolved
from towpath.kraft.reach.driver import Driver
from towpath.kraft.reach.kubernetes.owners import fields_by_manager, not_named
from towpath.kraft.reach.kubernetes.pod_node import PodNode, kept_properties
from towpath.runtime.deadline import Deadline

_SESSION = 10.0
"""Seconds for one question to ZooKeeper."""


class Asks(Protocol):
    """Protocol for asking ZooKeeper about its other users."""

    def clients(self, deadline: Deadline) -> ClientsSeen:
        """Return the clients that are connected to ZooKeeper."""

    def neighbours(self, deadline: Deadline) -> tuple[str, ...]:
        """Return the other clusters and programs that keep znodes in the ensemble."""


def look_around(
    config: KraftConfig, seen: Observation, drivers: Mapping[NodeId, Driver], asks: Asks
) -> Surroundings:
    """Return the environment of a cluster, without the parts that cannot be queried.

    Args:
        config: The file.
        seen: The cluster.
        drivers: One for each node.
        asks: Asks ZooKeeper.
    """
    return replace(
        users_of(config, seen, asks),
        hosts=ask_hosts(drivers, addresses_from(config, seen)),
        keepers=_keepers(config, drivers),
    )


def users_of(config: KraftConfig, seen: Observation, asks: Asks) -> Surroundings:
    """Return the other users of ZooKeeper, as far as its servers can be asked."""
    addresses = {NodeId(each.id): resolved(each.address) for each in config.controllers.nodes}
    around = Surroundings(addresses=addresses)
    if seen.zookeeper is None:
        return around
    with suppress(ZooKeeperError):
        around = replace(around, clients=asks.clients(Deadline.after(_SESSION)))
        around = replace(around, neighbours=asks.neighbours(Deadline.after(_SESSION)))
    return around


def _keepers(config: KraftConfig, drivers: Mapping[NodeId, Driver]) -> Mapping[NodeId, str]:
    driver = config.driver
    if not isinstance(driver, KubernetesDriver):
        return {}
    found: dict[NodeId, str] = {}
    for each in config.brokers:
        node = drivers[NodeId(each.id)]
        with suppress(DriverError):
            kept = kept_properties(node) if isinstance(node, PodNode) else ()
            if others := not_named(kept, driver.take_from):
                found[NodeId(each.id)] = fields_by_manager(others)
    return found
