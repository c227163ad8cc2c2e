"""How the processes and files of nodes are reached: on this machine, over ssh, in Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.config.kraft import KraftConfig
from towpath.config.kraft_drivers import LocalDriver
from towpath.kraft.drivers.driver import Driver
from towpath.kraft.drivers.local import LocalNode
from towpath.kraft.model import NodeId, Role
from towpath.model.errors import ConfigError, ConfigProblem


def drivers_of(config: KraftConfig) -> Mapping[NodeId, Driver]:
    """Return what reaches each node of a file.

    Raises:
        ConfigError: There is no driver of that kind yet.
    """
    nodes = [
        *((Role.BROKER, each) for each in config.brokers),
        *((Role.CONTROLLER, each) for each in config.controllers.nodes),
    ]
    match config.driver:
        case LocalDriver() as local:
            return {
                NodeId(each.id): LocalNode(local, NodeId(each.id), role, each.properties)
                for role, each in nodes
            }
        case other:
            text = f"nodes of kind {other.via} cannot be reached by this version of Towpath"
            raise ConfigError((ConfigProblem("driver.via", text),))
