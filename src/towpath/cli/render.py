"""Consoles and tables; colors and the terminal's width apply only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

_FILE_WIDTH = 200  # a pipe has no width, and grep cannot search wrapped tables


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
