"""The schema ids in the records of one side, collected during the reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from towpath.model.errors import CorruptBatchError
from towpath.wire import batch as wire
from towpath.wire.naming import IdCounter, IdSample, NamedIds
from towpath.wire.opened import open_batches

_AT_ONCE = 1 << 20
"""Bytes of batches that are opened together."""


@dataclass(frozen=True, slots=True)
class SeenIds:
    """The schema ids in a part of a log.

    Attributes:
        named: The ids.
        unread: Number of records in batches that cannot be opened.
        unread_at: Offset of the first of these batches, -1 if there is none.
    """

    named: NamedIds = field(default_factory=NamedIds)
    unread: int = 0
    unread_at: int = -1

    def then(self, later: SeenIds) -> SeenIds:
        """Return the schema ids of both parts together."""
        at = self.unread_at if self.unread else later.unread_at
        return SeenIds(self.named.then(later.named), self.unread + later.unread, at)


class IdLook:
    """Collects the schema ids of records in batches.

    Args:
        sample: Which records are looked at.
        change: The digest of the change under which they were copied.
    """

    def __init__(self, sample: IdSample, change: str = "") -> None:
        self._counter, self._change = IdCounter(sample), change
        self._unread, self._unread_at = 0, -1

    def look(self, buffer: wire.Buffer, rows: wire.Table, first: int, end: int) -> None:
        """Collect the schema ids of records with offsets in [first, end)."""
        bases, lasts = rows[:, wire.BASE].copy(), rows[:, wire.LAST].copy()
        for some in _grouped(rows[self._counter.chosen(bases, lasts)]):
            if self._count(buffer, some, first, end):
                continue
            for row in some[:, None]:
                if not self._count(buffer, row, first, end):
                    self._unread += int(row[0, wire.COUNT])
                    at = int(row[0, wire.BASE])
                    self._unread_at = at if self._unread_at < 0 else min(at, self._unread_at)

    @property
    def seen(self) -> SeenIds:
        """The schema ids found so far."""
        found = self._counter.found
        ids = tuple(replace(each, change=self._change) for each in found.ids)
        return SeenIds(replace(found, ids=ids), self._unread, self._unread_at)

    def _count(self, buffer: wire.Buffer, rows: wire.Table, first: int, end: int) -> bool:
        """Count the ids of batches; returns whether they could be opened."""
        where = rows[:, wire.POSITION].copy(), rows[:, wire.LENGTH].copy()
        try:
            self._counter.count(open_batches(buffer, *where), first, end)
        except CorruptBatchError:
            return False
        return True


def _grouped(rows: wire.Table) -> Iterator[wire.Table]:
    """Yield consecutive rows of about `_AT_ONCE` bytes, at least one."""
    groups = np.cumsum(rows[:, wire.LENGTH]) // _AT_ONCE
    borders = np.flatnonzero(np.diff(groups)) + 1
    yield from (some for some in np.split(rows, borders) if len(some))
