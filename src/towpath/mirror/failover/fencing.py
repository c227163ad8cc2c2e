"""Fencing of target partitions, and ledger entries about where each was cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from towpath.cluster.data.client import Client
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut
from towpath.ledger.link import OpenLink
from towpath.ledger.moves import Moves
from towpath.ledger.states import Sealed
from towpath.mirror.failover.cuts import cut_of
from towpath.mirror.failover.partitions import PartitionPlan
from towpath.mirror.failover.request import FailoverReport, FailoverRequest
from towpath.mirror.failover.state_before_failover import Looker
from towpath.model.nouns import Side, TargetOffset, TopicPartition
from towpath.records.target.fences import Fence, Fenced, Fencer, fence_of, fence_transactions
from towpath.runtime.clock import now_ms

FENCES = 30.0
"""Seconds for the fences of few partitions; those without a leader stay open, and say so."""
_EACH = 0.02
"""Seconds more for each partition, which a busy broker may need."""


class Fencing:
    """Fences the partitions of a sealed link, or of some of its topics.

    Args:
        link: The link.
        looker: Looks at its partitions.
        moves: The states of the link, which are moved first.
        asked: The request.
    """

    def __init__(
        self, link: OpenLink, looker: Looker, moves: Moves, asked: FailoverRequest
    ) -> None:
        self._link, self._looker, self._moves, self._asked = link, looker, moves, asked

    def fence(self, report: FailoverReport) -> None:
        """Fence all partitions, and write the cut of each to the ledger."""
        link, moves, looker = self._link, self._moves, self._looker
        plan, until = report.plan, moves.later()
        known = {"lost": -1 if plan.unknown else plan.lost, "again": plan.again}
        moves.write(
            [
                each.commit(moves.by, until, **known) if isinstance(each, Sealed) else each
                for each in moves.now
            ]
        )
        # First, as that ends transactions of a mirror that died, which are not mirrored then.
        timeout = link.config.target.request_timeout
        refused = fence_transactions(link.target, link.name, looker.opened, timeout)
        before = {each.tp: each for each in looker.partitions()}
        usable = {tp: each for tp, each in looker.opened.items() if before[tp].trouble is None}
        report.missing += [each.sentence for each in before.values() if each.trouble is not None]
        report.fenced = self._fenced(usable, before)
        report.fenced.open |= {tp: why for tp, why in refused.items() if tp in usable}
        report.missing += [f"{tp}: {why}" for tp, why in report.fenced.failed.items()]
        link.ledger.append(self._cuts(usable, before, report.fenced))
        link.read()

    def _fenced(
        self,
        usable: Mapping[TopicPartition, PartitionBooks],
        before: Mapping[TopicPartition, PartitionPlan],
    ) -> Fenced:
        link, told = self._link, self._asked.told
        identity = link.books.identity
        assert identity is not None  # noqa: S101  # the link ran
        states = self._looker.states(usable)
        fences = [
            fence_of(
                link.name,
                identity.source_cluster,
                tp,
                books,
                states.get(before[tp].target, ()),
                TargetOffset(before[tp].log_end),
            )
            for tp, books in usable.items()
        ]
        due = [each for each in fences if not _is_done(each, before[each.tp])]
        with Client(link.config.target, Side.TARGET, link.target) as client:
            fencer = Fencer(link.target, client, lambda done: told("fencing", done, len(due)))
            return fencer.fence(due, FENCES + _EACH * len(due))

    def _cuts(
        self,
        usable: Mapping[TopicPartition, PartitionBooks],
        before: Mapping[TopicPartition, PartitionPlan],
        fenced: Fenced,
    ) -> Iterator[Cut]:
        at = now_ms()
        targets = {tp: before[tp].target for tp in usable}
        epochs = self._link.target.offsets.last_epochs(targets.values(), patience=FENCES)
        for tp, books in usable.items():
            epoch = epochs.get(targets[tp], -1)
            known, end = before[tp], fenced.ends.get(tp)
            fences = fenced.fences.get(tp, 0)
            if end is not None and known.cut is None:
                yield cut_of(self._link.name, books, known, at, end, fences, epoch)
            elif end is not None and known.cut is not None:
                yield replace(known.cut, fences=max(fences, known.cut.fences))


def _is_done(fence: Fence, plan: PartitionPlan) -> bool:
    """Whether an earlier attempt has fenced a partition, and written where it was cut."""
    return plan.cut is not None and plan.cut.fences > 0 and not fence.ids
