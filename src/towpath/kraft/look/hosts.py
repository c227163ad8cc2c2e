"""Checks on hosts that brokers reach controllers, and controllers reach brokers."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from towpath.kraft.config import KraftConfig
from towpath.kraft.errors import DriverError, StepByHandError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation
from towpath.kraft.facts.surroundings import HostTold, Reach
from towpath.kraft.files.configs import in_zookeeper
from towpath.kraft.files.listeners import inter_broker_address
from towpath.kraft.reach.driver import Driver
from towpath.kraft.reach.scripts import REACH
from towpath.runtime.deadline import Deadline
from towpath.settings.address import host_and_port

_AT_ONCE = 16
_SECONDS = 30.0
"""Seconds for one host; a connection gets three, and all are tried side by side."""
_WORDS = 2


def addresses_from(config: KraftConfig, seen: Observation) -> Mapping[NodeId, tuple[str, ...]]:
    """Return the addresses that the host of each node must reach."""
    controllers = tuple(each.address for each in config.controllers.nodes)
    brokers = tuple(found for found in brokers_at(config, seen).values() if found is not None)
    theirs = (*controllers, *brokers, *_servers(config, seen))
    return {
        **{NodeId(each.id): controllers for each in config.brokers},
        **{NodeId(each.id): theirs for each in config.controllers.nodes},
    }


def _servers(config: KraftConfig, seen: Observation) -> tuple[str, ...]:
    """Return the servers of ZooKeeper as controllers will name them: as brokers do, if they do."""
    told = (
        in_zookeeper(config, each.properties, seen).get("zookeeper.connect", "")
        for _id, each in sorted(seen.brokers.items())
    )
    connect = next(filter(None, told), config.zookeeper.connect)
    return tuple(each.strip() for each in connect.partition("/")[0].split(","))


def brokers_at(config: KraftConfig, seen: Observation) -> Mapping[NodeId, str | None]:
    """Return the address at which controllers reach each broker; None where properties lack it."""
    found: dict[NodeId, str | None] = {}
    for each in config.brokers:
        node = seen.brokers.get(NodeId(each.id))
        base = in_zookeeper(config, node.properties, seen) if node else {}
        found[NodeId(each.id)] = inter_broker_address(base, each.address)
    return found


def ask_hosts(
    drivers: Mapping[NodeId, Driver], wanted: Mapping[NodeId, tuple[str, ...]]
) -> Mapping[NodeId, HostTold]:
    """Return the addresses that each host reaches; silent hosts are left out.

    Args:
        drivers: One for each node.
        wanted: The addresses that the host of each node must reach.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = {node: pool.submit(ask_host, drivers[node], at) for node, at in wanted.items()}
    told = {node: each.result() for node, each in asked.items()}
    return {node: each for node, each in told.items() if each is not None}


def ask_host(driver: Driver, addresses: Iterable[str]) -> HostTold | None:
    """Return the addresses that a node's host reaches, `None` if the host does not answer."""
    with suppress(DriverError, StepByHandError):
        command = ("sh", "-c", REACH, "sh", *dict.fromkeys(addresses))
        told = parse_host(driver.run(command, Deadline.after(_SECONDS)))
        return told if told.reach or told.names else None
    return None


def parse_host(text: str) -> HostTold:
    """Parse the answer of a host: the result for each address, and the names."""
    reach: dict[str, Reach] = {}
    names: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        address, *words = line.split()
        if len(words) != _WORDS:
            continue
        with suppress(ValueError):
            reach[address] = Reach(words[0])
        numbers = tuple(sorted(filter(None, words[1].strip("-").split(","))))
        if numbers:
            names[host_and_port(address)[0]] = numbers
    return HostTold(reach, names)


def resolved(address: str) -> tuple[str, ...]:
    """Return the addresses of a host name, as resolved on this machine."""
    with suppress(OSError):
        found = socket.getaddrinfo(host_and_port(address)[0], None, type=socket.SOCK_STREAM)
        return tuple(sorted({str(each[4][0]) for each in found}))
    return ()
