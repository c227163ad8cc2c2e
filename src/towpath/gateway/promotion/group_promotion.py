"""Promotions of groups before their topics: members read from mirror topics then. Blocking.

1. nobody is a member at the source any more
2. the target has all records before the groups' offsets
3. the offsets are written on the target, and read back
4. at the source nothing has changed meanwhile
5. the record, from which on there is only the way forward
6. members that wait at the gateway join on the target
"""

from __future__ import annotations

import time
from dataclasses import replace

from towpath.gateway.promotion.deciding import decide
from towpath.gateway.promotion.gateway_entries import done_state
from towpath.gateway.promotion.group_move import MEMBERS, GroupMove, Offsets
from towpath.gateway.promotion.group_scope import GroupScope, ahead, members_there
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.undo_errors import UndoneError, undone, unknown
from towpath.ledger.entries import Promoted, Promotion, PromotionStep
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

_LOOK = 0.2


class GroupPromotion:
    """One attempt to promote groups.

    Args:
        at: What to work with.
        asked: The request.
        scope: The groups.
    """

    def __init__(self, at: PromotionResources, asked: Promotion, scope: GroupScope) -> None:
        self._at, self._asked, self._scope = at, asked, scope
        # Of a group that the source does not have there is nothing to bring over.
        known = {group: each for group, each in scope.groups.items() if each is not None}
        self._groups = GroupMove(at, at.link, PromotionScope({}, groups=known), back=False)

    def go(self) -> Promotion:
        """Run all steps.

        Raises:
            UndoneError: It cannot be done now; nothing has changed.
            TowpathError: A cluster failed; likewise.
        """
        began = time.monotonic()
        self._reach(PromotionStep.BEGUN)
        self._groups.find()
        self._wait()
        self._reach(PromotionStep.NEAR)
        offsets = self._groups.offsets()
        self._require_same(offsets)
        self._reach(PromotionStep.WRITTEN)
        record = self._record()
        decide(self._at.book, record, self._at.stop)
        self._at.call(lambda: self._moved(record))
        self._reach(PromotionStep.DECIDED)
        return replace(
            self._at.book.newest(self._asked),
            state=done_state(self._asked).value,
            silent=round(1000 * (time.monotonic() - began)),
        )

    def _reach(self, step: PromotionStep) -> None:
        self._at.book.reach(self._asked, step)

    def _wait(self) -> None:
        """Wait until the target has all that the groups have read.

        Raises:
            UndoneError: It does not get it in time.
        """
        patience = Deadline.after(MEMBERS)
        places = {tp for each in self._scope.commits.values() for tp in each}
        while places:
            ends = self._at.link.target.offsets.latest(places)
            left = ahead(self._scope.commits, ends)
            if left is None:
                return
            group, tp, records = left
            code = ReasonCode.PROMOTE_GROUP_BEHIND
            late = undone(code, group=group.name, partition=str(tp), records=records)
            self._at.require(patience, late)
            time.sleep(_LOOK)

    def _require_same(self, offsets: Offsets) -> None:
        """Raise if somebody joined or committed at the source meanwhile.

        Raises:
            UndoneError: Somebody did.
        """
        link, names = self._at.link, {group.name for group in self._scope.groups}
        listing = link.source.groups.listed()
        for error in listing.failed.values():
            raise UndoneError(error.reason)
        now = [each for name, each in listing.groups.items() if name in names]
        for why in members_there(link, now):
            raise UndoneError(why)
        said = link.source.groups.offsets([each.group for each in now], telling=True)
        for group, error in said.failed.items():
            raise unknown(f"the offsets of {group} are", error)
        for group, commits in said.items():
            before = {tp: each.offset for tp, each in offsets.get(group, {}).items()}
            if before != {tp: each.offset for tp, each in commits.items()}:
                raise undone(ReasonCode.PROMOTE_OFFSETS, group=str(group))

    def _record(self) -> Promoted:
        return Promoted(
            link=self._asked.link,
            name=self._asked.name,
            topics=(),
            groups=tuple(sorted(group.name for group in self._scope.groups)),
            at=now_ms(),
            by=self._at.link.name,
        )

    def _moved(self, record: Promoted) -> None:
        self._at.gateway.routes.move(record)
        self._at.gateway.wake()
