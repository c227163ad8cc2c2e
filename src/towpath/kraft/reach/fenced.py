"""Nodes that are changed only while the cluster is still ours, also in the middle of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from towpath.kraft.reach.driver import Driver
from towpath.runtime.deadline import Deadline


@dataclass(frozen=True, slots=True)
class FencedDriver:
    """A node that is not touched by a process that was frozen until another one took over.

    Attributes:
        driver: Reaches the node.
        require: Raises where another Towpath may work on the cluster; asked before each change.
    """

    driver: Driver
    require: Callable[[], None]

    def read(self, path: str) -> bytes | None:
        """Return a file's content, None where there is none."""
        return self.driver.read(path)

    def modified(self, path: str) -> int | None:
        """Return the time of a file's last write, in ms since 1970; None where there is no file."""
        return self.driver.modified(path)

    def write(self, path: str, data: bytes) -> None:
        """Replace a file in one step; of a link the file that it names."""
        self.require()
        self.driver.write(path, data)

    def require_ours(self, path: str) -> None:
        """Raise where somebody else keeps a file, so that writing it would be refused."""
        self.driver.require_ours(path)

    def remove(self, path: str) -> None:
        """Remove a file or a folder with all in it, if it is there."""
        self.require()
        self.driver.remove(path)

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path; None where they are not known."""
        return self.driver.free_bytes(path)

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program to its end and return what it printed."""
        self.require()
        return self.driver.run(command, deadline)

    def start(self) -> None:
        """Start the node's process unless it runs; return before it is ready."""
        self.require()
        self.driver.start()

    def stop(self, deadline: Deadline) -> bool:
        """Ask the process to end, kill it at the deadline; return whether it ended by itself."""
        self.require()
        return self.driver.stop(deadline)

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; None where none runs."""
        return self.driver.started()

    def incarnation(self) -> str | None:
        """Return a text that differs for each start of the node's process; None where none runs."""
        return self.driver.incarnation()

    def process(self) -> str | None:
        """Return its process's command line and the jars that it has open, one word a line."""
        return self.driver.process()

    def log(self, lines: int) -> str:
        """Return the last lines of the log of the node."""
        return self.driver.log(lines)
