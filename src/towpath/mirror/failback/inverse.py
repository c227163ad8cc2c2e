"""The inverse of a renaming: how a link's file turns new names back into old ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

_SPECIAL = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class InverseNames:
    """The expressions and the template that turn new names back into old ones.

    Attributes:
        include: A regular expression for each new name, which matches no other one.
        rename: The template for the old names; "" where all keep theirs.
    """

    include: tuple[str, ...]
    rename: str = ""


def inverse(names: Mapping[str, str]) -> InverseNames | None:
    """Return the expressions and the template that turn new names back into old ones.

    A template has text that is the same for all names, and one part that comes from the new name.

    Args:
        names: New names by old ones; all are different.

    Returns:
        `None` where no such template leads from each new name to its old one.
    """
    back = sorted((new, old) for old, new in names.items())
    if all(new == old for new, old in back):
        return InverseNames(tuple(literal(new) for new, _ in back))
    for front, end in _frames([old for _, old in back]):
        parts = [(new, old[front : len(old) - end]) for new, old in back]
        if all(part in new for new, part in parts):
            first = back[0][1]
            before, behind = first[:front], first[len(first) - end :]
            return InverseNames(
                tuple(_captured(new, part) for new, part in parts), f"{before}{{1}}{behind}"
            )
    return None


def literal(name: str) -> str:
    """Return the regular expression that matches one name alone."""
    return _SPECIAL.sub(lambda found: re.escape(found[0]), name)


def _frames(names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield how many characters at the front and at the end are the same for all, few first."""
    shortest = min(map(len, names))
    front, end = _alike(names), _alike([name[::-1] for name in names])
    for both in range(front + end + 1):
        for first in range(min(front, both) + 1):
            if both - first <= end and both <= shortest:
                yield first, both - first


def _alike(names: list[str]) -> int:
    """Return how many characters all names begin with."""
    return sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*names, strict=False)))


def _captured(name: str, part: str) -> str:
    at = name.rindex(part)
    return f"{literal(name[:at])}({literal(part)}){literal(name[at + len(part) :])}"
