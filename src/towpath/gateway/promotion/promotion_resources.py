"""The clients and settings that promotions work with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker, Metadata
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.undo_errors import UndoneError, undone
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Routes
from towpath.gateway.write_drains import WriteDrains
from towpath.ledger.link import OpenLink
from towpath.model.errors import ConfigProblem, TowpathError
from towpath.model.reasons import ReasonCode
from towpath.runtime import log
from towpath.runtime.deadline import Deadline

_NAP = 0.005
T = TypeVar("T")


class PromotingGateway(Protocol):
    """Protocol of the gateway, as promotions use it.

    Attributes:
        routes: What is held and promoted; of the loop alone.
        targets: The target's brokers.
        leaving: Which clients may leave; of the loop alone.
    """

    routes: Routes
    targets: RelayedNodes
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


@dataclass(slots=True)
class PromotionResources:
    """The link, the ledger and the connections that promotions work with.

    Attributes:
        link: The link, opened for one thread alone.
        book: What gateways keep in the ledger.
        gateway: The gateway.
        in_loop: Calls something in the loop of the connections; before that runs, at once.
        stop: Set when the gateway shall end.
    """

    link: OpenLink
    book: GatewayBook
    gateway: PromotingGateway
    in_loop: Callable[[Callable[[], None]], object] = lambda what: what()
    stop: threading.Event = field(default_factory=threading.Event)

    def call(self, what: Callable[[], T]) -> T:
        """Call a function in the event loop, and return its result."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(what())
            except Exception as error:  # noqa: BLE001  # of the caller, in another thread
                future.set_exception(error)

        self.in_loop(run)
        return future.result()

    def require(self, patience: Deadline, late: UndoneError) -> None:
        """Raise if the time for the promotion is over.

        Raises:
            UndoneError: There is none, or the gateway is stopped.
        """
        if self.stop.is_set():
            raise undone(ReasonCode.PROMOTE_ENDED)
        if patience.over:
            raise late

    def drain(
        self, marks: Mapping[BrokerConnection, int], seconds: float, patience: Deadline
    ) -> None:
        """Wait until all requests that were sent to brokers so far are answered.

        Args:
            marks: How much each connection had sent.
            seconds: How long the patience was, for people.
            patience: How long to wait.

        Raises:
            UndoneError: It was not answered in time.
        """
        what = "the brokers had answered all that was sent to them"
        late = undone(ReasonCode.PROMOTE_LATE, hold=f"{seconds:g} s", what=what)
        while not self.call(lambda: self.gateway.drains.drained(marks)):
            self.require(patience, late)
            time.sleep(_NAP)

    def see(self, view: Metadata) -> None:
        """Update the leaders of promoted topics on the target."""

        def see() -> None:
            self.gateway.targets.learn(view.brokers.values())
            self.gateway.routes.view = view

        self.call(see)

    def source_is_away(self, why: TowpathError) -> None:
        """Let the target serve promoted topics alone; runs in the event loop."""
        self.gateway.routes.source_away = True
        facts = {"why": str(why), "served": f"{len(self.gateway.routes.topics)} promoted topics"}
        log.event("source.away", self.link.name, "", facts, trouble=True)

    def source_is_back(self, brokers: Iterable[Broker], versions: Versions) -> None:
        """Note that the source answers again; runs in the event loop."""
        self.gateway.learn_source(brokers, versions)
        self.gateway.routes.source_away = False
        log.event("source.back", self.link.name, "", {}, trouble=True)

    def bound(self, others: frozenset[str]) -> None:
        """Note which groups the source still serves; runs in the event loop."""
        routes = self.gateway.routes
        routes.of_source = others
        routes.is_whole = routes.transactions.is_whole = self.is_whole()

    def is_whole(self) -> bool:
        """Return whether all topics of the link are promoted; runs in the event loop."""
        routes = self.gateway.routes
        copied = {tp.topic for tp, each in self.link.books.partitions.items() if each.opened}
        return bool(routes.topics) and copied | routes.eras.keys() <= routes.topics
