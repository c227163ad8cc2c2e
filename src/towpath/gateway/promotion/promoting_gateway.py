"""The gateway as promotions use it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Routes
from towpath.gateway.write_drains import WriteDrains
from towpath.model.errors import ConfigProblem


class PromotingGateway(Protocol):
    """Protocol of the gateway, as promotions use it.

    Attributes:
        routes: What is held and promoted; of the loop alone.
        targets: The target's brokers; `nodes`, those of the source.
        leaving: Which clients may leave; of the loop alone.
    """

    routes: Routes
    targets: RelayedNodes
    nodes: RelayedNodes
    leaving: LeavingClients

    @property
    def drains(self) -> WriteDrains:
        """The connections to brokers with requests that may still write."""

    def wake(self) -> None:
        """Let waiting requests check again whether they may continue."""

    def show_target(self) -> tuple[ConfigProblem, ...]:
        """Listen for clients of the target's brokers."""

    def learn_source(self, brokers: Iterable[Broker], versions: Versions) -> None:
        """Add the brokers and request versions of a source that was away."""
