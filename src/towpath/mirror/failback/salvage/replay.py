"""`towpath salvage ls` and `replay`: list salvaged records, and replay them into topics.

Records and the mark that they were replayed are written in one transaction, so the cluster has both
or neither, also where this process is killed at any moment. A replay begins by fencing every
earlier replay of the link, and waits until all marks show, so nothing is replayed twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from towpath.cluster.codes import TOO_LARGE
from towpath.cluster.data.transaction_writer import TransactionWriter, portions, settle
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Salvaged
from towpath.ledger.wishes import Signature
from towpath.mirror.failback.clusters import BothClusters, OpenCluster
from towpath.mirror.failback.salvage.format import ReplayedMark, SalvagedRecord
from towpath.mirror.failback.salvage.topic import REPLAYING, ReadSalvage, writer
from towpath.model.errors import ClusterError, RefusedError, StoppedError
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition

_TOGETHER = 1000
"""Most records in one transaction."""
_BYTES = 512 << 10
"""Approximate upper bound on the bytes of records in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedPartition:
    """One partition of a salvage topic, with counts of salvaged and replayed records.

    Attributes:
        place: The partition.
        side: The cluster that has it, whose records stayed in the topic.
        origin: The partition of the losing cluster that the records come from.
        target: The partition that they are replayed to.
        first: Their first offset in the losing cluster; `end`, the one behind the last.
        records: How many were salvaged.
        deleted: How many offsets had been deleted there before.
        replayed: How many were replayed.
        missing: How many the salvage topic lacks now.
        foreign: How many records of others the partition has.
        at: When they were salvaged, in ms since 1970.
        trouble: Why it could not be looked at, or not be replayed; "" for nothing.
    """

    place: TopicPartition
    side: Side
    origin: TopicPartition
    target: TopicPartition
    first: int
    end: int
    records: int
    deleted: int
    replayed: int = 0
    missing: int = 0
    foreign: int = 0
    at: int
    trouble: str = ""

    @property
    def left(self) -> int:
        """The number of records that were not replayed."""
        return max(0, self.records - self.replayed - self.missing)


def salvaged_partitions(books: LinkBooks) -> list[SalvagedPartition]:
    """Return the salvaged partitions of a link, from the ledger alone. Pure.

    Several salvages of one partition count together; one without a record has no salvage topic.
    """
    found: dict[TopicPartition, SalvagedPartition] = {}
    for tp, known in sorted(books.partitions.items()):
        mirror = known.opened.target if known.opened is not None else tp
        for entry in (each for each in known.salvaged if each.records):
            one = _partition(entry, tp, mirror)
            before = found.get(one.place)
            found[one.place] = one if before is None else _joined(before, one)
    return list(found.values())


def _partition(
    entry: Salvaged, source: TopicPartition, mirror: TopicPartition
) -> SalvagedPartition:
    wins_target = entry.winner is Side.TARGET
    return SalvagedPartition(
        place=entry.place,
        side=entry.winner,
        origin=source if wins_target else mirror,
        target=mirror if wins_target else source,
        first=entry.first,
        end=entry.end,
        records=entry.records,
        deleted=entry.deleted,
        at=entry.at,
    )


def _joined(one: SalvagedPartition, other: SalvagedPartition) -> SalvagedPartition:
    """Return two salvages of one partition as one; a later one may begin where the first did."""
    if one.first == other.first:
        return max(one, other, key=lambda each: each.end)
    return replace(
        other,
        first=min(one.first, other.first),
        end=max(one.end, other.end),
        records=one.records + other.records,
        deleted=one.deleted + other.deleted,
    )


def look(clusters: BothClusters, known: Sequence[SalvagedPartition]) -> list[SalvagedPartition]:
    """Return the partitions with counts from their topics: replayed, missing, foreign.

    A cluster that cannot be asked is named in `trouble`.
    """
    return [_looked(clusters.of(each.side), each) for each in known]


