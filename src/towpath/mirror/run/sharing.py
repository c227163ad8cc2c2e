"""The division of a rate limit among slices: by need, the rest evenly. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from towpath.ledger.entries import Used

_HUNGRY = 0.05
"""Share of the time for which a slice waits at least if it could use more."""
_MORE, _SPARE = 1.1, 0.05
"""What a slice may use that does not wait: so many times what it uses, and so much of an even
share. Where more comes to it, it waits, which is told within seconds."""


@dataclass(frozen=True, slots=True)
class Need:
    """A slice's recent use of its share of a rate limit.

    Attributes:
        used: Bytes per second that it has fetched.
        waits: Share of the time for which it has waited.
    """

    used: float
    waits: float

    @property
    def hungry(self) -> bool:
        """Whether the slice could use a larger share."""
        return self.waits > _HUNGRY

    @classmethod
    def between(cls, first: Used | None, last: Used, seconds: float) -> Need:
        """Return the need between two reports."""
        before = first or Used(0, 0.0)
        if last.bytes < before.bytes:
            before = Used(0, 0.0)  # the limit was lifted meanwhile, or Spark tried the slice again
        return cls((last.bytes - before.bytes) / seconds, (last.waited - before.waited) / seconds)


def shares(rate: float, needs: Sequence[Need | None]) -> list[float]:
    """Return the share of each slice; the shares add up to the whole rate.

    Args:
        rate: The limit in bytes per second.
        needs: The need of each slice, `None` where it is not known yet; such a slice counts as one
            that could use more.
    """
    if not needs:
        return []
    wants = [_want(need, rate / len(needs)) for need in needs]
    found, left, open_ = [0.0] * len(needs), rate, list(range(len(needs)))
    while open_:
        even = left / len(open_)
        modest = [n for n in open_ if (want := wants[n]) is not None and want <= even]
        if not modest:
            break
        for n in modest:
            found[n] = wants[n] or 0.0
            left -= found[n]
        open_ = [n for n in open_ if n not in modest]
    for n in open_ or range(len(needs)):
        found[n] += left / len(open_ or needs)
    return found


def _want(need: Need | None, even: float) -> float | None:
    """Return the bytes per second that a slice can use, `None` if it is all that it gets."""
    if need is None or need.hungry:
        return None
    return _MORE * need.used + _SPARE * even
