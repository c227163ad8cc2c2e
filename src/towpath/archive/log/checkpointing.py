"""Checkpoints written in a background thread, so that no commit waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.entries import LogEntry
from towpath.archive.log.state import ArchiveState
from towpath.model.errors import StoreError
from towpath.store import Store

Adopt = Callable[[ArchiveState], None]
"""Gets the state of a checkpoint, made compact."""


class CheckpointWriting:
    """Writes one checkpoint at a time in a thread. The caller's lock guards `begin` and `took`.

    Args:
        store: The store.
        region: The region of the archive.
        adopt: Called in the thread when a checkpoint is written.
        fail: Called in the thread when it could not be.
    """

    def __init__(
        self, store: Store, region: str, adopt: Adopt, fail: Callable[[StoreError], None]
    ) -> None:
        self._store, self._region, self._adopt, self._fail = store, region, adopt, fail
        self._thread: threading.Thread | None = None
        self._since: list[tuple[LogEntry, str]] | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._since is not None

    def begin(self, state: ArchiveState) -> None:
        """Begin to write a checkpoint of an immutable state."""
        self._since = []
        # It is no daemon: a process that ends waits for it, or the next one would have it to do.
        self._thread = threading.Thread(
            target=self._write, args=(state,), name="towpath-checkpoint"
        )
        self._thread.start()

    def took(self, entry: LogEntry, tip: str) -> None:
        """Keep an entry that is committed while a checkpoint is being written."""
        if self._since is not None:
            self._since.append((entry, tip))

    def taken(self) -> Sequence[tuple[LogEntry, str]]:
        """Return the entries kept since `begin`, and drop them here."""
        since, self._since = self._since or [], None
        return since

    def settle(self) -> None:
        """Wait until no checkpoint is being written. The caller must not hold its lock."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _write(self, state: ArchiveState) -> None:
        try:
            compact = LogCheckpoints(self._store, self._region).write(state)
        except StoreError as error:
            self._fail(error)
        else:
            self._adopt(compact)
