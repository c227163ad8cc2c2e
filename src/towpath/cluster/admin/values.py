"""Normal form of config values. Pure."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[fd]?", re.ASCII | re.IGNORECASE)
_TRUTHS = frozenset({"true", "false"})

Meaning = str | float | tuple[str | float, ...] | None


def meaning(value: str | None) -> Meaning:
    """Return a form of a config value that is equal for values which Kafka treats as equal.

    Kafka's `ConfigDef` trims values, parses numbers as Java does and booleans in any case, and
    brokers return the result: `0.50` comes back as `0.5`, `TRUE` as `true`.
    """
    if value is None:
        return None
    if "," in value:
        return tuple(map(_one, value.split(",")))
    return _one(value)


def _one(value: str) -> str | float:
    text = value.strip()
    if _WHOLE.fullmatch(text):
        return int(text)  # a float would round large ones
    if _NUMBER.fullmatch(text):
        return float(text.rstrip("fdFD"))
    return text.lower() if text.lower() in _TRUTHS else text
