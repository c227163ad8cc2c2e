"""An archive as those see it who read records: as of a version, with the segments of today.

A compaction replaces segments and keeps their records, so what was archived as of an older version
is read from the newest segments, up to where each partition was archived then. Only what was pruned
or forgotten since is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from towpath.model.errors import NoArchiveError
from towpath.model.nouns import SourceOffset, TopicId, TopicName
from towpath.segments.log.commit_log import CommitLog
from towpath.segments.log.state import ArchivedTo, ArchiveState
from towpath.segments.model import PartitionId, Segment
from towpath.store import ObjectReader, Store

Range = tuple[SourceOffset, SourceOffset]
"""Offsets [first, end)."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """As of when an archive is read; by default as it is now.

    Attributes:
        version: A version of its commit log.
        time: A time in ms; the last version that was written until then counts.
    """

    version: int | None = None
    time: int | None = None


def open_archive(store: Store, region: str, as_of: AsOf, *, arriving: bool = False) -> Archive:
    """Open an archive as of a moment.

    Args:
        store: Where it is.
        region: The region.
        as_of: The moment.
        arriving: Whether others copy it there, as `CommitLog.open` has it.

    Raises:
        CommitLogError: There is no archive, or none as of then, or its log is of no use.
        StoreError: The store could not be read.
    """
    if as_of.version is not None:
        return Archive.of_version(store, region, as_of.version)
    if as_of.time is not None:
        return Archive.at(store, region, as_of.time)
    log = CommitLog.open(store, region, arriving=arriving)
    return Archive(log, log.state)


class Archive:
    """One region of an archive as of a version. Threads may share it.

    Args:
        log: Its log.
        then: The state as of that version; `None` if that is always the newest one.

    Attributes:
        log: Its log.
    """

    def __init__(self, log: CommitLog, then: ArchiveState | None = None) -> None:
        self.log, self._then = log, then

    @classmethod
    def newest(cls, store: Store, region: str) -> Archive:
        """Return an archive that moves on with each `refresh`.

        Raises:
            CommitLogError: There is no archive, or its log cannot be used.
            StoreError: The store cannot be read.
        """
        return cls(CommitLog.open(store, region))

    @classmethod
    def of_version(cls, store: Store, region: str, version: int) -> Archive:
        """Return an archive as of a version.

        Raises:
            CommitLogError: There is no archive, no such version, or the log cannot be used.
            StoreError: The store cannot be read.
        """
        log = CommitLog.open(store, region)
        return cls(log, log.as_of(version))

    @classmethod
    def at(cls, store: Store, region: str, time: int) -> Archive:
        """Return an archive as of a time, in ms.

        Raises:
            NoArchiveError: There was none yet.
            CommitLogError: Its log cannot be used.
            StoreError: The store cannot be read.
        """
        log = CommitLog.open(store, region)
        version = log.version_at(time)
        if not version:
            raise NoArchiveError(log.where)
        return cls(log, log.as_of(version))

    @property
    def then(self) -> ArchiveState:
        """The state as of the version that is read."""
        return self._then or self.log.state

    def partitions(self) -> dict[PartitionId, ArchivedTo]:
        """Return the archived partitions; they begin where the archive of them begins today."""
        now = self.log.state.partitions
        return {
            each: replace(place, begin=min(now[each].begin, place.archived_to))
            for each, place in self.then.partitions.items()
        }

    def topics(self) -> dict[TopicName, list[TopicId]]:
        """Return the ids of the topics of each name, the latest one last."""
        seen: dict[TopicName, dict[TopicId, int]] = {}
        for each, place in self.then.partitions.items():
            ids = seen.setdefault(place.topic, {})
            ids[each.topic_id] = max(place.seen, ids.get(each.topic_id, 0))
        return {topic: sorted(ids, key=lambda each: ids[each]) for topic, ids in seen.items()}

    def segments(
        self, partition: PartitionId, first: int = 0, end: int | None = None
    ) -> list[Segment]:
        """Return the segments that have offsets in [first, end), in order.

        They are those of today. The last one may reach beyond the version that is read: what is
        read of it ends at `ArchivedTo.archived_to`.
        """
        place = self.then.partitions.get(partition)
        if place is None:
            return []
        last = place.archived_to if end is None else min(end, place.archived_to)
        return self.log.state.segments(partition, first, last) if first < last else []

    def uncovered(self, partition: PartitionId, first: int, end: int) -> list[Range]:
        """Return the parts of [first, end) that are not archived, not yet, or not any more."""
        place = self.then.partitions.get(partition)
        low = high = first
        if place is not None:
            begin = self.log.state.partitions[partition].begin
            low, high = max(first, begin), min(end, place.archived_to)
        if low >= high:
            return [(SourceOffset(first), SourceOffset(end))]
        parts = ((first, low), (high, end))
        return [(SourceOffset(one), SourceOffset(other)) for one, other in parts if one < other]

    def captures(self, kind: str) -> Mapping[str, Any]:
        """Return what was captured of one kind, by name."""
        found = self.then.captures.items()
        return {name: each.value for (of, name), each in found if of == kind}

    def refresh(self) -> bool:
        """Read what was added to the log. Returns whether there was anything.

        Raises:
            CommitLogError: The log cannot be used.
            StoreError: The store cannot be read.
        """
        return bool(self.log.follow())

    def open(self, key: str) -> ObjectReader:
        """Return an object as a file.

        Raises:
            StoreError: The store does not have it, or does not give it.
        """
        return self.log.store.reader(key)
