"""A live picture on the terminal, redrawn by a timer while a command runs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from towpath.cli.show.output import line
from towpath.runtime.notices import led

_A_SECOND = 2
"""Pictures per second."""
_STOPPING = "stopping; Ctrl-C again ends at once"


class LivePicture:
    """A picture on stderr that a thread redraws twice a second.

    Args:
        draw: Draws what is to be seen now.
        stop: Is set when the user asks to stop, which the picture says then.
        transient: Whether it goes away at the end.
    """

    def __init__(
        self, draw: Callable[[], RenderableType], stop: threading.Event, *, transient: bool = False
    ) -> None:
        self._draw, self._stop = draw, stop
        # `sys.stderr` is another one while Spark starts, and closed afterwards (`engine.session`).
        self._file = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
        self._console = Console(file=self._file, highlight=False, markup=False)
        self._live = Live(
            console=self._console,
            get_renderable=self._drawn,
            refresh_per_second=_A_SECOND,
            transient=transient,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)
        self._before = led(lambda text: self._console.print(line(text)))

    @property
    def screen(self) -> tuple[int, int]:
        """Width and height of the terminal."""
        return self._console.width, self._console.height

    def close(self) -> None:
        """Draw the picture for the last time."""
        led(self._before)
        self._live.stop()
        self._file.close()

    def _drawn(self) -> RenderableType:
        drawn = self._draw()
        return Group(Text(_STOPPING, style="yellow"), drawn) if self._stop.is_set() else drawn
