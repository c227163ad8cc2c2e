"""Records in a target partition that the link did not write, by producer. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from towpath.model.nouns import ProducerId
from towpath.wire import batch as wire

_MOST = 1000
"""Most producers that are named. The records of all are counted."""


@dataclass(frozen=True, slots=True)
class OtherRecords:
    """Records of other producers, as consumers with isolation.level=read_committed see them.

    Attributes:
        records: Their number.
        first: Target offset of the first one; -1 if there is none.
        producers: The number of records of each producer id, the largest first. Producers without
            an id have -1.
    """

    records: int = 0
    first: int = -1
    producers: tuple[tuple[ProducerId, int], ...] = ()

    @classmethod
    def of(cls, rows: wire.Table) -> OtherRecords:
        """Return the records of batches, in the order of the log."""
        if not len(rows):
            return cls()
        ids, which = np.unique(rows[:, wire.PRODUCER], return_inverse=True)
        counts = np.zeros(len(ids), np.int64)
        np.add.at(counts, which, rows[:, wire.COUNT])
        told = {ProducerId(int(i)): int(count) for i, count in zip(ids, counts, strict=True)}
        return cls(int(counts.sum()), int(rows[0, wire.BASE]), _ordered(told))

    def then(self, later: OtherRecords) -> OtherRecords:
        """Return these counts together with those of a later part of the log."""
        if not self.records or not later.records:
            return self if self.records else later
        told = dict(self.producers)
        for producer, count in later.producers:
            told[producer] = told.get(producer, 0) + count
        return OtherRecords(self.records + later.records, self.first, _ordered(told))


def _ordered(told: dict[ProducerId, int]) -> tuple[tuple[ProducerId, int], ...]:
    return tuple(sorted(told.items(), key=lambda each: (-each[1], each[0]))[:_MOST])
