"""The write permit of a slice, renewed by ledger reads. Pure but for the clock.

The target refuses a repeated batch only while it keeps producer state for the partition, and that
state expires by the timestamps of records (docs/decisions/0003). So records old enough to let the
state expire are sent only by a slice that has confirmed within the last seconds that no other run
of the link has begun. A new run waits longer than that before it sends records (`TAKEOVER`).
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.runtime.clock import Moment, now_ms

FRESH = 5.0
"""Seconds for which it counts that no other run had begun."""
TAKEOVER = 8.0
"""Seconds that a run waits between its first session entry and its first records, if the previous
run did not end properly. More than `FRESH` and an unnoticed pause together."""
_PAUSE = 2.5
"""Seconds between two looks at the clock after which the process counts as paused."""


@dataclass(frozen=True, slots=True)
class AskedAt:
    """The time of a ledger read, and the number of process pauses before it."""

    at: Moment
    pauses: int


class WritePermit:
    """The write permit of one slice, renewed by one thread and checked by another.

    Attributes:
        lost: Another run has taken over, or the driver is gone.
    """

    def __init__(self, memory_ms: int) -> None:
        self._memory_ms = memory_ms
        self._heard: AskedAt | None = None
        self._looked = Moment.now()
        self._pauses = 0
        self.lost = False

    def restart(self) -> None:
        """Restart the count of process pauses, as nothing was sent before."""
        self._looked, self._pauses = Moment.now(), 0

    def ask(self) -> AskedAt:
        """Return a value for `heard`, to be taken before the ledger is read."""
        return AskedAt(Moment.now(), self.pauses())

    def heard(self, asked: AskedAt) -> None:
        """Renew the permit, as the ledger showed no other run."""
        self._heard = asked

    def heard_since(self, asked: AskedAt) -> bool:
        """Return whether the permit was renewed by a read that began after `asked`."""
        heard = self._heard
        return self.good and heard is not None and asked.at.until(heard.at) > 0

    def lose(self) -> None:
        """Withdraw the permit, as another run has begun or the driver is gone.

        This counts as a pause, so that connections keep back what they have not sent yet.
        """
        self.lost = True
        self._pauses += 1

    def pauses(self) -> int:
        """Check the clock, and return how often the process was paused so far."""
        now = Moment.now()
        pause, self._looked = self._looked.until(now), now
        if pause > _PAUSE:  # a thread that was paused here would otherwise write back an old value
            self._pauses += 1
        return self._pauses

    @property
    def good(self) -> bool:
        """Whether records young enough to keep producer state may be sent.

        After a pause, a renewal counts only if it was asked for after the pause.
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
        """The timestamp in ms from which records are sure to keep producer state alive.

        Half of the expiration time is allowed for clocks that differ.
        """
        return now_ms() - self._memory_ms // 2
