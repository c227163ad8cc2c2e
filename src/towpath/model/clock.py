"""The wall clock, and moments that show how long the process was paused."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

_RUNNING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1000)


def is_ms(number: int) -> bool:
    """Whether a number can be milliseconds since 1970: of the years 1973 to 2286, by its digits."""
    return 10**11 <= number < 10**13


def readable(ms: int) -> str:
    """Return a time in ms since 1970 as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment by two clocks, because no clock alone shows every pause.

    A stopped process sees both clocks jump. A suspended machine sees the boot-time clock jump,
    where there is one (Linux). A paused virtual machine sees the wall clock jump, once it is set.

    Attributes:
        running: Seconds of the boot-time clock, else of the monotonic clock.
        wall: Seconds of the wall clock.
    """

    running: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """Return the present moment."""
        return cls(time.clock_gettime(_RUNNING), datetime.now(UTC).timestamp())

    def until(self, later: Moment) -> float:
        """Return the seconds up to a later moment, by the clock that shows more."""
        return max(later.running - self.running, later.wall - self.wall)

    @property
    def age(self) -> float:
        """Seconds since then."""
        return self.until(Moment.now())
