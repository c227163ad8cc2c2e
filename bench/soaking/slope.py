"""How fast memory rises: a line by least squares through samples of several segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Segment = Sequence[tuple[float, float]]
"""Samples (seconds, MiB) between two restarts, in order of time."""

FEWEST = 5
"""Samples below which a segment tells nothing."""
SHORTEST = 0.15
"""Hours of samples below which a slope proves nothing: everything is still warming up."""
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope, in MiB per hour.

    Attributes:
        per_hour: The slope.
        error: Its standard error.
        samples: Number of samples that count.
        segments: Number of segments that count.
        hours: Their length altogether.
    """

    per_hour: float
    error: float
    samples: int
    segments: int
    hours: float

    def rises_by_more(self, limit: float) -> bool:
        """Whether it is above the limit by more than twice its error; never if it is too short."""
        return self.hours >= SHORTEST and self.per_hour - 2 * self.error > limit

    def __str__(self) -> str:
        return f"{self.per_hour:+.1f} ± {self.error:.1f}"


def slope(segments: Sequence[Segment]) -> Slope | None:
    """Return the one slope that all segments share, each with a level of its own.

    A restart changes the level and says nothing of the slope. As each sample of memory resembles
    the one before, the error of independent samples is widened by sqrt((1 + r) / (1 - r)), where r
    is the correlation of neighbours.

    Args:
        segments: The samples; segments of less than `FEWEST` do not count.

    Returns:
        The slope, or `None` if there are too few samples.
    """
    counted = [segment for segment in segments if len(segment) >= FEWEST]
    centred = [_centred(segment) for segment in counted]
    spread = sum(x * x for segment in centred for x, _ in segment)
    if not spread:
        return None
    rise = sum(x * y for segment in centred for x, y in segment) / spread
    left = [[y - rise * x for x, y in segment] for segment in centred]
    samples = sum(map(len, counted))
    free = max(1, samples - len(counted) - 1)
    squares = sum(each * each for segment in left for each in segment)
    error = math.sqrt(squares / free / spread) * _widening(left, squares)
    hours = sum(segment[-1][0] - segment[0][0] for segment in counted) / _HOUR
    return Slope(rise * _HOUR, error * _HOUR, samples, len(counted), hours)


def _centred(segment: Segment) -> list[tuple[float, float]]:
    x = sum(at for at, _ in segment) / len(segment)
    y = sum(size for _, size in segment) / len(segment)
    return [(at - x, size - y) for at, size in segment]


def _widening(left: Sequence[Sequence[float]], squares: float) -> float:
    if squares <= 0:
        return 1.0
    neighbours = sum(a * b for each in left for a, b in pairwise(each))
    r = min(0.98, max(0.0, neighbours / squares))
    return math.sqrt((1 + r) / (1 - r))
