"""All gateways of a link, as the one that leads a promotion uses them. Blocking.

What this gateway does itself it does at once. Others are asked through the ledger, by entries that
are refused once another gateway leads; each does what is asked, and says so there.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from towpath.gateway.client_logins import ClientLogin
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.gateway_part import GatewayPart, Marks
from towpath.gateway.promotion.promoting_gateway import PromotingGateway
from towpath.gateway.promotion.reasons.gateways import of_gateway
from towpath.gateway.promotion.undo_errors import UndoneError, late_answers, undone
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.ledger.entries import GatewayCall, GatewayReply, GatewaySign, GatewayTask, RelayedId
from towpath.ledger.link import OpenLink
from towpath.model.errors import TowpathError
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.deadline import Deadline

T = TypeVar("T")
_TELLS = 3.0
"""Seconds within which gateways tell of their clients."""
_JOINS = 20.0
"""Seconds within which gateways take part, or are known to send nothing more."""
_NAP, _WAIT = 0.005, 0.1
_NO_PRODUCER = -1


class Led(Protocol):
    """Protocol of what a fleet works with.

    Attributes:
        link: The link.
        book: What gateways keep in the ledger.
        gateway: This gateway.
        part: What it holds and releases.
    """

    link: OpenLink
    book: GatewayBook
    gateway: PromotingGateway
    part: GatewayPart

    def call(self, what: Callable[[], T]) -> T:
        """Call a function in the event loop, and return its result."""

    def require(self, patience: Deadline, late: UndoneError) -> None:
        """Raise if the time for the promotion is over."""


@dataclass(slots=True)
class FleetFacts:
    """What all gateways of a link know of their clients.

    Attributes:
        seen: What transactional ids did.
        logins: The logins of clients.
        told: What a rehearsal tells of gateways and clients, in sentences.
        forbidden: A reason for each gateway that would not take part.
        waiting: How many members of each group wait, as it is not promoted.
        groups: The groups whose members came through any of them.
    """

    seen: dict[str, SeenTransactional] = field(default_factory=dict)
    logins: set[ClientLogin] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    forbidden: list[Reason] = field(default_factory=list)
    waiting: Counter[str] = field(default_factory=Counter)
    groups: set[str] = field(default_factory=set)

    def know(self, ids: Iterable[RelayedId]) -> None:
        """Add transactional ids that the ledger knows."""
        for each in ids:
            known = self.seen.setdefault(each.id, SeenTransactional())
            known.producers |= {*each.producers}
            known.topics |= {*each.topics}
            known.groups |= {*each.groups}

    def take(self, reply: GatewayReply) -> None:
        """Add what one gateway knows."""
        for each in reply.seen:
            known = self.seen.setdefault(each.id, SeenTransactional())
            known.producers |= {each.producer} - {_NO_PRODUCER}
            known.topics |= {*each.topics}
            known.groups |= {*each.groups}
            known.is_open |= each.is_open
        self.logins |= {ClientLogin(each.mechanism, each.name, each.token) for each in reply.logins}
        self.told += reply.told
        self.waiting.update(reply.waiting)
        self.groups |= {*reply.groups}


class Fleet:
    """The gateways of a link, led by this one.

    Args:
        at: What promotions work with.

    Attributes:
        others: The other gateways that take part in the promotion that goes on.
        lost: Those of them that ended meanwhile, or do not answer any more.
        patience: How long to wait for them, once clients are held; `None` before.
    """

    def __init__(self, at: Led) -> None:
        self._at, self._book = at, at.book
        self._request, self._number = "", 0
        self.others: dict[str, GatewaySign] = {}
        self.lost = set[str]()
        self.patience: Deadline | None = None

    # Without a promotion

    def facts(self) -> FleetFacts:
        """Return what all gateways know of their clients now.

        Raises:
            TowpathError: The ledger cannot be read or written.
        """
        book, found = self._book, FleetFacts()
        call = self._call(GatewayTask.FACTS, request=uuid.uuid4().hex[:16])
        found.take(self._own(call))
        book.read()
        found.know(book.relayed_lately())  # also through gateways that have ended
        asked, others = dict[str, GatewaySign](), book.others()
        for sign in others:
            if book.takes_part(sign):
                asked[sign.name] = sign
            else:
                found.forbidden.append(of_gateway(sign, book.why_apart(sign)))
        if others:
            found.told.append(f"gateway {book.name}, which would lead it, is this one")
        found.told += (
            f"gateway {each.name} on {each.host}, pid {each.pid}, is of link {each.link}: it would"
            " not hold clients of these topics; lead them to a gateway of this link before"
            for each in book.beside()
        )
        if asked:
            book.tell([call])
        patience = Deadline.after(_TELLS)
        while left := {name for name in asked if book.answer(name, call) is None}:
            if patience.over or all(map(book.is_held, left)):
                break
            book.read(_WAIT)
        for name, sign in asked.items():
            where = f"gateway {name} on {sign.host}, pid {sign.pid},"
            answer = book.answer(name, call)
            if answer is not None:
                found.take(answer)
                found.told.append(f"{where} would take part")
            elif book.is_held(name):
                found.told.append(f"{where} is left out: it was lost, and serves nobody")
            else:
                found.forbidden.append(of_gateway(sign, "it does not answer"))
        return found

    def unseen(self, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the members that came through none of the gateways, by group.

        Raises:
            TowpathError: The ledger cannot be read or written.
        """
        at, book = self._at, self._book
        left = at.call(lambda: at.gateway.routes.seen.unseen(members))
        others = [sign.name for sign in book.others() if book.takes_part(sign)]
        if not left or not others:
            return left
        asked = {group: tuple(names) for group, names in left.items()}
        call = self._call(GatewayTask.SEEN, request=uuid.uuid4().hex[:16], members=asked)
        book.tell([call])
        patience = Deadline.after(_TELLS)
        while not all(book.answer(name, call) for name in others) and not patience.over:
            book.read(_WAIT)
        answers = (book.answer(name, call) for name in others)
        return _without(left, (each.members for each in answers if each is not None))

    # A promotion

    def join(self, request: str, topics: Iterable[str]) -> None:
        """Let all gateways take part in a promotion.

        Raises:
            UndoneError: One does not.
            TowpathError: The ledger cannot be read or written, or another gateway leads.
        """
        book = self._book
        self._request, self._number = request, 0
        self.lost, self.patience = set(), None
        self.others = {sign.name: sign for sign in book.company()}
        for sign in self.others.values():
            if not book.takes_part(sign):
                raise UndoneError(of_gateway(sign, book.why_apart(sign)))
        self.ask(
            GatewayTask.JOIN,
            Deadline.after(_JOINS),
            topics=tuple(topics),
            moves=len(book.promoted),
        )

    def ask(
        self,
        task: GatewayTask,
        patience: Deadline | None = None,
        late: float | None = None,
        **fields: Any,
    ) -> list[GatewayReply]:
        """Let all gateways do something; return what each says once all have done it.

        Args:
            task: What to do.
            patience: How long to wait for all, and for what was sent to be answered.
            late: The seconds that brokers had to answer, if it is undone where they do not.
            fields: What the task is about, as `GatewayCall` has it.

        Raises:
            UndoneError: One cannot, or does not in time.
            TowpathError: The ledger cannot be read or written, or another gateway leads.
        """
        at, book = self._at, self._book
        patience = patience or self.patience or Deadline.after(_JOINS)
        self._number += 1
        call = self._call(task, request=self._request, **fields)
        if self.others:
            book.call(call)
        try:
            marks = at.call(lambda: at.part.do(call))
        except LookupError:
            raise undone(ReasonCode.PROMOTE_ENDED) from None
        if self.others:
            book.read()  # who is left out is decided by what was said before the call
        while True:
            here = marks is None or at.call(lambda: at.gateway.drains.drained(marks))
            left = {*self.others} if self.others else set[str]()
            left = {name for name in left if not self._is_done(name, call)}
            if here and not left:
                break
            at.require(patience, self._late(left, late, marks if patience.over else None))
            if left:
                book.read(_WAIT if here else _NAP)
                book.others()  # one may have ended
            else:
                time.sleep(_NAP)
        answers = (book.answer(name, call) for name in self.others)
        return [self._own(call), *(each for each in answers if each is not None)]

    def missing(self, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        """Return the members that no gateway holds yet, by group."""
        asked = {group: tuple(names) for group, names in members.items()}
        replies = self.ask(GatewayTask.COME, members=asked)
        return _without(
            {group: sorted(names) for group, names in asked.items()},
            (each.members for each in replies),
        )

    def late_ids(self) -> set[str]:
        """Return other transactional ids that have to move, too, as all gateways know."""
        return {name for each in self.ask(GatewayTask.LATE) for name in each.ids}

    def seen_ids(self) -> Mapping[str, SeenTransactional]:
        """Return what transactional ids did, as all gateways that take part know."""
        found = FleetFacts()
        for each in self.ask(GatewayTask.IDS):
            found.take(each)
        return found.seen

    def undo(self) -> None:
        """Let members of lost gateways join anew, as they may think that they have nothing."""
        if self.lost and self.others:
            self._number += 1
            with suppress(TowpathError):  # whoever leads then does it
                self._book.call(self._call(GatewayTask.UNDO, request=self._request))

    def _call(self, task: GatewayTask, *, request: str, **fields: Any) -> GatewayCall:
        return GatewayCall(
            link=self._at.link.name,
            request=request,
            leader=self._book.name,
            number=self._number if request == self._request else 0,
            task=task.value,
            **fields,
        )

    def _own(self, call: GatewayCall) -> GatewayReply:
        return self._at.call(lambda: self._at.part.reply(call, self._book.name))

    def _is_done(self, name: str, call: GatewayCall) -> bool:
        """Whether a gateway has done what was asked, or is lost and sends nothing any more.

        Raises:
            UndoneError: It cannot.
        """
        answer = self._book.answer(name, call)
        if answer is not None:
            if answer.error:
                raise UndoneError(of_gateway(self.others[name], answer.error))
            return True
        if self._book.is_held(name):
            del self.others[name]
            self.lost.add(name)
            return True
        return False

    def _late(self, left: Set[str], late: float | None, marks: Marks | None) -> UndoneError:
        name = min(left, default="")
        sign = self.others.get(name)
        if sign is None:
            if late is None:
                return undone(ReasonCode.PROMOTE_ENDED)
            drains = self._at.gateway.drains
            slowest = self._at.call(lambda: drains.slowest(marks)) if marks else ""
            return late_answers(late, slowest)
        return UndoneError(of_gateway(sign, "it did not do its part in time"))


def _without(
    members: Mapping[str, Iterable[str]], found: Iterable[Mapping[str, Iterable[str]]]
) -> dict[str, list[str]]:
    """Return the members, by group, that are not among those that were found."""
    left = {group: [*names] for group, names in members.items()}
    for each in found:
        for group, names in each.items():
            known = {*names}
            left[group] = [name for name in left.get(group, ()) if name not in known]
    return {group: names for group, names in left.items() if names}
