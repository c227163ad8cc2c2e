"""Detection of doubled records on the target, by sequences in batch headers. Pure.

Copied record number n has sequence n (docs/decisions/0003), so along the target log the sequences
of one producer id, with all its generations, never go back. Where they do, producer state had
expired, and a copier wrote records a second time: it had lost an answer, or it had been frozen.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from towpath.ledger.producers import generations
from towpath.model.nouns import ProducerId
from towpath.wire import batch as wire

_SEQUENCE_AT = 53
"""Position of the base sequence in the header of a batch, a big-endian int32 (KIP-98)."""
_BACK = wire.SEQUENCES // 2
_MOST = 20
"""Most stretches that are named. The records of all are counted."""


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Target offsets [first, end) that repeat `records` earlier records."""

    first: int
    end: int
    records: int


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sequences of one producer id in a range of the target log.

    Attributes:
        producer: Generation 0 of the producer id.
        offset: Target offset of its first record.
        first: The sequence of that record.
        next: The sequence after the highest one.
    """

    producer: ProducerId
    offset: int
    first: int
    next: int


@dataclass(frozen=True, slots=True)
class Doubled:
    """The doubled stretches of a range, and the facts for joining the next range.

    Attributes:
        stretches: Ascending. Only the first ones, if there are very many.
        records: Number of records in all stretches.
        seen: The sequences of each producer id.
    """

    stretches: tuple[Stretch, ...] = ()
    records: int = 0
    seen: tuple[Sequences, ...] = ()

    def then(self, other: Doubled) -> Doubled:
        """Return the result for this range and the next one together."""
        before = {each.producer: each for each in self.seen}
        joined = dict(before)
        between: list[Stretch] = []
        for each in other.seen:
            known = before.get(each.producer)
            if known is None:
                joined[each.producer] = each
                continue
            back = _back(each.first, known.next)
            again = min(back, (each.next - each.first) % wire.SEQUENCES)
            if again:
                between.append(Stretch(each.offset, each.offset + again, again))
            ahead = known.next if _back(each.next, known.next) else each.next
            joined[each.producer] = replace(known, next=ahead)
        stretches = tuple(_joined([*self.stretches, *between, *other.stretches]))
        records = self.records + sum(each.records for each in between) + other.records
        return Doubled(stretches[:_MOST], records, tuple(joined.values()))


class SequenceCheck:
    """Checks the sequences of some producer ids along a target log.

    Args:
        producers: Generation 0 of the producer ids whose sequences number the copied records.
        first: Only offsets from here on count.
        end: Only offsets before this one count.
        expected: The next sequence of each, if known. Otherwise the first batch determines it.
    """

    def __init__(
        self,
        producers: AbstractSet[ProducerId],
        first: int,
        end: int,
        expected: Iterable[tuple[ProducerId, int]] = (),
    ) -> None:
        self._first, self._end = first, end
        self._lines = {own: each for each in producers for own in generations(each)}
        """Generation 0 of each producer id."""
        self._ids = [*self._lines]
        self._next: dict[ProducerId, int] = dict(expected)
        self._seen: dict[ProducerId, Sequences] = {}
        self._stretches: list[Stretch] = []
        self._records = 0
        self.beyond = 0
        """Number of records that are not doubled."""

    def look(self, buffer: wire.Buffer, table: wire.Table) -> None:
        """Check the sequences in the batches of a fetch response."""
        special = table[:, wire.ATTRIBUTES] & (wire.CONTROL | wire.TRANSACTIONAL)
        ours = (special == 0) & np.isin(table[:, wire.PRODUCER], self._ids)
        ours &= (table[:, wire.LAST] >= self._first) & (table[:, wire.BASE] < self._end)
        rows = table[ours]
        for row, sequence in zip(rows.tolist(), _sequences(buffer, rows), strict=True):
            base, last = row[wire.BASE], row[wire.LAST]
            first, end = max(base, self._first), min(last + 1, self._end)
            line = self._lines[row[wire.PRODUCER]]
            self._take(line, first, end, (sequence + first - base) % wire.SEQUENCES)

    @property
    def found(self) -> Doubled:
        """The doubled records found so far."""
        seen = [replace(each, next=self._next[p]) for p, each in self._seen.items()]
        return Doubled(tuple(_joined(self._stretches)[:_MOST]), self._records, tuple(seen))

    def _take(self, producer: ProducerId, first: int, end: int, sequence: int) -> None:
        expected = self._next.get(producer, sequence)
        following = (sequence + end - first) % wire.SEQUENCES
        self._seen.setdefault(producer, Sequences(producer, first, sequence, following))
        again = min(_back(sequence, expected), end - first)
        if again:
            self._stretches.append(Stretch(first, first + again, again))
            self._records += again
        self.beyond += end - first - again
        self._next[producer] = expected if _back(following, expected) else following


def _sequences(buffer: wire.Buffer, rows: wire.Table) -> list[int]:
    at = rows[:, wire.POSITION, None] + np.arange(_SEQUENCE_AT, _SEQUENCE_AT + 4)
    found: list[int] = np.ascontiguousarray(buffer[at]).view(">i4").ravel().tolist()
    return found


def _back(sequence: int, expected: int) -> int:
    """Return by how many records a sequence is behind the expected one, 0 if it is not."""
    back = (expected - sequence) % wire.SEQUENCES
    return back if back < _BACK else 0


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for each in sorted(stretches):
        if joined and joined[-1].end == each.first:
            before = joined.pop()
            joined.append(Stretch(before.first, each.end, before.records + each.records))
        else:
            joined.append(each)
    return joined
