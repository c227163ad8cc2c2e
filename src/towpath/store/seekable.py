"""Base class of readable and seekable files of known size."""

from __future__ import annotations

import io


class SeekableFile(io.RawIOBase):
    """A readable file of known size with a position; for one thread at a time."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._at, self._size = 0, size

    def size(self) -> int:
        """Return the size in bytes."""
        return self._size

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at
