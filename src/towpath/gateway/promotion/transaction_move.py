"""Moves of transactional ids: let open transactions end, and make the ids there. Blocking."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.metadata import DescribedTransaction
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.transactional_cut import LeavingTransactional
from towpath.gateway.promotion.undo_errors import UndoneError, undone
from towpath.gateway.transaction_routes import TransactionHold, TransactionRoutes, joined_beyond
from towpath.ledger.entries import TRANSACTIONS_LEVEL, GatewayTask, MovedTransactional
from towpath.ledger.link import OpenLink
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.deadline import Deadline

Described = Mapping[str, DescribedTransaction]
_PATIENCE = 30.0
"""Seconds for one id there: its first one may have to wait for the topic of transactions."""
_NAP = 0.02
_LEAST = 1
"""The lowest epoch of an id there: one below it is what fenced producers are given."""
_MOST = 1000
"""Epochs by which an id is raised at most that has the same producer id on both clusters."""


class TransactionMove:
    """Moves the transactional ids of a promotion.

    Args:
        at: What to work with.
        link: The link that copies: the ids leave its source, and go on at its target.
        scope: What moves.
        back: Whether it goes back to the source.
    """

    def __init__(
        self, at: PromotionResources, link: OpenLink, scope: PromotionScope, *, back: bool
    ) -> None:
        self._at, self._link, self._scope = at, link, scope
        self._fleet = at.fleet
        self._there: dict[str, ProducerEpoch] = {}
        self._ended: Described = {}
        self._hold = TransactionHold(
            frozenset(scope.topics),
            frozenset(group.name for group in scope.groups),
            {*scope.transactional},
            back=back,
        )

    def prepare(self) -> None:
        """Make all ids at the target.

        Raises:
            UndoneError: One of them is in use there.
            ClusterError: The target refuses it.
        """
        if not self._scope.transactional:
            return
        self._at.link.raise_level(TRANSACTIONS_LEVEL)
        here = self._describe(self._scope.transactional)
        there = self._link.target.producers.described_transactions(here)
        for name, each in sorted(there.items()):
            if each.is_ongoing:
                where = "has an open transaction on the cluster where it shall go on"
                raise undone(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where=where)
        for each in here.values():
            self._make(each)

    def alone(self) -> tuple[LeavingTransactional, ...]:
        """Return ids of which no transaction is open, and that wait, for the record.

        Raises:
            ClusterError: The source does not answer.
        """
        self._ended = self._describe(self._scope.transactional)
        ids = self._at.call(self._at.gateway.routes.transactions.copy)
        return tuple(self._record(each, ids) for _, each in sorted(self._ended.items()))

    def close(self, patience: Deadline, late: str) -> None:
        """Hold new transactions, and wait until those that are open have ended.

        Args:
            patience: How long to wait.
            late: How long that was, for people.

        Raises:
            UndoneError: One did not end in time.
        """
        self._hold.groups = frozenset(group.name for group in self._scope.groups)  # also new ones
        self._fleet.ask(
            GatewayTask.TRANSACTIONS,
            topics=tuple(sorted(self._hold.topics)),
            groups=tuple(sorted(self._hold.groups)),
            ids=tuple(sorted(self._hold.ids)),
            opened=tuple(_ongoing(self._describe(self._hold.ids))),
            back=self._hold.back,
            stay=tuple(sorted(self._scope.stay | self._scope.apart)),
            copied=tuple(sorted(self._at.copied)),
        )
        while True:
            found = self._describe(self._all())
            left = [*_ongoing(found)]
            if not left and self._sealed(patience):
                return
            name = left[0] if left else "a producer"
            what = f"the transaction of {name} had ended"
            self._at.require(patience, undone(ReasonCode.PROMOTE_LATE, hold=late, what=what))
            time.sleep(_NAP)

    def records(self) -> tuple[LeavingTransactional, ...]:
        """Return the ids as they are on both clusters, for the record.

        Raises:
            UndoneError: One writes what does not move.
        """
        late = {*self._ended} - {*self._scope.transactional}
        seen = self._fleet.seen_ids() if late else {}
        for name in sorted(late & seen.keys()):
            for topic, group in joined_beyond(seen[name], self._hold.topics, self._hold.groups):
                about = f"transactional id {name}"
                if topic:
                    why = Reason.of(
                        ReasonCode.PROMOTE_TOGETHER, group=about, topic=topic, does="writes to"
                    )
                else:
                    why = Reason.of(ReasonCode.PROMOTE_TOGETHER_GROUP, who=about, group=group)
                raise UndoneError(why)
        if late:
            self._at.link.raise_level(TRANSACTIONS_LEVEL)
        ids = self._at.call(self._at.gateway.routes.transactions.copy)
        return tuple(self._record(each, ids) for _, each in sorted(self._ended.items()))

    def known(self) -> frozenset[str]:
        """Return all ids of the cluster that is left, with those that began lately.

        Raises:
            ClusterError: It does not answer.
        """
        ids = self._at.call(self._at.gateway.routes.transactions.copy)
        names = self._link.source.producers.transactional_ids().values()
        return self._scope.known | {each for each in names if ids.is_moved(each) is self._hold.back}

    def _record(self, each: DescribedTransaction, ids: TransactionRoutes) -> LeavingTransactional:
        name, there = each.transactional_id, self._make(each)
        held = ids.held(name, each.producer, each.epoch)
        entry = MovedTransactional(
            id=name,
            left_id=held[0],
            left_epoch=held[1],
            there_id=there.producer_id,
            there_epoch=there.epoch,
            ended=each.state,
        )
        begun = ids.begun(name) if ids.is_held(name, *held) else {}
        return LeavingTransactional(entry, each.producer, each.epoch, begun)

    def _make(self, here: DescribedTransaction) -> ProducerEpoch:
        """Make an id there, under an epoch that no other meaning of the same pair can have."""
        name = here.transactional_id
        writer = self._link.target.producers.transactions(name, here.timeout_ms / 1000)
        for _ in range(_MOST):
            found = self._there.get(name)
            if found is not None:
                same = found.producer_id == here.producer
                if found.epoch >= max(_LEAST, here.epoch if same else 0):
                    return found
            self._there[name] = writer.fence(Deadline.after(_PATIENCE))
        where = "has the same producer id on both clusters, and too high an epoch"
        raise undone(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where=where)

    def _all(self) -> set[str]:
        return self._hold.ids | self._fleet.late_ids()

    def _describe(self, names: Iterable[str]) -> Described:
        return self._link.source.producers.described_transactions(names)

    def _sealed(self, patience: Deadline) -> bool:
        """Let nothing pass any more; return whether still no transaction is open."""
        self._fleet.ask(GatewayTask.SEAL, patience, patience.left())
        found = self._describe(self._all())
        self._ended = found
        if any(_ongoing(found)):
            self._fleet.ask(GatewayTask.UNSEAL)
            return False
        self._fleet.ask(GatewayTask.ENDED, ids=tuple(sorted(found)))
        return True


def _ongoing(found: Described) -> Iterator[str]:
    yield from sorted(name for name, each in found.items() if each.is_ongoing)
