"""The division of items into portions of a limited weight."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def portions(
    items: Iterable[T], weight: Callable[[T], int], heaviest: int, most: int = sys.maxsize
) -> Iterator[tuple[T, ...]]:
    """Yield items in order, in portions: many light ones together, or a heavy one alone.

    Args:
        items: The items.
        weight: Returns the weight of one.
        heaviest: What the items of a portion weigh at most, unless it is one item.
        most: How many items a portion has at most.
    """
    held: list[T] = []
    total = 0
    for each in items:
        more = weight(each)
        if held and (total + more > heaviest or len(held) == most):
            yield tuple(held)
            held, total = [], 0
        held.append(each)
        total += more
    if held:
        yield tuple(held)
