"""Records that the target holds beyond the last receipt, found again at the source. Pure.

A copier that died wrote them and could not say so. The source may have lost some of them since, to
compaction or retention, so they are not counted off: each is looked for by its hash, and by its
offset too where offsets are identical.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.wire.batch import Table
from towpath.wire.digest import Hashes


@dataclass(frozen=True, slots=True)
class Passage:
    """First `vanished` records of the target that the source has no more, then `count` of both.

    The target has deleted those `count` records since where `target` is -1.
    """

    vanished: int
    source: SourceOffset
    target: TargetOffset
    count: int


class NotHereError(Exception):
    """The source's next record is not at its own offset on the target, where ours is at `first`."""

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.first = first


class Passed:
    """Target records in the order of their offsets, consumed from the front.

    Before them come `retained` records that the target has deleted by its retention since. They
    cannot be told by their hashes, so they are counted off, up to the first that can. The same is
    done with those `missing` before each of the others, which the target's cleaner removed; the
    source's records below offset `old_below` are among all these in any case.

    Attributes:
        timed: Whether the hashes cover the records' times; they do not where the target topic
            stamps times itself (LogAppendTime).
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
        self._missing = np.zeros(len(self._offsets), np.int64) if missing is None else missing
        self._old_below = old_below
        self._cleans = bool(self._missing.any())
        self._at = 0

    def __len__(self) -> int:
        return self._retained + len(self._offsets) - self._at

    def begins_here(self) -> None:
        """Those that the target deleted lie before the position, so none is counted off."""
        self._retained = 0

    def match(self, offsets: Table, hashes: Hashes, *, identical: bool) -> Iterator[Passage]:
        """Join the source's next records, hashed as `timed` says, to ours, in steps.

        It ends before the first record that the target does not hold; then nothing is left here.

        Raises:
            NotHereError: With `identical`, the next record lies elsewhere on the target.
        """
        done = 0
        while self._retained and done < len(offsets):
            step = self._count_off(offsets[done:], hashes[done:])
            done += step.count
            yield step
        while done < len(offsets) and self:
            cleaned = self._cleaned(offsets[done:], hashes[done:], identical=identical)
            if cleaned:
                yield Passage(0, SourceOffset(int(offsets[done])), TargetOffset(-1), cleaned)
                done += cleaned
                continue
            vanished = self._skip(self._find(int(offsets[done]), hashes[done], identical=identical))
            count = self._together(offsets[done:], hashes[done:])
            target = TargetOffset(int(self._offsets[self._at]) if count else -1)
            self._at += count
            yield Passage(vanished, SourceOffset(int(offsets[done])), target, count)
            done += count

    def _count_off(self, offsets: Table, hashes: Hashes) -> Passage:
        """Pass over the source's next records, which the target has deleted."""
        most = min(self._retained, len(offsets))
        holes = np.flatnonzero(np.diff(offsets[:most]) != 1)
        most = int(holes[0]) + 1 if len(holes) else most
        known = np.flatnonzero(np.isin(hashes[:most], self._hashes[self._at :]))
        count = int(known[0]) if len(known) else most
        vanished = self._retained - count if len(known) else 0
        self._retained -= vanished + count
        return Passage(vanished, SourceOffset(int(offsets[0])), TargetOffset(-1), count)

    def _cleaned(self, offsets: Table, hashes: Hashes, *, identical: bool) -> int:
        """Return how many of the source's next records the target's cleaner removed.

        These are the ones before the next that is on both sides, as far as some are missing there.
        Where none is on both sides, a record that is surely old; else a new one could be lost.
        """
        if not self._cleans:
            return 0
        ours = self._hashes[self._at :]
        both = offsets >= self.first if identical else np.isin(hashes, ours)
        before = int(both.argmax()) if both.any() else len(both)
        behind = 0
        if not identical and both.any():
            behind = int(np.flatnonzero(ours == hashes[before])[0])
        elif not identical:
            before, behind = int((offsets < self._old_below).sum()), len(ours) - 1
        missing = self._missing[self._at : self._at + behind + 1]
        most = min(int(missing.sum()), before)
        holes = np.flatnonzero(np.diff(offsets[:most]) != 1)
        count = int(holes[0]) + 1 if len(holes) else most
        missing -= np.diff(np.minimum(np.cumsum(missing), count), prepend=0)
        return count

    def _skip(self, count: int) -> int:
        """Go on behind so many; return how many with those missing before the next one."""
        end = self._at + count
        missing = self._missing[self._at : end + 1]
        skipped = count + int(missing.sum())
        missing[:] = 0
        self._at = end
        return skipped

    @property
    def first(self) -> int:
        """Target offset of the next record; there must be one."""
        return int(self._offsets[self._at])

    def _find(self, source: int, wanted: np.uint64, *, identical: bool) -> int:
        """Return how many of ours stand before the record, all of them if it is not among them."""
        if identical:
            if self.first != source or self._hashes[self._at] != wanted:
                raise NotHereError(self.first)
            return 0
        found = np.flatnonzero(self._hashes[self._at :] == wanted)
        return int(found[0]) if len(found) else len(self)

    def _together(self, offsets: Table, hashes: Hashes) -> int:
        """Return how many records from here on are the same and without a hole on both sides."""
        most = min(len(offsets), len(self))
        ours = self._offsets[self._at : self._at + most]
        breaks = ours - offsets[:most] != (ours[0] - offsets[0] if most else 0)
        breaks[1:] |= np.diff(ours) != 1
        breaks |= self._hashes[self._at : self._at + most] != hashes[:most]
        first = np.flatnonzero(breaks)
        return int(first[0]) if len(first) else most
