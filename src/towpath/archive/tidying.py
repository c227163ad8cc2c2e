"""What is deleted from a store because no segment has it: replaced objects, orphans, dead uploads.

An object is an orphan if no entry of the log names it: its writer died before its commit, or was
slower than another one. It may also belong to a writer that will commit it yet. So it is deleted
only when nobody can: a segment from Kafka whose partition is archived beyond its start, or has a
later history, is refused by the log, and so is a compaction whose lease has changed hands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.compaction import WORK, CompactionProgress
from towpath.archive.lease import HeldArchive
from towpath.config import ArchiveConfig
from towpath.model.clock import now_ms
from towpath.model.errors import CorruptSegmentError, NewerSegmentError, ObjectMissingError
from towpath.model.nouns import SegmentFormat
from towpath.segments.format.files import read_object
from towpath.segments.keys import data_key, data_prefix
from towpath.segments.log import ArchiveState, CommitLog, Draft, EntryKind, Stays, sweep
from towpath.segments.model import STREAMING, SegmentPlace
from towpath.store import Store, StoredObject

_LIVE = 3600.0
"""Seconds for which an upload may go on without being one of a dead writer, at least."""
_AT_ONCE = 50_000


def tidy(
    config: ArchiveConfig, log: CommitLog, lease: HeldArchive, progress: CompactionProgress
) -> None:
    """Delete what no segment has, and count it.

    Raises:
        ArchiveHeldError: Another process has taken the lease.
        CommitLogError: The log cannot be used.
        StoreError: The store cannot be used.
    """
    lease.require()
    writer = lease.writer
    progress.swept += len(sweep(log, writer, float(config.grace), _kept_by(config, log)))
    found = _orphans(config, log, lease)
    progress.orphans += len(found.deleted)
    progress.orphan_bytes += sum(each.size for each in found.deleted)
    progress.unsettled, progress.unreadable = found.unsettled, found.unreadable
    ours = data_prefix(config.region, spread=config.store.spread)
    dead = log.store.abort_uploads(
        ours, max(_LIVE, float(config.grace)), lambda key: data_key(config.region, key) is not None
    )
    progress.uploads += len(dead)
    progress.waiting = len(log.state.unused_objects())
    progress.version = log.state.version


@dataclass(frozen=True, slots=True, kw_only=True)
class _Orphans:
    deleted: tuple[StoredObject, ...]
    unsettled: int
    unreadable: tuple[str, ...]


def _kept_by(config: ArchiveConfig, log: CommitLog) -> Stays:
    """Return which objects of merged segments stay, because the file says so."""
    keeping = [rule for rule in config.compaction if not rule.delete]
    kinds: dict[int, EntryKind] = {}

    def stays(key: str, version: int) -> bool:
        place = data_key(config.region, key) if keeping else None
        if place is None or not any(
            rule.concerns(place.topic) and rule.min_level <= place.level <= rule.max_level
            for rule in keeping
        ):
            return False
        if version not in kinds:
            kinds[version] = log.entry(version).kind
        return kinds[version] is EntryKind.COMPACT

    return stays


def _orphans(config: ArchiveConfig, log: CommitLog, lease: HeldArchive) -> _Orphans:
    """Delete the orphans that no writer can commit any more.

    The objects are listed first: one that is committed meanwhile is in the state that is read then.
    """
    listed = _listed(config, log.store)
    before = now_ms() - int(config.grace * 1000)
    log.follow()
    unnamed = [*_unnamed(log.state, listed)]
    old = [each for each in unnamed if each.modified <= before]
    deleted: list[StoredObject] = []
    unreadable: list[str] = []
    if old:
        _fence(log, lease)
    # The run of the archive shares the log and may commit an object at any moment. So both what is
    # named and what is archived are looked up in one state, that of the fence.
    state = log.state
    for each in [*_unnamed(state, old)]:
        try:
            if _is_out(config.region, log.store, state, each.key):
                deleted.append(each)
        except (CorruptSegmentError, NewerSegmentError):
            unreadable.append(each.key)
        except ObjectMissingError:
            deleted.append(each)
    if deleted:
        log.require_tip()  # the log of a store that was set back may name them
        log.store.delete(each.key for each in deleted)
    return _Orphans(
        deleted=tuple(deleted),
        unsettled=len(unnamed) - len(deleted) - len(unreadable),
        unreadable=tuple(unreadable),
    )


def _listed(config: ArchiveConfig, store: Store) -> list[StoredObject]:
    prefix = data_prefix(config.region, spread=config.store.spread)
    return [each for each in store.list(prefix) if data_key(config.region, each.key) is not None]


def _unnamed(state: ArchiveState, listed: Sequence[StoredObject]) -> Iterator[StoredObject]:
    """Yield the objects that no segment has, and none had that was removed."""
    named = state.table().rows["key"].combine_chunks()
    for at in range(0, len(listed), _AT_ONCE):
        some = listed[at : at + _AT_ONCE]
        keys = pa.array([each.key for each in some], pa.string())
        for each, is_named in zip(some, pc.is_in(keys, named).to_pylist(), strict=True):
            if not is_named and each.key not in state.removed:
                yield each


def _fence(log: CommitLog, lease: HeldArchive) -> None:
    """Keep whoever held the lease before from committing anything later than this."""
    writer = lease.writer
    if log.state.writers.get(WORK) != writer:
        log.append(Draft(writer=writer, kind=EntryKind.SWEEP))


def _is_out(region: str, store: Store, state: ArchiveState, key: str) -> bool:
    """Whether no writer can commit the segments of an object, which a state does not name.

    Raises:
        CorruptSegmentError: The object cannot be read.
        NewerSegmentError: It was written by a newer Towpath.
        StoreError: It is not there, or the store cannot be read.
    """
    place = data_key(region, key)
    if place is None or place.level > STREAMING:
        return place is not None
    kind = SegmentFormat(key.rpartition(".")[2])
    with closing(store.reader(key)) as file:
        footers = read_object(kind, file, key).footers
    known = state.partitions
    ids = [each.segment(kind, SegmentPlace(key=key, size=0)).partition_id for each in footers]
    return all(
        each in known and (footer.head.start < known[each].archived_to or each.later in known)
        for each, footer in zip(ids, footers, strict=True)
    )
