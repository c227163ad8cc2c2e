"""Names of regions, which are part of the keys of an archive."""

from __future__ import annotations

import re

_REGION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def region_name(text: str) -> str:
    """Return the name of a region unchanged if it is valid.

    Raises:
        ValueError: It is not.
    """
    if not _REGION.fullmatch(text):
        raise ValueError(
            "must be 1 to 100 letters, digits, '.', '_' or '-', the first a letter or digit"
        )
    return text
