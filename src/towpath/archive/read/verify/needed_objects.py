"""The objects that an archive needs, and whether the store has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.keys import log_prefix, quoted
from towpath.archive.log import ArchiveState
from towpath.archive.read.verify.findings import ArchiveProblem, CheckedArchive, VerifyScope
from towpath.model.errors import ObjectMissingError
from towpath.store import Store, StoredObject

_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class NeededObject:
    """An object that segments use, as the commit log describes it."""

    key: str
    size: int
    crc: int | None

    def problem(self, found: StoredObject | None) -> ArchiveProblem | None:
        """Return the problem with an object in the store; `None` if there is none."""
        if found is None:
            why = "the store does not have this object; look who deleted it, or which rule"
            return ArchiveProblem(code=ObjectMissingError.code, about=self.key, why=why)
        if found.size != self.size:
            return self.damaged(f"it has {found.size} bytes, and the commit log says {self.size}")
        if None not in {self.crc, found.crc} and found.crc != self.crc:
            text = f"its bytes have the CRC-32 {found.crc:08x}, and the commit log says"
            return self.damaged(f"{text} {self.crc:08x}")
        return None

    def damaged(self, why: str) -> ArchiveProblem:
        """Return a problem that reports damaged content."""
        return ArchiveProblem(code=CorruptSegmentError.code, about=self.key, why=why)


def chosen_rows(state: ArchiveState, scope: VerifyScope) -> pa.Table:
    """Return the segments to verify, sorted by key, with their row numbers.

    Those without an object come last.
    """
    table = state.table()
    rows = table.rows.append_column("number", pa.array(np.arange(len(table)), pa.int64()))
    if scope.narrowed:
        takes = np.array([scope.takes(each.topic, each.id.partition) for each in table.partitions],
                         np.bool_)  # fmt: skip
        rows = rows.filter(pa.array(takes[np.asarray(rows["partition"])]))
        keys = pc.unique(rows["key"])
        taken = [key for key in keys.to_pylist() if key is None or scope.takes_object(key)]
        rows = rows.filter(pc.is_in(rows["key"], pa.array(taken, pa.string())))
    return rows.take(pc.sort_indices(rows, [("key", "ascending"), ("start", "ascending")]))


def needed(rows: pa.Table) -> list[NeededObject]:
    """Return the objects of some segments, sorted by key."""
    found = rows.select(["key", "size", "crc"]).filter(pc.is_valid(rows["key"]))
    objects = found.group_by("key", use_threads=False).aggregate([("size", "max"), ("crc", "max")])
    columns = (objects[name].to_pylist() for name in ("key", "size_max", "crc_max"))
    return [NeededObject(*each) for each in zip(*columns, strict=True)]


def look_at(
    store: Store,
    objects: list[NeededObject],
    found: CheckedArchive,
    on_done: Callable[[int, int], None],
) -> Iterator[ArchiveProblem]:
    """Request each object's metadata from the store, and yield problems.

    Raises:
        StoreError: The store cannot be read.
    """

    def look(each: NeededObject) -> StoredObject | None:
        try:
            return store.head(each.key)
        except ObjectMissingError:
            return None

    for first in range(0, len(objects), _AT_ONCE):
        some = objects[first : first + _AT_ONCE]
        for each, there in zip(some, store.threads.map(look, some), strict=True):
            found.unsummed += each.crc is None or (there is not None and there.crc is None)
            if problem := each.problem(there):
                yield problem
        on_done(first + len(some), len(objects))


def orphans(store: Store, region: str, state: ArchiveState) -> list[StoredObject]:
    """Return the objects of a region that no log entry names. Lists the store.

    It lists the store.

    Raises:
        StoreError: The store cannot be read.
    """
    known = set(pc.unique(state.table().rows["key"]).to_pylist()) | state.removed.keys()
    ours = re.compile(rf"([0-9a-f]{{4}}/)?{re.escape(quoted(region))}/")
    beside = log_prefix(region)
    return [
        each
        for each in store.list()
        if ours.match(each.key) and not each.key.startswith(beside) and each.key not in known
    ]
