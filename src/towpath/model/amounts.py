"""Formatting of numbers, bytes and time spans for people."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int) -> str:
    """Format a number with thousands separators: `1,234,567`."""
    return f"{number:,}"


def counted(number: int, what: str) -> str:
    """Format a number of things: `1 topic`, `2 topics`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def shortened(names: Sequence[str], most: int) -> str:
    """Join the first names, and count the others: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def size(number: float) -> str:
    """Format a number of bytes: `1.2 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def span(seconds: float) -> str:
    """Format a time span: `0.4 s`, `2m 05s`, `3h 20m`, `2d 4h`."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours < 24 else f"{hours // 24}d {hours % 24}h"


def time_left(left: float, rate: float) -> float | None:
    """Return the seconds until nothing is left at a rate per second, `None` if unknown.

    All estimates of time are made here. Nothing left has no time either.
    """
    return left / rate if left > 0 and rate > 0 else None
