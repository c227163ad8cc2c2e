"""A file system that is so small that a test can fill it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_PIECE = 64 << 10


@contextmanager
def mounted(folder: Path, size: int = 1 << 20) -> Iterator[SmallDisk]:
    """Mount a disk of so many bytes; skip the test where that is not allowed."""
    try:
        made = SmallDisk(folder, size)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"file systems cannot be mounted here: {error.stderr!r}")
    try:
        yield made
    finally:
        made.close()


class SmallDisk:
    """A mounted file system in memory.

    Args:
        folder: Where it is mounted.
        size: Its size in bytes.

    Raises:
        CalledProcessError: This process may not mount anything.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
        subprocess.run(words, check=True, capture_output=True)
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no byte free."""
        with suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while file.write(bytes(_PIECE)):
                pass
        with suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while file.write(b"\0"):
                pass

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink()

    def close(self) -> None:
        """Unmount it, also while somebody has a file open there."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True, capture_output=True)
