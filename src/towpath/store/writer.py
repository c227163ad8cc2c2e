"""Writer of a large object, piece by piece."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from towpath.model.errors import StoreError
from towpath.store.checksum import joined_crc
from towpath.store.files.direct import aligned
from towpath.store.objects import Data, Put, StoredObject, Upload
from towpath.wire.spare import Spares

if TYPE_CHECKING:
    from towpath.store.store import Store


MOST_PARTS = 10_000
"""Parts of one object at most (S3, "multipart upload limits")."""
LARGEST_PART = 5 << 30
_WHOLE_PARTS = 1 << 20
_MOST_SPARE = 16 << 20
"""Bytes of the largest memory of a part that is kept for other parts."""
_SPARE: Spares[bytearray] = Spares(5)
"""Memory of parts; as much as those that are under way and the one that is written need."""


def part_bytes(configured: int, expected: int) -> int:
    """Return a part size with which an object of the expected size fits the part limit.

    Args:
        configured: Bytes of a part where nothing speaks against it.
        expected: Most bytes that the object may have; 0 if nothing is known.
    """
    least = -(-expected // (MOST_PARTS - 1))
    return min(LARGEST_PART, max(configured, -(-least // _WHOLE_PARTS) * _WHOLE_PARTS))


class ObjectWriter:
    """A file whose `close` creates the object, which is invisible until then.

    What fits in one part is written at once, anything larger in parts, some of which are under way
    while more is written. One thread uses it. As a context manager it makes no object if an error
    leaves the context. It is not closed when it is forgotten: half an object must never be made.

    Args:
        store: The store.
        key: The object.
        how: How it is written.
        part_size: Bytes of its parts; by default as the store is configured.
    """

    mode = "wb"

    def __init__(self, store: Store, key: str, how: Put, part_size: int = 0) -> None:
        self._store, self._key, self._how = store, key, how
        self._part_size = part_size or int(store.config.part_size)
        self._buffer: bytearray | None = None
        """Memory of a part, used up to `_filled`."""
        self._given: Data | None = None
        """A part that was given and is not sent: an object of one part is written as a whole."""
        self._filled = self._sent = self._crc = 0
        """Bytes in the buffer, parts that were sent, and the checksum of those that arrived."""
        self._upload: Upload | None = None
        self._under_way: deque[tuple[Future[int], int]] = deque()
        """Parts under way, with their bytes."""
        self._made: StoredObject | None = None
        self._aborted = False

    def __enter__(self) -> ObjectWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    @property
    def closed(self) -> bool:
        """Whether the writer is finished or aborted."""
        return self._aborted or self._made is not None

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False, as the file can only be written."""
        return False

    def seekable(self) -> bool:
        """Return False, as the file is written in order."""
        return False

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        given = len(self._given) if self._given is not None else 0
        return self._sent * self._part_size + given + self._filled

    def flush(self) -> None:
        """Do nothing, as only `close` makes the object visible."""

    def write(self, data: Any) -> int:
        """Write the bytes of any buffer, and return their number.

        Raises:
            StoreError: A part could not be written; the upload is aborted.
            ValueError: The file is closed.
        """
        if self.closed:
            raise ValueError("write to a closed object")
        view = memoryview(data).cast("B")
        if len(view):
            self._send_given()
        at = 0
        while at < len(view):
            if self._filled == self._part_size:
                self._guarded(self._send_buffer)
            if self._buffer is None:
                self._buffer = self._memory()
            size = min(self._part_size - self._filled, len(view) - at)
            self._buffer[self._filled : self._filled + size] = view[at : at + size]
            self._filled += size
            at += size
        return at

    def give(self, data: Data) -> int:
        """Write bytes without a copy (they must not change later), and return their number.

        What has the size of a part, behind others of that size, is not copied, nor is what comes
        last.

        Raises:
            StoreError: A part could not be written; the upload is aborted.
            ValueError: The file is closed.
        """
        if self.closed:
            raise ValueError("write to a closed object")
        if len(data):
            self._send_given()
        if self._filled or not 0 < len(data) <= self._part_size:
            return self.write(data)
        self._given = data
        return len(data)

    def close(self) -> StoredObject:
        """Create the object and return it with its CRC-32; repeatable.

        Raises:
            ObjectExistsError: There is an object with this key.
            StoreError: It could not be written; the upload is aborted.
            ValueError: The upload was aborted.
        """
        if self._aborted:
            raise ValueError("close of an aborted object")
        if self._made is None:
            self._guarded(self._complete)
        assert self._made is not None  # noqa: S101 - else an error was raised
        return self._made

    def abort(self) -> None:
        """Discard the upload; `Store.abort_uploads` finds what cannot be removed now."""
        if self.closed:
            return
        self._aborted, self._given = True, None
        self._buffer = None
        while self._under_way:
            future, _ = self._under_way.popleft()
            if not future.cancel():
                with suppress(StoreError):
                    future.result()
        if self._upload is not None:
            with suppress(StoreError):
                self._upload.abort()

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException:
            self.abort()
            raise

    def _send_given(self) -> None:
        given, self._given = self._given, None
        if given is not None and len(given) < self._part_size:
            self.write(given)  # it was not the last
        elif given is not None:
            self._guarded(partial(self._send, given))

    def _send_buffer(self) -> None:
        part, self._buffer, self._filled = self._buffer, None, 0
        if part is not None:
            self._send(part, part)

    def _send(self, part: Data, memory: bytearray | None = None) -> None:
        """Send a part.

        Args:
            part: Its bytes.
            memory: The memory of them that is free for others then.
        """
        if self._upload is None:
            begin = partial(self._store.backend.upload, self._key, self._how)
            self._upload = self._store.repeated(begin)
        call = partial(self._upload.part, self._sent, part)
        self._sent += 1
        while len(self._under_way) >= self._store.backend.parallel:
            self._await_part()
        future = self._store.threads.submit(self._written_part, call, memory)
        self._under_way.append((future, len(part)))

    def _written_part(self, call: Callable[[], int], memory: bytearray | None) -> int:
        crc = self._store.repeated(call)
        if memory is not None and len(memory) <= _MOST_SPARE:
            _SPARE.give(memory)
        return crc

    def _await_part(self) -> None:
        future, size = self._under_way.popleft()
        self._crc = joined_crc(self._crc, future.result(), size)

    def _complete(self) -> None:
        write: Callable[[], StoredObject]
        if self._upload is None:
            self._crc = zlib.crc32(self._rest)
            write = partial(self._store.backend.put, self._key, self._rest, self._how)
        else:
            self._send(self._rest)
            while self._under_way:
                self._await_part()
            write = self._upload.complete
        self._made = replace(self._store.written(self._key, self._how, write), crc=self._crc)
        self._buffer = self._given = None

    def _memory(self) -> bytearray:
        """Return memory for a part."""
        spare = _SPARE.take() if self._part_size <= _MOST_SPARE else None
        if spare is None or len(spare) != self._part_size:
            return aligned(self._part_size)
        return spare

    @property
    def _rest(self) -> Data:
        """What is not sent: bytes that were given or those that were written, never both."""
        if self._given is not None:
            return self._given
        return b"" if self._buffer is None else memoryview(self._buffer)[: self._filled]
