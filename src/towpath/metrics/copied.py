"""Counts what a run copied, so that the count never decreases."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.metrics.stand import Stand


class Copied:
    """Records and bytes by topic and partition, from what the ledger holds look by look.

    Where a mirror topic is begun anew the ledger counts from 0 again; here it is added to what the
    one
    before had. What was there at the first look was copied by earlier runs.
    """

    def __init__(self) -> None:
        self._first = True
        self._seen: dict[int, tuple[int, int]] = {}
        self._totals: dict[tuple[str, int], tuple[int, int]] = {}

    def look(self, stands: Iterable[Stand]) -> dict[tuple[str, int], tuple[int, int]]:
        """Add the present positions; return what this run has copied of each partition."""
        for stand in stands:
            there = stand.records, stand.bytes
            seen = self._seen.get(stand.incarnation, there if self._first else (0, 0))
            more = max(0, there[0] - seen[0]), max(0, there[1] - seen[1])
            self._seen[stand.incarnation] = seen[0] + more[0], seen[1] + more[1]
            key = stand.topic, stand.partition
            records, size = self._totals.get(key, (0, 0))
            self._totals[key] = records + more[0], size + more[1]
        self._first = False
        return dict(self._totals)
