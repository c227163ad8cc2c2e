"""A file-like reader of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towpath.store.seekable import SeekableFile

if TYPE_CHECKING:
    from towpath.store.store import Store

_TAIL = 64 << 10
"""Bytes at the end that are read with the size: a Parquet file has its footer there."""
_LEAST = 1 << 20
"""Fewest bytes of one request."""


class ObjectReader(SeekableFile):
    """An object as a seekable file.

    Small reads are answered from what was read before. All bytes come from one version of the
    object: if it is replaced meanwhile, an `ObjectChangedError` is raised.

    Args:
        store: The store.
        key: The object.
        size: Its size in bytes, where it is known; else its end is read first.

    Raises:
        ObjectMissingError: There is no such object.
        StoreError: The store could not do it.
    """

    def __init__(self, store: Store, key: str, size: int | None = None) -> None:
        super().__init__(0 if size is None else size)
        self._store, self._key = store, key
        self._tag = ""
        self._held: list[tuple[int, bytes]] = []
        if size is None:
            found, tail = store.read(key, -_TAIL, None)
            self._size, self._tag = found.size, found.tag
            self._held = [(found.size - len(tail), tail)]

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; -1 reads to the end.

        Raises:
            ObjectChangedError: The object was replaced.
            StoreError: The store could not do it.
        """
        end = self._size if size < 0 else min(self._size, self._at + size)
        if self._at >= end:
            return b""
        data = self._between(self._at, end)
        self._at += len(data)
        return data

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read into a buffer without caching, and return the number of bytes."""
        view = memoryview(buffer).cast("B")[: max(0, self._size - self._at)]
        if len(view) < _LEAST:
            view[:] = self.read(len(view))
        else:
            self._tag = self._store.read_into(self._key, self._at, view, self._tag).tag
            self._at += len(view)
        return len(view)

    def _between(self, first: int, end: int) -> bytes:
        for start, held in self._held:
            if start <= first and end <= start + len(held):
                return held[first - start : end - start]
        last = min(self._size, max(end, first + _LEAST))
        found, data = self._store.read(self._key, first, last, self._tag)
        self._tag = found.tag
        if last > end:
            self._held = [*self._held[:1], (first, data)]  # the end, and what was read last
        return data[: end - first]
