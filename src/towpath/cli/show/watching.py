"""Repeated drawing of a picture, in place on a terminal, until the user stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeVar

from rich.console import Group, RenderableType

from towpath.cli.show.output import console, line
from towpath.model.errors import TowpathError
from towpath.runtime.clock import now_ms, readable

_PAUSE = 2.0
"""Seconds between two looks."""
_AROUND = 16
"""Lines of a terminal that are kept for what stands above and below the table."""

T = TypeVar("T")


def watched(
    first: T,
    look: Callable[[], T],
    draw: Callable[[T, int | None], RenderableType],
    stop: threading.Event,
) -> T:
    """Show repeated looks until the user stops, and return the last look.

    Args:
        first: The first look.
        look: Looks again. What it raises is shown below the last look, and tried again.
        draw: Draws a look with so many rows at most; `None` for all.
        stop: Set to stop.
    """
    from rich.live import Live  # noqa: PLC0415  # it loads much that a single look does not need

    screen, seen, trouble = console(), first, ""
    live = Live(console=screen, auto_refresh=False) if screen.is_terminal else None
    with live or nullcontext():
        while True:
            most = max(1, screen.height - _AROUND) if live else None
            parts: list[RenderableType] = [draw(seen, most)]
            parts += [line(trouble)] if trouble else []
            if live:
                live.update(Group(*parts), refresh=True)
            else:
                screen.print(*parts, "", sep="\n")
            if stop.wait(_PAUSE):
                return seen
            try:
                seen, trouble = look(), ""
            except TowpathError as error:
                trouble = f"not looked at since {readable(now_ms())}: {error}"
