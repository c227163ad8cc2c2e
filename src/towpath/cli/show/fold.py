"""One line for remarks that are alike about many partitions or topics; JSON keeps each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

MANY = 4
"""From so many remarks on that are alike, they become one."""
_NAMED = 3
_NUMBER = re.compile(r"\d[\d,.]*")


def folded(remarks: Iterable[tuple[str, str]]) -> list[str]:
    """Return remarks as lines, in order; many that are alike become one line.

    Remarks are alike if they differ only by their numbers and the name of what they are about.

    Args:
        remarks: What each is about, and its text.
    """
    told = [(_shape(about, text), about, text) for about, text in remarks]
    families: dict[str, list[tuple[str, str]]] = {}
    for shape, about, text in told:
        families.setdefault(shape, []).append((about, text))
    many = {shape: _one(each) for shape, each in families.items() if len(each) >= MANY}
    lines = [many.get(shape, _named(about, text)) for shape, about, text in told]
    return list(dict.fromkeys(lines))


def folded_sentences(sentences: Iterable[str]) -> list[str]:
    """Return sentences that begin with what they are about and a colon; see `folded`."""
    parted = (text.partition(": ") for text in sentences)
    return folded((about, text) if text else ("", about) for about, _, text in parted)


def _named(about: str, text: str) -> str:
    return f"{about}: {text}" if about else text


def _shape(about: str, text: str) -> str:
    return _NUMBER.sub("0", text.replace(about, "*")) if about else _NUMBER.sub("0", text)


def _one(family: list[tuple[str, str]]) -> str:
    names = list(dict.fromkeys(about for about, _ in family))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    first = family[0][1]
    alike = all(text == first for _, text in family)
    rest = "" if alike else f" (this of {names[0]}; --output json has the numbers of each)"
    return _named(f"{', '.join(names[:_NAMED])}{more}", f"{first}{rest}")
