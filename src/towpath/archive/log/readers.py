"""Readers of an archive, and the deletion of objects that no reader needs.

Whoever reads an archive for a while says so in the store, with the version that it reads. An object
whose segments were removed is needed by readers of the versions before; it is deleted when all have
passed, and a while has passed for those who say nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import quote
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from towpath.archive.keys import readers_prefix
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.entries import Draft, EntryKind, LogWriter
from towpath.archive.log.state import ArchiveState
from towpath.ledger.alive import this_host
from towpath.model.errors import ObjectMissingError, StoreError
from towpath.runtime.clock import now_ms
from towpath.store import Store

_BEAT = 60.0
SILENCE = 3600.0
"""Seconds without a sign of life after which a reader counts as dead.

The clocks of machines and of the store may differ by much less than that.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReader:
    """The heartbeat of a process that reads an archive.

    Attributes:
        name: A name that no other reader has.
        what: What it does, for people, such as `restore`.
        host: The host name.
        pid: The process id.
        version: The version that it reads; 0 while it opens the log.
        since: When it began, in ms.
    """

    name: str
    what: str
    host: str
    pid: int
    version: int
    since: int


_json = TypeAdapter(ArchiveReader)


class ArchiveReading:
    """Protects the objects of an archive from deletion while it is a context.

    Open the log inside of it, and then say by `passed` which version is read.

    Args:
        store: The store of the archive.
        region: The region.
        what: What is done, for people.
    """

    def __init__(self, store: Store, region: str, what: str) -> None:
        self._store = store
        self._mine = ArchiveReader(
            name=uuid4().hex,
            what=what,
            host=this_host(),
            pid=os.getpid(),
            version=0,
            since=now_ms(),
        )
        self._key = f"{readers_prefix(region)}{quote(self._mine.name)}.json"
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="towpath-reading", daemon=True)

    def __enter__(self) -> Self:
        """Give a sign of life, and go on until the context ends.

        Raises:
            StoreError: The store cannot be written.
        """
        self._tell()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give no more signs; if the store is away, the last one counts for a while."""
        self._over.set()
        self._thread.join()
        with suppress(StoreError):
            self._store.delete([self._key])

    def passed(self, version: int) -> None:
        """Record that only objects of this version and later ones are still needed.

        Raises:
            StoreError: The store cannot be written.
        """
        with self._lock:
            self._mine = replace(self._mine, version=version)
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            self._store.put(self._key, _json.dump_json(self._mine))

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            with suppress(StoreError):  # the next one may get through
                self._tell()


def living_readers(store: Store, region: str) -> list[ArchiveReader]:
    """Return the live readers of an archive; heartbeats of dead readers are deleted.

    Raises:
        StoreError: The store cannot be read.
    """
    alive, dead = list[ArchiveReader](), list[str]()
    before = now_ms() - int(SILENCE * 1000)
    for each in store.list(readers_prefix(region)):
        if each.modified < before:
            dead.append(each.key)
            continue
        with suppress(ObjectMissingError):  # it has just ended
            alive.append(_read(store.get(each.key), each.key))
    store.delete(dead)
    return alive


def _read(data: bytes, key: str) -> ArchiveReader:
    try:
        return _json.validate_json(data)
    except ValidationError:
        # Whatever it is, it may need everything.
        return ArchiveReader(name=key, what="unknown", host="", pid=0, version=0, since=0)


def unneeded(state: ArchiveState, alive: Iterable[ArchiveReader], grace: float) -> list[str]:
    """Return the keys of removed objects that no reader needs any more.

    Args:
        state: The newest state.
        alive: The readers.
        grace: Seconds for which the objects of removed segments are kept anyway.
    """
    slowest = min((each.version for each in alive), default=state.version)
    before = now_ms() - int(grace * 1000)
    found = state.unused_objects().items()
    return [key for key, each in found if each.version <= slowest and each.time <= before]


Stays = Callable[[str, int], bool]
"""Whether an object stays although nobody needs it, by its key and the version that removed it."""


def unlocked(store: Store, keys: Iterable[str]) -> Iterator[str]:
    """Yield the objects whose lock has expired; all objects if the config has no lock.

    S3 would hide a locked object behind a marker, and keep and bill its bytes all the same.

    Raises:
        StoreError: The store cannot be read.
    """
    lock = store.config.lock
    if lock is None:
        yield from keys
        return

    def is_over(key: str) -> bool:
        with suppress(ObjectMissingError):
            return lock.until(store.head(key).modified) <= now_ms()
        return True

    some = list(keys)
    yield from (key for key, over in zip(some, store.threads.map(is_over, some), strict=True)
                if over)  # fmt: skip


def sweep(
    log: CommitLog, writer: LogWriter, grace: float, stays: Stays = lambda *_: False
) -> tuple[str, ...]:
    """Delete the objects that no reader needs, commit that, and return their keys.

    They are deleted before that is committed: whoever dies in between leaves nothing that the next
    one would not delete again.

    Args:
        log: The log.
        writer: Who does it.
        grace: Seconds for which the objects of removed segments are kept anyway.
        stays: Which objects are kept for ever.

    Raises:
        CommitLogError: The log cannot be used.
        StoreError: The store cannot be used.
    """
    log.follow()
    # Whoever begins to read from here on opens a version that is no older than this state.
    needless = unneeded(log.state, living_readers(log.store, log.region), grace)
    removed = log.state.removed
    wanted = (each for each in needless if not stays(each, removed[each].version))
    found = tuple(unlocked(log.store, wanted))
    if found:
        log.require_tip()  # the log of a store that was set back may need them
        log.store.delete(found)
        log.append(Draft(writer=writer, kind=EntryKind.SWEEP, swept=found))
    return found
