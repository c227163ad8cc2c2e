"""Where the bytes of an object go."""

from __future__ import annotations

import io
from typing import Any, Protocol

import xxhash


class Sink(Protocol):
    """Takes the bytes of an object, in order: a file, or a writer of a store."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Append bytes, which may be used again after the call."""


class HashedSink(io.RawIOBase):
    """Counts and hashes what goes into a sink.

    Attributes:
        size: Bytes so far.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink: Sink | None = sink
        self._hash = xxhash.xxh3_64()
        self.size = 0

    @property
    def hash(self) -> int:
        """Hash of all bytes since the last `mark`."""
        return self._hash.intdigest()

    def mark(self) -> int:
        """Begin a new hash. Returns the position."""
        self._hash.reset()
        return self.size

    def drop(self) -> None:
        """Let nothing more go into the sink."""
        self._sink = None

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        if self._sink is not None:
            self._sink.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)
