"""The lease of an archive, which lets one process at a time write a region.

The lease is an object in the store, which its holder replaces every few seconds. Whoever wants it
waits until the object has not changed for a while, by its own clock alone. Two writers could do no
harm, as the commit log takes each range once; the lease keeps them from doing the work twice.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from pydantic import TypeAdapter, ValidationError

from towpath import __version__
from towpath.archive.errors import ArchiveHeldError
from towpath.archive.keys import lease_key
from towpath.archive.log import LogWriter
from towpath.ledger.alive import birth, is_gone, this_host, this_space
from towpath.model.errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectMissingError,
    StoreError,
)
from towpath.runtime.clock import now_ms, readable
from towpath.store import Store

RUN_WORK = "run"
"""The kind of work of a run, in leases and in the commit log."""
_BEAT = 10.0
_SILENCE = 35.0
"""Seconds without a change after which a holder counts as dead."""
_LOOK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLease:
    """The heartbeat of the process that writes a region of an archive.

    Attributes:
        owner: A name that no other process has.
        command: The command of `towpath archive` that holds the lease.
        host: The host name.
        pid: The process id.
        epoch: How often the lease has changed hands.
        since: When the process got the lease, in ms since 1970, by its clock.
        beat: When it gave this sign, likewise.
        over: Whether it has given the lease back.
        space: Which processes `pid` is one of; "" where the lease does not tell.
        born: When the process began, in clock ticks since its machine did; 0 where nothing tells.
        trouble: What the process cannot do now, and why, "" if nothing is wrong.
    """

    owner: str
    command: str
    host: str
    pid: int
    epoch: int
    since: int
    beat: int
    over: bool = False
    space: str = ""
    born: int = 0
    trouble: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether the process ran on this machine and has ended without releasing the lease."""
        return not self.over and is_gone(self)

    @property
    def where(self) -> str:
        """The host, process id and start time of the holder, formatted for people."""
        return f"on {self.host}, pid {self.pid}, since {readable(self.since)}"


_json = TypeAdapter(ArchiveLease)


def read_lease(store: Store, region: str, work: str) -> tuple[ArchiveLease | None, str]:
    """Return the newest heartbeat of a lease, and the tag of its object ("" for none).

    Raises:
        StoreError: The store cannot be read.
    """
    try:
        found, data = store.read(lease_key(region, work), 0, None)
    except ObjectMissingError:
        return None, ""
    try:
        return _json.validate_json(data), found.tag
    except ValidationError:
        return None, found.tag


class HeldArchive:
    """The lease to write a region of an archive, held while this object is a context.

    Args:
        store: The store of the archive.
        archive: Its name, for messages.
        region: The region.
        command: The command of `towpath archive` that asks.
        work: The kind of work; there is one lease for each.
        stop: Set to stop waiting for the silence of a holder.

    Attributes:
        replaced: The dead process that the lease was taken over from, if there was one.
        lost: The process that has taken the lease from this one, which was silent for too long.
        trouble: What this process cannot do now, and why; its next sign of life tells it.
    """

    def __init__(
        self,
        store: Store,
        archive: str,
        region: str,
        command: str,
        work: str,
        stop: threading.Event | None = None,
    ) -> None:
        self._store, self._archive, self._region, self._work = store, archive, region, work
        self._key = lease_key(region, work)
        self._stop = stop or threading.Event()
        self._mine = ArchiveLease(
            owner=uuid.uuid4().hex,
            command=command,
            host=this_host(),
            pid=os.getpid(),
            epoch=1,
            since=now_ms(),
            beat=now_ms(),
            space=this_space(),
            born=birth(),
        )
        self._tag = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="towpath-lease", daemon=True)
        self.replaced: ArchiveLease | None = None
        self.lost: ArchiveLease | None = None
        self.trouble = ""

    @property
    def epoch(self) -> int:
        """Number of times the lease has changed hands; later holders have higher numbers."""
        return self._mine.epoch

    @property
    def owner(self) -> str:
        """The name of the lease's holder."""
        return self._mine.owner

    @property
    def writer(self) -> LogWriter:
        """The identity that log entries record for the holder of the lease."""
        return LogWriter(
            owner=self.owner,
            host=this_host(),
            work=self._work,
            epoch=self.epoch,
            towpath=__version__,
        )

    def __enter__(self) -> Self:
        """Get the lease, and give signs of life from then on.

        Raises:
            ArchiveHeldError: Another process holds it.
            StoreError: The store cannot be read or written.
        """
        self._acquire()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lease back; if the store is away, it is taken over like that of a dead one."""
        self._over.set()
        self._thread.join()
        if self.lost is None:
            with suppress(StoreError):
                self._tell(over=True)

    def require(self) -> None:
        """Raise if another process has taken the lease.

        Raises:
            ArchiveHeldError: Another process has taken it.
        """
        if self.lost is not None:
            raise self._held(self.lost)

    def _acquire(self) -> None:
        while True:
            last, tag = read_lease(self._store, self._region, self._work)
            if last is not None and not last.over and not last.is_dead:
                last, tag = self._silent(last, tag)
            self.replaced = last if last is not None and not last.over else None
            epoch = last.epoch + 1 if last is not None else 1
            self._mine = replace(self._mine, epoch=epoch, since=now_ms())
            self._tag = tag
            try:
                self._tell()
            except (ObjectChangedError, ObjectExistsError, ObjectMissingError):
                continue  # another process was faster
            return

    def _silent(self, last: ArchiveLease, tag: str) -> tuple[ArchiveLease | None, str]:
        """Wait until a holder has been silent for long enough.

        Raises:
            ArchiveHeldError: It gave a sign of life, or the user asked to stop.
        """
        until = time.monotonic() + _SILENCE
        while time.monotonic() < until:
            if self._stop.wait(_LOOK):
                raise self._held(last)
            now, now_tag = read_lease(self._store, self._region, self._work)
            if now is None or now.over:
                return now, now_tag
            if now_tag != tag:
                raise self._held(now)
        return last, tag

    def _tell(self, *, over: bool = False) -> None:
        self._mine = replace(self._mine, beat=now_ms(), over=over, trouble=self.trouble)
        data = _json.dump_json(self._mine)
        if self._tag:
            self._tag = self._store.replace(self._key, data, self._tag).tag
        else:
            self._tag = self._store.put_new(self._key, data).tag

    def _beat(self) -> None:
        while not self._over.wait(_BEAT):
            with suppress(StoreError):
                self._tell_again()

    def _tell_again(self) -> None:
        try:
            self._tell()
        except (ObjectChangedError, ObjectMissingError):
            other, tag = read_lease(self._store, self._region, self._work)
            if other is None or other.owner == self._mine.owner:
                self._tag = tag  # somebody removed the object, or an answer was lost
            else:
                self.lost = other
                self._over.set()

    def _held(self, other: ArchiveLease) -> ArchiveHeldError:
        return ArchiveHeldError(self._archive, other.command, other.where)
