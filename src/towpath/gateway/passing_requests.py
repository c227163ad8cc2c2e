"""Produce requests that pass a gateway unopened, as nothing is held or promoted. Pure.

Several of them that came at once are sent on at once, without a copy. Half a request never is:
whether a promotion holds it is decided before its first byte goes to a broker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from towpath.gateway.apis import Api
from towpath.gateway.frames import ACKS, HEADER, SMALLEST, FrameError, acks_at

_SIZE = 4
_NO_ACKS = b"\0\0"


class Versions(NamedTuple):
    """The lowest and the highest version of a request, or none."""

    low: int
    high: int

    def __bool__(self) -> bool:
        """Whether there are any."""
        return self.low <= self.high


NONE = Versions(0, -1)


class Passing(NamedTuple):
    """A request that passes unopened.

    Attributes:
        version: Its version.
        correlation: What its answer begins with.
        end: Where it ends.
    """

    version: int
    correlation: int
    end: int


def passing(data: memoryview, versions: Versions, largest: int) -> Iterator[Passing]:
    """Yield the requests at the beginning of received bytes that pass.

    Whatever else comes first is not looked at here: another request, one without an answer
    (`acks=0`), one that is not complete, or what is none.

    Args:
        data: The bytes.
        versions: The versions of Produce that pass.
        largest: Bytes of the largest frame.
    """
    at, (low, high) = 0, versions
    while len(data) - at >= HEADER.size:
        size, key, version, correlation, name = HEADER.unpack_from(data, at)
        end = at + _SIZE + size
        if key != Api.PRODUCE or not (low <= version <= high and SMALLEST <= size <= largest):
            return
        if end > len(data) or not _is_answered(data, at + HEADER.size + max(name, 0), version, end):
            return
        yield Passing(version, correlation, end)
        at = end


def _is_answered(data: memoryview, at: int, version: int, end: int) -> bool:
    """Whether a request tells, before its end, that it wants an answer."""
    try:
        at = acks_at(data, at, version)
    except FrameError:
        return False
    return at + ACKS.size <= end and data[at : at + ACKS.size] != _NO_ACKS
