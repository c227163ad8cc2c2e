"""Moves of single transactional ids, after the topics that they write to. Blocking."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from towpath.cluster.metadata import DescribedTransaction, every_partition
from towpath.gateway.promotion.deciding import decide
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.transaction_move import TransactionMove
from towpath.gateway.promotion.transaction_scope import elsewhere
from towpath.gateway.promotion.undo_errors import UndoneError
from towpath.gateway.unplaced_ids import UnplacedId
from towpath.ledger.entries import Promoted
from towpath.model.errors import TowpathError
from towpath.model.nouns import ProducerId, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms

Described = Mapping[str, DescribedTransaction]


class UnplacedIdMoves:
    """Moves transactional ids whose clients wait, if nothing of theirs stays at the source.

    Args:
        at: What to work with.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at, self._ids = at, at.gateway.routes.transactions

    def go(self) -> list[Reason]:
        """Settle all ids that wait; return a reason for each that cannot write what it wants."""
        at, unplaced = self._at, self._ids.unplaced
        if not unplaced.wanted or at.book.led_by_others():  # what is moving comes first
            return []
        wanted, away = at.call(lambda: ({**unplaced.wanted}, at.gateway.routes.source_away))
        why, there, here = "", dict[str, DescribedTransaction](), dict[str, DescribedTransaction]()
        try:
            there = at.link.target.producers.described_transactions(wanted)
            here = {} if away else at.link.source.producers.described_transactions(wanted)
        except TowpathError as error:
            why = f"a cluster that does not answer: {error}"
        reasons = []
        for name, each in wanted.items():
            where = self._settled(name, each, there.get(name), here.get(name), why)
            if where:
                wants = f"wants to write to {each.wants}, which is not on one cluster with {where}"
                reasons.append(Reason.of(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where=wants))
        at.call(at.gateway.wake)
        return reasons

    def _settled(
        self,
        name: str,
        wanted: UnplacedId,
        there: DescribedTransaction | None,
        here: DescribedTransaction | None,
        why: str,
    ) -> str:
        """Settle an id; return what keeps it elsewhere, "" for nothing."""
        ids = self._ids.unplaced
        try:
            if not wanted.movable:
                why = "all that it wrote"
            elif not why:
                why = self._placed(name, wanted, there, here)
        except UndoneError as error:
            why = str(error.why)
        except TowpathError as error:
            why = f"a cluster that does not answer: {error}"
        if not why or (wanted.at_target and wanted.movable):
            self._at.call(lambda: ids.settles(name))  # the target tells what it does not know
            return ""
        self._at.call(lambda: ids.refuses(name))
        return why

    def _placed(
        self,
        name: str,
        wanted: UnplacedId,
        there: DescribedTransaction | None,
        here: DescribedTransaction | None,
    ) -> str:
        """Move an id that the target does not know; return what keeps it, "" for nothing.

        Raises:
            TowpathError: A cluster does not answer, or refuses.
        """
        at = self._at
        held, _ = at.call(lambda: self._ids.identity(name, wanted.producer, wanted.epoch))
        if wanted.at_target and there is not None and there.producer == held:
            return ""
        if here is None or here.producer != held:
            return "its producer id, which the source does not know"
        if here.is_ongoing:
            return "its open transaction"
        routes = at.gateway.routes
        promoted, groups = at.call(
            lambda: (
                {*routes.topics},
                {each for each in self._of(name) if not routes.moves(each)},
            )
        )
        if groups:
            return f"group {min(groups)}, for which it committed"
        names = {ProducerId(here.producer): name}
        others = elsewhere(at.link, names, map(TopicName, promoted)).get(name)
        if others is not None:
            return f"topic {min(others.topics)}, to which it wrote"
        self._move(name, promoted)
        return ""

    def _of(self, name: str) -> set[str]:
        seen = self._ids.seen().get(name)
        return seen.groups if seen is not None else set()

    def _move(self, name: str, promoted: set[str]) -> None:
        at, link = self._at, self._at.link
        at.book.renew()
        link.read()
        scope = PromotionScope({}, transactional=frozenset({name}))
        move = TransactionMove(at, link, scope, back=False)
        move.prepare()
        places = every_partition(link.source.topics.describe(map(TopicName, promoted)))
        states = link.source.producers.states(places) if places else {}
        record = Promoted(
            link=link.name,
            name=uuid.uuid4().hex[:16],
            topics=(),
            groups=(),
            at=now_ms(),
            by=link.name,
            transactional=tuple(each.moved(states) for each in move.alone()),
        )
        decide(at.book, record, at.stop)
        at.call(lambda: at.gateway.routes.move(record))
