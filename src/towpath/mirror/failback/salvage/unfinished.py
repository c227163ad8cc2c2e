"""Salvage topics left by an earlier failback whose choice of the winner was different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from towpath.mirror.failback.clusters import BothClusters
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.salvage.format import salvage_topic
from towpath.mirror.failback.salvage.topic import ReadSalvage
from towpath.model.amounts import counted
from towpath.model.nouns import Side, TopicPartition


@dataclass(frozen=True, slots=True)
class UnfinishedSalvage:
    """Salvaged records without a ledger entry; `str()` says what to do.

    Attributes:
        wins: The side that won by the earlier answer; the salvage topic is there.
        place: The partition of the salvage topic.
        origin: The partition of the other side that the records come from.
        records: How many are there.
        holds: Nobody has given another answer yet.
    """

    wins: Side
    place: TopicPartition
    origin: TopicPartition
    records: int
    holds: bool

    def __str__(self) -> str:
        told = (
            f"an earlier failback with --wins {self.wins} ended before it had salvaged all of"
            f" {self.origin}: {counted(self.records, 'record')} of it stand in {self.place} on the"
            f" {self.wins}"
        )
        if self.holds:
            return f"{told}; --wins {self.wins} goes on there"
        return (
            f"{told}; by the present answer they stay where they were written, too, so delete topic"
            f" {self.place.topic} on the {self.wins} if nothing else is in it"
            f" (`towpath salvage ls`), or keep it"
        )


def unfinished(
    clusters: BothClusters, partitions: Iterable[Divergence], wins: Side | None
) -> Iterator[UnfinishedSalvage]:
    """Yield salvage topics that earlier failbacks filled without a ledger entry.

    Args:
        clusters: Both clusters.
        partitions: What each side alone has.
        wins: The answer that is given now, `None` for none.

    Raises:
        ClusterError: A salvage topic cannot be read.
    """
    for one in partitions:
        for winner in Side if one.is_conflict and not one.salvaged else ():
            if winner is wins:
                continue  # what is there already is not salvaged again
            own = one.own(winner.other)
            topic = salvage_topic(one.own(winner).place.topic)
            place = TopicPartition(topic, one.own(winner).place.partition)
            records = _records(clusters, winner, place, own)
            if records:
                yield UnfinishedSalvage(winner, place, own.place, records, holds=wins is None)


def _records(clusters: BothClusters, winner: Side, place: TopicPartition, own: LoneRecords) -> int:
    """Count the records of a salvage topic that come from what the other side alone has."""
    here, there = clusters.of(winner), clusters.of(winner.other)
    found = here.admin.topics.find(place.topic)
    if found is None or place.partition >= len(found.partitions):
        return 0
    cluster = there.id
    return sum(
        each.origin.cluster == cluster
        and (each.origin.topic, each.origin.partition) == (own.place.topic, own.place.partition)
        and own.first <= each.origin.offset < own.end
        for each in ReadSalvage(here, place).records()
    )
