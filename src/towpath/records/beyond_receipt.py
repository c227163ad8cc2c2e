"""Matching of target records beyond the last receipt with source records. Pure.

A copier that died wrote them without a receipt. The source may have deleted some of them since, by
compaction or retention, so they are not just counted: each is looked up by its hash, and where
offsets are identical by its offset too. What a batch costs does not depend on how many there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.wire.batch import Mask, Table
from towpath.wire.digest import Hashes


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """A match: `vanished` records only on the target, then `count` records on both sides.

    If `target` is -1, the target has deleted those `count` records since.
    """

    vanished: int
    source: SourceOffset
    target: TargetOffset
    count: int


class NotHereError(Exception):
    """Error: the next source record is missing at its target offset; the next is at `first`."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class BeyondReceipt:
    """Target records beyond the receipt, by offset, consumed while source records match.

    Before them come `retained` records that retention on the target has deleted since. Their hashes
    are unknown, so they are counted, up to the first record with a known hash. The same is done
    with the `missing` records before each of the others, which the target's cleaner removed. All
    source records below offset `old_below` are among these.

    Attributes:
        timed: Whether the hashes cover the timestamps of records. They do not where the target
            topic sets timestamps itself (LogAppendTime).
    """

    def __init__(
        self,
        offsets: Sequence[int] | Table = (),
        hashes: Sequence[int] | Hashes = (),
        *,
        timed: bool = True,
        retained: int = 0,
        missing: Table | None = None,
        old_below: int = 0,
    ) -> None:
        self._offsets = np.asarray(offsets, np.int64)
        self._hashes = np.asarray(hashes, np.uint64)
        self.timed = timed
        self._retained = retained
        self._removed = _Removed(missing)
        self._cleans = bool(self._removed)
        self._old_below = old_below
        self._at = 0

    def __len__(self) -> int:
        return self._retained + len(self._offsets) - self._at

    def begins_here(self) -> None:
        """Forget the number of deleted records, as the position already includes them."""
        self._retained = 0

    @cached_property
    def _places(self) -> _Places:
        """Where each hash is; sorted once, and only if somebody asks."""
        return _Places(self._hashes)

    def holds(self, offsets: Table, hashes: Hashes) -> Mask:
        """Return a mask of the source records that the target holds at the same offsets."""
        ours = self._offsets[self._at :]
        at = np.searchsorted(ours, offsets)
        there = at < len(ours)
        there[there] = ours[at[there]] == offsets[there]
        there[there] = self._hashes[self._at :][at[there]] == hashes[there]
        return there

    def match(self, offsets: Table, hashes: Hashes, *, identical: bool) -> Iterator[RecordMatch]:
        """Match the next source records with target records, in steps.

        The steps end before the first source record that the target does not hold; then no target
        record is left.

        Args:
            offsets: Source offsets.
            hashes: Hashes of the records, computed as `timed` says.
            identical: Whether records must be at the same offset on both sides.

        Raises:
            NotHereError: With `identical`, the next record is elsewhere on the target.
        """
        done = 0
        while self._retained and done < len(offsets):
            step = self._count_off(offsets[done:], hashes[done:])
            done += step.count
            yield step
        while done < len(offsets) and self:
            cleaned = self._cleaned(offsets[done:], hashes[done:], identical=identical)
            if cleaned:
                yield RecordMatch(0, SourceOffset(int(offsets[done])), TargetOffset(-1), cleaned)
                done += cleaned
                continue
            vanished = self._skip(self._find(int(offsets[done]), hashes[done], identical=identical))
            count = self._together(offsets[done:], hashes[done:])
            target = TargetOffset(int(self._offsets[self._at]) if count else -1)
            self._at += count
            yield RecordMatch(vanished, SourceOffset(int(offsets[done])), target, count)
            done += count

    def _count_off(self, offsets: Table, hashes: Hashes) -> RecordMatch:
        """Pass over the next source records that the target has deleted."""
        most = min(self._retained, len(offsets))
        holes = np.flatnonzero(np.diff(offsets[:most]) != 1)
        most = int(holes[0]) + 1 if len(holes) else most
        known = np.flatnonzero(self._places.among(hashes[:most], self._at))
        count = int(known[0]) if len(known) else most
        vanished = self._retained - count if len(known) else 0
        self._retained -= vanished + count
        return RecordMatch(vanished, SourceOffset(int(offsets[0])), TargetOffset(-1), count)

    def _cleaned(self, offsets: Table, hashes: Hashes, *, identical: bool) -> int:
        """Return how many of the next source records the target's cleaner has removed.

        These are the records before the next one that both sides hold, as far as records are
        missing on the target there. If both sides hold none, only records that are surely old
        count; otherwise a new record could be lost.
        """
        if not self._cleans:
            return 0
        places = self._places
        both = offsets >= self.first if identical else places.among(hashes, self._at)
        before = int(both.argmax()) if both.any() else len(both)
        behind = 0
        if not identical and both.any():
            behind = places.first(hashes[before], self._at) - self._at
        elif not identical:
            before = int((offsets < self._old_below).sum())
            behind = len(self._hashes) - self._at - 1
        most = self._removed.within(self._at, self._at + behind, before)
        holes = np.flatnonzero(np.diff(offsets[:most]) != 1)
        count = int(holes[0]) + 1 if len(holes) else most
        self._removed.take(count)
        return count

    def _skip(self, count: int) -> int:
        """Skip `count` records. Returns their number with those missing before the next one."""
        end = self._at + count
        skipped = count + self._removed.up_to(self._at, end)
        self._at = end
        return skipped

    @property
    def first(self) -> int:
        """Target offset of the next record. There must be one."""
        return int(self._offsets[self._at])

    def _find(self, source: int, wanted: np.uint64, *, identical: bool) -> int:
        """Return how many target records come before the record: all, if it is not among them."""
        if identical:
            if self.first != source or self._hashes[self._at] != wanted:
                raise NotHereError(self.first)
            return 0
        if self._hashes[self._at] == wanted:  # as nearly always, and without a look at the rest
            return 0
        found = self._places.first(wanted, self._at)
        return len(self) if found < 0 else found - self._at

    def _together(self, offsets: Table, hashes: Hashes) -> int:
        """Return how many of the next records are the same on both sides, without a hole."""
        most = min(len(offsets), len(self))
        ours = self._offsets[self._at : self._at + most]
        breaks = ours - offsets[:most] != (ours[0] - offsets[0] if most else 0)
        breaks[1:] |= np.diff(ours) != 1
        breaks |= self._hashes[self._at : self._at + most] != hashes[:most]
        first = np.flatnonzero(breaks)
        return int(first[0]) if len(first) else most


