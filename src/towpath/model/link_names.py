"""Names of links back, and of their files. Pure."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from towpath.model.nouns import LinkName

_BACK = "-back"
_NUMBERED = re.compile(r"(.+)-([1-9]\d{0,5})")
_MOST = 100
"""Characters of the longest name of a link."""


def back_name(link: LinkName, taken: Container[LinkName] = ()) -> LinkName:
    """Return the name of the link back.

    A link never runs again under its name once it was turned round, so that of the link back of a
    link back gets a number: `eu`, `eu-back`, `eu-2`, `eu-2-back`, `eu-3`.

    Args:
        link: The link.
        taken: Names that other links have; the link back gets the next number then.
    """
    if not link.endswith(_BACK) or link == _BACK:
        found = f"{link[: _MOST - len(_BACK)]}{_BACK}"
    else:
        found = _next(link.removesuffix(_BACK))
    while found in taken:
        found = _next(found)
    return LinkName(found)


def _next(name: str) -> str:
    found = _NUMBERED.fullmatch(name)
    end = f"-{int(found[2]) + 1}" if found else "-2"
    return f"{(found[1] if found else name)[: _MOST - len(end)]}{end}"


def back_path(file: Path) -> Path:
    """Return where the file of the link back is written, beside that of the link."""
    return file.with_name(f"{back_name(LinkName(file.stem))}{file.suffix}")
