"""Connections to a cluster's controllers, with the login in the file's `controllers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Broker
from towpath.kraft.config.file import KraftConfig
from towpath.kraft.facts.nouns import NodeId
from towpath.model.errors import UnreachableError
from towpath.runtime.deadline import Deadline
from towpath.settings.address import host_and_port
from towpath.settings.sections.clusters import ClusterConfig

SIDE = "controllers"
"""How errors name them."""


@dataclass(frozen=True, slots=True)
class Controller(Broker):
    """The address of a controller in the file."""

    def __str__(self) -> str:
        return f"controller {self.id} ({self.host}:{self.port})"


class Controllers:
    """Connections to controllers, opened on first use, and kept.

    Attributes:
        nodes: The controllers that the file names.
    """

    def __init__(self, config: KraftConfig) -> None:
        self.nodes: Mapping[NodeId, Controller] = {
            NodeId(each.id): Controller(each.id, *host_and_port(each.address))
            for each in config.controllers.nodes
        }
        self._control = Control(login_of(config), SIDE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._control.close()

    def ask(
        self, node: NodeId, request: Any, deadline: Deadline, what: str, newest: int | None = None
    ) -> Any:
        """Send a request to one controller, and return its answer.

        Raises:
            ClusterError: It does not answer, does not let us in, or does not know the request.
        """
        found = self.nodes.get(node)
        if found is None:
            known = ", ".join(map(str, sorted(self.nodes)))
            raise UnreachableError(
                SIDE,
                what,
                f"the quorum's leader is node {node}, and the file names the controllers {known}",
                f"add node {node} to `controllers.nodes`",
            )
        return self._control.ask(found, request, deadline, what, newest)


def login_of(config: KraftConfig) -> ClusterConfig:
    """Return the login to controllers, in the form of the login to a cluster."""
    ours = config.controllers
    return ClusterConfig(
        bootstrap=tuple(each.address for each in ours.nodes), tls=ours.tls, sasl=ours.sasl
    )
