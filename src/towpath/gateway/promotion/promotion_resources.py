"""The clients and settings that promotions work with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from towpath.cluster.connect.exchange import Versions
from towpath.cluster.metadata import Broker, Metadata
from towpath.gateway.promotion.fleet import Fleet
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.gateway_part import GatewayPart
from towpath.gateway.promotion.promoting_gateway import PromotingGateway
from towpath.gateway.promotion.undo_errors import UndoneError, undone
from towpath.ledger.link import OpenLink
from towpath.model.errors import TowpathError
from towpath.model.reasons import ReasonCode
from towpath.runtime import log
from towpath.runtime.deadline import Deadline

T = TypeVar("T")


@dataclass(slots=True)
class PromotionResources:
    """The link, the ledger and the connections that promotions work with.

    Attributes:
        link: The link, opened for one thread alone.
        book: What gateways keep in the ledger.
        gateway: The gateway.
        in_loop: Calls something in the loop of the connections; before that runs, at once.
        stop: Set when the gateway shall end.
        part: What this gateway holds and releases; of the loop alone.
        fleet: All gateways of the link.
    """

    link: OpenLink
    book: GatewayBook
    gateway: PromotingGateway
    in_loop: Callable[[Callable[[], None]], object] = lambda what: what()
    stop: threading.Event = field(default_factory=threading.Event)
    part: GatewayPart = field(init=False)
    fleet: Fleet = field(init=False)

    def __post_init__(self) -> None:
        self.part, self.fleet = GatewayPart(self.gateway), Fleet(self)

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

    def see(self, view: Metadata) -> None:
        """Update the leaders of promoted topics on the target."""

        def see() -> None:
            self.gateway.targets.learn(view.brokers.values())
            self.gateway.routes.view = view

        self.call(see)

    def see_back(self, view: Metadata) -> None:
        """Update the leaders at the source of topics that go back."""

        def see() -> None:
            self.gateway.nodes.learn(view.brokers.values())
            self.gateway.routes.view_back = view

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

    @property
    def copied(self) -> set[str]:
        """The topics that the link copies, as its books have them."""
        return {tp.topic for tp, each in self.link.books.partitions.items() if each.opened}

    def is_whole(self) -> bool:
        """Return whether all topics of the link are promoted; runs in the event loop."""
        return self.gateway.routes.has_all(self.copied)
