"""The wall clock, for what people read and for nothing else."""

from __future__ import annotations

from datetime import UTC, datetime


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return int(datetime.now(UTC).timestamp() * 1000)


def is_ms(number: int) -> bool:
    """Whether a number can be milliseconds since 1970: of the years 1973 to 2286, by its digits."""
    return 10**11 <= number < 10**13


def readable(ms: int) -> str:
    """Return a time in ms since 1970 as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
