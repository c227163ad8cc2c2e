"""Reading view of an archive: offsets as of a version, in the segments of today.

A compaction replaces segments and keeps their records, so what was archived as of an older version
is read from the newest segments, up to where each partition was archived then. Only what was pruned
or forgotten since is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from towpath.archive.errors import NoVersionError
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.histories import as_of_history, newest_histories, stretches
from towpath.archive.log.state import ArchivedTo, ArchiveState
from towpath.archive.model import PartitionId, Segment
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import SourceOffset, TopicId, TopicName
from towpath.runtime.clock import now_ms, readable
from towpath.store import ObjectReader, Store

_AHEAD = 60_000
"""Milliseconds by which the clock of another machine may be ahead."""
"""Offsets [first, end)."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """The version, time or history of an archive to read; by default the newest.

    Attributes:
        version: A version of its commit log.
        time: A time in ms; the last version that was written until then counts.
        history: The newest history of partitions that counts; those with fewer have their last.
        lives: Ids of topics, or what these begin with, that count instead of the latest ones of
            their names.
    """

    version: int | None = None
    time: int | None = None
    history: int | None = None
    lives: tuple[str, ...] = ()


def open_archive(store: Store, region: str, as_of: AsOf, *, arriving: bool = False) -> Archive:
    """Open an archive as of a version or a time.

    Args:
        store: Where it is.
        region: The region.
        as_of: The moment.
        arriving: Whether others copy it there, as `CommitLog.open` has it.

    Raises:
        CommitLogError: There is no archive, or none as of then, or its log is of no use.
        ConfigError: A life is named that the archive does not have.
        StoreError: The store could not be read.
    """
    if as_of.version is not None:
        found = Archive.of_version(store, region, as_of.version)
    elif as_of.time is not None:
        found = Archive.at(store, region, as_of.time)
    else:
        log = CommitLog.open(store, region, arriving=arriving)
        found = Archive(log, log.state)
    if as_of.history is None and not as_of.lives:
        return found
    return Archive(found.log, found.then, as_of.history, named_lives(found.then, as_of.lives))


def named_lives(state: ArchiveState, wanted: Collection[str]) -> frozenset[TopicId]:
    """Return the ids of topics that are named by whole ids or by unique prefixes.

    Raises:
        ConfigError: No topic has such an id, or several have.
    """
    known = {each.source.topic_id for each in state.partitions} if wanted else set[TopicId]()
    found = set[TopicId]()
    for each in wanted:
        fitting = [id_ for id_ in known if id_.startswith(each)]
        fitting = [id_ for id_ in fitting if id_ == each] or fitting
        if len(fitting) != 1:
            many = "several topics have an id that begins" if fitting else "no topic has an id"
            text = f"{many} with {each}; `towpath archive lives` lists them"
            raise ConfigError((ConfigProblem("--life", text),))
        found |= {*fitting}
    return frozenset(found)


class SegmentPiece(NamedTuple):
    """A segment, and the part [first, end) of its offsets that is to be read."""

    segment: Segment
    first: SourceOffset
    end: SourceOffset


class Archive:
    """One region of an archive as of a version. Threads may share it.

    Of a partition with several histories it shows what the source had as of one of them: its
    records, and before its fork those of the history before.

    Args:
        log: Its log.
        then: The state as of that version; `None` if that is always the newest one.
        history: The newest history of partitions that counts; `None` for the newest one of each.
        lives: Topics that count instead of the latest ones of their names.

    Attributes:
        log: Its log.
    """

    def __init__(
        self,
        log: CommitLog,
        then: ArchiveState | None = None,
        history: int | None = None,
        lives: Collection[TopicId] = (),
    ) -> None:
        self.log, self._then, self._history, self._lives = log, then, history, lives

    @classmethod
    def newest(cls, store: Store, region: str) -> Archive:
        """Open the newest version of an archive; each `refresh` moves on to the then newest.

        Raises:
            CommitLogError: There is no archive, or its log cannot be used.
            StoreError: The store cannot be read.
        """
        return cls(CommitLog.open(store, region))

    @classmethod
    def of_version(cls, store: Store, region: str, version: int) -> Archive:
        """Open an archive as of a version.

        Raises:
            CommitLogError: There is no archive, no such version, or the log cannot be used.
            StoreError: The store cannot be read.
        """
        log = CommitLog.open(store, region)
        return cls(log, log.as_of(version))

    @classmethod
    def at(cls, store: Store, region: str, time: int) -> Archive:
        """Open an archive as of a time, in ms.

        Raises:
            NoVersionError: There was none yet, or nobody can tell which one was the last.
            CommitLogError: There is no archive, or its log cannot be used.
            StoreError: The store cannot be read.
        """
        log = CommitLog.open(store, region)
        version = log.version_at(time)
        if not version:
            first = readable(log.entry(1).time)
            why = f"nothing was archived at {readable(time)}; the first version is of {first}"
            raise NoVersionError(log.where, why)
        _require_told(log, version, time)
        return cls(log, log.as_of(version))

    @property
    def then(self) -> ArchiveState:
        """The state as of the version that is read."""
        return self._then or self.log.state

    def partitions(self) -> dict[PartitionId, ArchivedTo]:
        """Return the readable offsets of each partition; pruned offsets are left out.

        Each has one history, the newest one that counts.
        """
        most = self._history
        ids = (each for each in self.then.partitions if most is None or each.history <= most)
        found = ((each, self.place(each)) for each in newest_histories(ids).values())
        return {each: place for each, place in found if place is not None}

    def place(self, partition: PartitionId) -> ArchivedTo | None:
        """Return the archived offsets of a history, including those of earlier histories."""
        return as_of_history(self.single, partition)

    def topics(self) -> dict[TopicName, list[TopicId]]:
        """Return the topic ids that had each topic name; the most recently seen id is last."""
        seen: dict[TopicName, dict[TopicId, int]] = {}
        for each, place in self.then.partitions.items():
            ids, own = seen.setdefault(place.topic, {}), each.source.topic_id
            ids[own] = max(place.seen, ids.get(own, 0))
        return {
            topic: sorted(ids, key=lambda each: (each in self._lives, ids[each]))
            for topic, ids in seen.items()
        }

    def last_seen(self, topic: TopicId) -> int:
        """Return the last time at which a topic was seen at the source, in ms."""
        found = self.then.partitions.items()
        return max((at.seen for each, at in found if each.source.topic_id == topic), default=0)

    def segments(
        self, partition: PartitionId, first: int = 0, end: int | None = None
    ) -> list[Segment]:
        """Return the segments that overlap the offsets [first, end), in order; see `pieces`."""
        return [each.segment for each in self.pieces(partition, first, end)]

    def pieces(
        self, partition: PartitionId, first: int = 0, end: int | None = None
    ) -> list[SegmentPiece]:
        """Return the segments that overlap the offsets [first, end), each with its range to read.

        They are those of today, so one may reach beyond the version that is read, or beyond the
        offset from which on another history counts.
        """
        state, found = self.log.state, list[SegmentPiece]()
        for each in stretches(self.single, partition):
            low = max(each.first, first)
            high = each.end if end is None else min(each.end, end)
            if low < high:
                found += (
                    SegmentPiece(
                        segment,
                        SourceOffset(max(low, segment.start)),
                        SourceOffset(min(high, segment.end)),
                    )
                    for segment in state.segments(each.partition, low, high)
                )
        return found

    def single(self, partition: PartitionId) -> ArchivedTo | None:
        """Return the archived offsets of one history alone; pruned offsets are left out."""
        place = self.then.partitions.get(partition)
        if place is None:
            return None
        begin = self.log.state.partitions[partition].begin
        return replace(place, begin=min(begin, place.archived_to))

    def captures(self, kind: str) -> Mapping[str, Any]:
        """Return the newest captures of one kind, by name."""
        found = self.then.captures.items()
        return {name: each.value for (of, name), each in found if of == kind}

    def refresh(self) -> bool:
        """Read new entries of the log. Returns whether there were any.

        Raises:
            CommitLogError: The log cannot be used.
            StoreError: The store cannot be read.
        """
        return bool(self.log.follow())

    def open(self, key: str) -> ObjectReader:
        """Open an object of the store as a file.

        Raises:
            StoreError: The store does not have it, or does not give it.
        """
        return self.log.store.reader(key)


def _require_told(log: CommitLog, version: int, time: int) -> None:
    """Check that the times of versions tell which one was the last at a time.

    Times never descend. So if a writer's clock was ahead for a moment, all later versions have the
    time of that moment, until it has come.

    Raises:
        NoVersionError: They do not.
    """
    if version == log.state.version or log.entry(version).time >= time:
        return
    later = log.entry(version + 1)
    if later.time > now_ms() + _AHEAD:
        why = (
            f"versions from {version + 1} on say that they are of {readable(later.time)} or later:"
            f" the clock of {later.writer.host} was ahead. So nobody can tell which of versions"
            f" {version} to {log.state.version} was the last one at {readable(time)}; name one by"
            " `--version`"
        )
        raise NoVersionError(log.where, why)
