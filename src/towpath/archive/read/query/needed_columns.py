"""Detection of the columns that a query's text may need."""

from __future__ import annotations

import re

from towpath.archive.format.schema import ARCHIVED, OFFSET
from towpath.archive.read.query.scan import TOPIC

_COUNTS = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_IMPLIED = re.compile(
    r"\*|\|>|\b(natural|pivot|unpivot|table|identifier)\b|^\W*(from|desc|show)", re.I
)
"""What may mean columns that a query does not name."""
_SELECTS, _FROMS = (re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("select", "from"))


def named_columns(sql: str) -> tuple[str, ...]:
    """Return the columns that a query may need, as Spark does not tell Python data sources.

    A column that a query needs stands in its text, unless something in it implies columns; then
    all are returned. Offsets are always there, to count records by.
    """
    text = _COUNTS.sub("", sql)
    implied = _IMPLIED.search(text) or len(_FROMS.findall(text)) > len(_SELECTS.findall(text))
    words = {word.lower() for word in re.findall(r"\w+", text)}
    return tuple(
        name for name in (*ARCHIVED.names, TOPIC) if implied or name == OFFSET or name in words
    )
