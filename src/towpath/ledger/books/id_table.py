"""Decisions about schema ids as tables for compiled loops; importing this module loads numba."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from towpath.ledger.books.ids import IdBooks
from towpath.model.changes import IdChange, SubjectStrategy
from towpath.model.nouns import TopicName
from towpath.model.subjects import KEY, VALUE, has_ids, strategy_of
from towpath.wire.batch import Table
from towpath.wire.ids import IdTable

_NONE = IdTable.of().key
_SHARED = {SubjectStrategy.RECORD, None}
"""Ways of naming subjects by which topics have the same decisions, but for their own."""


class _Made(NamedTuple):
    revision: int
    rows: Table


class IdTables:
    """Makes the schema id tables of topics; a table that topics share is made once.

    Args:
        books: The decisions, which may grow.
    """

    def __init__(self, books: IdBooks) -> None:
        self._books = books
        self._parts: dict[Hashable, _Made] = {}
        self._tables: dict[tuple[TopicName, IdChange], IdTable] = {}

    def of(self, topic: TopicName, change: IdChange) -> IdTable:
        """Return the schema id table of a source topic; the same object while unchanged."""
        key, value = self._part(change, topic, KEY), self._part(change, topic, VALUE)
        known = self._tables.get((topic, change))
        if known is None or known.key is not key or known.value is not value:
            known = self._tables[topic, change] = IdTable(key, value)
        return known

    def _part(self, change: IdChange, topic: TopicName, part: str) -> Table:
        if not has_ids(change, part):
            return _NONE
        strategy, books = strategy_of(change, part), self._books
        shared = strategy in _SHARED and not books.has_own(topic, part)
        about: Hashable = (strategy,) if shared else (strategy, topic, part)
        known = self._parts.get(about)
        if known is not None and known.revision == books.revision:
            return known.rows
        decided = books.decisions(strategy, topic, part)
        if known is None or len(known.rows) != len(decided):  # no decision ever changes
            passing = books.passing(strategy, topic, part)
            known = _Made(0, IdTable.of(key=decided, passing=passing).key)
        self._parts[about] = _Made(books.revision, known.rows)
        return known.rows
