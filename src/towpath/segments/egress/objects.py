"""Objects on their way into the store.

The key of a segment has its last offset, which is known when the segment is complete. So an object
is kept until then, compressed, in memory or in a file of the machine if it is large. It is written
to its final key while the next one is made.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

from towpath.model.errors import ObjectExistsError, TowpathError
from towpath.segments.keys import unique
from towpath.store import Store, StoredObject
from towpath.store.direct import aligned
from towpath.store.objects import Data
from towpath.wire.spare import Spares

_PIECE = 8 << 20
"""Bytes of a piece: as much as a part of an object has by default, so that it becomes one."""
_IN_MEMORY = 8
"""Pieces of an object that are kept in memory."""
_WAITING = 1
"""Objects that may wait to be written, or be on their way, while the next one is made: each takes
memory for all its bytes."""
_ATTEMPTS = 4


_SPARE: Spares[bytearray] = Spares(2 * _IN_MEMORY)
"""Enough for an object that is made and the one before it, which is being written."""


class Spool:
    """The bytes of an object that is not complete: pieces of memory, which are used again."""

    def __init__(self) -> None:
        self._pieces: list[bytearray] = []
        self._room = 0
        """Bytes that the last piece has room for."""
        self._file: IO[bytes] | None = None

    def write(self, data: bytes | memoryview, /) -> int:
        """Append bytes."""
        view = memoryview(data).cast("B")
        at = 0
        while at < len(view):
            if not self._room:
                self._begin()
            size = min(self._room, len(view) - at)
            first = _PIECE - self._room
            self._pieces[-1][first : first + size] = view[at : at + size]
            self._room -= size
            at += size
        return at

    def copy(self, write: Callable[[Data], object]) -> None:
        """Hand all bytes to `write`, from the first one on; they stay until `close`."""
        if self._file is not None:
            self._file.seek(0)
            while kept := self._file.read(_PIECE):
                write(kept)
        for piece in self._pieces[:-1] if self._room else self._pieces:
            write(piece)
        if self._room:
            write(memoryview(self._pieces[-1])[: _PIECE - self._room])

    def close(self) -> None:
        """Free the memory, and delete the file."""
        self._give_back()
        self._room = 0
        if self._file is not None:
            self._file.close()

    def _begin(self) -> None:
        if len(self._pieces) == _IN_MEMORY:
            if self._file is None:
                self._file = TemporaryFile(prefix="towpath-segment-")  # noqa: SIM115  # by `close`
            for piece in self._pieces:
                self._file.write(piece)
            self._give_back()
        self._pieces.append(_SPARE.take() or aligned(_PIECE))
        self._room = _PIECE

    def _give_back(self) -> None:
        for piece in self._pieces:
            _SPARE.give(piece)
        self._pieces.clear()


class Uploads:
    """Writes objects to the store in a thread of its own.

    Args:
        store: The store.
        storage_class: The storage class of the objects; empty for the bucket's default.
    """

    def __init__(self, store: Store, storage_class: str) -> None:
        self._store, self.storage_class = store, storage_class
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="towpath-upload")
        self._waiting: deque[Future[StoredObject]] = deque()

    def put(self, spool: Spool, key: Callable[[str], str]) -> Future[StoredObject]:
        """Write an object soon; wait first if too many others wait.

        Args:
            spool: Its bytes. It is closed once they are written, or cannot be.
            key: Returns its key. If there is such an object already, of a writer that died before
                its commit, it is asked again with letters that make it another one.
        """
        while len(self._waiting) >= _WAITING:
            with suppress(TowpathError):  # told by whoever asks for the object
                self._waiting.popleft().result()
        future = self._pool.submit(self._written, spool, key)
        future.add_done_callback(lambda done: spool.close() if done.cancelled() else None)
        self._waiting.append(future)
        return future

    def close(self) -> None:
        """Wait for what is being written; nothing else is written any more."""
        self._pool.shutdown(cancel_futures=True)

    def _written(self, spool: Spool, key: Callable[[str], str]) -> StoredObject:
        try:
            for attempt in range(_ATTEMPTS):
                with suppress(ObjectExistsError):
                    return self._write(spool, key(unique() if attempt else ""))
            return self._write(spool, key(secrets.token_hex(8)))
        finally:
            spool.close()

    def _write(self, spool: Spool, key: str) -> StoredObject:
        with self._store.writer(key, self.storage_class) as out:
            spool.copy(out.give)
            return out.close()
