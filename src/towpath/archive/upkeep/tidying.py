"""Deletion of unused objects: replaced ones, orphans and unfinished uploads.

An object is an orphan if no entry of the log names it: its writer died before its commit, or was
slower than another one. It may also belong to a writer that will commit it yet. So it is deleted
only when nobody can: a segment from Kafka whose partition is archived beyond its start, or has a
later history, is refused by the log, and so is a compaction whose lease has changed hands. And it
is deleted only if it is spare (`unnamed`), as the entry that named it may have been lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.keys import data_key, data_prefix
from towpath.archive.log import ArchiveState, CommitLog, Draft, EntryKind, Stays, sweep
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import STREAMING, Segment
from towpath.archive.read.unnamed_objects import Holdings, listed, segments_of, unnamed
from towpath.archive.upkeep.compaction_rounds import WORK, CompactionProgress
from towpath.model.errors import ObjectMissingError
from towpath.runtime.clock import now_ms
from towpath.store import StoredObject

_LIVE = 3600.0
"""Seconds for which an upload may go on without being one of a dead writer, at least."""


def tidy(
    config: ArchiveConfig, log: CommitLog, lease: HeldArchive, progress: CompactionProgress
) -> None:
    """Delete the objects that no segment uses, and count them.

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
    progress.stranded = found.stranded
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
    stranded: tuple[str, ...]


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
    there = listed(config.region, log.store, spread=config.store.spread)
    before = now_ms() - int(config.grace * 1000)
    log.follow()
    found = [*unnamed(log.state, there)]
    lock = config.store.lock
    kept_for = 0 if lock is None else lock.until(0)
    old = [each for each in found if each.modified <= min(before, now_ms() - kept_for)]
    deleted: list[StoredObject] = []
    unreadable: list[str] = []
    stranded: list[str] = []
    if old:
        _fence(log, lease)
    # The run of the archive shares the log and may commit an object at any moment. So both what is
    # named and what is archived are looked up in one state, that of the fence.
    state = log.state
    elsewhere = Holdings(log, state)
    for each in [*unnamed(state, old)]:
        try:
            segments = segments_of(log.store, each)
            if not all(map(elsewhere.is_spare, segments)):
                stranded.append(each.key)
            elif all(_is_out(config.region, state, each.key, segment) for segment in segments):
                deleted.append(each)
        except (CorruptSegmentError, NewerSegmentError):
            unreadable.append(each.key)
        except ObjectMissingError:
            deleted.append(each)
    if deleted:
        log.require_tip()  # the log of a store that was set back may name them
        log.store.delete(each.key for each in deleted)
    kept = len(found) - len(deleted) - len(unreadable) - len(stranded)
    return _Orphans(
        deleted=tuple(deleted),
        unsettled=kept,
        unreadable=tuple(unreadable),
        stranded=tuple(stranded),
    )


def _fence(log: CommitLog, lease: HeldArchive) -> None:
    """Keep whoever held the lease before from committing anything later than this."""
    writer = lease.writer
    if log.state.writers.get(WORK) != writer:
        log.append(Draft(writer=writer, kind=EntryKind.SWEEP))


def _is_out(region: str, state: ArchiveState, key: str, segment: Segment) -> bool:
    """Whether no writer can commit a segment of an object that a state does not name."""
    place = data_key(region, key)
    if place is None or place.level > STREAMING:
        return place is not None
    known, at = state.partitions, segment.partition_id
    return at in known and (segment.start < known[at].archived_to or at.later in known)
