"""Destinations of an object's bytes."""

from __future__ import annotations

import io
from typing import Any, Protocol

import xxhash


class Sink(Protocol):
    """Protocol of a destination of an object's bytes: a file, or a writer of a store."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Append bytes; the caller may reuse their memory after the call."""


class HashedSink(io.RawIOBase):
    """A file that counts and hashes the bytes written to a sink.

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
        """Start a new hash. Returns the current position."""
        self._hash.reset()
        return self.size

    def drop(self) -> None:
        """Discard the sink: nothing more is written."""
        self._sink = None

    def writable(self) -> bool:
        """Return True, as the file can be written to."""
        return True

    def write(self, data: Any, /) -> int:
        """Append bytes."""
        if self._sink is not None:
            self._sink.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)
