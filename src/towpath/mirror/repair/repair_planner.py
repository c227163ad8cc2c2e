"""The planner of a repair: asks both clusters about lost records, and decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from towpath.compare.work import Comparison
from towpath.ledger.books import LinkBooks
from towpath.ledger.link import OpenLink
from towpath.mirror.repair.repair_plan import (
    Ahead,
    PartitionFacts,
    Repair,
    RepairPlan,
    Unrepaired,
    begin_at,
    different,
    hindered,
)
from towpath.mirror.status.losses import LostRecords
from towpath.mirror.verify.observed import Observed
from towpath.mirror.verify.ranges import Sized, kept_range
from towpath.mirror.verify.verdict import difference
from towpath.model.errors import RefusedError
from towpath.model.nouns import SourceOffset, TopicPartition

Compare = Callable[[list[Sized]], Mapping[TopicPartition, Comparison]]


def plan_repair(
    link: OpenLink,
    tps: Collection[TopicPartition],
    lost: Mapping[TopicPartition, LostRecords],
    compare: Compare,
) -> RepairPlan:
    """Return the partitions that can be copied again exactly, and why others cannot.

    Args:
        link: The link; its books must have been read.
        tps: The requested source partitions.
        lost: What the target lost of them.
        compare: Compares ranges of both clusters record by record.

    Raises:
        ClusterError: A cluster did not answer about a partition.
    """
    books = link.books
    facts = _facts(link, lost)
    found = {tp: hindered(tp, books.of(tp), lost[tp], facts[tp]) for tp in lost}
    left = {tp: why for tp, why in found.items() if why is not None}
    rest = {tp: each for tp, each in lost.items() if tp not in left}
    left |= _different(link, rest, compare)
    good = {tp: each for tp, each in rest.items() if tp not in left}
    ahead = _ahead(link, good)
    repairs = [
        Repair(tp, opened.target, each, begin_at(books.of(tp), each), tuple(ahead[tp]))
        for tp, each in good.items()
        if (opened := books.of(tp).opened) is not None
    ]
    unfinished = [
        (tp, end) for tp in tps if tp not in lost and (end := _unfinished(books, tp)) >= 0
    ]
    return RepairPlan(tuple(repairs), tuple(unfinished), tuple(left.values()))


def _unfinished(books: LinkBooks, tp: TopicPartition) -> SourceOffset:
    """Return the offset up to which an earlier repair must still copy a partition, or -1."""
    known = books.of(tp)
    end = known.repairs[-1].acknowledged if known.repairs else SourceOffset(-1)
    at = known.receipt.source_end if known.receipt else -1
    return end if at < end else SourceOffset(-1)


def _targets(
    books: LinkBooks, tps: Iterable[TopicPartition]
) -> dict[TopicPartition, TopicPartition]:
    return {tp: opened.target for tp in tps if (opened := books.of(tp).opened) is not None}


def _facts(link: OpenLink, lost: Iterable[TopicPartition]) -> dict[TopicPartition, PartitionFacts]:
    source, target, there = link.source, link.target, _targets(link.books, lost)
    marks, ends = target.offsets.latest(there.values()), target.offsets.log_ends(there.values())
    states = target.producers.states(there.values())
    first, end = source.offsets.earliest(there), source.offsets.latest(there)
    topics = target.topics.describe({mirror.topic for mirror in there.values()})
    infos = {tp: topics[mirror.topic].partitions[mirror.partition] for tp, mirror in there.items()}
    return {
        tp: PartitionFacts(
            replicas=infos[tp].replicas,
            in_sync=infos[tp].in_sync,
            high_watermark=marks.sure(mirror),
            log_end=ends.sure(mirror),
            open_since=max((state.open_since for state in states.sure(mirror)), default=-1),
            source_first=first.sure(tp),
            source_end=end.sure(tp),
        )
        for tp, mirror in there.items()
    }


def _different(
    link: OpenLink, lost: Mapping[TopicPartition, LostRecords], compare: Compare
) -> dict[TopicPartition, Unrepaired]:
    """Compare all records that both clusters still have of partitions that may be repaired."""
    bounds = Observed(link.books, link.source, link.target).bounds(lost)
    ranges = [
        kept_range(tp, link.books.of(tp), each, lost[tp].target_end) for tp, each in bounds.items()
    ]
    left = {}
    for tp, found in compare([sized for sized in ranges if sized]).items():
        if not found.equal:
            left[tp] = different(tp, difference(found))
        elif found.stopped:
            left[tp] = different(tp, f"not compared {found.stopped}")
        elif found.counts.foreign:
            foreign = f"the target has {found.counts.foreign} records that this link did not write"
            left[tp] = different(tp, foreign)
    return left


def _ahead(
    link: OpenLink, lost: Mapping[TopicPartition, LostRecords]
) -> dict[TopicPartition, list[Ahead]]:
    """Return the consumer groups whose committed offset is beyond the target's log end offset."""
    there = _targets(link.books, lost)
    found: dict[TopicPartition, list[Ahead]] = {tp: [] for tp in there}
    for group in link.target.groups.names() if there else ():
        try:
            committed = link.target.groups.committed(group, there.values())
        except RefusedError:  # a group of another type, or one that the login may not read
            continue
        for tp, mirror in there.items():
            if committed.get(mirror, -1) > lost[tp].target_end:
                found[tp].append(Ahead(group, committed[mirror]))
    return found
