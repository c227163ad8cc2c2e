"""Ctrl-C and SIGTERM as an event, so that commands stop at a safe point."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from towpath.cli.show.output import INTERRUPTED

_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set the event on the first signal; exit at once on the second."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            # The display hides the cursor. Nothing else must be undone: slices may be cut off.
            sys.stderr.write(_SHOW_CURSOR if sys.stderr.isatty() else "")
            os._exit(INTERRUPTED)
        stop.set()

    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
