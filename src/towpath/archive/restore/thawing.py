"""Cold objects that a restore needs, and the request to thaw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from towpath.archive.read.foreign.foreign_state import open_any
from towpath.archive.restore.preflight import looked_for, objects_of
from towpath.archive.restore.scope import scope_of
from towpath.archive.restore.task import RestoreTask
from towpath.model.errors import StoreError
from towpath.store import Store, StoredObject, ThawSpeed


@dataclass(frozen=True, slots=True, kw_only=True)
class ThawWish:
    """The request to thaw cold objects.

    Attributes:
        days: How long they are to stay readable.
        speed: How fast they are to be readable.
        asks: Whether the store is asked; else it is only told what would be.
    """

    days: int
    speed: ThawSpeed
    asks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Thawing:
    """The objects that a restore reads, by readability.

    Attributes:
        task: The restore.
        wish: What was asked for.
        readable: Number of objects that can be read.
        missing: Number of objects that the store lacks.
        cold: Objects that must be thawed.
        failed: Why objects could not be asked for, by their keys.
    """

    task: RestoreTask
    wish: ThawWish
    readable: int
    missing: int
    cold: Sequence[StoredObject]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def waiting(self) -> Sequence[StoredObject]:
        """Cold objects without an earlier thaw request."""
        return [each for each in self.cold if not each.thawing]

    @property
    def classes(self) -> Mapping[str, Sequence[StoredObject]]:
        """The cold objects by their storage class."""
        names = sorted({each.storage_class for each in self.cold})
        return {name: [each for each in self.cold if each.storage_class == name] for name in names}


def thaw(task: RestoreTask, wish: ThawWish) -> Thawing:
    """Find all cold objects that a restore reads, and request their thawing.

    Args:
        task: The restore.
        wish: How they are thawed, and whether they are.

    Raises:
        CommitLogError: The commit log of the archive is of no use.
        StoreError: The store could not be read.
    """
    with Store(task.store) as store:
        archive = open_any(store, task.region, task.as_of)
        keys = sorted(objects_of(archive, scope_of(archive, task.rules)))
        found = list(looked_for(archive, keys))
        there = [each for each in found if each is not None]
        seen = Thawing(
            task=task,
            wish=wish,
            readable=sum(not each.cold for each in there),
            missing=len(found) - len(there),
            cold=[each for each in there if each.cold],
        )
        if not wish.asks:
            return seen
        asked = store.threads.map(partial(_ask, store, wish), seen.waiting)
        failed = {each.key: why for each, why in zip(seen.waiting, asked, strict=True) if why}
    return replace(seen, failed=failed)


def _ask(store: Store, wish: ThawWish, found: StoredObject) -> str:
    """Ask for an object; return why that failed, or an empty text."""
    try:
        store.thaw(found, wish.days, wish.speed)
    except StoreError as error:
        return str(error)
    return ""
