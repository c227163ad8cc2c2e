"""Fencing of other writers for targets that refuse derived producer ids. Blocking.

The order matters: first fence all others, then read what they wrote to the ledger and to the log,
then write our own producer id to the ledger before anything is written under it.
"""

from __future__ import annotations

from towpath.cluster.admin import Admin
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import TransactionalProducer
from towpath.ledger.producers import transactional_id
from towpath.model.errors import NotIdenticalError, TwinIdsError
from towpath.model.nouns import ProducerId, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.writing import PartitionWriter
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline


class Fences:
    """Partitions of a slice that are written in transactions, and their writers."""

    def __init__(self, work: Slice, admin: Admin) -> None:
        self._work, self._admin = work, admin
        self._refused: dict[TopicPartition, tuple[int, str]] = {}

    def refused(self, a: Assignment, generation: int, name: str) -> None:
        """Record that the target refused a generation's producer id with the error `name`."""
        self._refused[a.source] = generation, name

    def needed(self, a: Assignment, books: PartitionBooks) -> bool:
        """Return whether a partition must be written in transactions.

        If our id was refused because another copier has fenced it, the next id may be accepted.
        """
        generation, _ = self._refused.get(a.source, (-1, ""))
        return bool(books.writers) or generation == books.generation

    def why(self, a: Assignment, books: PartitionBooks) -> Reason:
        """Return the first known reason why a partition is written in transactions."""
        told = [writer.why for writer in books.writers.values()]
        return (
            told[0] if told else Reason.of(ReasonCode.IDS_REFUSED, error=self._refused[a.source][1])
        )

    def raise_one(self, a: Assignment, books: PartitionBooks) -> PartitionWriter:
        """Fence all other writers, and return this slice's writer.

        Raises:
            NotIdenticalError: Offsets must stay the same, which transactions make impossible.
            TwinIdsError: The twin of the link could not tell the records from those of clients.
            ClusterError: The target refused, or did not answer in time.
        """
        if a.must_be_identical:
            raise NotIdenticalError(str(a.source), self.why(a, books))
        if self._work.twin:
            raise TwinIdsError(str(a.target), self.why(a, books))
        transactions = self._admin.producers.transactions(
            transactional_id(self._work.link, a.target)
        )
        timeout = self._work.target.request_timeout
        # A frozen run of an older Towpath, which used other transactional ids, may wake up.
        for older in self._ids(books) - {transactions.transactional_id}:
            self._admin.producers.transactions(older).fence(Deadline.after(timeout))
        who = transactions.fence(Deadline.after(timeout))
        return PartitionWriter(a.target, transactions, who, timeout)

    @staticmethod
    def _ids(books: PartitionBooks) -> set[str]:
        """Return all transactional ids under which the partition was ever written."""
        return {writer.transactional_id for writer in books.writers.values()}

    def entry(
        self, a: Assignment, books: PartitionBooks, writer: PartitionWriter, log_end: TargetOffset
    ) -> TransactionalProducer | None:
        """Return the ledger entry to write before the writer begins, `None` if already written."""
        producer = ProducerId(writer.who.producer_id)
        if producer in books.writers:
            return None
        return TransactionalProducer(
            link=self._work.link,
            topic=a.source.topic,
            partition=a.source.partition,
            producer_id=a.producer_id,
            writer=producer,
            transactional_id=writer.transactions.transactional_id,
            why=self.why(a, books),
            target_start=log_end,
            at=now_ms(),
        )
