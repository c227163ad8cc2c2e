"""Deleted records on the target of the compared partitions: found, counted, combined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.compare.work import Comparison
from towpath.ledger.books import LinkBooks
from towpath.mirror.status.deleted import DeletionLook, Stretch, WhyDeleted, stretch_deleted
from towpath.mirror.status.foretold import with_foretold
from towpath.mirror.verify.gone import bounded, counted
from towpath.mirror.verify.ranges import Bounds, Sized, deleted_range
from towpath.model.deleted import DeletedRecords
from towpath.model.nouns import TopicPartition
from towpath.settings import LinkConfig

Compared = Mapping[TopicPartition, Comparison]


class TargetDeletions:
    """The records that the target deleted while the source still has them.

    Args:
        config: The link.
        books: What the ledger knows, with runs.
        may_delete: Whether all mirror topics are meant to keep less than the source.
    """

    def __init__(self, config: LinkConfig, books: LinkBooks, *, may_delete: bool = False) -> None:
        self._config, self._books, self._may_delete = config, books, may_delete
        self._stretches: dict[TopicPartition, Stretch] = {}
        self._judged: dict[TopicPartition, WhyDeleted] = {}

    def look(
        self, source: Admin, target: Admin, bounds: Mapping[TopicPartition, Bounds]
    ) -> dict[TopicPartition, Bounds]:
        """Find out what is deleted now, and why; return bounds that include expiry.

        Raises:
            ClusterError: A cluster could not be asked.
        """
        found = {
            tp: stretch_deleted(
                self._books.of(tp), each.source_earliest, each.target_earliest, each.since
            )
            for tp, each in bounds.items()
        }
        self._stretches |= {tp: each for tp, each in found.items() if each is not None}
        targets = {tp: opened.target for tp in bounds if (opened := self._books.of(tp).opened)}
        self._judged |= DeletionLook(source, target).judge(
            {tp: each for tp, each in found.items() if each is not None}, targets
        )
        return {
            tp: replace(each, due=self._judged[tp].due_until) if tp in self._judged else each
            for tp, each in bounds.items()
        }

    def meant(self, tp: TopicPartition) -> bool:
        """Return whether the mirror topic of a partition is meant to keep less than the source."""
        return self._may_delete or self._config.topics.lets_delete(tp.topic)

    def ranges(self, bounds: Mapping[TopicPartition, Bounds]) -> list[Sized]:
        """Return the ranges whose records must be counted at the source."""
        made = (deleted_range(tp, self._books.of(tp), each) for tp, each in bounds.items())
        return [each for each in made if each is not None]

    def during(self, compared: Compared) -> list[TopicPartition]:
        """Return the partitions in which the target deleted records during the comparison."""
        return [tp for tp, each in compared.items() if each.counts.deleted]

    def found(
        self, read: Compared | None, compared: Compared
    ) -> Iterator[tuple[TopicPartition, DeletedRecords]]:
        """Yield the deleted records of each partition.

        Args:
            read: What was counted of records that were gone before; `None` for a sample.
            compared: What was compared.
        """
        for tp, stretch in self._stretches.items():
            meant = self.meant(tp)
            judged = self._judged.get(tp)
            if read is None:
                made = bounded(self._books.of(tp), stretch, judged, meant=meant)
            else:
                both = read.get(tp), compared.get(tp)
                made = counted(stretch, judged, both, meant=meant)
            if made is not None:
                yield tp, with_foretold(self._books, tp, made)


def parted(comparisons: Iterable[Comparison]) -> tuple[list[Comparison], list[Comparison]]:
    """Split results into comparisons, and counts of deleted records."""
    rows = list(comparisons)
    return [each for each in rows if not each.gone], [each for each in rows if each.gone]
