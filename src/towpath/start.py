"""The entry point of the program: Ctrl-C ends it quietly while everything else is imported.

Importing takes half a second, in which nothing has been done yet.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 128 + signal.SIGINT


def run() -> None:
    """Run the program on the arguments of this process."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # what is ignored stays ignored
        signal.signal(signal.SIGINT, _leave)
    from towpath.cli.main import run as run_program  # noqa: PLC0415, after the handler

    try:
        signal.signal(signal.SIGINT, before)
        run_program()
    except KeyboardInterrupt:  # before or behind the command itself
        sys.exit(_INTERRUPTED)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(_INTERRUPTED)
