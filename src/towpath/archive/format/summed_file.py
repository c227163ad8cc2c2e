"""Files whose checksum is compared with the commit log while they are read.

Row groups and batches have hashes of their own. What lies behind them has none: the footer, with
its gaps and statistics, the index of pages, Bloom filters. A new object takes it over, and gets a
checksum of its own, so what had changed could never be found again.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.store.seekable import SeekableFile

_NEAR = 64 << 10
"""Bytes between two reads that are read as well: the first row group begins behind a few."""
_PIECE = 8 << 20


def require_crc(name: str, found: int, wanted: int) -> None:
    """Raise if an object's checksum differs from the one in the commit log.

    Args:
        name: The key of the object, for errors.
        found: The CRC-32 of its bytes.
        wanted: The CRC-32 in the commit log.

    Raises:
        CorruptSegmentError: It is another one.
    """
    if found != wanted:
        text = f"its bytes have the CRC-32 {found:08x}, and the commit log says {wanted:08x}"
        raise CorruptSegmentError(name, text)


class SummedFile(SeekableFile):
    """A seekable file that computes the checksum of its bytes as they are read.

    Args:
        source: The file, with `read`, `readinto` and `seek`.
        name: The key of the object, for errors.
        crc: The CRC-32 in the commit log; None where it has none.
    """

    def __init__(self, source: Any, name: str, crc: int | None) -> None:
        super().__init__(int(source.seek(0, io.SEEK_END)))
        self._source, self._name, self._wanted = source, name, crc
        self._summed = self._crc = 0

    @property
    def proven(self) -> bool:
        """Whether the commit log has a checksum, so that `require` verifies all bytes."""
        return self._wanted is not None

    def require(self) -> None:
        """Read the remaining bytes, and verify the checksum of the whole file.

        Raises:
            CorruptSegmentError: The bytes have another one.
            StoreError: They cannot be read.
        """
        if self._wanted is None:
            return
        while self._summed < self._size:
            self._read(self._summed, min(_PIECE, self._size - self._summed))
        require_crc(self._name, self._crc, self._wanted)

    @contextmanager
    def believed_if_whole(self) -> Iterator[None]:
        """Verify the checksum, so that a damaged version number is not reported as a newer format.

        Raises:
            CorruptSegmentError: The bytes have another checksum.
            NewerSegmentError: They are as they were written, by a newer Towpath.
        """
        try:
            yield
        except NewerSegmentError:
            self.require()
            raise

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; -1 reads to the end."""
        left = max(0, self._size - self._at)
        data = self._read(self._at, left if size < 0 else min(size, left))
        self._at += len(data)
        return data

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into a buffer, and return how many bytes."""
        self._reach(self._at)
        self._source.seek(self._at)
        count: int = self._source.readinto(buffer)
        self._sum(self._at, memoryview(buffer)[:count])
        self._at += count
        return count

    def _read(self, at: int, size: int) -> bytes:
        if size <= 0:
            return b""
        self._reach(at)
        self._source.seek(at)
        data: bytes = self._source.read(size)
        if not data:
            raise CorruptSegmentError(self._name, f"it ends before its byte {at}")
        self._sum(at, memoryview(data))
        return data

    def _reach(self, at: int) -> None:
        """Read what lies before a position, if that is little."""
        if 0 < at - self._summed <= _NEAR:
            self._read(self._summed, at - self._summed)

    def _sum(self, at: int, data: memoryview) -> None:
        if at <= self._summed < at + len(data):
            self._crc = zlib.crc32(data[self._summed - at :], self._crc)
            self._summed = at + len(data)
