"""The bytes still to be copied, and the likely rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.mirror.plan.starts import Offsets
from towpath.model.nouns import TopicName, TopicPartition
from towpath.plan.estimate import CopyEstimate, CopyRate, RateOrigin, TopicBytes
from towpath.records.source.beginnings import PATIENCE
from towpath.topics.disk_space import DiskLook
from towpath.topics.subject import TopicSnapshot

_ENOUGH = 16 << 20
"""Bytes. With fewer bytes, the start of the slices takes most of the time."""
_HISTORY_MS = 60_000
"""Records that were older than this when they were copied did not wait for a producer."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The bytes of one partition, and the share of them that is still to be copied."""

    tp: TopicPartition
    held: int
    share: float


def estimated(
    source: Admin,
    books: LinkBooks,
    seen: TopicSnapshot,
    names: Mapping[TopicName, TopicName],
    begins: Offsets,
    disks: DiskLook,
    said: float | None = None,
    limit: float | None = None,
) -> CopyEstimate | None:
    """Return the estimate of copying; `None` if the source does not reveal log sizes.

    Args:
        source: Asked for its first and last offsets.
        books: What the ledger says of the link.
        seen: The topics as they were observed.
        names: The mirrored topics, with their names on the target.
        begins: Where copying of partitions begins that no run has opened yet.
        disks: What both clusters said of their disks.
        said: The rate that the user said, in bytes per second.
        limit: The limit of the link, likewise; `None` if it has none.

    Raises:
        ClusterError: The source cannot be asked.
    """
    if disks.source is None:
        return None
    tps = list(_partitions(seen, names))
    at = {tp: begins.get(tp, _position(books.of(tp))) for tp in tps}
    known = {tp: offset for tp, offset in at.items() if offset >= 0}
    parts = list(_parts(source, seen, known, disks))
    free = disks.target.free if disks.target is not None else None
    return CopyEstimate(
        topics=_by_topic(parts, names, disks.replicas),
        rate=rate(books, said, limit),
        unknown=len(tps) - len(parts),
        free=free,
    )


def rate(books: LinkBooks, said: float | None = None, limit: float | None = None) -> CopyRate:
    """Return the rate that the user gave, the link's measured rate, or a guess.

    None but the first is higher than the limit of the link.
    """
    if said is not None:
        return CopyRate(said, RateOrigin.SAID)
    measured = _measured(books.partitions.values())
    found = CopyRate(measured, RateOrigin.MEASURED) if measured else CopyRate()
    limited = limit is not None and limit < found.bytes_per_second
    return CopyRate(float(limit), RateOrigin.LIMIT) if limit is not None and limited else found


def _measured(partitions: Iterable[PartitionBooks]) -> float:
    """Return the mean rate of partitions that have not caught up yet, 0.0 if it is not known.

    Those that have caught up are as slow as their producers, which says nothing of the link.
    """
    copied = [
        (each.opened.at, receipt.at, receipt.bytes)
        for each in partitions
        if each.opened is not None and (receipt := each.receipt) is not None
        if receipt.at - receipt.last_timestamp > _HISTORY_MS
    ]
    if sum(size for _, _, size in copied) < _ENOUGH:
        return 0.0
    began, ended = min(each[0] for each in copied), max(each[1] for each in copied)
    return sum(size for _, _, size in copied) / max(ended - began, 1) * 1000


def _partitions(
    seen: TopicSnapshot, names: Mapping[TopicName, TopicName]
) -> Iterator[TopicPartition]:
    for topic in seen.topics.source:
        if topic.name in names:
            yield from (TopicPartition(topic.name, n) for n in range(topic.partitions))


def _position(books: PartitionBooks) -> int:
    """Return the source offset up to which a partition is copied; -1 if it was never opened."""
    known = books.receipt
    if known is not None:
        return known.source_end
    return books.opened.source_start if books.opened is not None else -1


def _parts(source: Admin, seen: TopicSnapshot, at: Offsets, disks: DiskLook) -> Iterator[_Part]:
    ends = source.offsets.latest(at, committed=True, patience=PATIENCE)
    behind = [tp for tp, end in ends.items() if end > at[tp]]
    firsts = source.offsets.earliest(behind, patience=PATIENCE)
    for tp, end in ends.items():
        held = disks.source.size(tp, _leader(seen, tp)) if disks.source is not None else None
        if held is None or (end > at[tp] and tp not in firsts):
            continue
        yield _Part(tp, held, _share(firsts.get(tp, end), at[tp], end))


def _share(first: int, at: int, end: int) -> float:
    """Return the share of a log from `first` to `end` that lies at `at` or behind it."""
    left = end - max(at, first)
    return left / (end - first) if left > 0 else 0.0


def _leader(seen: TopicSnapshot, tp: TopicPartition) -> int:
    info = seen.source.listed.get(tp.topic)
    known = info is not None and tp.partition < len(info.partitions)
    return info.partitions[tp.partition].leader if info is not None and known else -1


def _by_topic(
    parts: Iterable[_Part],
    names: Mapping[TopicName, TopicName],
    replicas: Mapping[TopicName, int],
) -> tuple[TopicBytes, ...]:
    left: dict[TopicName, float] = defaultdict(float)
    held: dict[TopicName, int] = defaultdict(int)
    for part in parts:
        left[part.tp.topic] += part.held * part.share
        held[part.tp.topic] += part.held
    topics = (TopicBytes(n, round(left[n]), held[n], replicas.get(n, 1)) for n in names)
    return tuple(sorted(topics, key=lambda each: (-each.bytes, each.topic)))
