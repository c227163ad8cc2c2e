"""Detection of source batches that the twin, a link in the other direction, wrote. Pure."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import numpy as np

from towpath.ledger.producers import is_private
from towpath.model.nouns import ProducerId, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.change_services import ChangeServices
from towpath.records.items import Wait
from towpath.records.work import Assignment
from towpath.wire import batch as wire
from towpath.wire.tally import OffsetTally, brought


@dataclass(frozen=True, slots=True)
class Sorted:
    """The leading batches of a fetch response whose writers are known.

    Attributes:
        table: These batches.
        theirs: The rows of those that the twin wrote, in order.
        unknown: The producer ids behind them of which nothing is known yet.
    """

    table: wire.Table
    theirs: tuple[int, ...] = ()
    unknown: tuple[ProducerId, ...] = ()

    def clients_until(self, at: int) -> int:
        """Return the first row from `at` on that the twin wrote, else the number of rows."""
        if not self.theirs:
            return len(self.table)
        known = bisect_left(self.theirs, at)
        return self.theirs[known] if known < len(self.theirs) else len(self.table)


@dataclass(slots=True)
class LaneTwin:
    """Distinguishes the twin's batches from those of clients."""

    work: Assignment
    outside: ChangeServices
    _known: dict[int, bool] = field(default_factory=dict)
    """Whether the twin writes under a private producer id."""

    def sort(self, table: wire.Table, expected: SourceOffset) -> Sorted:
        """Return the writers of a response's batches, as far as they are known.

        Args:
            table: The batches.
            expected: The next source offset to take in; batches before it do not matter.
        """
        if self.outside.twins is None:
            return Sorted(table)
        ids = table[:, wire.PRODUCER]
        fresh = table[:, wire.LAST] >= expected
        unknown = [each for each in np.unique(ids[fresh]).tolist() if not self._knows(each)]
        if unknown:
            table = table[: int(np.flatnonzero(fresh & np.isin(ids, unknown))[0])]
        theirs = [each for each, is_twin in self._known.items() if is_twin]
        rows = np.flatnonzero(np.isin(table[:, wire.PRODUCER], theirs))
        return Sorted(table, tuple(rows.tolist()), tuple(map(ProducerId, unknown)))

    def _knows(self, producer: int) -> bool:
        if not is_private(producer) or producer in self._known:
            return True
        twins = self.outside.twins
        assert twins is not None  # noqa: S101  # `sort` has looked
        said = twins.wrote(self.work, ProducerId(producer))
        if said is None:
            return False
        self._known[producer] = said
        return True

    def wait(self, at: SourceOffset, unknown: tuple[ProducerId, ...]) -> Wait:
        """Return the wait until the ledger on the source tells who wrote the next batches.

        Args:
            at: The source offset of the first of them.
            unknown: Their producer ids.
        """
        twins = self.outside.twins
        assert twins is not None  # noqa: S101  # nothing is unknown without
        why = Reason.of(ReasonCode.TWIN_UNKNOWN, offset=at, producer=unknown[0])
        return Wait(why, twins.want(self.work, unknown))

    def tally(self, row: list[int]) -> OffsetTally:
        """Return the count of the twin's records in a batch, none for a marker."""
        records = 0 if row[wire.ATTRIBUTES] & wire.CONTROL else row[wire.COUNT]
        return brought(row[wire.BASE], records)
