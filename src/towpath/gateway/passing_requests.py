"""Produce requests that pass a gateway unopened, as nothing is held or promoted. Pure.

Several of them that came at once are sent on at once, without a copy. Half a request never is:
whether a promotion holds it is decided before its first byte goes to a broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from towpath.gateway.apis import Api
from towpath.gateway.frames import SMALLEST, FrameError, Head, acks_of, head

_SIZE = 4


class Versions(NamedTuple):
    """The lowest and the highest version of a request, or none."""

    low: int
    high: int

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self.low <= self.high


NONE = Versions(0, -1)


def passing(data: memoryview, versions: Versions, largest: int) -> Iterator[tuple[Head, int]]:
    """Yield the requests at the beginning of received bytes that pass, and where each ends.

    Whatever else comes first is not looked at here: another request, one without an answer
    (`acks=0`), one that is not complete, or what is none.

    Args:
        data: The bytes.
        versions: The versions of Produce that pass.
        largest: Bytes of the largest frame.
    """
    at, low, high = 0, versions.low, versions.high
    while len(data) - at > SMALLEST + _SIZE:
        end = at + _SIZE + int.from_bytes(data[at : at + _SIZE], "big")
        if data[at + _SIZE] or data[at + _SIZE + 1] != Api.PRODUCE or end > len(data):
            return
        if not SMALLEST <= end - at - _SIZE <= largest:
            return
        frame = data[at:end]
        try:
            asked = head(frame)
            passes = low <= asked.version <= high and acks_of(frame, asked) != 0
        except FrameError:
            return
        if not passes:
            return
        yield asked, end
        at = end