def _looked(cluster: OpenCluster, one: SalvagedPartition) -> SalvagedPartition:
    read = ReadSalvage(cluster, one.place)
    try:
        there = sum(each.origin.topic == one.origin.topic for each in read.records())
    except ClusterError as error:
        return replace(one, trouble=str(error))
    replayed = sum(mark.records for mark in read.marks)
    return replace(
        one,
        replayed=min(replayed, one.records),
        missing=max(0, one.records - there),
        foreign=read.foreign,
    )


class SalvageReplay:
    """Replays salvaged records of a link, in the order of the original writes.

    Args:
        link: The link.
        clusters: Both clusters.
        who: Who replays.
        stop: Set to end early.
        show: Told of the partition, and how many of its records were replayed now.
    """

    def __init__(
        self,
        link: LinkName,
        clusters: BothClusters,
        who: Callable[[], Signature],
        *,
        stop: threading.Event | None = None,
        show: Callable[[TopicPartition, int], None] = lambda *_: None,
    ) -> None:
        self._link, self._clusters, self._who, self._show = link, clusters, who, show
        self._stop = stop or threading.Event()

    def replay(self, wanted: Sequence[SalvagedPartition]) -> list[SalvagedPartition]:
        """Replay records that were not replayed; return the new state of each partition.

        Raises:
            ClusterError: A cluster cannot be used. What was written is marked.
            StoppedError: The user asked to stop.
        """
        done: list[SalvagedPartition] = []
        for side in Side:
            some = [each for each in wanted if each.side is side]
            if some:
                done += self._of_side(self._clusters.of(side), some)
        return done

    def _of_side(
        self, cluster: OpenCluster, wanted: Sequence[SalvagedPartition]
    ) -> Iterator[SalvagedPartition]:
        made = writer(cluster, self._link, REPLAYING)
        made.begin()
        settle(cluster.admin, cluster.side, {each.place for each in wanted})
        for each in wanted:
            trouble = self._partition(cluster, made, each)
            settle(cluster.admin, cluster.side, [each.place])
            yield replace(_looked(cluster, each), trouble=trouble)

    def _partition(
        self, cluster: OpenCluster, made: TransactionWriter, one: SalvagedPartition
    ) -> str:
        """Replay a partition; returns why not all of it was."""
        done = 0
        try:
            for some in portions(
                _due(cluster, one), lambda each: each.record.size, most=_TOGETHER, most_bytes=_BYTES
            ):
                if self._stop.is_set():
                    raise StoppedError("what was replayed so far is not replayed again")
                self._write(made, one, some)
                done += len(some)
                self._show(one.target, done)
        except RefusedError as error:
            if error.error not in TOO_LARGE:
                raise
            made.abort()
            return str(error)
        return ""

    def _write(
        self, made: TransactionWriter, one: SalvagedPartition, some: Sequence[SalvagedRecord]
    ) -> None:
        """Write records with their mark; one by one where they are too large together."""
        mark = ReplayedMark(
            topic=one.target.topic,
            partition=one.target.partition,
            first=some[0].offset,
            end=some[-1].offset + 1,
            records=len(some),
            **self._who(),
        )
        parts = {one.target: [each.encode() for each in some], one.place: [mark.encode()]}
        try:
            made.commit(parts)
        except RefusedError as error:
            if error.error not in TOO_LARGE or len(some) == 1:
                raise
            made.abort()
            for each in some:
                self._write(made, one, [each])


def _due(cluster: OpenCluster, one: SalvagedPartition) -> Iterator[SalvagedRecord]:
    """Yield the records that were not replayed. They lie behind all those that were."""
    read = ReadSalvage(cluster, one.place)
    for _ in read.records():
        pass
    done = read.replayed_to
    for each in read.records():
        if each.offset >= done and each.origin.topic == one.origin.topic:
            yield each


def of_topics(
    known: Sequence[SalvagedPartition], topics: frozenset[TopicName]
) -> list[SalvagedPartition]:
    """Return the partitions whose origin, target or salvage topic is named; all if none is."""
    return [
        each
        for each in known
        if not topics or topics & {each.origin.topic, each.target.topic, each.place.topic}
    ]
