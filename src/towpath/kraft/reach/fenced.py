"""A guard that refuses changes to nodes once another process may hold the cluster's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from towpath.kraft.reach.driver import Driver
from towpath.runtime.deadline import Deadline


@dataclass(frozen=True, slots=True)
class FencedDriver:
    """A driver that checks the cluster's lock before each change.

    Attributes:
        driver: Reaches the node.
        require: Raises where another Towpath may work on the cluster; asked before each change.
    """

    driver: Driver
    require: Callable[[], None]

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if it does not exist."""
        return self.driver.read(path)

    def modified(self, path: str) -> int | None:
        """Return the modification time of a file, in ms since 1970; `None` if it does not exist."""
        return self.driver.modified(path)

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically; a link's target is replaced."""
        self.require()
        self.driver.write(path, data)

    def require_ours(self, path: str) -> None:
        """Raise if another manager owns a file, so that writing it would be refused."""
        self.driver.require_ours(path)

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content, if it exists."""
        self.require()
        self.driver.remove(path)

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path, `None` if unknown."""
        return self.driver.free_bytes(path)

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program until it ends, and return its output."""
        self.require()
        return self.driver.run(command, deadline)

    def start(self) -> None:
        """Start the node's process unless it runs; return before the node is ready."""
        self.require()
        self.driver.start()

    def stop(self, deadline: Deadline) -> bool:
        """Stop the process, kill it at the deadline; return whether it ended by itself."""
        self.require()
        return self.driver.stop(deadline)

    def started(self) -> int | None:
        """Return the start time of the node's process, in ms since 1970; `None` if stopped."""
        return self.driver.started()

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped."""
        return self.driver.incarnation()

    def process(self) -> str | None:
        """Return the process's command line and open jars, one word per line."""
        return self.driver.process()

    def log(self, lines: int) -> str:
        """Return the last lines of the node's log."""
        return self.driver.log(lines)
