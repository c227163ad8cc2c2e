"""The interface of drivers, which operate on one node each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from towpath.runtime.deadline import Deadline


class Driver(Protocol):
    """The process and the files of one node; paths are those of the node's own host.

    Every method raises `DriverError` where the node cannot be reached or refuses.
    """

    def read(self, path: str) -> bytes | None:
        """Return a file's content, None where there is none."""

    def modified(self, path: str) -> int | None:
        """Return the modification time of a file, in ms since 1970; `None` if it does not exist."""

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically; a link's target is replaced."""

    def require_ours(self, path: str) -> None:
        """Raise if another manager owns a file, so that writing it would be refused."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content, if it exists."""

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path, `None` if unknown."""

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program until it ends, and return its output."""

    def start(self) -> None:
        """Start the node's process unless it runs; return before the node is ready."""

    def stop(self, deadline: Deadline) -> bool:
        """Stop the process, kill it at the deadline; return whether it ended by itself."""

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; `None` if stopped."""

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped.

        A supervisor may start a process again that has ended: systemd, or the host of a pod.
        """

    def process(self) -> str | None:
        """Return the process's command line and open jars, one word per line.

        None where no process runs, or its host does not tell.
        """

    def log(self, lines: int) -> str:
        """Return the last lines of the node's log."""
