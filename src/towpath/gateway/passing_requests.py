"""Produce requests that pass a gateway as they are, to the client's own broker. Pure.

Before anything is promoted these are all; afterwards, those whose producers the target knows, under
the ids that clients know.

Several of them that came at once are sent on at once, without a copy. Half a request never is:
whether a promotion holds it is decided before its first byte goes to a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from towpath.gateway.apis import Api
from towpath.gateway.frames import ACKS, HEADER, SMALLEST, FrameError, acks_at
from towpath.gateway.produce_parts import FIRST, ProducePart, parts

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
"""No version."""


class PassingRule(NamedTuple):
    """The requests that pass now.

    Attributes:
        versions: The versions of Produce that do.
        part: Tells whether a request does that has such a batch; `None` where all do.
    """

    versions: Versions
    part: Callable[[ProducePart], bool] | None = None


NOTHING = PassingRule(NONE)
"""Nothing passes."""


class Passing(NamedTuple):
    """A request that passes.

    Attributes:
        version: Its version.
        correlation: What its answer begins with.
        end: Where it ends.
    """

    version: int
    correlation: int
    end: int


def passing(data: memoryview, rule: PassingRule, largest: int) -> Iterator[Passing]:
    """Yield the requests at the beginning of received bytes that pass.

    Whatever else comes first is not looked at here: another request, one without an answer
    (`acks=0`), one that is not complete, or what is none.

    Args:
        data: The bytes.
        rule: Which of them pass.
        largest: Bytes of the largest frame.
    """
    at, ((low, high), part) = 0, rule
    while len(data) - at >= HEADER.size:
        size, key, version, correlation, name = HEADER.unpack_from(data, at)
        end = at + _SIZE + size
        if key != Api.PRODUCE or not (low <= version <= high and SMALLEST <= size <= largest):
            return
        begin = at + HEADER.size + max(name, 0)
        if end > len(data) or not _is_answered(data, begin, version, end):
            return
        if part is not None and not _passes(data[at:end], begin - at, version, part):
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


def _passes(
    request: memoryview, at: int, version: int, part: Callable[[ProducePart], bool]
) -> bool:
    """Whether all batches of a request pass; what makes no sense is told where it is opened."""
    if version < FIRST:
        return False
    try:
        return all(map(part, parts(request, at, version)))
    except FrameError:
        return False
