"""Uploads of finished segment objects to the store.

The key of a segment has its last offset, which is known when the segment is complete. So an object
is kept until then, compressed, in memory or in a file of the machine if it is large. It is written
to its final key while the next one is made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from towpath.archive.format.spool import Spool
from towpath.archive.keys import unique
from towpath.model.errors import ObjectExistsError, TowpathError
from towpath.store import Store, StoredObject

_WAITING = 1
"""Objects that may wait to be written, or be on their way, while the next one is made: each takes
memory for all its bytes."""
_ATTEMPTS = 4


def written_anew(write: Callable[[str], StoredObject], attempt: str = "") -> StoredObject:
    """Write an object under an unused key, as a dead writer may have left one there.

    Args:
        write: Writes the object under the key with these letters, as `segment_key` has them.
        attempt: The letters of the first key.

    Raises:
        ObjectExistsError: There was an object each time.
        StoreError: It could not be written.
    """
    for _ in range(_ATTEMPTS):
        with suppress(ObjectExistsError):
            return write(attempt)
        attempt = unique()
    return write(attempt)


class Uploads:
    """Writes objects to the store in a background thread.

    Args:
        store: The store.
        storage_class: The storage class of the objects; empty for the bucket's default.
    """

    def __init__(self, store: Store, storage_class: str) -> None:
        self._store, self.storage_class = store, storage_class
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="towpath-upload")
        self._waiting: deque[Future[StoredObject]] = deque()

    def put(self, spool: Spool, key: Callable[[str], str]) -> Future[StoredObject]:
        """Queue an object for writing; waits first if too many are queued.

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
        """Wait for the current upload, and cancel the queued ones."""
        self._pool.shutdown(cancel_futures=True)

    def _written(self, spool: Spool, key: Callable[[str], str]) -> StoredObject:
        try:
            return written_anew(lambda attempt: self._write(spool, key(attempt)))
        finally:
            spool.close()

    def _write(self, spool: Spool, key: str) -> StoredObject:
        with self._store.writer(key, self.storage_class, lock=True) as out:
            spool.copy(out)
            return out.close()
