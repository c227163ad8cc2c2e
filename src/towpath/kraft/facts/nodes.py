"""Properties of an observed node: the mode in its file, its flag, its service."""

from __future__ import annotations

from towpath.kraft.facts.nouns import BrokerMode, NodeId
from towpath.kraft.facts.seen import NodeSeen, Observation


def file_mode(node: NodeSeen) -> BrokerMode | None:
    """Return the mode in which a broker's file would start it; None where it has no file."""
    return node.written


def shown_mode(node: NodeSeen) -> BrokerMode | None:
    """Return the mode in which a broker runs, or the one in its file if it does not run."""
    return node.mode if node.mode is not None else file_mode(node)


def in_mode(seen: Observation, mode: BrokerMode) -> tuple[NodeId, ...]:
    """Return the brokers that run in a mode or would be started in it."""
    return tuple(
        sorted(each.id for each in seen.brokers.values() if mode in {each.mode, file_mode(each)})
    )


def is_settled(node: NodeSeen) -> bool:
    """Return whether a broker runs and answers in the mode of its file."""
    return (
        node.running and not node.stale and node.mode is not None and node.mode is file_mode(node)
    )


def is_registered(seen: Observation, node: NodeId) -> bool:
    """Return whether a running broker has joined its cluster, as its mode requires.

    In migration mode it does so in the metadata log, too, while controllers tell one.
    """
    mode = file_mode(seen.brokers[node])
    in_zookeeper = seen.zookeeper is not None and node in seen.zookeeper.brokers
    if mode is BrokerMode.ZOOKEEPER or (mode is BrokerMode.MIGRATION and seen.log is None):
        return in_zookeeper
    there = seen.log.brokers.get(node) if seen.log else None
    if there is None or there.fenced:
        return False
    return there.migrating and in_zookeeper if mode is BrokerMode.MIGRATION else not there.migrating


def serves(seen: Observation, node: NodeId) -> bool:
    """Return whether a broker runs in the mode of its file and has joined its cluster."""
    return is_settled(seen.brokers[node]) and is_registered(seen, node)
