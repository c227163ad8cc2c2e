"""The template process, which imports all modules once and forks Spark's workers.

Spark starts Python five times, one after the other, before the first slice runs, and then its
workers. Each would import PySpark, and each worker all that copies records: nine CPU seconds. The
template imports it once, while Spark's JVM starts. The launcher that Spark takes for Python
(`engine/pythons.py`) hands over its streams, arguments and environment. The template forks a
process that goes on with them (docs/decisions/0025).

It ends with the driver. It has one thread, since of several threads only one would survive a fork.
"""

from __future__ import annotations

import gc
import os
import runpy
import selectors
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from towpath.engine import daemon, launcher
from towpath.engine.daemon import load

_PLANNING = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
)
"""What those processes run that plan a query."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a forked process, as read from the socket.

    Attributes:
        connection: It tells whoever asked that the process has begun, and when it has ended.
        streams: Its standard streams.
        module: What it runs.
        arguments: What that is given.
        environment: The variables of its environment.
    """

    connection: socket.socket
    streams: tuple[int, ...]
    module: str
    arguments: list[str]
    environment: dict[str, str]

    @classmethod
    def read(cls, connection: socket.socket) -> Request:
        """Read a request to its end.

        Raises:
            OSError: Whoever asked is gone.
            ValueError: It is no request.
        """
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        with connection.makefile("rb") as rest:
            words = [os.fsdecode(word) for word in rest.read().split(b"\0")]
        end = words.index("")
        module, *arguments = words[:end]
        pairs = (word.split("=", 1) for word in words[end + 1 :])
        return cls(connection, tuple(streams), module, arguments, dict(pairs))

    @property
    def runs_slices(self) -> bool:
        """Whether the requested process runs slices; other processes plan queries."""
        return self.module == daemon.__name__

    def run(self) -> None:
        """Run the requested program in this process, which was just forked."""
        for number, stream in enumerate(self.streams):
            os.dup2(stream, number)
            os.close(stream)
        os.environ.clear()
        os.environ.update(self.environment)
        path = self.environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [each for each in path if each and each not in sys.path]
        sys.argv[1:] = self.arguments
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.connection.sendall(os.getpid().to_bytes(launcher.PID_BYTES, "big"))
        # Whoever asked waits for the end of this process, not for that of workers that it forks.
        os.register_at_fork(after_in_child=self.connection.close)
        sys.modules.pop(self.module, None)  # else Python warns that it runs twice
        runpy.run_module(self.module, run_name="__main__", alter_sys=True)

    def ended(self, code: int) -> None:
        """Send the exit code to the requester."""
        with suppress(OSError):
            self.connection.sendall(bytes([code & 0xFF]))

    def close(self) -> None:
        """Close the connection of the request."""
        for stream in self.streams:
            os.close(stream)
        self.connection.close()


class Template:
    """Forks Python daemons on requests from a socket.

    Args:
        listener: The socket, which listens.
        works: Modules that workers need.
        screen: File descriptor of the driver's standard error, for what takes long; it is closed
            before any worker begins. None if it is negative.
    """

    def __init__(self, listener: socket.socket, works: Sequence[str], screen: int = -1) -> None:
        self._screen = screen
        self._works = list(works)
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._asked)
        self._selector.register(0, selectors.EVENT_READ)
        self._compilers: set[int] = set()
        self._waiting: list[Request] | None = []
        """Requests of those who run slices, until all is imported; `None` from then on."""

    def run(self) -> None:
        """Import the workers' modules, and fork daemons until the driver ends."""
        load(_PLANNING)
        told = loops_to_compile() if self._works else ""
        if self._screen >= 0:
            with suppress(OSError):
                os.write(self._screen, told.encode())
            os.close(self._screen)
        if told:
            self._compile()
        while self._loaded() and self._serve():
            pass

    def _compile(self) -> None:
        """Let processes of their own compile the loops: the planner must not wait for them."""
        from towpath.wire import loops  # noqa: PLC0415  # numba takes most of a second

        for order in (loops.MODULES, loops.MODULES[::-1]):
            self._spawn(partial(loops.compile_all, order))

    def _spawn(self, work: Callable[[], None]) -> None:
        ended, end = os.pipe()
        if os.fork() == 0:
            os.close(ended)
            with suppress(BaseException):
                work()
            os._exit(0)
        os.close(end)
        self._compilers.add(ended)
        self._selector.register(ended, selectors.EVENT_READ, self._compiler_ended)

    def _compiler_ended(self, ended: int) -> None:
        self._selector.unregister(ended)
        os.close(ended)
        self._compilers.remove(ended)

    def _loaded(self) -> bool:
        """Import the rest once its loops are compiled, and fork the workers that wait for it."""
        if self._waiting is not None and not self._compilers:
            load(self._works)
            gc.freeze()  # a collection would write to pages that workers share
            waiting, self._waiting = self._waiting, None
            for request in waiting:
                self._fork(request)
        return True

    def _serve(self) -> bool:
        """Handle what has happened; return whether the driver still lives."""
        for key, _ in self._selector.select():
            if key.data is None:
                return False
            key.data(key.fd)
        return True

    def _asked(self, _: int) -> None:
        with suppress(OSError, ValueError):  # whoever asked goes on without us then
            request = Request.read(self._listener.accept()[0])
            if self._waiting is not None and request.runs_slices:
                self._waiting.append(request)
            else:
                self._fork(request)

    def _fork(self, request: Request) -> None:
        with suppress(OSError):
            if os.fork() == 0:
                self._become(request)
        request.close()

    def _become(self, request: Request) -> NoReturn:
        code = 1
        try:
            self._selector.close()
            self._listener.close()
            request.run()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001  # what Python does with an error that nobody handles
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            request.ended(code)
            os._exit(code)


def loops_to_compile() -> str:
    """Return a sentence about loops that were never compiled, "" if all are."""
    from towpath.wire import loops  # noqa: PLC0415  # numba takes most of a second

    return "" if loops.compiled() else loops.FIRST_TIME


def main() -> None:
    """Run the template process at the socket given by the arguments."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    folder = Path(listener.getsockname()).parent
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        Template(listener, sys.argv[3:], int(sys.argv[2])).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
