"""A file that keeps a part of itself in memory, so that the store is read once."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from towpath.store.seekable import SeekableFile
from towpath.wire.batch import Buffer
from towpath.wire.spare import Spares

_NONE: Buffer = np.empty(0, np.uint8)
_SPARE: Spares[Buffer] = Spares(4)
_MOST_SPARE = 72 << 20
"""Bytes of the largest memory that is kept: a row group that hardly became smaller."""


class WindowedFile(SeekableFile):
    """A seekable file for pyarrow that serves a window of another file from memory.

    Args:
        source: A file with `read`, `seek` and `size`.
    """

    def __init__(self, source: Any) -> None:
        super().__init__(int(source.seek(0, io.SEEK_END)))
        self._source = source
        self._first, self._held = 0, pa.py_buffer(b"")
        self._memory: Buffer = _NONE

    def hold(self, first: int, size: int) -> int:
        """Load a part of the file into memory, replacing the part loaded before.

        Returns:
            The hash of its bytes (XXH3), as the footer has it for each row group.
        """
        self.let_go()
        memory = _SPARE.take()
        if memory is None or len(memory) < size:
            memory = np.empty(size, np.uint8)
        self._source.seek(first)
        count = self._source.readinto(memory[:size].data)
        self._memory, self._first = memory, first
        self._held = pa.py_buffer(memory[:count])
        return xxhash.xxh3_64_intdigest(self._held)

    def held(self, at: int, size: int) -> pa.Buffer:
        """Return bytes of the loaded part; they stay in memory as long as they are used.

        Raises:
            ValueError: They are not in that part.
        """
        first = at - self._first
        if first < 0 or size < 0 or first + size > self._held.size:
            raise ValueError(f"bytes {at} to {at + size} are not held")
        return self._held.slice(first, size)

    def let_go(self, *, reuse: bool = False) -> None:
        """Release the loaded part.

        Args:
            reuse: Whether nothing points to the bytes any more, so that others may come there.
        """
        if reuse and len(self._memory) <= _MOST_SPARE:
            _SPARE.give(self._memory)
        self._held, self._memory = pa.py_buffer(b""), _NONE

    def read_buffer(self, size: int) -> pa.Buffer:
        """Return the next bytes, without a copy if they are loaded. pyarrow calls this."""
        offset = self._at - self._first
        if offset >= 0 and offset + size <= self._held.size:
            self._at += size
            return self._held.slice(offset, size)
        return pa.py_buffer(self.read(size))

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; -1 reads to the end."""
        self._source.seek(self._at)
        data = bytes(self._source.read(size) if size >= 0 else self._source.read())
        self._at += len(data)
        return data
