"""The choice of a driver for each node of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from towpath.kraft.config.drivers import LocalDriver, SshDriver
from towpath.kraft.config.file import KraftConfig, KraftNode
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.driver import Driver
from towpath.kraft.reach.kubernetes.exported import ExportedNode
from towpath.kraft.reach.kubernetes.kubectl_node import KubectlNode
from towpath.kraft.reach.kubernetes.node_place import hold_name, place_of
from towpath.kraft.reach.local import LocalNode
from towpath.kraft.reach.ssh import SshNode
from towpath.settings.address import host_and_port

Notice = Callable[[NodeId, str], None]
"""Is told what a driver did to a node that nobody would see otherwise."""


def drivers_of(
    config: KraftConfig, notice: Notice = lambda _node, _text: None
) -> Mapping[NodeId, Driver]:
    """Return a driver for each node; `notice` is told the fields taken over from others."""
    nodes = [
        *((Role.BROKER, each) for each in config.brokers),
        *((Role.CONTROLLER, each) for each in config.controllers.nodes),
    ]
    return {NodeId(each.id): _driver(config, role, each, notice) for role, each in nodes}


def _driver(config: KraftConfig, role: Role, node: KraftNode, notice: Notice) -> Driver:
    match config.driver:
        case LocalDriver() as local:
            return LocalNode(local, NodeId(node.id), role, node.properties)
        case SshDriver() as ssh:
            host = node.host or host_and_port(node.address)[0]
            return SshNode(ssh, NodeId(node.id), role, host)
        case KubernetesDriver() as kubernetes:
            place = place_of(kubernetes, role, node)
            if kubernetes.exported is None:
                return KubectlNode(config, kubernetes, place, partial(notice, place.node))
            return ExportedNode(Path(kubernetes.exported), place, hold_name(config.kraft))
