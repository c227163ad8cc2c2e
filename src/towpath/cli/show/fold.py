"""Folding of similar remarks about many partitions into one line; JSON keeps each."""

from __future__ import annotations

import re
from collections.abc import Iterable

from towpath.model.amounts import shortened

MANY = 4
"""From so many remarks on that are alike, they become one."""
_NAMED = 3
_NUMBER = re.compile(r"\d[\d,.]*")


def folded(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return remarks as lines, in order; many similar ones become one line.

    Remarks are alike if they differ only by their numbers and the name of what they are about.

    Args:
        remarks: What each is about, and its text.
    """
    told = list(remarks)
    many = _many(told)
    lines = [many.get(_shape(*each), _named(*each)) for each in told]
    return list(dict.fromkeys(lines))


def set_apart(remarks: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return each remark's text ("" for folded ones), and the lines of the folded ones.

    For remarks that stand in the rows of a table; see `folded`.
    """
    told = list(remarks)
    many = _many(each for each in told if each[1])
    shapes = [_shape(*each) for each in told]
    rest = ["" if shape in many else text for shape, (_, text) in zip(shapes, told, strict=True)]
    return rest, list(many.values())


def _many(remarks: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the line of many remarks that are alike, by their shape."""
    families: dict[str, list[tuple[str, str]]] = {}
    for about, text in remarks:
        families.setdefault(_shape(about, text), []).append((about, text))
    return {shape: _one(each) for shape, each in families.items() if len(each) >= MANY}


def folded_sentences(sentences: Iterable[str]) -> list[str]:
    """Fold sentences that begin with their subject and a colon; see `folded`."""
    parted = (text.partition(": ") for text in sentences)
    return folded((about, text) if text else ("", about) for about, _, text in parted)


def _named(about: str, text: str) -> str:
    return f"{about}: {text}" if about else text


def _shape(about: str, text: str) -> str:
    """Return what a text has in common with those about other partitions and topics."""
    if about:
        text = text.replace(about, "*")
        if topic := about.rpartition("-")[0]:
            text = re.sub(rf"(?<![\w.-]){re.escape(topic)}(?![\w-])", "*", text)
    return _NUMBER.sub("0", text)


def _one(family: list[tuple[str, str]]) -> str:
    names = list(dict.fromkeys(about for about, _ in family))
    first = family[0][1]
    alike = all(text == first for _, text in family)
    rest = "" if alike else f" (this of {names[0]}; --output json has the numbers of each)"
    return _named(shortened(names, _NAMED), f"{first}{rest}")
