"""Local processes for slices, forked from the driver before it starts threads.

The driver has then imported what slices need, since it needs most of that itself: so it is imported
once. A process that does nothing but fork (the forker) stays behind, because of several threads
only one would survive a fork. Each slice has a process of its own, which ends with the connection
to the driver. When the driver ends, however it does, the forker kills whatever is left of them.
"""

from __future__ import annotations

import atexit
import gc
import os
import random
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

from towpath.engine import attempts
from towpath.engine.daemon import load
from towpath.model.errors import SparkLostError
from towpath.model.foreign import leaving, printed

_ASKED = b"0"
_OF_DRIVER = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
"""Signals that mean the driver, which lets slices end their work. A service manager may send them
to each process of the service (systemd's `KillMode=control-group`)."""


class Forks:
    """Forks processes that run slices.

    Args:
        works: Modules that slices need; they are imported here and now.

    Attributes:
        pid: The process that forks them.
    """

    def __init__(self, works: Sequence[str]) -> None:
        _compile()
        _load(works)
        self._ours, theirs = socket.socketpair()
        self._lock = threading.Lock()
        self.pid = os.fork()
        if self.pid == 0:
            self._ours.close()
            _end_with(_Forker(theirs).run_all)
        theirs.close()
        atexit.register(self._close)

    def begin(self, work: Callable[[Any], Any], one: object, attempt: int) -> Connection:
        """Start a slice in a process; closing the returned connection ends the slice.

        Args:
            work: Runs it; a function of a module.
            one: The slice, which pickles.
            attempt: The number of earlier attempts at it.

        Returns:
            A connection that has one object: whether it went well, and the rows that `work` has
            yielded, or the text of the error. Without any object, the process was killed.

        Raises:
            OSError: The process of the slice has ended already.
            SparkLostError: The forker has ended.
        """
        told = bytes(ForkingPickler.dumps((work, one, attempt)))
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(self._ours, [_ASKED], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise SparkLostError("the process that starts slices") from error
        connection = Connection(ours.detach())
        try:
            connection.send_bytes(told)
        except OSError:
            connection.close()
            raise
        return connection

    def _close(self) -> None:
        """Let the forker end, whose slices end with their connections, and wait for it."""
        self._ours.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class _Forker:
    """Forks a process for each request at a socket, until the socket is closed.

    Args:
        asked: The socket.
    """

    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        for number in _OF_DRIVER:
            # Programs that slices start would go on ignoring what is ignored (POSIX, `exec`).
            signal.signal(number, _leave_it_to_the_driver)
        os.setpgid(0, 0)  # as for `_OF_DRIVER`; and so one signal kills all
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        signal.signal(signal.SIGCHLD, _reap)  # so the kernel adds up what they used

    def run_all(self) -> None:
        """Fork processes until the driver ends, then kill all of them, even frozen ones."""
        try:
            self._run()
        finally:
            _reap()
            os.killpg(0, signal.SIGKILL)

    def _run(self) -> None:
        while True:
            byte, found, _, _ = socket.recv_fds(self._asked, 1, 1)
            if not byte:
                return
            for number in found:
                os.set_inheritable(number, False)  # a program of a slice may outlive it
                with suppress(OSError):  # else the driver sees the end of the connection
                    if os.fork() == 0:
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        self._asked.close()
                        _end_with(partial(_run, Connection(number)))
                os.close(number)


def _leave_it_to_the_driver(*_: object) -> None:
    """Go on: the driver got the signal, too, or nobody has asked it to end."""


def _reap(*_: object) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(connection: Connection) -> None:
    """Run a slice in a process of its own, and tell what came of it."""
    random.seed()
    work, one, attempts.NUMBER = connection.recv()
    threading.Thread(target=_end_with_driver, args=(connection,), daemon=True).start()
    try:
        with leaving():
            rows = [*work(one)]
    except BaseException as error:  # noqa: BLE001  # the driver raises it
        connection.send((False, text_of(error)))
    else:
        connection.send((True, rows))


def text_of(error: BaseException) -> str:
    """Return an error as text, which `engine/failure.py` parses again."""
    kind = type(error)
    return f"{kind.__module__}.{kind.__qualname__}: {printed(str(error))}"


def _end_with_driver(connection: Connection) -> None:
    """End this process when the driver ends, or wants the slice no more: it says nothing else."""
    with suppress(OSError, EOFError):
        connection.recv_bytes()
    os._exit(1)


def _end_with(work: Callable[[], None]) -> NoReturn:
    """Do something in a process that was forked, and end it."""
    code = 1
    try:
        work()
        code = 0
    finally:
        with suppress(BaseException):
            sys.stdout.flush()
        os._exit(code)


def _load(works: Sequence[str]) -> None:
    """Import modules for good: nothing of them is garbage, so nobody looks through them for any.

    A look in a fork would write to pages that all share.
    """
    was_on = gc.isenabled()
    gc.disable()
    load(works)
    gc.freeze()
    if was_on:
        gc.enable()


def _compile() -> None:
    """Let two processes compile the loops that never were: one would take twice as long."""
    from towpath.wire import loops  # noqa: PLC0415  # numba takes most of a second

    if loops.compiled():
        return
    with suppress(OSError, ValueError):  # a closed output ends no work: ValueError says so
        sys.stderr.write(loops.FIRST_TIME)
        sys.stderr.flush()
    running = []
    try:
        for order in (loops.MODULES, loops.MODULES[::-1]):
            pid = os.fork()
            if pid == 0:
                _end_with(partial(loops.compile_all, order))
            running.append(pid)
        for each in running:
            os.waitpid(each, 0)
    except BaseException:  # a signal ends the command
        for each in running:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        raise
