"""Ledger access for the opening of a slice's partitions. Blocking."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Attempt, Entry, Receipt
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.nouns import TopicPartition
from towpath.records.standing import Standing, known_standing, receipt_of
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms


class Bookkeeping:
    """Reads the ledger into the books of a link, and writes to it.

    Attributes:
        books: What was read.
    """

    def __init__(self, work: Slice, ledger: Ledger, books: LinkBooks) -> None:
        self._link, self._ledger = work.link, ledger
        self.books = books
        self._read_at = 0

    def read(self) -> None:
        """Read new entries of the ledger."""
        self._read_at = now_ms()
        for entry in self._ledger.read(wanted=self.books.wants):
            self.books.take(entry)

    def read_about(self, fresh: frozenset[TopicPartition], facts_from: int) -> None:
        """Serve more partitions, and read their ledger entries.

        Args:
            fresh: The partitions.
            facts_from: The first offset of the ledger at which something may be about them.
        """
        if self.books.only is not None:
            self.books.only |= fresh
        for entry in self._ledger.read_about(fresh, self.books, facts_from):
            self.books.take(entry)

    def write(self, entries: Iterable[Entry]) -> None:
        """Write entries, if any, then read the ledger, which others write as well."""
        written = [*entries]
        if written:
            self._ledger.append(written)
            self.read()

    def announce(self, ready: Attempt) -> None:
        """Write the entry that an attempt at the slice is ready."""
        self._ledger.append([ready], SESSIONS)

    def known(self, a: Assignment) -> PartitionBooks | None:
        """Return a partition's books, `None` if it was not opened with its producer id."""
        books = self.books.partitions.get(a.source)
        if books is None or books.opened is None:
            return None
        return books if books.opened.producer_id == a.producer_id else None

    def standing(self, books: PartitionBooks) -> Standing:
        """Return a partition's position according to the ledger alone."""
        return known_standing(books, self._read_at, self.books.change_of(books))

    def receipt(self, a: Assignment, books: PartitionBooks, standing: Standing) -> Receipt:
        """Return the receipt for a partition's present position."""
        packed = books.receipt.packed if books.receipt is not None else ""
        return receipt_of(a, self._link, standing, copier=new_name(), packed=packed)
