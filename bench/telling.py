"""How far a benchmark is, told on stderr while it runs."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

_BEGAN = time.monotonic()


def tell(text: str) -> None:
    """Print a line, with the seconds since the start."""
    sys.stderr.write(f"[{time.monotonic() - _BEGAN:6.1f} s] {text}\n")
    sys.stderr.flush()


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the benchmark as Ctrl-C does, so that nothing is left behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(f"signal {number}")
