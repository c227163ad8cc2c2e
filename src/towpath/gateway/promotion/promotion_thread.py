"""The gateway's thread that accepts requests to promote topics, and carries them out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from towpath.gateway.gateway_counts import MoveCounts
from towpath.gateway.promotion.automatic_groups import AutomaticGroups
from towpath.gateway.promotion.automatic_promotion import AutomaticPromotion
from towpath.gateway.promotion.deciding import UndecidedError
from towpath.gateway.promotion.fleet_follower import FleetFollower
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.gateway_entries import done_state
from towpath.gateway.promotion.lasting_troubles import LastingTroubles
from towpath.gateway.promotion.promoter import Promoter
from towpath.gateway.promotion.promoting_gateway import PromotingGateway
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.readiness import AUTOMATIC, automatic_request
from towpath.gateway.promotion.relayed_ids import RelayedIds
from towpath.gateway.promotion.unplaced_id_moves import UnplacedIdMoves
from towpath.gateway.promotion.waiting_groups import waiting_groups
from towpath.ledger.entries import Promotion
from towpath.ledger.link import OpenLink
from towpath.model.errors import ConfigError, ConfigProblem, LedgerError, TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, ReasonCode, sentence
from towpath.runtime import log
from towpath.runtime.clock import now_ms

_WAIT = 0.5
_AGAIN = 2.0
_HEARD = 60.0
"""Seconds within which all members of groups are heard of that a gateway before this one had."""
_TURN = 2.0
"""Seconds for each gateway that began earlier to take a request first."""
_VIEW = 2.0
"""Seconds after which the leaders of promoted topics are looked at again."""


class PromotionThread:
    """A thread that accepts requests to promote topics, and carries them out.

    Args:
        link: The link, opened for this object alone.
        gateway: The gateway.
        stop: Set when the gateway shall end; a promotion that is not decided is undone.

    Attributes:
        counts: What became of requests.
    """

    def __init__(self, link: OpenLink, gateway: PromotingGateway, stop: threading.Event) -> None:
        self._link = link
        self._book = GatewayBook(link)
        self._at = PromotionResources(link, self._book, gateway, stop=stop)
        self._promoter = Promoter(self._at)
        self._follower = FleetFollower(self._at)
        self._relayed = RelayedIds(self._at)
        self._unplaced = UnplacedIdMoves(self._at)
        self._waiting: dict[str, float] = {}
        self._stop = stop
        self._troubles = LastingTroubles(time.monotonic)
        self._answers = list[Promotion]()
        self.counts = MoveCounts()
        self._viewed = time.monotonic()
        section = link.config.gateway
        wanted = section.promote_at if section is not None else "hand"
        self._automatic = AutomaticPromotion(
            wanted, self._promoter.ready, self._waits, time.monotonic, now_ms
        )
        self._groups = AutomaticGroups(wanted, time.monotonic, now_ms)
        self._fenced: dict[str, int | None] = {}
        self._interrupted = self._viewed + _HEARD
        self._thread = threading.Thread(target=self._listen, name="promotions", daemon=True)

    @property
    def name(self) -> str:
        """The name of this gateway in the ledger."""
        return self._book.name

    def begin(self) -> None:
        """Read which topics are promoted, before clients are served.

        Raises:
            ClusterError: A cluster does not answer, or refuses.
            ConfigError: Addresses cannot be listened on.
            LedgerError: The ledger is of no use.
        """
        self._book.begin()
        self._require_same_reads()
        self._at.gateway.routes.is_interrupted = self._book.interrupted
        self._tell(self._promoter.resume())
        self._relayed.learn()

    def _require_same_reads(self) -> None:
        """Raise if groups read on the target whose topics are not promoted, and shall no longer.

        Raises:
            ConfigError: The file says so.
        """
        mirrors = self._at.gateway.routes.mirror is not None
        alone = self._book.groups_alone()
        if mirrors or not alone:
            return
        why = (
            f"is `source`, and group {min(alone)} was promoted before its topics by a"
            " gateway with `target`; leave it at `target`"
        )
        raise ConfigError((ConfigProblem("gateway.reads", why),))

    @property
    def of_others(self) -> Mapping[TopicName, str]:
        """The topics that other links promoted, and these links."""
        return {name: record.link for name, record in self._book.of_others.items()}

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the thread."""
        self._at.in_loop = loop.call_soon_threadsafe
        self._follower.start(self._book.read_to)
        self._thread.start()

    def end(self) -> None:
        """Wait for the thread, and write that this gateway serves no clients any more."""
        if self._thread.is_alive():
            self._thread.join()
        self._follower.end()
        try:
            self._relayed.note(every=True)
            self._book.end()
        except TowpathError as error:
            self._tell([error.reason])

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                self._interruption()
                self._answer()
                asked = self._book.read(_WAIT)
                self._take_over()
                if self._promoter.is_behind:
                    self._tell(self._promoter.resume())
                self._tell(self._unplaced.go())
                for each in filter(self._is_its_turn, asked):
                    self._do(each)
                if not asked and not self._book.rank and self._automatic.due():
                    self._do(automatic_request(self._link.name))
                if time.monotonic() - self._viewed > _VIEW:
                    self._viewed = time.monotonic()
                    self._relayed.note()
                    self._promoter.pulse()
                    self._tell(self._promoter.other_links.turned_back())
                    self._tell(self._promoter.refresh())
                    self._do_waiting()
            except UndecidedError:  # the gateway ends, and the next one tells
                return
            except TowpathError as error:
                self._tell([error.reason])
                self._stop.wait(_AGAIN)
            except Exception as error:  # noqa: BLE001  # clients need the gateway all the same
                self._tell([Reason.of(ReasonCode.ERROR, error="FAULT", text=foreign(error))])
                self._stop.wait(_AGAIN)

    def _interruption(self) -> None:
        """End, after a while, what began when a gateway ended in the middle of a move."""
        routes, now = self._at.gateway.routes, time.monotonic()
        if not routes.is_interrupted:
            self._interrupted = now + _HEARD
        elif now > self._interrupted:
            routes.is_interrupted = False

    def _take_over(self) -> None:
        """Write what became of requests whose gateway was lost.

        This one may have been frozen itself, and have read nothing for long: so it reads first.
        """
        book = self._book
        if not any(map(book.is_lost, book.led_by_others())):
            return
        self._stop.wait(_TURN * book.rank)
        book.read()
        for each in book.led_by_others():
            if book.is_lost(each):
                book.take_over(each.name)

    def _is_its_turn(self, asked: Promotion) -> bool:
        """Whether this gateway is to take a request: the oldest one is, unless it does not."""
        if not asked.dry_run and self._book.led_by_others():
            return False
        since = self._waiting.setdefault(asked.name, time.monotonic())
        return time.monotonic() - since >= _TURN * self._book.rank

    def _do(self, asked: Promotion) -> None:
        # Before the answer is in the ledger, as that may fail: nobody shall do it twice.
        self._waiting.clear()
        self._book.forget(asked)
        done = self._promoter.promote(asked)
        self._book.forget(asked)
        if done is None:
            return
        self.counts.done(done)
        if not done.dry_run:
            self._book.record(done)
        if done.user == AUTOMATIC and done.state != done_state(asked).value:
            if done.groups:
                self._groups.undone(done.groups)
            else:
                self._automatic.undone()
            self._waits(done.reasons)
        if done.state == done_state(asked).value:
            self._tell(done.reasons)
        self._answers.append(done)
        self._answer()

    def _do_waiting(self) -> None:
        """Promote groups whose members all wait here, where nobody needs to ask for it."""
        moved = self._book.promoted_groups()  # another gateway may have done it
        waiting = {
            name: there for name, there in waiting_groups(self._at).items() if name not in moved
        }
        for name, there in sorted(waiting.items()):
            if there and self._fenced.get(name) != there:
                facts: dict[str, str | int] = {"there": there}
                log.event("group.waits", self._link.name, name, facts, trouble=True)
        self._fenced = waiting
        if self._book.led_by_others():
            return
        for name in self._groups.due(waiting, _TURN * self._book.rank):
            self._do(replace(automatic_request(self._link.name), groups=(name,)))

    def _waits(self, reasons: Collection[Reason]) -> None:
        """Log why topics are not promoted by themselves yet, or that nothing forbids it now."""
        why = sentence(tuple(reasons)) or "nothing forbids it now"
        facts = {"codes": " ".join(each.codes[0] for each in reasons), "why": why}
        log.event("promotion.waits", self._link.name, "", facts, trouble=True)

    def _answer(self) -> None:
        """Write what became of requests; what the ledger does not take now is written later."""
        while self._answers:
            try:
                self._book.note(self._answers[0])
            except LedgerError as error:  # a gateway that began later tells what became of it
                self._tell([error.reason])
            self._answers.pop(0)

    def _tell(self, troubles: Iterable[Reason]) -> None:
        """Log troubles; one that goes on is told again only after a while."""
        for why in self._troubles.new(troubles):
            self.counts.trouble(why)
            facts = {"code": why.codes[0], "why": str(why)}
            log.event("promotion.trouble", self._link.name, "", facts, trouble=True)
