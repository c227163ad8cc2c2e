"""Several ranges of an object, read with few requests. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

_NEAR = 256 << 10
"""Ranges that are no further apart are read together, in bytes."""


def joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges that cover all of these; near ones become one."""
    wholes: list[tuple[int, int]] = []
    for first, end in sorted(each for each in ranges if each[0] < each[1]):
        if wholes and first - wholes[-1][1] <= _NEAR:
            wholes[-1] = wholes[-1][0], max(wholes[-1][1], end)
        else:
            wholes.append((first, end))
    return wholes


def cut(wanted: tuple[int, int], wholes: list[tuple[int, int]], read: list[bytes]) -> bytes:
    """Return the bytes of one range.

    Args:
        wanted: The range.
        wholes: Ranges that cover it, from `joined`.
        read: The bytes of each of those.
    """
    first, end = wanted
    if first >= end:
        return b""
    at = bisect_right(wholes, first, key=lambda each: each[0]) - 1
    start = wholes[at][0]
    return read[at][first - start : end - start]
