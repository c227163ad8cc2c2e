"""The operations of a migration on a node, which each kind of driver does in its own way."""

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
        """Return the time of a file's last write, in ms since 1970; None where there is no file."""

    def write(self, path: str, data: bytes) -> None:
        """Replace a file in one step; of a link the file that it names."""

    def require_ours(self, path: str) -> None:
        """Raise where somebody else keeps a file, so that writing it would be refused."""

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path; None where they are not known."""

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program to its end and return what it printed."""

    def start(self) -> None:
        """Start the node's process unless it runs; return before it is ready."""

    def stop(self, deadline: Deadline) -> bool:
        """Ask the process to end, kill it at the deadline; return whether it ended by itself."""

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; None where none runs."""

    def incarnation(self) -> str | None:
        """Return a text that differs for each start of the node's process; None where none runs.

        A supervisor may start a process again that has ended: systemd, or the host of a pod.
        """

    def process(self) -> str | None:
        """Return its process's command line and the jars that it has open, one word a line.

        None where no process runs, or its host does not tell.
        """

    def log(self, lines: int) -> str:
        """Return the last lines of the log of the node."""
