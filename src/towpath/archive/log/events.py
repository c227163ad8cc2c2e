"""Audit events of an archive: who did what to it, when, and from where.

Each event is an object of its own, whose key has its time. What changed the segments is in the
commit log anyway, for ever; events are about the processes: runs, leases that were taken over,
restores. Nothing depends on an event, so one that cannot be written is logged, and lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from enum import StrEnum
from queue import SimpleQueue
from typing import Any, ClassVar, Self

from towpath import __version__
from towpath.archive.keys import event_key, events_prefix
from towpath.ledger.alive import this_host
from towpath.ledger.events import Event, Origin
from towpath.ledger.keys import new_name
from towpath.model.errors import ObjectMissingError, StoreError
from towpath.model.nouns import LinkName
from towpath.runtime import log as logging
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user
from towpath.store import Store

_GOODBYE = 5.0
"""Seconds for which the end of a command waits for its last events."""


class ArchiveWhat(StrEnum):
    """The kinds of archive events, without those derived from the commit log."""

    RUN_STARTED = "run.started"
    RUN_ENDED = "run.ended"
    LEASE_TAKEN_OVER = "lease.taken_over"
    RESTORE_STARTED = "restore.started"
    RESTORE_ENDED = "restore.ended"
    UNREAD_DELETED = "archive.unread_deleted"
    RECOVERED = "archive.recovered"
    HISTORY_BEGUN = "archive.history_begun"
    COMPACTED = "archive.compacted"
    PRUNED = "archive.pruned"
    FORGOTTEN = "archive.forgotten"
    LOST = "archive.lost"
    SWEPT = "archive.swept"


class ArchiveEvents:
    """Writes the events of one process in a background thread, while it is a context.

    Args:
        store: The store of the archive.
        region: The region.
        archive: The name of the archive.
        login: Who the process is for a cluster that it writes to, "" if it writes to none.
    """

    _last: ClassVar[int] = 0

    def __init__(self, store: Store, region: str, archive: str, login: str = "") -> None:
        self._store, self._region, self._archive = store, region, LinkName(archive)
        self._origin = Origin(
            user=this_user(),
            login=login,
            host=this_host(),
            pid=os.getpid(),
            version=__version__,
        )
        self._waiting: SimpleQueue[Event | float | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="towpath-events", daemon=True)

    def __enter__(self) -> Self:
        """Begin to write events."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait a little for the last ones."""
        self._waiting.put(None)
        self._thread.join(_GOODBYE)

    def tell(self, what: ArchiveWhat, about: str = "", **facts: Any) -> None:
        """Queue an event to be written."""
        # Keys have the order in which a process tells, also in several contexts one after another.
        at = ArchiveEvents._last = max(now_ms(), ArchiveEvents._last + 1)
        self._waiting.put(
            Event(
                id=new_name(),
                at=at,
                link=self._archive,
                what=what,
                about=about,
                facts=facts,
                origin=self._origin,
            )
        )

    def forget(self, retention: float) -> None:
        """Queue the deletion of events older than a retention in seconds."""
        self._waiting.put(retention)

    def _write(self) -> None:
        while (each := self._waiting.get()) is not None:
            try:
                if isinstance(each, Event):
                    key = event_key(self._region, each.at, each.id)
                    self._store.put_new(key, each.encode()[1])
                else:
                    self._store.delete(self._old(each))
            except StoreError as error:
                facts = {"why": str(error), "code": error.code}
                logging.event("event.lost", self._archive, "", facts, trouble=True)

    def _old(self, retention: float) -> Iterator[str]:
        before = event_key(self._region, max(0, now_ms() - int(retention * 1000)), "")
        for each in self._store.list(events_prefix(self._region)):
            if each.key >= before:
                return
            yield each.key


def read_events(store: Store, region: str, since: int = 0) -> Iterator[Event | None]:
    """Yield an archive's events from a time in ms on; `None` for an event of a newer version.

    Raises:
        StoreError: The store cannot be read.
    """
    found = store.list(events_prefix(region), after=event_key(region, since, ""))
    for each in found:
        try:
            yield Event.decode(store.get(each.key))
        except ObjectMissingError:
            continue  # it was just deleted for its age
