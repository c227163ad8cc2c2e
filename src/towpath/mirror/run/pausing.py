"""Operators' pauses and restarts of topics, which a run reads from the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from towpath.ledger.entries import Restarted
from towpath.ledger.link import OpenLink
from towpath.mirror.run.dealer import Dealer
from towpath.mirror.run.deals import Table
from towpath.model.nouns import TopicName


class Pausing:
    """Removes topics that must not be copied now from the slices, and detects resumed ones.

    Args:
        link: The link; its books are read elsewhere.
        dealer: Knows what the slices have.
    """

    def __init__(self, link: OpenLink, dealer: Dealer) -> None:
        self._link, self._dealer = link, dealer
        self._before: AbstractSet[TopicName] = frozenset()
        self._restarts: Mapping[TopicName, Restarted] = {}

    def look(self, tables: Iterable[Table]) -> bool:
        """Remove paused topics from the slices; return whether some are resumed or restarted.

        Args:
            tables: The slices of the rounds that go on.

        Raises:
            ClusterError: The ledger could not be written. A later look does it all the same.
        """
        books = self._link.books
        closed = {topic for topic, state in books.states.items() if state.is_closed}
        for table in tables if books.pauses or closed else ():
            self._dealer.withdraw(table, books.rests)
        before, self._before = self._before, closed.union(books.pauses)
        restarts, self._restarts = self._restarts, dict(books.restarts)
        return bool(before - self._before) or restarts != self._restarts
