"""How the processes and files of nodes are reached: on this machine, over ssh, in Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from towpath.config.address import host_and_port
from towpath.config.kraft import KraftConfig, KraftNode
from towpath.config.kraft_drivers import LocalDriver, SshDriver
from towpath.config.kraft_kubernetes import KubernetesDriver
from towpath.kraft.drivers.driver import Driver
from towpath.kraft.drivers.local import LocalNode
from towpath.kraft.drivers.ssh import SshNode
from towpath.kraft.kubernetes.exported import ExportedNode
from towpath.kraft.kubernetes.kubectl_node import KubectlNode
from towpath.kraft.kubernetes.places import hold_name, place_of
from towpath.kraft.model import NodeId, Role

Notice = Callable[[NodeId, str], None]
"""Is told what a driver did to a node that nobody would see otherwise."""


def drivers_of(
    config: KraftConfig, notice: Notice = lambda _node, _text: None
) -> Mapping[NodeId, Driver]:
    """Return what reaches each node of a file; `notice` is told what they take from others."""
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
