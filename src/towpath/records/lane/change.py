"""Application of `changes` to the records of one lane. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.change_services import ChangeServices
from towpath.records.items import Stop, Wait
from towpath.records.standing import Standing
from towpath.records.work import Assignment
from towpath.wire import batch as wire
from towpath.wire.opened import OpenedBatches

if TYPE_CHECKING:
    from towpath.wire.change import ChangedRecords, Changer
    from towpath.wire.ids import IdTable

_NAMED = 5
"""So many ids a reason names at most."""


class LaneChange:
    """Changes the records of one lane.

    Attributes:
        always: Whether all batches must be opened to be changed.
    """

    def __init__(self, work: Assignment, outside: ChangeServices) -> None:
        self._work, self._outside = work, outside
        self._change, self.always = NO_CHANGE, False
        self._refused = np.empty(0, np.int64)
        self._others: tuple[RecordChange, ...] = ()
        self._changers: dict[int, tuple[IdTable | None, Changer]] = {}
        """By the identity of the change, which `stand` keeps alive: to hash one takes long."""

    def stand(self, standing: Standing) -> None:
        """Use the change of records in `standing` from now on."""
        self._change, self._changers = standing.change, {}
        self.always = bool(standing.change.digest)
        self._others = standing.others
        self._refused = np.array(sorted(standing.refused), np.int64)

    def concerns(self, table: wire.Table) -> bool:
        """Return whether batches must be opened to be changed."""
        if self.always or not len(self._refused):
            return self.always
        first, end = int(table[0, wire.BASE]), int(table[-1, wire.LAST]) + 1
        low, high = np.searchsorted(self._refused, (first, end))
        return bool(low < high)

    def apply(self, source: OpenedBatches, first: int, end: int = wire.NO_END) -> ChangedRecords:
        """Change the records in a range of source offsets.

        Raises:
            CorruptBatchError: They cannot be read.
        """
        return self._changer_of(self._change).apply(source, first, end)

    def others(self, source: OpenedBatches, first: int) -> Iterator[OpenedBatches]:
        """Yield the records as earlier changes would make them, which may have been in force."""
        for change in self._others:
            changed = self._changer_of(change).apply(source, first)
            if not changed.unknown:
                yield changed.opened

    def _changer_of(self, change: RecordChange) -> Changer:
        """Return what makes a change, with the decisions about ids that are known now."""
        source = self._outside.ids
        ids = source.table(self._work, change) if source is not None and change.ids else None
        known, changer = self._changers.get(id(change), (None, None))
        if changer is None:
            # Its loops take seconds to load, which a slice without changes does not need.
            from towpath.wire.change import Changer  # noqa: PLC0415

            origin = self._outside.origin(self._work)
            changer = Changer(change=change, origin=origin, left_out=self._refused)
        if ids is not None and ids is not known:
            changer = changer.with_ids(ids)
        self._changers[id(change)] = ids, changer
        return changer

    def wait_for_ids(self, changed: ChangedRecords) -> Wait:
        """Return the wait for decisions about unknown schema ids, and request them."""
        named = ", ".join(str(each.name) for each in changed.unknown[:_NAMED])
        more = len(changed.unknown) > _NAMED
        why = Reason.of(ReasonCode.SCHEMA_UNKNOWN, ids=named + (" and others" if more else ""))
        source = self._outside.ids
        if source is None:
            return Wait(why, lambda: False)
        return Wait(why, source.want(self._work, self._change, changed.unknown), bounded=True)

    def wait_for_quarantine(self, changed: ChangedRecords) -> Wait | None:
        """Return the wait until records are in the quarantine, `None` if there are none."""
        quarantine = self._outside.quarantine
        if not changed.aside or quarantine is None:
            return None
        why = Reason.of(ReasonCode.QUARANTINE_BUSY, offset=changed.aside[0].offset)
        return Wait(why, quarantine.take(self._work, changed.aside))

    def stop(self, changed: ChangedRecords) -> tuple[int, Stop] | None:
        """Return the offset where a changed lane must stop, and why; `None` if it need not."""
        found = changed.halt
        if changed.aside and self._outside.quarantine is None:
            first = changed.aside[0]
            if found is None or first.offset < found.offset:
                return first.offset, _stop(first.offset, first.code)
        return None if found is None else (found.offset, _stop(found.offset, found.code))


def _stop(offset: int, code: str) -> Stop:
    return Stop(Reason.of(ReasonCode.RECORD_BAD, offset=offset, bad=str(code)))
