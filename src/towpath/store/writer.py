"""Writing a large object piece by piece."""

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
from towpath.store.objects import Data, Put, StoredObject, Upload

if TYPE_CHECKING:
    from towpath.store.store import Store


MOST_PARTS = 10_000
"""Parts of one object at most (S3, "multipart upload limits")."""
LARGEST_PART = 5 << 30
_WHOLE_PARTS = 1 << 20


def part_bytes(configured: int, expected: int) -> int:
    """Return the bytes of each part of an object, so that they are enough for all of it.

    Args:
        configured: Bytes of a part where nothing speaks against it.
        expected: Most bytes that the object may have; 0 if nothing is known.
    """
    least = -(-expected // (MOST_PARTS - 1))
    return min(LARGEST_PART, max(configured, -(-least // _WHOLE_PARTS) * _WHOLE_PARTS))


class ObjectWriter:
    """A file whose `close` makes an object; until then nobody sees anything of it.

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
        self._buffer = bytearray()
        self._given: Data | None = None
        """A part that was given and is not sent: an object of one part is written as a whole."""
        self._sent = self._crc = 0
        self._upload: Upload | None = None
        self._under_way: deque[Future[None]] = deque()
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
        """Whether nothing more can be written."""
        return self._aborted or self._made is not None

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False

    def tell(self) -> int:
        """Return how many bytes were written."""
        given = len(self._given) if self._given is not None else 0
        return self._sent * self._part_size + given + len(self._buffer)

    def flush(self) -> None:
        """Do nothing: only `close` makes something visible."""

    def write(self, data: Any) -> int:
        """Add bytes, of any object that is a buffer, and return how many.

        Raises:
            StoreError: A part could not be written; the upload is aborted.
            ValueError: The file is closed.
        """
        if self.closed:
            raise ValueError("write to a closed object")
        view = memoryview(data).cast("B")
        if len(view):
            self._send_given()
        self._crc = zlib.crc32(view, self._crc)
        at = 0
        while at < len(view):
            if len(self._buffer) == self._part_size:
                part, self._buffer = self._buffer, bytearray()
                self._guarded(partial(self._send, part))
            size = min(self._part_size - len(self._buffer), len(view) - at)
            self._buffer += view[at : at + size]
            at += size
        return at

    def give(self, data: Data) -> int:
        """Add bytes that nobody changes until the object is made, and return how many.

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
        if self._buffer or not 0 < len(data) <= self._part_size:
            return self.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._given = data
        return len(data)

    def close(self) -> StoredObject:
        """Make the object and return it, with its CRC-32; again, if it was made already.

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
        """Make no object. What cannot be removed now is found by `Store.abort_uploads`."""
        if self.closed:
            return
        self._aborted, self._given = True, None
        self._buffer = bytearray()
        while self._under_way:
            future = self._under_way.popleft()
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
            self._buffer = bytearray(given)  # it was not the last
        elif given is not None:
            self._guarded(partial(self._send, given))

    def _send(self, part: Data) -> None:
        if self._upload is None:
            begin = partial(self._store.backend.upload, self._key, self._how)
            self._upload = self._store.repeated(begin)
        call = partial(self._upload.part, self._sent, part)
        self._sent += 1
        while len(self._under_way) >= self._store.backend.parallel:
            self._under_way.popleft().result()
        self._under_way.append(self._store.threads.submit(self._store.repeated, call))

    def _complete(self) -> None:
        write: Callable[[], StoredObject]
        if self._upload is None:
            write = partial(self._store.backend.put, self._key, self._rest, self._how)
        else:
            self._send(self._rest)
            while self._under_way:
                self._under_way.popleft().result()
            write = self._upload.complete
        self._made = replace(self._store.written(self._key, self._how, write), crc=self._crc)
        self._buffer = bytearray()
        self._given = None

    @property
    def _rest(self) -> Data:
        """What is not sent: bytes that were given or those that were written, never both."""
        return self._buffer if self._given is None else self._given
