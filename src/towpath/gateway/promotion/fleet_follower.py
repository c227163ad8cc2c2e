"""A gateway's thread that does its part in promotions which another gateway leads.

It reads the ledger without a break, so that nobody waits for it; whatever takes longer is left to
the thread of promotions. For a promotion of its own gateway it only gives signs of life.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace

from towpath.cluster.data.client import Client
from towpath.gateway.gateway_lease import BEAT, elapsed
from towpath.gateway.promotion.gateway_part import Marks
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.ledger.entries import (
    GatewayCall,
    GatewayReply,
    GatewayTask,
    Promoted,
    Promotion,
    PromotionStage,
    ReadEntry,
)
from towpath.ledger.ledger import FACTS, Ledger
from towpath.model.errors import TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import Side, TopicName
from towpath.runtime import log

_KINDS = frozenset({GatewayCall.kind, GatewayReply.kind, Promotion.kind, Promoted.kind})
_OPEN = frozenset({PromotionStage.ASKED.value, PromotionStage.RUNNING.value})
_IDLE, _BUSY, _NAP = 0.5, 0.2, 0.005
_AGAIN = 0.2
_NO_CALL = -1
_LAPSED = "it could not tell of itself for some seconds, and holds its clients by itself"


@dataclass(slots=True)
class _Pending:
    """A call that is being done, and what has to be answered before."""

    call: GatewayCall
    marks: Marks | None = None
    is_begun: bool = False


class FleetFollower:
    """Does this gateway's part in promotions.

    Args:
        at: What promotions work with; of its link and ledger only what threads may share is used.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at, self._lease = at, at.gateway.routes.lease
        link = at.link
        self._client = Client(link.config.target, Side.TARGET, link.target)
        self._ledger = Ledger(link.target, self._client)
        self._joined: GatewayCall | None = None
        self._pending: _Pending | None = None
        self._last: GatewayReply | None = None
        self._said, self._problems = 0.0, ""
        self._records: dict[str, Promoted] = {}
        self._read = deque[ReadEntry]()
        self._thread = threading.Thread(target=self._follow, name="fleet", daemon=True)

    def start(self, read_to: int) -> None:
        """Start the thread.

        Args:
            read_to: How far the ledger was read: what was asked before is of no more use.
        """
        self._ledger = Ledger(self._at.link.target, self._client, facts_from=read_to)
        self._thread.start()

    def end(self) -> None:
        """Wait for the thread to end."""
        if self._thread.is_alive():
            self._thread.join()
        self._client.close()

    def _follow(self) -> None:
        while not self._at.stop.is_set():
            try:
                self.turn()
            except TowpathError:  # the thread of promotions tells of it
                self._at.stop.wait(_AGAIN)
            except Exception as error:  # noqa: BLE001  # else clients would be held for ever
                self._pending = None
                facts = {"code": "FAULT", "why": foreign(error)}
                log.event("promotion.trouble", self._at.link.name, "", facts, trouble=True)
                self._at.stop.wait(_AGAIN)

    def turn(self) -> None:
        """Read what is new, and do it as far as it can be done now.

        Raises:
            TowpathError: The ledger cannot be read or written.
        """
        link = self._at.link.name
        wait = _NAP if self._pending is not None else _BUSY if self._lease.is_joined else _IDLE
        self._read.extend(
            self._ledger.read(
                FACTS, wait=wait, wanted=lambda key: key.kind in _KINDS and key.link == link
            )
        )
        while self._read:  # what cannot be written now is written with the next sign of life
            self._take(self._read.popleft())
        self._go_on()

    def _take(self, entry: ReadEntry) -> None:
        match entry:
            case GatewayCall():
                self._called(entry)
            case GatewayReply() if entry.gateway == self._at.book.name:
                self._heard(entry)
            case Promoted():
                self._records[entry.name] = entry
                if self._follows(entry.name):
                    self._at.call(lambda: self._at.part.moved(entry))
            case Promotion() if entry.state not in _OPEN and entry.gateway:
                self._ended(entry)
            case _:
                pass

    def _called(self, call: GatewayCall) -> None:
        is_own = call.leader == self._at.book.name
        if call.task == GatewayTask.JOIN:
            self._lease.joins(_name(call))
            self._joined = call
            self._last = _sign(call, self._at.book.name)
        elif self._joined is None or _name(call) != _name(self._joined):
            if not is_own and call.number == 0:  # it is about no promotion
                self._write(self._reply(call))
            return
        if not is_own:
            self._pending = _Pending(call)
        elif call.task == GatewayTask.JOIN:
            self._say(self._reply(call))

    def _follows(self, request: str) -> bool:
        """Whether another gateway leads a promotion in which this one takes part."""
        joined = self._joined
        own = joined is not None and joined.leader == self._at.book.name
        return joined is not None and joined.request == request and not own

    def _ended(self, told: Promotion) -> None:
        """Let everything go on, as the ledger tells what became of a promotion."""
        joined = self._joined
        if joined is None or told.name != joined.request:
            return
        record, at = self._records.get(told.name), self._at
        if self._follows(told.name):
            is_lost = record is None and told.gateway != joined.leader
            owner = joined.leader, joined.request
            at.call(lambda: at.part.release(owner, record, interrupted=is_lost))
        self._pending = self._joined = None
        self._records.clear()
        self._lease.ended(_name(joined))
        if self._last is not None:
            self._say(replace(self._last, joined=False, error=""), is_last=True)

    def _heard(self, own: GatewayReply) -> None:
        """Take in what the ledger has of this gateway, and others therefore believe."""
        if self._lease.is_joined and not own.joined:
            self._left(_name(own))
        elif own.joined and not self._lease.is_joined and self._last is not None:
            # That word came late, behind the one that took it back.
            self._say(self._last, is_last=True)

    def _left(self, attempt: str) -> None:
        was_lapsed = self._lease.is_lapsed
        self._lease.left(attempt)
        if was_lapsed and not self._lease.is_lapsed:
            self._at.call(self._at.gateway.wake)

    def _go_on(self) -> None:
        pending = self._pending
        if pending is not None and self._is_done(pending):
            self._pending = None
            self._say(self._reply(pending.call))
        elif self._last is not None and self._lease.is_joined and elapsed() - self._said > BEAT:
            # Where a promotion has ended, the word that it takes part no more was not taken yet.
            self._say(self._last, is_last=self._joined is None)

    def _is_done(self, pending: _Pending) -> bool:
        """Do what is asked; return whether it is done."""
        at, call = self._at, pending.call
        if self._lease.is_lapsed:
            return True
        if not pending.is_begun:
            if call.task == GatewayTask.JOIN and not self._shown(call):
                return False
            pending.is_begun = True
            try:
                pending.marks = at.call(lambda: at.part.do(call))
            except LookupError:
                self._problems = "it has let its clients go on already"
                return True
        marks = pending.marks
        return marks is None or at.call(lambda: at.gateway.drains.drained(marks))

    def _shown(self, call: GatewayCall) -> bool:
        """Let clients find the brokers of the target, once earlier moves are known here.

        Raises:
            TowpathError: The target does not tell its brokers.
        """
        at = self._at
        if at.call(lambda: at.gateway.routes.turns) < call.moves:
            return False
        promoted = at.call(lambda: {*at.gateway.routes.topics})
        names = [*map(TopicName, {*call.topics} | promoted)]
        self._problems = "; ".join(each.text for each in at.call(at.gateway.show_target))
        at.see(at.link.target.topics.with_brokers(names))
        going_back = [*map(TopicName, promoted.intersection(call.topics))]
        if going_back:
            at.see_back(at.link.source.topics.with_brokers(going_back))
        return True

    def _reply(self, call: GatewayCall) -> GatewayReply:
        at = self._at
        reply = at.call(lambda: at.part.reply(call, at.book.name))
        error = _LAPSED if self._lease.is_lapsed else self._problems
        self._problems = ""
        return replace(reply, error=error, joined=self._lease.is_joined)

    def _say(self, reply: GatewayReply, *, is_last: bool = False) -> None:
        """Write a word of this gateway to the ledger.

        Raises:
            TowpathError: It cannot be written.
        """
        self._last = reply
        self._write(replace(reply, joined=not is_last))

    def _write(self, reply: GatewayReply) -> None:
        lease, sent = self._lease, elapsed()
        self._said = sent
        self._ledger.append([replace(reply, joined=reply.joined and lease.is_joined)])
        was_lapsed = lease.is_lapsed
        lease.renewed(sent)
        if was_lapsed and not lease.is_lapsed:
            self._at.call(self._at.gateway.wake)


def _name(about: GatewayCall | GatewayReply) -> str:
    return f"{about.leader} {about.request}"


def _sign(call: GatewayCall, gateway: str) -> GatewayReply:
    """Return a sign of life of a promotion that answers none of its calls."""
    return GatewayReply(
        link=call.link, gateway=gateway, request=call.request, leader=call.leader, number=_NO_CALL,
        joined=True,
    )  # fmt: skip