class _Places:
    """The positions of hashes in a list, found by binary search."""

    def __init__(self, hashes: Hashes) -> None:
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def among(self, wanted: Hashes, at: int) -> Mask:
        """Return a mask of the hashes that occur at a place or after it."""
        if not len(self._sorted):
            return np.zeros(len(wanted), np.bool_)
        last = np.searchsorted(self._sorted, wanted, side="right") - 1
        there: Mask = (self._sorted[last] == wanted) & (last >= 0) & (self._order[last] >= at)
        return there

    def first(self, wanted: np.uint64, at: int) -> int:
        """Return the first place from `at` on with a hash; -1 if there is none."""
        begin = np.searchsorted(self._sorted, wanted)
        end = np.searchsorted(self._sorted, wanted, side="right")
        places = self._order[begin:end]
        found = np.searchsorted(places, at)
        return int(places[found]) if found < len(places) else -1


class _Removed:
    """Counts of records that the target's cleaner removed before each kept one, used in order."""

    def __init__(self, missing: Table | None) -> None:
        numbers = np.zeros(0, np.int64) if missing is None else missing
        places = np.flatnonzero(numbers)
        self._left = deque(zip(places.tolist(), numbers[places].tolist(), strict=True))

    def __bool__(self) -> bool:
        return bool(self._left)

    def within(self, at: int, end: int, most: int) -> int:
        """Return how many deleted records precede those from `at` to `end`, at most `most`."""
        self._drop(at)
        found = 0
        for place, number in self._left:
            if place > end or found >= most:
                break
            found += number
        return min(found, most)

    def take(self, count: int) -> None:
        """Use up the first `count` deleted records."""
        while count:
            place, number = self._left.popleft()
            if number > count:
                self._left.appendleft((place, number - count))
            count -= min(count, number)

    def up_to(self, at: int, end: int) -> int:
        """Use up all deleted records before the records from `at` to `end`; return their number."""
        self._drop(at)
        found = 0
        while self._left and self._left[0][0] <= end:
            found += self._left.popleft()[1]
        return found

    def _drop(self, at: int) -> None:
        """Forget what was left before records that are passed."""
        while self._left and self._left[0][0] < at:
            self._left.popleft()
