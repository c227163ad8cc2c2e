"""The wall clock, and moments that show how long the process was paused."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

_AGE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar repeats."""
_RUNNING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> int:
    """Return the current time in milliseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1000)


def is_ms(number: int) -> bool:
    """Return whether a number can be a time in ms since 1970, in the years 1973 to 2286."""
    return 10**11 <= number < 10**13


def readable(ms: int) -> str:
    """Format a time in ms since 1970 as ISO 8601 in UTC, to the second.

    A record may have any 64-bit number as its time. Years beyond four digits have a sign, as ISO
    8601 and Java write them.
    """
    ages, rest = divmod(int(ms) // 1000, _AGE)
    moment = datetime.fromtimestamp(rest, UTC)
    year = moment.year + 400 * ages
    told = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{told}{moment:-%m-%dT%H:%M:%SZ}"


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
        """Return the current moment."""
        return cls(time.clock_gettime(_RUNNING), time.clock_gettime(time.CLOCK_REALTIME))

    def until(self, later: Moment) -> float:
        """Return the seconds up to a later moment, by the clock that shows more."""
        return max(later.running - self.running, later.wall - self.wall)

    @property
    def age(self) -> float:
        """Seconds since this moment."""
        return self.until(Moment.now())
