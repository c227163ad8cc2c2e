"""Looks around a cluster: asks hosts, servers of ZooKeeper, and who else keeps files of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from towpath.config import KraftConfig, KubernetesDriver
from towpath.kraft.drivers.driver import Driver
from towpath.kraft.kubernetes.owners import not_named, told_of
from towpath.kraft.kubernetes.pod_node import PodNode, kept_properties
from towpath.kraft.model import NodeId
from towpath.kraft.observing.reach import addresses_from, ask_hosts, resolved
from towpath.kraft.observing.seen import Observation
from towpath.kraft.observing.surroundings import ClientsSeen, Surroundings
from towpath.model.errors import DriverError, ZooKeeperError


def look_around(
    config: KraftConfig,
    seen: Observation,
    drivers: Mapping[NodeId, Driver],
    ask_clients: Callable[[], ClientsSeen],
) -> Surroundings:
    """Return what lies around a cluster; what cannot be asked is left out.

    Args:
        config: The file.
        seen: The cluster.
        drivers: One for each node.
        ask_clients: Asks the servers of ZooKeeper who is connected.
    """
    clients = None
    if seen.zookeeper is not None:
        with suppress(ZooKeeperError):
            clients = ask_clients()
    return Surroundings(
        hosts=ask_hosts(drivers, addresses_from(config, seen)),
        clients=clients,
        addresses={NodeId(each.id): resolved(each.address) for each in config.controllers.nodes},
        keepers=_keepers(config, drivers),
    )


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
                found[NodeId(each.id)] = told_of(others)
    return found
