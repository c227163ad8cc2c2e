"""Ordered ranges of source offsets whose records are counted. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.ledger.entries import Stretch
from towpath.model.nouns import SourceOffset

_MOST = 64
"""Stretches that are kept. One begins wherever copying goes over from the source to an archive."""


def left_out(known: Sequence[Stretch], first: int, end: int) -> int:
    """Return the number of offsets in [first, end) outside all ranges."""
    inside = (min(end, stop) - max(first, start) for start, stop in known)
    return end - first - sum(max(0, each) for each in inside)


def joined(known: Sequence[Stretch], first: int, end: int) -> tuple[Stretch, ...]:
    """Return the ranges with one more, merged with those it touches.

    Of too many, those with the highest offsets are kept: a repair goes back to what is at the end.
    """
    if known and known[-1][0] <= first <= known[-1][1]:  # as almost always
        last = known[-1][0], SourceOffset(max(end, known[-1][1]))
        return (*known[:-1], last)
    apart = [each for each in known if each[1] < first or each[0] > end]
    touched = [each for each in known if each not in apart]
    start = min([first, *(each[0] for each in touched)])
    stop = max([end, *(each[1] for each in touched)])
    return tuple(sorted([*apart, (SourceOffset(start), SourceOffset(stop))])[-_MOST:])


def ended(known: Sequence[Stretch], end: int) -> tuple[Stretch, ...]:
    """Return the parts of ranges before an offset."""
    return tuple((start, SourceOffset(min(stop, end))) for start, stop in known if start < end)
