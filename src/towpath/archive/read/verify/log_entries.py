"""Verification of the commit log from its first entry: completeness and order.

Each entry has a checksum of itself and the SHA-256 of the one before it. Entries of an older
Towpath have no checksum; if one of them was changed, only the next one tells. The state that the
entries make must be the one that checkpoints have, from which logs are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.errors import BrokenLogError
from towpath.archive.keys import checkpoint_key, entry_key, log_prefix
from towpath.archive.log import ArchiveState
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.checksums import entry_is_summed
from towpath.archive.log.coding import decode, hashed
from towpath.archive.log.columns import SegmentTable
from towpath.archive.log.rules import problem_of
from towpath.archive.read.verify.findings import ArchiveProblem
from towpath.model.errors import ObjectMissingError
from towpath.store import Store

_AHEAD = 256
_COMPACTED_EACH = 100


def newest(store: Store, region: str) -> int:
    """Return the highest version that has an entry, 0 for none. Lists the log.

    Raises:
        StoreError: The store cannot be read.
    """
    prefix = log_prefix(region)
    names = (each.key.removeprefix(prefix).removesuffix(".json") for each in store.list(prefix))
    return max((int(name) for name in names if name.isdigit()), default=0)


@dataclass(slots=True)
class ReadLog:
    """The state replayed from log entries, up to the first broken one.

    Attributes:
        state: The state behind the last entry that is right.
        read: Number of entries that were read.
        unsummed: Number of entries without a checksum.
        problems: What is wrong with entries.
    """

    state: ArchiveState = field(default_factory=ArchiveState)
    read: int = 0
    unsummed: int = 0
    problems: list[ArchiveProblem] = field(default_factory=list)
    _before: str | None = ""

    def take(self, version: int, key: str, where: str, data: bytes | None) -> None:
        """Add the next entry; `None` stands for a missing one.

        Raises:
            NewerArchiveError: It was written in a newer format.
        """
        if data is None:
            self._wrong(key, "this entry of the commit log is missing")
            self._before = None
            return
        self.read += 1
        before, self._before = self._before, hashed(data)
        try:
            self.unsummed += not entry_is_summed(data, where)
            entry = decode(data, where)
        except BrokenLogError as error:
            self._wrong(key, error.why)
            self._before = None
            return
        if before is not None and entry.before != before:
            text = f"the entry before it is not the one behind which {entry.writer.host} wrote it:"
            self._wrong(key, f"{text} version {version - 1} was changed, or exchanged")
        elif not self.problems:
            if why := problem_of(self.state, entry):
                self._wrong(key, why)
                return
            self.state = self.state.after([(entry, self._before)])
            if version % _COMPACTED_EACH == 0:
                self.state = self.state.compacted()

    def _wrong(self, key: str, why: str) -> None:
        self.problems.append(ArchiveProblem(code=BrokenLogError.code, about=key, why=why))


def replay(store: Store, region: str, until: int, on_done: Callable[[int, int], None]) -> ReadLog:
    """Replay the log from its first entry.

    Args:
        store: The store.
        region: The region of the archive.
        until: The last version.
        on_done: Gets the number of entries that were read, and of all.

    Raises:
        NewerArchiveError: An entry was written in a newer format.
        StoreError: The store cannot be read.
    """
    made = ReadLog()
    for version, data in _entries(store, region, until):
        key = entry_key(region, version)
        made.take(version, key, f"{store.config.url}/{key}", data)
        on_done(version, until)
    return made


def _entries(store: Store, region: str, until: int) -> Iterator[tuple[int, bytes | None]]:
    def read(version: int) -> bytes | None:
        try:
            return store.get(entry_key(region, version))
        except ObjectMissingError:
            return None

    for first in range(1, until + 1, _AHEAD):
        versions = range(first, min(first + _AHEAD, until + 1))
        yield from zip(versions, store.threads.map(read, versions), strict=True)


def checkpoints(store: Store, region: str) -> tuple[int, list[ArchiveProblem]]:
    """Return the number of checkpoints without a checksum, and the problems of others.

    Raises:
        NewerArchiveError: One was written in a newer format.
        StoreError: The store cannot be read.
    """
    there = LogCheckpoints(store, region)
    unsummed, problems = 0, list[ArchiveProblem]()
    for version in there.versions():
        try:
            unsummed += not there.is_summed(version)
        except ObjectMissingError:
            continue  # a newer one has replaced it
        except BrokenLogError as error:
            about = checkpoint_key(region, version)
            problems.append(ArchiveProblem(code=error.code, about=about, why=error.why))
    return unsummed, problems


def differing(made: ArchiveState, opened: ArchiveState) -> str:
    """Return how an opened state differs from the replayed one, "" if it does not.

    Both are as of the same version.
    """
    mine, other = made.table(), opened.table()
    if len(mine) != len(other):
        return f"it has {len(other)} segments, and the entries make {len(mine)}"
    mine_rows, other_rows = _ordered(mine), _ordered(other)
    for name in mine_rows.column_names:
        if not mine_rows[name].equals(other_rows[name]):
            return f"the column {name} of its segments differs from what the entries say"
    for name in ("tip", "partitions", "captures", "removed"):
        if getattr(made, name) != getattr(opened, name):
            return f"its {name} are not what the entries say"
    return ""


def _ordered(table: SegmentTable) -> pa.Table:
    """Return the segments in an order that does not depend on when partitions were seen first."""
    ranks = np.argsort(np.argsort([str(each.id) for each in table.partitions]))
    places = pa.array(ranks[np.asarray(table.rows["partition"])], pa.int32())
    rows = table.rows.set_column(0, "partition", places)
    order = pc.sort_indices(rows, [("partition", "ascending"), ("start", "ascending")])
    words = {field.name: pa.string() for field in rows.schema if pa.types.is_dictionary(field.type)}
    for name, kind in words.items():
        rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(kind))
    return rows.take(order).combine_chunks()
