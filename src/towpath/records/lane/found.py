"""The records already on the target, counted as they are fetched from the source. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from towpath.model.nouns import Mode, SourceOffset
from towpath.records.beyond_receipt import NotHereError
from towpath.records.lane.progress import LaneProgress
from towpath.records.modes import why_taken
from towpath.records.standing import Standing
from towpath.wire import batch as wire
from towpath.wire.digest import Hashes


class Found:
    """Records that an opening found on the target after the position, not yet counted."""

    def __init__(self, progress: LaneProgress, standing: Standing) -> None:
        self._progress = progress
        self.stand(standing)

    def stand(self, standing: Standing) -> None:
        """Continue from the position in `standing`."""
        self._passed, self._end = standing.passed, standing.tail_end
        self._reached, self._grown = standing.position.source, 0

    def __bool__(self) -> bool:
        return bool(self._passed)

    @property
    def first(self) -> int:
        """Target offset of the next record, which must exist."""
        return self._passed.first

    @property
    def timed(self) -> bool:
        """Whether hashes cover the timestamps of records."""
        return self._passed.timed

    def reconcile(
        self, offsets: wire.Table, hashes: Hashes, others: Iterable[tuple[wire.Table, Hashes]]
    ) -> Hashes:
        """Return the hashes of source records as the target holds them at their own offsets.

        Args:
            offsets: Source offsets.
            hashes: Hashes of the records under the change of the ledger.
            others: The same under other changes, made only if they are needed.
        """
        known = self._passed.holds(offsets, hashes)
        if known.all() or self._progress.mode is Mode.MAPPED:
            return hashes
        hashes = hashes.copy()
        for other, changed in others:
            there = self._passed.holds(other, changed)
            fits = np.isin(offsets, other[there]) & ~known
            hashes[fits] = changed[np.searchsorted(other, offsets[fits])]
            known |= fits
        return hashes

    def count(
        self, offsets: wire.Table, hashes: Hashes, expected: SourceOffset
    ) -> tuple[SourceOffset, int]:
        """Count the leading source records from offset `expected` on that the target holds.

        Args:
            offsets: Source offsets.
            hashes: Hashes of the records as they are on the target, computed as `timed` says.
            expected: The first offset that counts.

        Returns:
            The source offset behind them, and by how much the sequence grows.
        """
        self._reached, self._grown = expected, 0
        try:
            self._count(offsets, hashes)
        except NotHereError as error:
            self._progress.become_mapped(why_taken(error.first, self._reached))
            if not self._progress.stopped:
                self._count(offsets, hashes)
        return self._reached, self._grown

    def _count(self, offsets: wire.Table, hashes: Hashes) -> None:
        progress, fresh = self._progress, offsets >= self._reached
        identical = progress.mode is Mode.IDENTICAL
        for step in self._passed.match(offsets[fresh], hashes[fresh], identical=identical):
            progress.vanish(step.vanished)
            self._grown += step.vanished + step.count
            if step.count and step.target < 0:
                progress.vanish(step.count)
            elif step.count:
                progress.note(step.source, step.target, step.count)
            if step.count:
                self._reached = SourceOffset(step.source + step.count)
        if not self._passed:
            progress.reach(self._end)
