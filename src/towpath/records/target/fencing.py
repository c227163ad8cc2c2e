"""Becoming the only writer of a partition whose target refuses our producer ids. Blocking.

The order matters: first fence all others, then read what they told in the ledger and left in the
log, and tell the ledger of our own producer id before anything is written under it.
"""

from __future__ import annotations

from towpath.cluster.admin import Admin
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import TransactionalProducer
from towpath.model.clock import now_ms
from towpath.model.deadline import Deadline
from towpath.model.errors import NotIdenticalError
from towpath.model.nouns import LinkName, ProducerId, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.writing import PartitionWriter
from towpath.records.work import Assignment, Slice


def transactional_id(link: LinkName, target: TopicPartition) -> str:
    """Return the transactional id under which a link writes and fills a target partition.

    Neither a link's name nor a topic's holds a colon, so no two links share an id, and an ACL for
    the prefix `towpath.<link>.:` covers this link alone. The dot before the colon keeps ACLs for
    the prefix `towpath.<link>.` enough.
    """
    return f"towpath.{link}.:{target}"


class Fences:
    """Knows which partitions of a slice are written in transactions, and makes their writers."""

    def __init__(self, work: Slice, admin: Admin) -> None:
        self._work, self._admin = work, admin
        self._refused: dict[TopicPartition, tuple[int, str]] = {}

    def refused(self, a: Assignment, generation: int, name: str) -> None:
        """The target refused our producer id of a generation with the error `name`."""
        self._refused[a.source] = generation, name

    def needed(self, a: Assignment, books: PartitionBooks) -> bool:
        """Whether a partition is written in transactions.

        An id may be refused because another copier fenced it. That says nothing of the next one.
        """
        generation, _ = self._refused.get(a.source, (-1, ""))
        return bool(books.writers) or generation == books.generation

    def why(self, a: Assignment, books: PartitionBooks) -> Reason:
        """Return why a partition is written in transactions; as it was first found, if it was."""
        told = [writer.why for writer in books.writers.values()]
        return (
            told[0] if told else Reason.of(ReasonCode.IDS_REFUSED, error=self._refused[a.source][1])
        )

    def raise_one(self, a: Assignment, books: PartitionBooks) -> PartitionWriter:
        """Fence all others and return the writer of now.

        Raises:
            NotIdenticalError: Offsets must stay the same, which transactions do not let them.
            ClusterError: The target refused, or did not answer in time.
        """
        if a.must_be_identical:
            raise NotIdenticalError(str(a.source), self.why(a, books))
        transactions = self._admin.producers.transactions(
            transactional_id(self._work.link, a.target)
        )
        timeout = self._work.target.request_timeout
        # A run of an older Towpath, which named its ids in another way, may be frozen and wake up.
        for older in self._ids(books) - {transactions.transactional_id}:
            self._admin.producers.transactions(older).fence(Deadline.after(timeout))
        who = transactions.fence(Deadline.after(timeout))
        return PartitionWriter(a.target, transactions, who, timeout)

    @staticmethod
    def _ids(books: PartitionBooks) -> set[str]:
        """Return the transactional ids under which the partition was ever written."""
        return {writer.transactional_id for writer in books.writers.values()}

    def entry(
        self, a: Assignment, books: PartitionBooks, writer: PartitionWriter, log_end: TargetOffset
    ) -> TransactionalProducer | None:
        """Return what the ledger must know of the writer before it writes, if it does not yet."""
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
