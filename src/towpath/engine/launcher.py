"""The program that Spark starts as Python; it has the template process fork a worker.

This script runs without site packages and imports as little as possible, since Spark starts it five
times in a row before the first slice runs. It then stands in for the process that the template has
forked: it passes SIGTERM on and exits with the same code. Without a template it becomes Python.
"""

from __future__ import annotations

import array
import os
import signal
import socket
import sys

MODULE = "-m"
PID_BYTES = 4


def main(template: str, arguments: list[str]) -> None:
    """Run a Python module in a fork of the template, anything else in this process."""
    if arguments[:1] == [MODULE]:
        code = _forked(template, arguments[1:])
        if code is not None:
            sys.exit(code)
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  # as Spark asked


def _forked(template: str, arguments: list[str]) -> int | None:
    """Return the exit code of the forked process after it has ended; `None` if none was forked."""
    words = [*arguments, "", *(f"{name}={value}" for name, value in os.environ.items())]
    streams = array.array("i", [0, 1, 2])
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(template)
            connection.sendmsg([b"0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
            connection.sendall(b"\0".join(map(os.fsencode, words)))
            connection.shutdown(socket.SHUT_WR)
            pid = int.from_bytes(connection.recv(PID_BYTES), "big")
            if not pid:
                return None
        except OSError:
            return None
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(pid, number))
        code = connection.recv(1)
        return code[0] if code else 1


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
