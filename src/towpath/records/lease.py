"""Whether a slice may still write. Pure but for the clock.

The target refuses what it has already only as long as it remembers the producer id of a partition,
and it forgets that id by the timestamps of records (docs/decisions/0003). So records that are old
enough to make it forget are sent only by a slice that heard within the last seconds that no other
run of the link began. A new run waits longer than that before it sends (`TAKEOVER`).
"""

from __future__ import annotations

from towpath.model.clock import Moment, now_ms

FRESH = 5.0
"""Seconds for which hearing that no other run began is good."""
TAKEOVER = 8.0
"""Seconds that a run waits between its first sign of life and its first records, if the run before
it ended without a goodbye: more than `FRESH`, and a pause that goes unnoticed, in all."""
_PAUSE = 2.5
"""Seconds between two looks at the clock after which the process counts as having been paused."""


class Lease:
    """The right of one slice to write; heard of in one thread and asked about in another."""

    def __init__(self, memory_ms: int) -> None:
        self._memory_ms = memory_ms
        self._heard: Moment | None = None
        self._doubted: Moment | None = None
        self._looked = Moment.now()
        self._pauses = 0
        self.lost = False

    def heard(self, asked: Moment) -> None:
        """No other run had begun when the ledger was asked, at the moment `asked`."""
        self._heard = asked

    def lose(self) -> None:
        """Another run began, or the driver is gone: write no more."""
        self.lost = True

    def pauses(self) -> int:
        """Look at the clock; return how often the process was paused so far.

        After a pause nothing counts that was heard before it.
        """
        now = Moment.now()
        pause, self._looked = self._looked.until(now), now
        if pause > _PAUSE:
            self._doubted = now
            self._pauses += 1
        return self._pauses

    @property
    def good(self) -> bool:
        """Whether records may be sent that the target will remember."""
        if self.lost:
            return False
        if self._doubted is None:
            return True
        return self._heard is not None and self._doubted.until(self._heard) >= 0

    @property
    def fresh(self) -> bool:
        """Whether any records may be sent."""
        return self.good and self._heard is not None and self._heard.age < FRESH

    @property
    def remembered_from(self) -> int:
        """The time in ms from which on the target surely remembers who wrote a record.

        Half of its memory, as the clocks of machines differ.
        """
        return now_ms() - self._memory_ms // 2
