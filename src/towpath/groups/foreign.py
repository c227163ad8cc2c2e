"""Group offsets in topics that another tool mirrored, unknown to the ledger. Pure.

The copy of the last record that the group has read is looked for on the target. A header with the
source offset, as the Redpanda migrator writes it, tells how far a record is from it; without the
header only times and contents tell. No answer lies behind the right place: where that is not known,
the consumer reads records again. That other tool is taken to have kept the order of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.wire.plain import Record

OFFSET_HEADER = b"redpanda-migrator-offset"
"""The Redpanda migrator's header: the source offset, 8 bytes in big endian."""
READS = 5
"""How often a record of the target is read to get nearer."""
CLOCKS = 600_000
"""Milliseconds by which the clocks of two clusters differ at most."""

_HEADER_SIZE = 8
Answer = TranslatedOffset[TargetOffset]


@dataclass(frozen=True, slots=True)
class Place:
    """A group's source offset, and the part of the target log that may hold its equivalent.

    Attributes:
        offset: The committed offset.
        last: The last record before it that consumers see; `None` if the source has none any more.
        start: The log start offset on the target.
        end: The offset behind the last record that consumers see on the target.
    """

    offset: SourceOffset
    last: Record | None
    start: TargetOffset
    end: TargetOffset


def at_once(place: Place) -> Answer | None:
    """Return the target offset if no record must be read to find it, else `None`."""
    if place.offset == 0:
        return TranslatedOffset(place.start, Exactness.EXACT)
    if place.start == place.end:
        return _not_yet(place.end)
    return None


def source_offset(record: Record) -> SourceOffset | None:
    """Return the source offset in a record's last migrator header, `None` without one."""
    found = [value for name, value in record.headers if name == OFFSET_HEADER]
    if not found or found[-1] is None or len(found[-1]) != _HEADER_SIZE:
        return None
    return SourceOffset(int.from_bytes(found[-1], "big"))


class HeaderSearch:
    """Binary search for a target offset by the source offsets in record headers.

    Args:
        place: What is looked for.
        guess: The target offset at which to begin.

    Attributes:
        at: The target offset to read next. The answer is known if it is `None`.
    """

    def __init__(self, place: Place, guess: TargetOffset) -> None:
        self._place = place
        self._last = place.last.offset if place.last is not None else place.offset - 1
        # All copies of records before the place are below `_low` or between the two.
        self._low, self._high, self._end = place.start, place.end, place.end
        self._first: int | None = None
        self._reads = 0
        self._found: Answer | None = None
        self.at: TargetOffset | None = self._within(guess)

    def told(self, at: TargetOffset, there: SourceOffset) -> None:
        """Record that the first record from `self.at` on lies at `at` and copies offset `there`."""
        wanted = self.at if self.at is not None else at
        if there in {self._place.offset, self._last}:
            behind = TargetOffset(at + (there == self._last))
            self._found = TranslatedOffset(behind, Exactness.EXACT)
            step = 0
        elif there < self._place.offset:
            self._low, step = TargetOffset(at + 1), self._last - there
        else:
            self._high, self._first, step = wanted, there, self._place.offset - there
        self._go_on(TargetOffset(at + step))

    def nothing(self) -> None:
        """Record that no record lies at or after `self.at`."""
        if self.at is not None:
            self._high = self._end = self.at
        self._go_on(TargetOffset(self._high - 1))

    @property
    def answer(self) -> Answer:
        """The best target offset found so far."""
        low, place = self._low, self._place
        if self._found is not None:
            return self._found
        if low >= self._end:
            return _not_yet(place.end)
        if low >= self._high and low == place.start:
            why = f"the target's log begins with the copy of source offset {self._first}"
            return TranslatedOffset(low, Exactness.BEFORE_START, why)
        why = (
            f"the target has no copy of source offset {self._last} near this place, by the headers"
            f" `{OFFSET_HEADER.decode()}`; records may be read again"
        )
        return TranslatedOffset(low, Exactness.BOUNDED, why)

    def _go_on(self, next_one: TargetOffset) -> None:
        self._reads += 1
        over = self._found is not None or self._low >= self._high or self._reads == READS
        self.at = None if over else self._within(next_one)

    def _within(self, wanted: TargetOffset) -> TargetOffset:
        return max(self._low, min(wanted, TargetOffset(self._high - 1)))


def by_time(place: Place, guess: TargetOffset, found: Sequence[Record], *, stamped: bool) -> Answer:
    """Return the target offset by record time, for headers without a source offset.

    Args:
        place: What is looked for.
        guess: The first target offset at which a record is as young as the last one that was read,
            or, with `stamped`, younger than ten minutes before it.
        found: Records of the target from `guess` on.
        stamped: The target sets the times of its records itself (LogAppendTime).
    """
    last = place.last
    if last is None:
        why = f"the source has no record before offset {place.offset} any more"
        return _from(place.start, why)
    if guess >= place.end and not stamped:
        return _not_yet(place.end)
    for record in found:
        if _alike(record, last, timed=not stamped):
            why = f"its record looks like that of source offset {last.offset}"
            return _from(TargetOffset(record.offset), why)
    if stamped:
        why = f"it is {CLOCKS // 60_000} minutes before source offset {last.offset} was written"
        return _from(guess, f"by its broker's clock {why}")
    why = f"the copy of source offset {last.offset} was not found by its time and content"
    return _from(place.start, why)


def _alike(one: Record, other: Record, *, timed: bool) -> bool:
    same = (one.key, one.value) == (other.key, other.value)
    return same and (not timed or one.timestamp == other.timestamp)


def _from(offset: TargetOffset, why: str) -> Answer:
    text = f"another tool mirrored the topic without source offsets; {why}; records may be read"
    return TranslatedOffset(offset, Exactness.BOUNDED, f"{text} again")


def _not_yet(end: TargetOffset) -> Answer:
    why = "the tool that mirrors the topic has not copied the last record that was read yet"
    return TranslatedOffset(end, Exactness.NOT_YET, why)
