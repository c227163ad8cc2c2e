"""Lag without what the twin of a link wrote: it copies the same topics in the other direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.ledger import Ledger
from towpath.ledger.packed import runs_of
from towpath.ledger.topic import TOPIC
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.errors import ClusterError, LedgerError
from towpath.model.nouns import Side, TopicPartition
from towpath.settings import LinkConfig


@dataclass(slots=True)
class TwinLag:
    """Counts the twin's records behind positions; ledger entries that were read stay read.

    Attributes:
        config: The file of the link.
    """

    config: LinkConfig
    _books: LinkBooks | None = None
    _facts_end: int = 0

    def without(
        self, rows: Iterable[PartitionStatus], source: Admin
    ) -> tuple[PartitionStatus, ...]:
        """Return the rows with lag that leaves out what the twin is known to have written.

        The twin's receipts tell of all but about the last second, and of older batches only as far
        as these are in the latest part of its offset map. So the lag stays an upper bound. It stays
        as it is, too, where the source's ledger cannot be read: then partitions wait for it anyway.

        Args:
            rows: The partitions.
            source: Whose ledger has the receipts of the twin.
        """
        kept = tuple(rows)
        if self.config.topics.twin is None or all(row.lag_records <= 0 for row in kept):
            return kept
        try:
            books = self._read(source)
        except (ClusterError, LedgerError):
            return kept
        return tuple(_less(row, books) for row in kept)

    def _read(self, source: Admin) -> LinkBooks:
        assert self.config.topics.twin is not None  # noqa: S101  # `without` has looked
        books = self._books or LinkBooks(self.config.topics.twin)
        if source.topics.find(TOPIC) is not None:
            with Client(self.config.source, Side.SOURCE, source) as client:
                ledger = Ledger(source, client, facts_from=self._facts_end)
                for entry in ledger.read(wanted=books.wants):
                    books.take(entry)
                self._facts_end = ledger.facts_end
        self._books = books
        return books


def _less(row: PartitionStatus, books: LinkBooks) -> PartitionStatus:
    twin = books.partitions.get(TopicPartition(row.target_topic, row.partition))
    if row.lag_records <= 0 or twin is None:
        return row
    lag = max(0, row.lag_records - written(twin, row))
    if lag:
        return replace(row, lag_records=lag)
    state = State.CAUGHT_UP if row.state is State.BEHIND else row.state
    return replace(row, lag_records=0, lag_seconds=0.0, state=state)


def written(twin: PartitionBooks, row: PartitionStatus) -> int:
    """Return how many records the twin link has written after a position, as known. Pure.

    Args:
        twin: What the ledger on the source knows of its partition.
        row: The partition, which the twin writes to at the source.
    """
    opened, receipt = twin.opened, twin.receipt
    if opened is None or receipt is None or opened.target != row.tp:
        return 0
    first, end = row.source_end, row.source_log_end
    runs = (receipt.run, *runs_of(receipt.packed))
    return sum(max(0, min(end, at + many) - max(first, at)) for _, at, many in runs)
