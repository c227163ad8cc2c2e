"""The steps of one promotion, in a thread beside the connections.

Until the record of it is in the ledger everything is undone by itself, whatever fails. From then on
there is only the way forward, also for a gateway that begins after this one was killed.

1. all gateways of the link take part; look whether all members of the groups came through them
2. members come to a held join, and commit before
3. transactions that are open end, and new ones are held; then the offsets of groups are written on
   the target
4. producers are held; what is on its way to the source is answered
5. the run of the link copies the rest, until both logs end at the same offset, twice
6. what the source holds of each producer, and the transactional ids on both clusters, are noted in
   the record: the point of no return
7. the link does not copy the topics any more, and late writes of it are refused
8. held requests go to the target

Topics go back by the same steps: the link back copies, so its source is the target, and its target
the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from towpath.gateway.producer_eras import is_adopted, is_given
from towpath.gateway.promotion.deciding import decide
from towpath.gateway.promotion.direct_writers import require_no_direct_writers
from towpath.gateway.promotion.gateway_entries import done_state
from towpath.gateway.promotion.group_move import MEMBERS, GroupMove
from towpath.gateway.promotion.mirroring_end import close_topics
from towpath.gateway.promotion.promotion_record import record_of
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope, lags
from towpath.gateway.promotion.transaction_move import TransactionMove
from towpath.gateway.promotion.undo_errors import (
    UndoneError,
    undone,
    unknown,
)
from towpath.ledger.entries import GatewayTask, Promoted, Promotion, PromotionStep
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.runtime.deadline import Deadline

T = TypeVar("T")
_NAP = 0.02
_BETWEEN = 0.05
"""Seconds between the two comparisons of log ends."""
_CLOSE_ENOUGH = 1000
"""Records by which the target may be behind when producers are held."""
_AGAIN = 1.0


class PromotionAttempt:
    """One attempt at a promotion.

    Args:
        at: What to work with.
        asked: The request.
        scope: What moves.
        link: The link that copies: clients leave its source, and go on at its target.
    """

    def __init__(
        self, at: PromotionResources, asked: Promotion, scope: PromotionScope, link: OpenLink
    ) -> None:
        self._at, self._asked, self._scope, self._link = at, asked, scope, link
        self._gateway, self._book, self._routes = at.gateway, at.book, at.gateway.routes
        self._fleet = at.fleet
        self._groups = GroupMove(at, link, scope, back=asked.back)
        self._transactions = TransactionMove(at, link, scope, back=asked.back)
        self._budget, self._hold = Deadline.after(MEMBERS), MEMBERS
        self._began = self._held = time.monotonic()

    def go(self) -> Promotion:
        """Run all steps of the promotion.

        Raises:
            UndoneError: It cannot be done now; whoever calls lets everything go on as before.
            TowpathError: A cluster failed; likewise.
        UndecidedError: The gateway shall end, and it is not known; everything stays held.
        """
        section = self._at.link.config.gateway
        assert section is not None  # noqa: S101  # a gateway runs
        self._show()
        self._book.wait_until(None)
        self._fleet.join(self._asked.name, sorted(self._scope.topics))
        self._reach(PromotionStep.BEGUN)
        self._near()
        self._groups.present()
        if not self._asked.back:
            self._require_none_direct(adopts=section.adopt)
        self._groups.find()
        self._transactions.prepare()
        self._reach(PromotionStep.NEAR)
        self._began = time.monotonic()
        self._book.wait_until(Deadline.after(MEMBERS))
        self._groups.gather()
        self._reach(PromotionStep.GATHERED)
        self._begin_hold(float(section.hold))
        self._transactions.close(self._budget, f"{self._hold:g} s")
        offsets = self._groups.offsets()
        self._reach(PromotionStep.WRITTEN)
        if not self._scope.transactional:
            self._begin_hold(float(section.hold))
        self._drain()
        ends = self._tail()
        record = self._asked_in_time(lambda: self._record(ends))
        self._require_time("all was ready")
        decide(self._book, record, self._at.stop)
        self._book.wait_until(None)
        self._at.call(lambda: self._at.part.moved(record))
        freed = time.monotonic()
        self._reach(PromotionStep.DECIDED)
        # Members are held until the run of the link brings no older offsets any more.
        closed = close_topics(self._link, record)
        troubles = closed.troubles + self._groups.check(offsets)
        now = time.monotonic()
        self._reach(PromotionStep.CLOSED)
        return replace(
            self._book.newest(self._asked),
            state=done_state(self._asked).value,
            reasons=tuple(troubles),
            held=round(1000 * (freed - self._held)),
            silent=round(1000 * (now - self._began)),
        )

    def _require_none_direct(self, *, adopts: bool) -> None:
        """Raise if a producer writes without these gateways whose id does not tell that.

        Raises:
            UndoneError: One does.
        """
        beside = bool(self._book.beside())
        if adopts or beside:
            require_no_direct_writers(
                self._at,
                self._link,
                self._scope.partitions,
                lambda number: (adopts and is_adopted(number)) or (beside and is_given(number)),
            )

    def _reach(self, step: PromotionStep) -> None:
        self._book.reach(self._asked, step)

    def _show(self) -> None:
        """Let clients find the brokers of the target."""
        problems = self._at.call(self._gateway.show_target)
        if problems:
            text = "; ".join(each.text for each in problems)
            raise undone(ReasonCode.PROMOTE_LISTEN, text=text)
        promoted = self._at.call(lambda: {*map(TopicName, self._routes.topics)})
        names = {*self._scope.topics, *promoted}
        self._at.see(self._at.link.target.topics.with_brokers(names))
        if self._asked.back:
            self._at.see_back(self._link.target.topics.with_brokers({*self._scope.topics}))

    def _require_time(self, what: str) -> None:
        """Raise unless producers may be held for longer.

        Raises:
            UndoneError: They were held for too long, or the gateway is stopped.
        """
        late = undone(ReasonCode.PROMOTE_LATE, hold=f"{self._hold:g} s", what=what)
        self._at.require(self._budget, late)

    def _near(self) -> None:
        """Wait until the target is close behind."""
        patience = Deadline.after(MEMBERS)
        while True:
            left = lags(*self._ends())
            if all(abs(each) <= _CLOSE_ENOUGH for each in left.values()):
                return
            tp, lag = max(left.items(), key=lambda each: abs(each[1]))
            late = undone(ReasonCode.PROMOTE_BEHIND, partition=str(tp), records=lag)
            self._at.require(patience, late)
            time.sleep(_AGAIN)

    def _begin_hold(self, hold: float) -> None:
        """Note that producers are held from now on, and for how long they may be."""
        self._held, self._hold, self._budget = time.monotonic(), hold, Deadline.after(hold)
        self._fleet.patience = self._budget
        self._book.wait_until(self._budget)

    def _drain(self) -> None:
        """Hold producers, and wait until all that went to brokers is answered."""
        scope, seconds = self._scope, self._hold
        self._fleet.ask(
            GatewayTask.HOLD,
            self._budget,
            seconds,
            topics=tuple(sorted(scope.topics)),
            others=tuple(sorted(scope.others)),
            stay=tuple(sorted(scope.stay)),
            copied=tuple(sorted(self._at.copied)),
        )

    def _ends(self) -> tuple[Mapping[TopicPartition, int], Mapping[TopicPartition, int]]:
        """Return where the logs end: all at the source, on the target what it cannot lose.

        The source's leaders are asked under the leader epochs of now, so one that was replaced and
        does not know it refuses. What followers of the target lack is not there yet.
        """
        places = self._scope.partitions
        patience = max(_NAP, self._budget.left())
        source = self._link.source.offsets.log_ends(places, patience=patience)
        target = self._link.target.offsets.latest(places, patience=patience)
        for side, found in (("source", source), ("target", target)):
            for tp, error in found.failed.items():
                if not error.forbidden:
                    self._require_time(f"the {side} had told where {tp} ends")
                raise unknown(f"where {tp} ends on the {side} is", error)
        return source, target

    def _tail(self) -> Mapping[TopicPartition, int]:
        """Wait until both logs end at the same offset, and still do after a moment."""
        first: Mapping[TopicPartition, int] = {}
        while True:
            self._require_time("both clusters had told where the logs end")
            source, target = self._asked_in_time(self._ends)
            left = lags(source, target)
            for tp, lag in left.items():
                if lag < 0:
                    raise undone(ReasonCode.PROMOTE_AHEAD, partition=str(tp), records=-lag)
            for tp, end in first.items():
                if source[tp] != end:
                    raise undone(ReasonCode.PROMOTE_WRITTEN, partition=str(tp))
            if first and not left:
                return source
            if left:
                self._require_time(f"the target had all of {next(iter(left))}")
            if not left:
                first = source
            time.sleep(_BETWEEN if first else _NAP)

    def _asked_in_time(self, ask: Callable[[], T]) -> T:
        """Return an answer; where none came as producers were held for too long, say that.

        Raises:
            UndoneError: They were.
            ClusterError: The cluster did not answer for another reason.
        """
        try:
            return ask()
        except ClusterError:
            self._require_time("the clusters had answered")
            raise

    def _record(self, ends: Mapping[TopicPartition, int]) -> Promoted:
        """Return the record, with what the source holds of each producer."""
        stay = self._at.call(self._staying) if self._asked.back else None
        if stay is not None:
            self._scope.known = self._transactions.known()
        ids = self._transactions.records()
        patience = max(_NAP, self._budget.left())
        eras = self._book.eras
        try:
            return record_of(self._asked, self._link, self._scope, ends, eras, patience, stay, ids)
        except UndoneError as error:
            if error.why.code is ReasonCode.ERROR:
                self._require_time("the producers were known")
            raise

    def _staying(self) -> frozenset[str] | None:
        """Return the groups that the target still serves when only some of its topics go back."""
        if self._routes.topics <= {*self._scope.topics}:
            return None
        return frozenset(filter(self._routes.moves, self._scope.others))
