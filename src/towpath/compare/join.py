"""Record-by-record comparison of opened batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from towpath.compare.cursor import Piece
from towpath.wire import batch as wire
from towpath.wire import records
from towpath.wire.digest import Digest, Hashes, digest_batches, record_hashes
from towpath.wire.opened import open_batches
from towpath.wire.rows import OFFSET, parse

_COMPARED = ("key", "value", "headers", "timestamp")

Indexes = npt.NDArray[np.intp]


class Compared(Protocol):
    """Protocol of the records on one side of a comparison."""

    def offsets(self) -> wire.Table:
        """Return the offset of every record."""

    def digest(self) -> Digest:
        """Return the digest of all records."""

    def hashes(self) -> tuple[wire.Table, Hashes]:
        """Return offset and hash of every record."""

    def record(self, offset: int) -> dict[str, Any]:
        """Return the record at an offset, which must exist."""

    def rows(self, offsets: wire.Table) -> pa.Table:
        """Return the records at ascending offsets."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Batches of one side, of which only the records in [first, end) are compared."""

    pieces: Sequence[Piece]
    first: int
    end: int
    timed: bool = True
    """Whether timestamps count."""

    @property
    def own_clock(self) -> bool:
        """Whether the broker set the timestamps of some batch (LogAppendTime)."""
        return any((p.rows[:, wire.ATTRIBUTES] & wire.LOG_APPEND_TIME).any() for p in self.pieces)

    def timeless(self) -> Portion:
        """Return the same batches, to be compared without timestamps."""
        return replace(self, timed=False)

    def offsets(self) -> wire.Table:
        """Return the offset of every record."""
        return self._inside(_joined(_offsets(piece) for piece in self.pieces))

    def digest(self) -> Digest:
        """Return the digest of all records."""
        total = Digest()
        for piece in self.pieces:
            positions, lengths = _where(piece)
            total = total.then(
                digest_batches(
                    piece.buffer, positions, lengths, self.first, self.end, timed=self.timed
                )
            )
        return total

    def hashes(self) -> tuple[wire.Table, Hashes]:
        """Return offset and hash of every record."""
        found = [
            record_hashes(batch, timed=self.timed)
            for piece in self.pieces
            for batch in piece.batches()
        ]
        offsets = _joined(each[0] for each in found)
        hashes = np.concatenate([np.empty(0, np.uint64), *(each[1] for each in found)])
        inside = (offsets >= self.first) & (offsets < self.end)
        return offsets[inside], hashes[inside]

    def record(self, offset: int) -> dict[str, Any]:
        """Return the record at an offset, which must exist."""
        rows = self.rows(np.array([offset], np.int64))
        record = dict(rows.to_pylist()[0])
        return record if self.timed else {**record, "timestamp": None}

    def rows(self, offsets: wire.Table) -> pa.Table:
        """Return the records at ascending offsets."""
        found = [records.RECORDS.empty_table()]
        wanted = pa.array(offsets)
        for piece in self.pieces:
            for batch, row in zip(piece.batches(), piece.rows.tolist(), strict=True):
                at = np.searchsorted(offsets, row[wire.BASE])
                if at < len(offsets) and offsets[at] <= row[wire.LAST]:
                    table = pa.Table.from_batches([records.decode(batch)])
                    found.append(table.filter(pa.compute.is_in(table["offset"], wanted)))
        return pa.concat_tables(found)

    def _inside(self, offsets: wire.Table) -> wire.Table:
        return offsets[(offsets >= self.first) & (offsets < self.end)]


@dataclass(frozen=True, slots=True)
class Joined:
    """Pairs of corresponding records, as indexes into both sides."""

    changed: Indexes
    changed_target: Indexes
    source_only: Indexes
    target_only: Indexes
    equal: int


def join(expected: wire.Table, source: Hashes, offsets: wire.Table, target: Hashes) -> Joined:
    """Join records by target offset.

    Args:
        expected: Target offset at which each source record should be, -1 for none.
        source: Hashes of the source records.
        offsets: Ascending offsets of the target records.
        target: Hashes of the target records.
    """
    at = np.searchsorted(offsets, expected)
    there = at < len(offsets)
    there[there] = offsets[at[there]] == expected[there]
    left, right = np.flatnonzero(there), at[there]
    differs = source[left] != target[right]
    extra = np.ones(len(offsets), np.bool_)
    extra[right] = False
    return Joined(
        left[differs],
        right[differs],
        np.flatnonzero(~there),
        np.flatnonzero(extra),
        len(left) - int(differs.sum()),
    )


def what_differs(source: dict[str, Any], target: dict[str, Any]) -> str:
    """Return the names of the record parts that differ."""
    return ", ".join(name for name in _COMPARED if source[name] != target[name]) or "attributes"


def _where(piece: Piece) -> tuple[wire.Table, wire.Table]:
    return piece.rows[:, wire.POSITION].copy(), piece.rows[:, wire.LENGTH].copy()


def _joined(parts: Iterable[wire.Table]) -> wire.Table:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _offsets(piece: Piece) -> wire.Table:
    """Return all offsets of a piece, from the headers if no batch has holes."""
    bases, counts = piece.rows[:, wire.BASE], piece.rows[:, wire.COUNT]
    if (piece.rows[:, wire.LAST] - bases + 1 != counts).any():
        return parse(open_batches(piece.buffer, *_where(piece)))[:, OFFSET].copy()
    before = np.cumsum(counts) - counts
    return np.repeat(bases - before, counts) + np.arange(counts.sum())
