"""Whether a slice may still write. Pure but for the clock.

The target refuses what it has already only as long as it remembers the producer id of a partition,
and it forgets that id by the timestamps of records (docs/decisions/0003). So records that are old
enough to make it forget are sent only by a slice that heard within the last seconds that no other
run of the link began. A new run waits longer than that before it sends (`TAKEOVER`).
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.clock import Moment, now_ms

FRESH = 5.0
"""Seconds for which hearing that no other run began is good."""
TAKEOVER = 8.0
"""Seconds that a run waits between its first sign of life and its first records, if the run before
it ended without a goodbye: more than `FRESH`, and a pause that goes unnoticed, in all."""
_PAUSE = 2.5
"""Seconds between two looks at the clock after which the process counts as having been paused."""


@dataclass(frozen=True, slots=True)
class AskedAt:
    """When the ledger was asked, and how often the process had been paused by then."""

    at: Moment
    pauses: int


class WritePermit:
    """The right of one slice to write; heard of in one thread and asked about in another."""

    def __init__(self, memory_ms: int) -> None:
        self._memory_ms = memory_ms
        self._heard: AskedAt | None = None
        self._looked = Moment.now()
        self._pauses = 0
        self.lost = False

    def ask(self) -> AskedAt:
        """Return what `heard` is to be told when the answer has come."""
        return AskedAt(Moment.now(), self.pauses())

    def heard(self, asked: AskedAt) -> None:
        """No other run had begun when the ledger was asked; what came later it does not tell."""
        self._heard = asked

    def heard_since(self, asked: AskedAt) -> bool:
        """Whether it was asked later than `asked`, and heard that no other run had begun."""
        heard = self._heard
        return self.good and heard is not None and asked.at.until(heard.at) > 0

    def lose(self) -> None:
        """Another run began, or the driver is gone: write no more.

        It counts as a pause, so that connections keep back what they have not sent yet.
        """
        self.lost = True
        self._pauses += 1

    def pauses(self) -> int:
        """Look at the clock; return how often the process was paused so far."""
        now = Moment.now()
        pause, self._looked = self._looked.until(now), now
        if pause > _PAUSE:  # else a thread that stood still here would write back what it knew
            self._pauses += 1
        return self._pauses

    @property
    def good(self) -> bool:
        """Whether records may be sent that the target will remember.

        After a pause nothing counts that was asked before it.
        """
        if self.lost or not self._pauses:
            return not self.lost
        return self._heard is not None and self._heard.pauses == self._pauses

    @property
    def fresh(self) -> bool:
        """Whether any records may be sent."""
        return self.good and self._heard is not None and self._heard.at.age < FRESH

    @property
    def remembered_from(self) -> int:
        """The time in ms from which on the target surely remembers who wrote a record.

        Half of its memory, as the clocks of machines differ.
        """
        return now_ms() - self._memory_ms // 2
