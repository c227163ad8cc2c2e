"""The thread of a gateway that listens for requests to promote, and does them."""

from __future__ import annotations

import asyncio
import threading
import time

from towpath.gateway.book import GatewayBook
from towpath.gateway.promoter import Promoter, PromotingGateway
from towpath.ledger.entries import Promotion, PromotionStage
from towpath.ledger.link import OpenLink
from towpath.model.errors import TowpathError
from towpath.runtime import log

_WAIT = 0.5
_AGAIN = 2.0
_VIEW = 2.0
"""Seconds after which the leaders of promoted topics are looked at again."""


class Promotions:
    """Listens for requests to promote, and does them.

    Args:
        link: The link, opened for this object alone.
        gateway: The gateway.
    """

    def __init__(self, link: OpenLink, gateway: PromotingGateway) -> None:
        self._link = link
        self._book = GatewayBook(link)
        self._promoter = Promoter(link, self._book, gateway)
        self._stop = threading.Event()
        self._viewed = time.monotonic()
        self._thread = threading.Thread(target=self._listen, name="promotions", daemon=True)

    def begin(self) -> None:
        """Take in what is promoted, before clients are served.

        Raises:
            ClusterError: A cluster does not answer, or refuses.
            ConfigError: Addresses cannot be listened on.
            LedgerError: The ledger is of no use.
        """
        self._book.begin()
        self._tell(self._promoter.resume())

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to listen."""
        self._promoter.in_loop = loop.call_soon_threadsafe
        self._thread.start()

    def end(self) -> None:
        """Stop listening, and tell that this gateway serves nobody any more; not in the loop."""
        self._stop.set()
        self._thread.join()
        try:
            self._book.end()
        except TowpathError as error:
            self._tell([str(error)])

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                for asked in self._book.read(_WAIT):
                    self._do(asked)
                if time.monotonic() - self._viewed > _VIEW:
                    self._viewed = time.monotonic()
                    self._tell(self._promoter.refresh())
            except TowpathError as error:
                self._tell([str(error)])
                self._stop.wait(_AGAIN)

    def _do(self, asked: Promotion) -> None:
        done = self._promoter.promote(asked)
        # Before the answer is in the ledger, as that may fail: nobody shall do it twice.
        self._book.forget(asked)
        if done.state == PromotionStage.PROMOTED.value:
            self._tell(done.told)
        self._book.note(done)

    def _tell(self, troubles: list[str] | tuple[str, ...]) -> None:
        for why in troubles:
            log.event("promotion.trouble", self._link.name, "", {"why": why}, trouble=True)
