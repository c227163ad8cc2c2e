"""From which source offset on the records of each partition can be made again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.transform.proof.others import mirrors_of
from towpath.mirror.transform.proof.seen import SeenClusters
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.model.nouns import Side, TopicName, TopicPartition

if TYPE_CHECKING:
    from towpath.mirror.transform.frames import QueryDoubts


@dataclass(frozen=True, slots=True)
class Stands:
    """What is known of partitions before their records are compared.

    Attributes:
        seen: Both clusters.
        doubts: What keeps the query of the file from making the same records again.
        known_as: Under which name positions tell of this query.
        shared: Whether others may write to mirror topics.
    """

    seen: SeenClusters
    doubts: QueryDoubts
    known_as: str
    shared: bool

    def all(self) -> dict[TopicPartition, ProofStand]:
        """Return it of each partition that is compared."""
        return {row.tp: self._of(row) for row in self.seen.chosen}

    def _of(self, row: PartitionStatus) -> ProofStand:
        seen, doubts = self.seen, self.doubts
        at = seen.positions.get(row.tp)
        reached = self._reached(row, at)
        return ProofStand(
            row=row,
            position=at,
            first=self._first(row, at),
            since=seen.since.get(row.tp, 0),
            earliest=seen.earliest.get(row.tp, -1),
            never=doubts.never,
            other_query=at is not None and self._since(row, at) < 0,
            python=doubts.python,
            joins=doubts.joins,
            source_compacts=row.topic in seen.compacts[Side.SOURCE],
            target_compacts=bool(reached & seen.compacts[Side.TARGET]),
            shortened=frozenset(
                tp for tp, first in seen.first.items() if first > 0 and tp.topic in reached
            ),
            unsettled=frozenset(
                tp for tp in seen.first if tp not in seen.end and tp.topic in reached
            ),
            shared=self.shared,
            told=row is seen.chosen[0],
            mirrors=_told_with(row, seen.chosen),
            reached=reached,
        )

    def _reached(
        self, row: PartitionStatus, at: TransformedPosition | None
    ) -> frozenset[TopicName]:
        """Return the mirror topics that may have records of a partition."""
        known = at is not None and len(at.queries) == 1 and self._since(row, at) >= 0
        mirrors = frozenset(each.target_topic for each in self.seen.rows)
        return mirrors_of(row.target_topic, mirrors, routed=self.doubts.routes or not known)

    def _since(self, row: PartitionStatus, at: TransformedPosition) -> int:
        """Return the source offset from which on the query of the file made the records."""
        return at.since(f"{self.known_as}/{self.seen.counts.get(row.target_topic, 0)}")

    def _first(self, row: PartitionStatus, at: TransformedPosition | None) -> int:
        """Return the source offset from which on records can be made again, -1 for none."""
        seen = self.seen
        if at is None or row.error or at.first < 0 or self.doubts.never:
            return -1
        since = self._since(row, at)
        if since < 0 or row.tp not in seen.earliest:
            return -1
        return min(at.end, max(since, seen.earliest[row.tp], seen.since.get(row.tp, 0)))


def _told_with(row: PartitionStatus, rows: Sequence[PartitionStatus]) -> frozenset[TopicName]:
    """Return the mirror topics whose other writers are told with a partition: the first of it."""
    first = next(each for each in rows if each.target_topic == row.target_topic)
    return frozenset({row.target_topic}) if row is first else frozenset()
