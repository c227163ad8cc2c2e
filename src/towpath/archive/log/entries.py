"""The entries of the commit log.

Each entry is one version of the archive: an object that was written once and never changes. All
entries, one behind the other, are the archive; anything else is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from towpath.archive.model import BatchMark, PartitionId, Segment, SegmentId
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName


class EntryKind(StrEnum):
    """The kinds of log entries by their effect on segments; `archive/log/rules.py` checks each."""

    ARCHIVE = "archive"
    """Segments are added where their partitions end. Without any, the entry is a sign of life."""
    COMPACT = "compact"
    """Segments are replaced by others with the same range and the same records."""
    PRUNE = "prune"
    """The first segments of partitions are removed."""
    FORGET = "forget"
    """Segments are replaced by others in which some records became gaps that were erased."""
    LOSE = "lose"
    """Segments are replaced by others in which some records became gaps that were lost."""
    SWEEP = "sweep"
    """Objects that no segment has any more were deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWriter:
    """The process that wrote a log entry.

    Attributes:
        owner: A name that no other process has.
        host: The host name.
        work: The kind of work, such as `run` or `compact`; each is done by one process at a time.
        epoch: How often that work has changed hands. An entry with an older epoch than one before
            it is never written.
        towpath: The version of Towpath.
    """

    owner: str
    host: str
    work: str
    epoch: int
    towpath: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPartition:
    """The observed state of a source partition when a log entry was written.

    Attributes:
        cluster: Id of the source cluster.
        topic_id: Id of the topic.
        topic: Its name.
        partition: Its number.
        log_start: Where its log began at the source.
        stable_end: Where its committed records ended at the source.
        begin: Where the archive of it begins. Only counts in its first entry, and only if that adds
            no segment; by default its log start.
        archived_to: Where the archive of it ends, exclusive; the log itself sets it.
        tail: The last batch that was archived; `None` if it is not known.
        fork: Where the source's log went on with other records than the history before has. It
            begins a history, so it only counts in the first entry of one.
    """

    cluster: ClusterId
    topic_id: TopicId
    topic: TopicName
    partition: int
    log_start: SourceOffset
    stable_end: SourceOffset
    begin: SourceOffset | None = None
    archived_to: SourceOffset = SourceOffset(0)
    tail: BatchMark | None = None
    fork: SourceOffset | None = None

    @property
    def partition_id(self) -> PartitionId:
        """The identity of the partition."""
        return PartitionId(self.cluster, self.topic_id, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """An archived fact other than a record: configs of a topic, offsets of a group, ...

    It holds until there is another one with the same kind and name.

    Attributes:
        kind: What it is, such as `topic` or `group`.
        name: What it is about.
        value: What can be written as JSON; None if the thing is gone.
    """

    kind: str
    name: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One entry of the commit log, which makes one version of an archive.

    Attributes:
        version: Its number; they count from 1, without holes.
        time: When it was written, in ms; never before that of the entry before it.
        writer: Who wrote it.
        before: The SHA-256 of the entry before it; empty for the first one.
        kind: What it does to segments.
        add: Segments that are added.
        remove: Segments that are removed, before others are added.
        partitions: What was seen of partitions.
        captures: What is archived besides records, as far as it changed.
        swept: Keys of objects that were deleted.
    """

    version: int
    time: int
    writer: LogWriter
    before: str = ""
    kind: EntryKind = EntryKind.ARCHIVE
    add: tuple[Segment, ...] = ()
    remove: tuple[SegmentId, ...] = ()
    partitions: tuple[SeenPartition, ...] = ()
    captures: tuple[Capture, ...] = ()
    swept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The proposed content of the next log entry; see `LogEntry`."""

    writer: LogWriter
    kind: EntryKind = EntryKind.ARCHIVE
    add: tuple[Segment, ...] = ()
    remove: tuple[SegmentId, ...] = ()
    partitions: tuple[SeenPartition, ...] = ()
    captures: tuple[Capture, ...] = ()
    swept: tuple[str, ...] = ()
