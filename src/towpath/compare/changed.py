"""Source records as the target should have them, after the link's changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from towpath.compare.cursor import Piece
from towpath.compare.work import LinkChanges, Range
from towpath.ledger.entries import Tally
from towpath.model.changes import NO_CHANGE, Malformed, RecordChange, RecordOrigin
from towpath.model.nouns import TopicName
from towpath.wire import batch as wire
from towpath.wire import records
from towpath.wire.change import ChangedRecords, Changer
from towpath.wire.digest import Digest, Hashes, fold, opened_hashes
from towpath.wire.ids import IdTable
from towpath.wire.opened import OpenedBatches, open_batches

Ids = Callable[[TopicName, RecordChange], IdTable]
"""Returns the decisions about the ids of a source topic, as the ledger has them."""


def no_ids(topic: TopicName, change: RecordChange) -> IdTable:
    """Return a table without decisions about schema ids."""
    del topic, change
    return IdTable.of()


class UncomparableError(Exception):
    """The rest of a range cannot be compared; the text says why."""


class ChangedPortion:
    """Changed records of the source, with the interface of `Portion`."""

    def __init__(self, opened: Sequence[OpenedBatches], *, timed: bool = True) -> None:
        self._opened, self._timed = opened, timed
        found = [opened_hashes(each, timed=timed) for each in opened]
        self._offsets = np.concatenate([np.empty(0, np.int64), *(each[0] for each in found)])
        self._hashes = np.concatenate([np.empty(0, np.uint64), *(each[1] for each in found)])

    def timeless(self) -> ChangedPortion:
        """Return the same records, to be compared without timestamps."""
        return ChangedPortion(self._opened, timed=False)

    def offsets(self) -> wire.Table:
        """Return the source offset of every record."""
        return self._offsets

    def digest(self) -> Digest:
        """Return the digest of all records."""
        return fold(self._hashes)

    def hashes(self) -> tuple[wire.Table, Hashes]:
        """Return offset and hash of every record."""
        return self._offsets, self._hashes

    def record(self, offset: int) -> dict[str, Any]:
        """Return the record at an offset, which must exist."""
        row = dict(self.rows(np.array([offset], np.int64)).to_pylist()[0])
        return row if self._timed else {**row, "timestamp": None}

    def rows(self, offsets: wire.Table) -> pa.Table:
        """Return the records at ascending offsets."""
        table = pa.Table.from_batches(map(records.columns, self._opened), records.RECORDS)
        return table.filter(pa.compute.is_in(table["offset"], pa.array(offsets)))


class SourceChange:
    """Applies the link's changes to source records, and counts the changes.

    Args:
        changer: What changed the records of the partition when they were copied.
    """

    def __init__(self, changer: Changer) -> None:
        self._changer = changer
        self._counts = Counter[str]()

    @classmethod
    def of(cls, part: Range, changes: LinkChanges | None, ids: Ids) -> SourceChange | None:
        """Return the change for a range's records, `None` if they were copied unchanged."""
        if not (part.change or part.refused):
            return None
        assert changes is not None  # noqa: S101  # who names a change says what it is
        change = changes.defined[part.change] if part.change else NO_CHANGE
        origin = RecordOrigin(
            link=changes.link,
            topic=part.source.topic,
            partition=part.source.partition,
            source_cluster=changes.source_cluster,
            target_cluster=changes.target_cluster,
        )
        left_out = [np.arange(first, end) for first, end in part.refused]
        changer = Changer(
            change=change,
            origin=origin,
            ids=ids(part.source.topic, change),
            left_out=np.concatenate([np.empty(0, np.int64), *left_out]),
        )
        return cls(changer)

    @property
    def _keeping_all(self) -> Changer:
        """Changes keys as ever, and leaves nothing out: the source's cleaner knew no change."""
        ids = self._changer.change.ids
        change = replace(
            self._changer.change, drop=(), ids=ids and replace(ids, malformed=Malformed.PASS)
        )
        return replace(self._changer, change=change, left_out=np.empty(0, np.int64))

    @property
    def tally(self) -> Tally:
        """Counts of changed records so far."""
        return tuple(sorted(self._counts.items()))

    def portion(self, pieces: Iterable[Piece], first: int, end: int) -> ChangedPortion:
        """Return the records of batches with offsets in [first, end), after the change.

        Raises:
            CorruptBatchError: A batch cannot be read.
            UncomparableError: It is not known what becomes of a record.
        """
        made = []
        for piece in pieces:
            changed = self._changer.apply(_opened(piece), first, end)
            _check(changed)
            self._counts.update(dict(changed.tally.by_kind()))
            made.append(changed.opened)
        return ChangedPortion(made)

    def keys(self, piece: Piece) -> pa.Table:
        """Return the columns `key` and `offset` of all records, including left-out ones."""
        changed = self._keeping_all.apply(_opened(piece))
        _check(changed)
        table = pa.Table.from_batches([records.columns(changed.opened)], records.RECORDS)
        return table.select(["key", "offset"])


def _opened(piece: Piece) -> OpenedBatches:
    where = piece.rows[:, wire.POSITION].copy(), piece.rows[:, wire.LENGTH].copy()
    return open_batches(piece.buffer, *where)


def _check(changed: ChangedRecords) -> None:
    if changed.unknown:
        each = changed.unknown[0]
        raise UncomparableError(
            f"the ledger has no decision about schema id {each.name} in a {each.part}"
        )
    if changed.halt is not None:
        raise UncomparableError(
            f"at source offset {changed.halt.offset} the change stops the partition"
            f" ({changed.halt.code})"
        )
