"""Nodes that are processes of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from towpath.kraft.config.drivers import LocalDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.child import ChildLateError, printable, run_child
from towpath.kraft.reach.commands import filled
from towpath.kraft.reach.scripts import PROCESS
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline
from towpath.runtime.durable import make_folder, sync_folder
from towpath.runtime.kept_process import KeptProcess

_LINES = 20
_PATIENCE = 60.0
"""Seconds for a command whose deadline nobody gives."""


class LocalNode:
    """A node on this machine; its process outlives Towpath, and is found by its folder.

    Args:
        config: How nodes are started, and where their logs and pids are.
        node: Its id.
        role: What it is.
        properties: Its properties file.
    """

    def __init__(self, config: LocalDriver, node: NodeId, role: Role, properties: str) -> None:
        self._node = node
        self._start = filled(config.start, node, role, properties)
        self._process = KeptProcess(Path(config.folder) / str(node))

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if it does not exist."""
        with self._trouble(f"reading {path}"):
            try:
                return Path(path).read_bytes()
            except FileNotFoundError:
                return None

    def modified(self, path: str) -> int | None:
        """Return the modification time of a file, in ms since 1970; `None` if it does not exist."""
        with self._trouble(f"looking at {path}"):
            try:
                return Path(path).stat().st_mtime_ns // 1_000_000
            except FileNotFoundError:
                return None

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically; a link's target is replaced.

        It keeps its owner and rights; a new file can be read by its owner alone. A file that says
        the same already is left as it is.
        """
        with self._trouble(f"writing {path}"):
            _replace(Path(path).resolve(), data)

    def require_ours(self, path: str) -> None:
        """Do nothing, as files on hosts have no managers."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content, if it exists."""
        gone = Path(path)
        with self._trouble(f"removing {path}"):
            if gone.is_dir() and not gone.is_symlink():
                shutil.rmtree(gone)
            else:
                gone.unlink(missing_ok=True)

    def free_bytes(self, path: str) -> int:
        """Return the free bytes on the disk of a path, or of its nearest existing parent."""
        with self._trouble(f"asking for the free space of {path}"):
            there = next(each for each in (Path(path), *Path(path).parents) if each.exists())
            return shutil.disk_usage(there).free

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program until it ends, and return its output."""
        what = f"running {command[0]}"
        with self._trouble(what):
            done = run_child(command, seconds=deadline.left())
        text = printable(done.stdout + done.stderr)
        if done.returncode:
            tail = "\n".join(text.splitlines()[-_LINES:])
            raise DriverError(self._node, what, f"it ended with code {done.returncode}:\n{tail}\n")
        return text

    def start(self) -> None:
        """Start the node's process unless it runs; return before the node is ready."""
        with self._trouble(f"starting {self._start[0]}"):
            self._process.start(self._start)

    def stop(self, deadline: Deadline) -> bool:
        """Stop the process, kill it at the deadline; return whether it ended by itself."""
        with self._trouble("stopping its process"):
            return self._process.stop(deadline)

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; `None` if stopped."""
        with self._trouble("looking for its process"):
            return self._process.started

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped."""
        with self._trouble("looking for its process"):
            pid = self._process.pid
            return None if pid is None else str(pid)

    def process(self) -> str | None:
        """Return the process's command line and open jars, one word per line."""
        pid = self._process.pid
        if pid is None:
            return None
        return self.run(("sh", "-c", PROCESS, "sh", str(pid)), Deadline.after(_PATIENCE))

    def log(self, lines: int) -> str:
        """Return the last lines of the node's log."""
        with self._trouble("reading its log"):
            return self._process.log_end(lines)

    def kill(self) -> None:
        """Kill the process without warning, like a power failure."""
        self._process.send(signal.SIGKILL)

    @contextmanager
    def _trouble(self, what: str) -> Iterator[None]:
        try:
            yield
        except ChildLateError as error:
            raise DriverError(self._node, what, str(error)) from error
        except OSError as error:
            raise DriverError(self._node, what, foreign(error)) from error


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside the old one, then let it take its place; both are on disk behind it."""
    mode, owner = 0o600, None
    with suppress(FileNotFoundError):
        if path.read_bytes() == data:
            return
        about = path.stat()
        mode, owner = stat.S_IMODE(about.st_mode), (about.st_uid, about.st_gid)
    make_folder(path.parent)
    scratch = path.with_name(f".{path.name}.towpath")
    scratch.unlink(missing_ok=True)
    try:
        _write(scratch, data, mode, owner)
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _write(path: Path, data: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        if owner is not None and owner != (os.geteuid(), os.getegid()):
            os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
