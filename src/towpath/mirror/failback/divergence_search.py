"""Search of both clusters for records that only one of them has, after a cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.ledger import Ledger
from towpath.mirror.failback.clusters import BothClusters, OpenCluster
from towpath.mirror.failback.divergence import Divergence, LogEnds, divergence
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import (
    Mode,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

_UNCUT = (
    "was not cut, so it is not known where what clients wrote begins: fail over"
    " (`towpath failover FILE`) or cut over (`towpath cutover FILE`) first"
)


@dataclass(frozen=True, slots=True)
class FailbackLook:
    """The partitions that can go back, and the problems with others.

    Attributes:
        partitions: The partitions that can go back, in order.
        problems: Why others cannot.
    """

    partitions: tuple[Divergence, ...]
    problems: tuple[Problem, ...] = ()


def look(
    clusters: BothClusters,
    books: LinkBooks,
    ledger: Ledger,
    counting: Callable[[TopicPartition], None] | None = lambda _: None,
) -> FailbackLook:
    """Return the records that only one cluster has, for all partitions of the link.

    Records are counted where both have some; elsewhere, offsets say how many there may be.

    Args:
        clusters: Both clusters.
        books: What the ledger knows of the link.
        ledger: The ledger, for the offset maps if a source lost what had been mirrored.
        counting: Told of each partition whose records are counted; `None` to count none.

    Raises:
        ClusterError: A cluster cannot be asked.
        LedgerError: An offset map cannot be read.
    """
    opened = {tp: known for tp, known in sorted(books.partitions.items()) if known.opened}
    problems = [*_other_topics(clusters, opened)]
    out = {each.about for each in problems}
    for tp, known in opened.items():
        if known.cut is None and tp.topic not in out:
            problems.append(Problem(tp.topic, f"partition {tp.partition} {_UNCUT}", Cause.TOPIC))
    out = {each.about for each in problems}
    left = {tp: known for tp, known in opened.items() if tp.topic not in out}
    mirrors = {tp: known.opened.target for tp, known in left.items() if known.opened}
    source, target = _ends(clusters.source, left), _ends(clusters.target, mirrors.values())
    shared, kept = _shared(clusters.source, left), _kept(clusters.target, left)
    if any(left[tp].mode is Mode.MAPPED for tp in (*shared, *kept)):
        ledger.read_runs(books)
    found = []
    for tp, known in left.items():
        mapped = (tp in shared or tp in kept) and known.mode is Mode.MAPPED
        one = divergence(
            tp,
            known,
            source[tp],
            target[mirrors[tp]],
            shared=shared.get(tp),
            kept=kept.get(tp),
            offsets=known.offsets() if mapped else None,
            passed=_passed(clusters.source, tp, known, source[tp]),
        )
        if counting is not None and one.is_conflict:
            one = _counted(clusters, one, counting)
        found.append(one)
    return FailbackLook(tuple(found), tuple(problems))


def _passed(source: OpenCluster, tp: TopicPartition, known: PartitionBooks, log: LogEnds) -> int:
    """Return behind which offset the source's own records begin, 0 where the cut says that."""
    cut = known.cut
    if cut is None or not cut.passed:
        return 0
    return source.behind(tp, cut.source_end, log.stable, cut.passed)


def _counted(
    clusters: BothClusters, one: Divergence, counting: Callable[[TopicPartition], None]
) -> Divergence:
    counting(one.tp)
    numbers = (
        cluster.count(own.place, own.first, own.end)
        for cluster, own in ((clusters.source, one.source), (clusters.target, one.target))
    )
    return one.counted(*numbers)


def _other_topics(
    clusters: BothClusters, opened: Mapping[TopicPartition, PartitionBooks]
) -> Iterable[Problem]:
    """Yield topics that are not those between which the link copied."""
    sides: Sequence[tuple[OpenCluster, dict[TopicName, tuple[TopicName, TopicId]]]] = (
        (clusters.source, {}), (clusters.target, {})
    )  # fmt: skip
    for tp, known in opened.items():
        if known.opened is not None:
            sides[0][1][tp.topic] = tp.topic, known.opened.source_topic_id
            sides[1][1][tp.topic] = known.opened.target_topic, known.opened.target_topic_id
    for cluster, topics in sides:
        there = cluster.admin.topics.describe({name for name, _ in topics.values()})
        for topic, (name, number) in topics.items():
            info = there.get(name)
            if info is None:
                text = f"topic {name} does not exist on the {cluster.side} any more"
            elif info.error is not None:
                text = str(info.error)
            elif number and info.id and info.id != number:
                text = (
                    f"topic {name} on the {cluster.side} was deleted and created again, so it is"
                    " not known what it has of the records that were mirrored"
                )
            else:
                continue
            yield Problem(topic, text, Cause.TOPIC)


def _ends(cluster: OpenCluster, tps: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnds]:
    wanted, offsets = list(tps), cluster.admin.offsets
    starts, ends = offsets.earliest(wanted), offsets.latest(wanted)
    stable = offsets.latest(wanted, committed=True)
    return {tp: LogEnds(starts.sure(tp), stable.sure(tp), ends.sure(tp)) for tp in wanted}


def _shared(
    source: OpenCluster, books: Mapping[TopicPartition, PartitionBooks]
) -> dict[TopicPartition, SourceOffset]:
    """Return where the old source's log was cut below what had been mirrored of it (KIP-101).

    A leader that lacked records was elected then. The epoch in which the last record was copied
    ends there, in its log.
    """
    epochs, ends = {}, {}
    for tp, known in books.items():
        receipt, cut = known.receipt, known.cut
        if receipt is not None and cut is not None:
            ends[tp] = int(cut.source_end)
            epochs[tp] = receipt.source_epoch
    return {tp: SourceOffset(at) for tp, at in _cut_off(source, ends, epochs).items()}


def _kept(
    target: OpenCluster, books: Mapping[TopicPartition, PartitionBooks]
) -> dict[TopicPartition, TargetOffset]:
    """Return where the target's log was cut below what was mirrored or fenced, likewise."""
    mirrors, epochs, ends = {}, {}, {}
    for tp, known in books.items():
        cut, opened = known.cut, known.opened
        if cut is not None and opened is not None:
            mirrors[opened.target] = tp
            ends[opened.target] = cut.target_end + cut.fences
            epochs[opened.target] = cut.target_epoch
    found = _cut_off(target, ends, epochs)
    return {mirrors[tp]: TargetOffset(at) for tp, at in found.items()}


def _cut_off(
    cluster: OpenCluster,
    ends: Mapping[TopicPartition, int],
    epochs: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return where logs were cut that once reached an end, in a leader epoch; -1 if unknown."""
    known = {tp: epoch for tp, epoch in epochs.items() if epoch >= 0}
    answers = cluster.admin.offsets.epoch_answers(known)
    logs = cluster.admin.offsets.latest(ends)
    found = {}
    for tp, end in ends.items():
        known_end = answers[tp].end if tp in answers and answers[tp].end >= 0 else end
        at = min(known_end, logs.sure(tp))
        if at < end:
            found[tp] = at
    return found
