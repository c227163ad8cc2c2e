"""The history for `towpath archive events`, made of the commit log and stored events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import merge
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import CommitLog, EntryKind, LogEntry, SeenPartition
from towpath.archive.log.events import ArchiveEvents, ArchiveWhat, read_events
from towpath.archive.log.lease import HeldArchive
from towpath.ledger.events import Event, Origin
from towpath.model.errors import TowpathError
from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.store import Store

_KINDS = {
    EntryKind.COMPACT: ArchiveWhat.COMPACTED,
    EntryKind.PRUNE: ArchiveWhat.PRUNED,
    EntryKind.FORGET: ArchiveWhat.FORGOTTEN,
    EntryKind.LOSE: ArchiveWhat.LOST,
    EntryKind.SWEEP: ArchiveWhat.SWEPT,
}
"""Entries that only archive are no events: there is one each minute."""
_AHEAD = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveHistory:
    """The history of an archive as a list of events.

    Attributes:
        events: The latest events, by time.
        earlier: Number of events before them that were left out.
        unreadable: Number of objects that are no events that this version can read.
        since: Only events of this time or later were asked for, in ms since 1970; 0 for all.
    """

    events: tuple[Event, ...]
    earlier: int = 0
    unreadable: int = 0
    since: int = 0


@contextmanager
def recording_run(
    store: Store, config: ArchiveConfig, lease: HeldArchive, *, until_caught_up: bool
) -> Iterator[ArchiveEvents]:
    """Write an event at the start and the end of a run, with the error that ended the run.

    Returns:
        What writes further events of the run.
    """
    with ArchiveEvents(store, config.region, config.archive) as events:
        if (dead := lease.replaced) is not None:
            events.tell(ArchiveWhat.LEASE_TAKEN_OVER, command=dead.command, where=dead.where)
        events.tell(ArchiveWhat.RUN_STARTED, until_caught_up=until_caught_up)
        events.forget(float(config.run.events))
        try:
            yield events
        except BaseException as error:
            code = error.code if isinstance(error, TowpathError) else type(error).__name__
            events.tell(ArchiveWhat.RUN_ENDED, error=code)
            raise
        events.tell(ArchiveWhat.RUN_ENDED, error="")


def history(config: ArchiveConfig, since: int, limit: int) -> ArchiveHistory:
    """Return the history of an archive.

    Args:
        config: The archive.
        since: The first time, in ms since 1970.
        limit: How many events to return at most; the latest ones are returned.

    Raises:
        CommitLogError: There is no archive, or its log cannot be used.
        StoreError: The store cannot be read.
    """
    unreadable = count = 0
    last = deque[Event](maxlen=limit)
    with Store(config.store) as store:
        log = CommitLog.open(store, config.region)
        written = list(read_events(store, config.region, since))
        told = [each for each in written if each is not None]
        unreadable = len(written) - len(told)
        for each in merge(of_log(log, config.archive, since), told, key=lambda event: event.at):
            last.append(each)
            count += 1
    return ArchiveHistory(
        events=tuple(last), earlier=count - len(last), unreadable=unreadable, since=since
    )


def of_log(log: CommitLog, archive: str, since: int) -> Iterator[Event]:
    """Yield an event for each log entry after a time that did more than add segments."""
    first = log.version_at(since - 1) + 1 if since else 1
    names = {each.topic_id: known.topic for each, known in log.state.partitions.items()}
    newest = log.state.version
    for start in range(first, newest + 1, _AHEAD):
        versions = range(start, min(start + _AHEAD, newest + 1))
        for entry in log.store.threads.map(log.entry, versions):
            if entry.time < since:
                continue
            if entry.kind in _KINDS:
                yield _event(entry, archive, names)
            for each in entry.partitions:
                if each.fork is not None:
                    yield _history_begun(entry, each, archive)


def _event(entry: LogEntry, archive: str, names: Mapping[TopicId, TopicName]) -> Event:
    ids = {each.partition_id.topic_id for each in entry.remove}
    return Event(
        id=f"version {entry.version}",
        at=entry.time,
        link=LinkName(archive),
        what=_KINDS[entry.kind],
        about="",
        facts={
            "version": entry.version,
            "added": len(entry.add),
            "removed": len(entry.remove),
            "objects": len(entry.swept),
            "topics": sorted({names.get(each, TopicName(each)) for each in ids}),
            **_audit(entry),
        },
        origin=_origin(entry),
    )


def _audit(entry: LogEntry) -> dict[str, Any]:
    """Return how many records were erased, and why, as far as the entry says it."""
    audits = entry.captures if entry.kind is EntryKind.FORGET else ()
    told = next((each.value for each in audits if isinstance(each.value, dict)), {})
    return {key: told[key] for key in ("records", "reason") if key in told}


def _history_begun(entry: LogEntry, seen: SeenPartition, archive: str) -> Event:
    before = seen.partition_id.of_history(seen.partition_id.history - 1)
    told = (each.archived_to for each in entry.partitions if each.partition_id == before)
    return Event(
        id=f"version {entry.version} {seen.partition_id}",
        at=entry.time,
        link=LinkName(archive),
        what=ArchiveWhat.HISTORY_BEGUN,
        about=f"{seen.topic}-{seen.partition}",
        facts={
            "version": entry.version,
            "topic": seen.topic,
            "partition": seen.partition,
            "history": seen.partition_id.history,
            "fork": seen.fork,
            "archived": next(told, None),
        },
        origin=_origin(entry),
    )


def _origin(entry: LogEntry) -> Origin:
    writer = entry.writer
    return Origin(user="", login="", host=writer.host, pid=0, version=writer.towpath)
