"""The store of objects, through which archives are read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from threading import Event, Lock
from typing import TypeVar
from uuid import uuid4

from towpath.model.errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectMissingError,
    StoreRefusedError,
)
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig
from towpath.store.kinds import CONDITIONS, backend_of
from towpath.store.objects import (
    Backend,
    Data,
    ObjectLock,
    Put,
    StoredObject,
    ThawSpeed,
    Unfinished,
)
from towpath.store.patience import Patience, StoppablePatience
from towpath.store.reader import ObjectReader
from towpath.store.writer import ObjectWriter, part_bytes

T = TypeVar("T")

_THREADS = 16
_DELETED_AT_ONCE = 1000
_PIECE = 8 << 20


class Store:
    """Reads and writes objects by their keys, relative to the prefix of the store's URL.

    Threads may share it. It pickles as its configuration; each process makes its own connections
    when it first needs them. Every call is repeated until `StoreConfig.timeout` has passed, as long
    as the store gives no usable answer; then it raises a `StoreAwayError`. All errors are kinds of
    `StoreError`.

    Args:
        config: The store.
        begun: Whether it is known to hold something, as others wrote to it or told of its objects.
            Then a folder that is missing or empty is away.
        stop: Set once the user asks to stop; a store that is away then is given up soon.

    Attributes:
        config: The store.
    """

    def __init__(
        self, config: StoreConfig, *, begun: bool = False, stop: Event | None = None
    ) -> None:
        self.config, self._begun = config, begun
        self._patience = Patience(config) if stop is None else StoppablePatience(config, stop)
        self._lock = Lock()
        self._backend: Backend | None = None
        self._threads: ThreadPoolExecutor | None = None

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[StoreConfig]]:
        return partial(Store, begun=self._begun), (self.config,)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the next call makes new ones."""
        with self._lock:
            backend, threads = self._backend, self._threads
            self._backend = self._threads = None
        if threads is not None:
            threads.shutdown()
        if backend is not None:
            backend.close()

    def put_new(
        self, key: str, data: Data, storage_class: str = "", *, lock: bool = False
    ) -> StoredObject:
        """Write an object that must not exist yet.

        Of several writers exactly one succeeds. A writer whose answer was lost finds out whether
        the object is its own.

        Args:
            key: The object.
            data: Its bytes.
            storage_class: Its storage class; empty for the bucket's default.
            lock: Whether it is locked where the config says so (`lock`).

        Raises:
            ObjectExistsError: There is an object with this key.
            StoreError: The store could not do it.
        """
        return self._put(key, data, self._how(storage_class, only_new=True, lock=lock))

    def put(
        self, key: str, data: Data, storage_class: str = "", *, lock: bool = False
    ) -> StoredObject:
        """Write an object; an existing one is replaced.

        Raises:
            StoreError: The store could not do it.
        """
        return self._put(key, data, self._how(storage_class, lock=lock))

    def replace(self, key: str, data: Data, tag: str) -> StoredObject:
        """Replace the object that has this tag.

        Raises:
            ObjectChangedError: The object has another tag by now.
            ObjectMissingError: There is no such object.
            StoreError: The store could not do it.
        """
        return self._put(key, data, self._how("", instead_of=tag))

    def writer(
        self,
        key: str,
        storage_class: str = "",
        *,
        only_new: bool = True,
        expected: int = 0,
        lock: bool = False,
    ) -> ObjectWriter:
        """Return a file for writing a large object; `close` creates the object.

        Args:
            key: The object.
            storage_class: Its storage class; empty for the bucket's default.
            only_new: Whether `close` raises an `ObjectExistsError` if there is such an object.
            expected: Most bytes that it may have. What is larger than 10,000 parts of the
                configured size is written in larger ones.
            lock: Whether it is locked where the config says so.
        """
        how = self._how(storage_class, only_new=only_new, lock=lock)
        return ObjectWriter(self, key, how, part_bytes(int(self.config.part_size), expected))

    def get(self, key: str) -> bytes:
        """Return the bytes of an object.

        Raises:
            ObjectMissingError: There is no such object.
            StoreError: The store could not do it.
        """
        return self.read(key, 0, None)[1]

    def read(
        self, key: str, first: int, end: int | None, tag: str = ""
    ) -> tuple[StoredObject, bytes]:
        """Return an object's metadata, and its bytes [first, end).

        Args:
            key: The object.
            first: The first byte; where it is negative, so many bytes at the end are read.
            end: Where to end; None reads to the end of the object.
            tag: Raise if the object has another tag; "" for any.

        Raises:
            ObjectMissingError: There is no such object.
            ObjectChangedError: The object has another tag.
            StoreError: The store could not do it.
        """
        return self.repeated(lambda: self.backend.get(key, first, end, tag))

    def read_into(self, key: str, first: int, out: memoryview, tag: str = "") -> StoredObject:
        """Fill memory with an object's bytes from `first` on.

        Fresh memory for as many bytes would cost more than what is done with them.
        """
        return self.repeated(lambda: self.backend.get_into(key, first, tag, out))

    def get_whole(self, key: str) -> bytes:
        """Return the bytes of a large object, read in parallel pieces.

        Raises:
            ObjectMissingError: There is no such object.
            ObjectChangedError: The object was replaced meanwhile.
            StoreError: The store could not do it.
        """
        found, first = self.read(key, 0, _PIECE) if self.head(key).size else (None, b"")
        if found is None or found.size <= _PIECE:
            return first
        rest = range(_PIECE, found.size, _PIECE)
        pieces = self.threads.map(lambda at: self.read(key, at, at + _PIECE, found.tag)[1], rest)
        return b"".join([first, *pieces])

    def reader(self, key: str, size: int | None = None) -> ObjectReader:
        """Return a seekable file for reading an object, as pyarrow wants it.

        Args:
            key: The object.
            size: Its size in bytes, where it is known.

        Raises:
            ObjectMissingError: There is no such object.
            StoreError: The store could not do it.
        """
        return ObjectReader(self, key, size)

    def head(self, key: str) -> StoredObject:
        """Return an object's metadata.

        Raises:
            ObjectMissingError: There is no such object.
            StoreError: The store could not do it.
        """
        return self.repeated(lambda: self.backend.head(key))[0]

    def list(self, prefix: str = "", after: str = "") -> Iterator[StoredObject]:
        """Yield the objects with a prefix after the key `after`, in key order.

        Raises:
            StoreError: The store could not do it.
        """
        more = True
        while more:
            found, more = self.repeated(partial(self.backend.page, prefix, after))
            yield from found
            after = found[-1].key if found else after

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; missing ones are ignored.

        Raises:
            StoreError: The store could not delete some; others may be deleted.
        """
        left = iter(keys)
        while some := list(islice(left, _DELETED_AT_ONCE)):
            self.repeated(partial(self.backend.delete, some))

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Request that a cold object becomes readable; repeating does no harm.

        Args:
            found: The object, as `head` told of it.
            days: How long it is to stay readable, where that ends.
            speed: How fast.

        Raises:
            StoreError: The store could not do it.
        """
        self.repeated(lambda: self.backend.thaw(found, days, speed))

    def abort_uploads(
        self, prefix: str, older_than: float, ours: Callable[[str], bool] = lambda _: True
    ) -> Sequence[Unfinished]:
        """Remove unfinished uploads of dead writers.

        Args:
            prefix: What the keys of the objects begin with.
            older_than: Seconds; younger uploads may still be written to.
            ours: Whether an upload with this key may be removed.

        Returns:
            The uploads that were removed; none in Azure and Google Cloud, which remove them by
            themselves.

        Raises:
            StoreError: The store could not do it.
        """
        before = now_ms() - int(older_than * 1000)
        found = self.repeated(lambda: list(self.backend.unfinished(prefix)))
        old = [each for each in found if each.started < before and ours(each.key)]
        for each in old:
            self.repeated(partial(self.backend.abort, each))
        return old

    def require_conditions(self) -> None:
        """Check that the store rejects a second object with the same key.

        Some stores accept the condition and pass over it; there two writers of a log would replace
        each other's entries.

        Raises:
            StoreRefusedError: The store wrote the second object.
            StoreError: The store could not do it.
        """
        key = f"_probe/{uuid4()}"
        self.put_new(key, b"first")
        try:
            self.put_new(key, b"second")
        except ObjectExistsError:
            return
        finally:
            self.delete([key])
        condition = CONDITIONS.get(self.config.kind, "")
        why = f"it replaced an object that was to be written only if there was none ({condition})"
        advice = "two writers could destroy an archive there; use another store, or a newer version"
        raise StoreRefusedError(self.config.url, "try conditional writes", why, advice)

    def require_lock(self) -> None:
        """Raise if the config asks for object locks and the store has none.

        Raises:
            StoreRefusedError: It does not.
            StoreError: The store could not do it.
        """
        if self.config.lock is not None:
            self.repeated(self.backend.require_lock)

    @property
    def backend(self) -> Backend:
        """The kind of store, with its connections."""
        with self._lock:
            if self._backend is None:
                self._backend = backend_of(self.config, begun=self._begun)
            return self._backend

    @property
    def threads(self) -> ThreadPoolExecutor:
        """Threads for concurrent requests."""
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, "store")
            return self._threads

    def repeated(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, repeated while the store does not answer.

        Raises:
            StoreError: The last error.
        """
        return self._patience.repeated(call)

    def written(self, key: str, how: Put, write: Callable[[], StoredObject]) -> StoredObject:
        """Return the object that `write` wrote, even if only the answer was lost.

        Args:
            key: The object.
            how: How it is written.
            write: Writes it; called again while the store is away.

        Raises:
            StoreError: It could not be written, or another one is there.
        """
        try:
            return self.repeated(write)
        except (ObjectExistsError, ObjectChangedError, ObjectMissingError):
            if mine := self._mine(key, how):
                return mine
            raise

    def _mine(self, key: str, how: Put) -> StoredObject | None:
        """Return the object, if it comes from this write."""
        try:
            found, name = self.repeated(partial(self.backend.head, key))
        except ObjectMissingError:
            return None
        return found if name and name == how.name else None

    def _put(self, key: str, data: Data, how: Put) -> StoredObject:
        return self.written(key, how, lambda: self.backend.put(key, data, how))

    def _how(
        self,
        storage_class: str,
        *,
        only_new: bool = False,
        instead_of: str = "",
        lock: bool = False,
    ) -> Put:
        wanted = self.config.lock if lock else None
        return Put(
            only_new=only_new,
            instead_of=instead_of,
            storage_class=storage_class,
            lock=ObjectLock(wanted.mode, wanted.until(now_ms())) if wanted is not None else None,
            name=uuid4().hex,
        )
