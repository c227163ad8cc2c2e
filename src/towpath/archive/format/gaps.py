"""The gaps of a segment: offsets that hold no record, and the reasons.

A topic written in small transactions has as many gaps as records, so they are rows of numbers, and
packed where they are stored.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

import numpy as np

from towpath.archive.model import GapCounts, GapKind, OffsetGap
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import SourceOffset
from towpath.wire import sifting
from towpath.wire.batch import Table
from towpath.wire.codec import ZSTD, compress, decompress
from towpath.wire.collector import joined_gaps

_KINDS = {
    sifting.MARKER: GapKind.MARKER,
    sifting.ABORTED: GapKind.ABORTED,
    sifting.COMPACTED: GapKind.COMPACTED,
    sifting.RETENTION: GapKind.RETENTION,
    sifting.FILTERED: GapKind.FILTERED,
    sifting.ERASED: GapKind.ERASED,
    sifting.LOST: GapKind.LOST,
}
_NUMBERS = {kind: number for number, kind in _KINDS.items()}
_ROW = 24
_MOST = 1 << 26
"""Upper bound on the gaps of one segment that are read."""


def number_of(kind: GapKind) -> int:
    """Return the number of a gap kind in compiled loops (`wire/sifting.py`)."""
    return _NUMBERS[kind]


class Gaps:
    """An ordered table of gaps; adjacent gaps of one kind are one gap."""

    __slots__ = ("table",)

    def __init__(self, table: Table) -> None:
        """Keep rows of first offset, end and number of the kind."""
        self.table = joined_gaps([table])

    @classmethod
    def of(cls, gaps: Iterable[OffsetGap]) -> Gaps:
        """Make the table of gaps, which must be in order."""
        rows = [(gap.first, gap.end, _NUMBERS[gap.kind]) for gap in gaps]
        return cls(np.array(rows, np.int64).reshape(-1, 3))

    @classmethod
    def unpacked(cls, text: str) -> Gaps:
        """Parse the text that `packed` returned.

        Raises:
            ValueError: The text is not packed gaps.
        """
        try:
            data = decompress(ZSTD, base64.b64decode(text, validate=True), _MOST * _ROW)
        except (CorruptBatchError, binascii.Error) as error:
            raise ValueError("its list of gaps cannot be unpacked") from error
        if len(data) % _ROW:
            raise ValueError(f"its list of gaps has {len(data)} bytes")
        spaces, lengths, kinds = np.frombuffer(data, "<i8").reshape(3, -1)
        table = np.empty((len(spaces), 3), np.int64)
        table[:, 1] = np.cumsum(spaces + lengths)
        table[:, 0] = table[:, 1] - lengths
        table[:, 2] = kinds
        if (lengths <= 0).any() or (spaces < 0).any() or not np.isin(kinds, list(_KINDS)).all():
            raise ValueError("its list of gaps has an impossible gap")
        return cls(table)

    def packed(self) -> str:
        """Return the gaps as compressed text."""
        table = self.table
        ends = np.append(0, table[:-1, 1]) if len(table) else table[:, 1]
        columns = (table[:, 0] - ends, table[:, 1] - table[:, 0], table[:, 2])
        return base64.b64encode(compress(ZSTD, np.concatenate(columns).astype("<i8"))).decode()

    def counts(self) -> GapCounts:
        """Count the offsets in gaps, by kind."""
        lengths = self.table[:, 1] - self.table[:, 0]
        sums = {k.value: int(lengths[self.table[:, 2] == n].sum()) for n, k in _KINDS.items()}
        return GapCounts(**sums)

    def between(self, first: int, end: int) -> Gaps:
        """Return the parts of the gaps within [first, end)."""
        table = self.table[(self.table[:, 1] > first) & (self.table[:, 0] < end)].copy()
        table[:, :2] = np.clip(table[:, :2], first, end)
        return Gaps(table)

    def then(self, other: Gaps) -> Gaps:
        """Return these gaps, followed by the gaps of the next range."""
        return Gaps(np.concatenate([self.table, other.table]))

    def __iter__(self) -> Iterator[OffsetGap]:
        for first, end, kind in self.table.tolist():
            yield OffsetGap(SourceOffset(first), SourceOffset(end), _KINDS[kind])

    def __len__(self) -> int:
        return len(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gaps) and np.array_equal(self.table, other.table)

    __hash__ = None  # type: ignore[assignment]  # a table of numbers has none
