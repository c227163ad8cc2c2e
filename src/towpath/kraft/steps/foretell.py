"""A model of the effects of stopping, starting and joining nodes. Pure.

Where this must be guessed, it is what happens in a cluster without faults.
"""

from __future__ import annotations

from dataclasses import replace

from towpath.kraft.facts.nodes import file_mode
from towpath.kraft.facts.nouns import BrokerMode, NodeId, Role
from towpath.kraft.facts.seen import BrokerRegistration, NodeSeen, Observation, has_flag
from towpath.kraft.steps.elections import broker_elected, elected, with_log, with_node


def stopped(seen: Observation, node: NodeSeen) -> Observation:
    """Return the observation after a node stops, and after the election that follows."""
    seen = with_node(seen, replace(node, running=False, mode=None, flag=None, stale=False))
    if node.role is Role.CONTROLLER:
        return elected(seen)
    if seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers - {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = broker_elected(seen)
    known = seen.log.brokers.get(node.id) if seen.log else None
    return seen if known is None else with_log(seen, broker=replace(known, fenced=True))


def controller_started(seen: Observation, node: NodeId) -> Observation:
    """Return the observation after a controller starts with its present file."""
    controller = seen.controllers[node]
    flag = has_flag(controller.properties)
    return with_node(seen, replace(controller, running=True, flag=flag, stale=False))


def answering(seen: Observation, node: NodeSeen) -> Observation:
    """Return the observation of a broker that answers but has not joined its cluster yet."""
    mode = file_mode(node)
    flag = mode is BrokerMode.MIGRATION
    return with_node(seen, replace(node, running=True, mode=mode, flag=flag, stale=False))


def registered(seen: Observation, node: NodeSeen) -> Observation:
    """Return the observation of a running broker that has joined its cluster."""
    mode = file_mode(node)
    if mode is not BrokerMode.KRAFT and seen.zookeeper is not None:
        brokers = seen.zookeeper.brokers | {node.id}
        seen = replace(seen, zookeeper=replace(seen.zookeeper, brokers=brokers))
        seen = broker_elected(seen)
    if mode is BrokerMode.ZOOKEEPER:
        return seen
    migrating = mode is BrokerMode.MIGRATION
    known = BrokerRegistration(id=node.id, epoch=1, migrating=migrating, fenced=False)
    return with_log(seen, broker=known)
