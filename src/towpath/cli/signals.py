"""Signal handling: Ctrl-C, SIGTERM and SIGHUP end every command in good order.

A command that changes something or runs long asks an event whether to stop, and ends at a safe
point. Any other command is interrupted as by Ctrl-C. What `nohup` ignores stays ignored.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

NUMBERS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
KILLED = 128
"""Shells expect this, plus the signal's number, as the exit code of a program that it ended."""
INTERRUPTED = KILLED + signal.SIGINT
_Handler = Callable[[int, FrameType | None], None]
_SHOW_CURSOR = "\x1b[?25h"
_ECHO = 1.0
"""Seconds in which SIGTERM counts once: `timeout` signals a command, and then its whole group."""


class SignalledError(BaseException):
    """A signal ends the command, like Ctrl-C; Typer does not catch this exception."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return KILLED + self.number


@contextmanager
def interrupting() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the command, like Ctrl-C."""
    is_echo = _echoes()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        _leave_the_terminal(number)
        if not is_echo(number):
            raise SignalledError(number)

    with _handling({signal.SIGTERM: on_signal, signal.SIGHUP: on_signal}):
        yield


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set the event on the first signal; exit at once on the second.

    A SIGTERM that comes twice in a moment counts once. SIGHUP is never the second one: service
    managers and shells send it behind another signal, and more than once.
    """
    stop = threading.Event()
    asked = False
    is_echo = _echoes()

    def on_signal(number: int) -> None:
        nonlocal asked
        _leave_the_terminal(number)
        if is_echo(number):
            return
        if asked and number != signal.SIGHUP:
            # The display hides the cursor. Nothing else must be undone: slices may be cut off.
            sys.stderr.write(_SHOW_CURSOR if sys.stderr.isatty() else "")
            os._exit(KILLED + number)
        asked = asked or number != signal.SIGHUP
        stop.set()

    with _calling_from_a_thread(on_signal), _handling(dict.fromkeys(NUMBERS, _leave_it)):
        yield stop


@contextmanager
def forwarding(send: Callable[[int], None]) -> Iterator[None]:
    """Call a function with each signal, instead of acting on it."""

    def on_signal(number: int) -> None:
        _leave_the_terminal(number)
        send(number)

    with _calling_from_a_thread(on_signal), _handling(dict.fromkeys(NUMBERS, _leave_it)):
        yield


def _leave_it(_number: int, _frame: FrameType | None) -> None:
    """Handle the signal elsewhere: `_calling_from_a_thread` has its number already."""


def _echoes() -> Callable[[int], bool]:
    """Return a function that tells of each signal whether it is an echo of the one before."""
    last: tuple[int, float] = 0, 0.0

    def is_echo(number: int) -> bool:
        nonlocal last
        now = time.monotonic()
        if number == last[0] == signal.SIGTERM and now - last[1] < _ECHO:
            return True
        last = number, now
        return False

    return is_echo


@contextmanager
def _calling_from_a_thread(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of each signal at once, whatever the main thread does.

    A handler runs in the main thread alone, between two of its steps: a signal that comes just
    before the main thread waits is handled when the wait is over, and a handler that sets an event
    which the main thread holds waits for itself. The number in the wakeup descriptor comes from
    the interpreter's own handler ("set_wakeup_fd", in Python's documentation of `signal`).
    """
    numbers, wakeup = os.pipe()
    os.set_blocking(wakeup, False)  # a handler must not wait

    def call() -> None:
        while come := os.read(numbers, 64):
            for number in come:
                if number in NUMBERS:
                    on_signal(number)

    caller = threading.Thread(target=call, name="signals", daemon=True)
    caller.start()
    before = signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(wakeup)
        caller.join()
        os.close(numbers)


@contextmanager
def _handling(handlers: Mapping[signal.Signals, _Handler]) -> Iterator[None]:
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    wanted = {n: h for n, h in handlers.items() if not (ignored and n is signal.SIGHUP)}
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave_the_terminal(number: int) -> None:
    """Write nothing more to a terminal that has hung up: each write would fail."""
    if number != signal.SIGHUP:
        return
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a device, not a path
        for stream in (1, 2):
            with suppress(OSError):
                if stat.S_ISCHR(os.fstat(stream).st_mode):
                    os.dup2(nowhere.fileno(), stream)
