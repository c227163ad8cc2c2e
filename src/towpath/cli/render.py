"""How facts look in a terminal; colors and the terminal's width only where there is one."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

_FILE_WIDTH = 200  # a pipe has no width; wrapped tables are no good for grep


def console(*, stderr: bool = False) -> Console:
    """Return the console to print on."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(
        stderr=stderr, width=None if terminal else _FILE_WIDTH, highlight=False, markup=False
    )


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()
) -> Table:
    """Return a plain table.

    Args:
        headers: Its column names.
        rows: One text per column.
        right: Names of the columns that hold numbers.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        made.add_column(header, justify="right" if header in right else "left")
    for row in rows:
        made.add_row(*row)
    return made


def count(number: int) -> str:
    """Return a number with its thousands parted: `1,234,567`."""
    return f"{number:,}"


def size(number: float) -> str:
    """Return bytes as people read them: `1.2 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def span(seconds: float) -> str:
    """Return a time span as people read it: `0.4 s`, `2m 05s`, `3h 20m`, `2d 4h`."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours < 24 else f"{hours // 24}d {hours % 24}h"
