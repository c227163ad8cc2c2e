"""A process that outlives its starter, and is found again by its folder.

The process holds the lock of its folder from before its program begins until its end, and the
kernel frees it then. So neither a starter that was killed nor a pid that is used again leads to a
wrong answer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from towpath.model.foreign import printed
from towpath.runtime.deadline import Deadline

_BEGIN = 'echo $$ >"$0.new" && mv "$0.new" "$0" && exec "$@"'
"""The process writes down its own pid: no moment passes in which it runs and is not known."""
LOG_LINES = 25
"""Number of lines of a log that an error shows."""
_LOOK = 0.01
"""Seconds between two looks; those at the lock of another process take microseconds."""
_DEATH = 30.0
"""Seconds within which a killed process has ended."""
_GLANCE = 1.0
"""Seconds for which a lock may be held by others that only look."""


class KeptProcess:
    """At most one process, in a session of its own, with its files in one folder.

    Signals go to all processes of the session, so that a script that starts the program, instead
    of becoming it, does no harm.

    Args:
        folder: Folder for its pid, its lock and what it prints; made when it is first started.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "node.log"
        self._pid, self._lock = folder / "pid", folder / "lock"
        self._child: int | None = None

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        self._reap()
        try:
            lock = os.open(self._lock, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return not _locked(lock, fcntl.LOCK_SH)
        finally:
            os.close(lock)

    @property
    def pid(self) -> int | None:
        """The pid of the running process."""
        return self._written_pid() if self.running else None

    @property
    def started(self) -> int | None:
        """The start time of the running process, in ms since 1970; `None` if it is stopped."""
        if not self.running:
            return None
        with suppress(FileNotFoundError):
            return self._pid.stat().st_mtime_ns // 1_000_000
        return None

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> bool:
        """Start the process unless it runs; return whether it was started.

        Args:
            command: Program and arguments.
            environment: Further variables.

        Raises:
            OSError: The folder cannot be written, or no process can be made.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._lock, os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            glance = Deadline.after(_GLANCE)
            while not _locked(lock, fcntl.LOCK_EX):
                if glance.over:
                    return False
                time.sleep(_LOOK)
            self._launch(command, environment, lock)
        finally:
            os.close(lock)
        while self.running and not self._pid.exists():
            time.sleep(_LOOK)
        return True

    def stop(self, deadline: Deadline) -> bool:
        """Stop the process, kill it at the deadline; return whether it ended by itself.

        One that somebody else has started meanwhile is another process, and is left alone.
        """
        pid = self.pid
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        if self.wait(deadline) or self.pid != pid:
            return True
        self.kill()
        return False

    def kill(self) -> None:
        """Kill the process without warning, like a power failure, and wait for its end.

        Raises:
            OSError: It does not end, as a disk or another device does not answer.
        """
        patience = Deadline.after(_DEATH)
        while self.running:
            if patience.over:
                raise OSError(errno.EBUSY, f"process {self.pid} was killed and does not end")
            self.send(signal.SIGKILL)
            self.wait(Deadline.after(_GLANCE))

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, number)

    def wait(self, deadline: Deadline) -> bool:
        """Wait for the end of the process; return whether it has ended."""
        while self.running:
            if deadline.over:
                return False
            time.sleep(_LOOK)
        return True

    def log_end(self, lines: int = LOG_LINES) -> str:
        """Return the last lines of the process's output, without secrets."""
        try:
            text = self.log.read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return "\n".join(printed(text).splitlines()[-lines:])

    def _launch(
        self, command: Sequence[str], environment: Mapping[str, str] | None, lock: int
    ) -> None:
        self._pid.unlink(missing_ok=True)
        with self.log.open("ab") as out:
            process = subprocess.Popen(  # noqa: S603 - what the user's file names
                ["/bin/sh", "-c", _BEGIN, str(self._pid), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),
                env={**os.environ, **(environment or {})},
            )
        # Python would warn that the process is not waited for.
        process.returncode, self._child = 0, process.pid

    def _written_pid(self) -> int | None:
        with suppress(FileNotFoundError):
            return int(self._pid.read_text())
        return None

    def _reap(self) -> None:
        """Take the exit code of a child of ours, which else would stay in the list of processes."""
        if self._child is not None:
            with suppress(ChildProcessError):
                if os.waitpid(self._child, os.WNOHANG) == (0, 0):
                    return
            self._child = None


def _locked(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
