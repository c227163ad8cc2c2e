"""The state of an archive as of a version, computed from log entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.log.columns import SegmentTable, TableChange
from towpath.archive.log.entries import EntryKind, LogEntry, LogWriter, SeenPartition
from towpath.archive.model import STREAMING, BatchMark, PartitionId, Segment, SegmentId
from towpath.model.nouns import SourceOffset, TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTo:
    """The archived offsets of a partition, and what was last seen of its source log.

    Attributes:
        topic: The name of its topic.
        begin: Where its segments begin. It moves when the first ones are pruned.
        archived_to: Where they end, exclusive. It never moves back.
        log_start: Where its log began at the source when it was seen last.
        stable_end: Where its committed records ended then.
        seen: When that was, in ms.
        tail: The last archived batch that is known; `None` if none is.
        fork: Where it differs from the history before; `None` for the first history.
    """

    topic: TopicName
    begin: SourceOffset
    archived_to: SourceOffset
    log_start: SourceOffset
    stable_end: SourceOffset
    seen: int
    tail: BatchMark | None = None
    fork: SourceOffset | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """The newest value of a capture, and the version that holds it."""

    value: Any
    version: int


@dataclass(frozen=True, slots=True)
class RemovedObject:
    """When the last segment of an object was removed: version, and time in ms.

    Other segments may still have the object, where several share it.
    """

    version: int
    time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveState:
    """The immutable state of an archive as of a version.

    Attributes:
        version: The version; 0 if there is no entry.
        time: The time of its entry, in ms.
        tip: The SHA-256 of its entry; empty if there is none.
        partitions: How far each partition is archived.
        captures: What is archived besides records, by kind and name; things that are gone are not.
        writers: The last writer of each kind of work.
        removed: Objects whose segments were removed, and that were not deleted so far.
        base: Most segments; `changes` were made since.
        changes: Changes to them, by partition.
    """

    version: int = 0
    time: int = 0
    tip: str = ""
    partitions: Mapping[PartitionId, ArchivedTo] = field(default_factory=dict)
    captures: Mapping[tuple[str, str], Captured] = field(default_factory=dict)
    writers: Mapping[str, LogWriter] = field(default_factory=dict)
    removed: Mapping[str, RemovedObject] = field(default_factory=dict)
    base: SegmentTable = field(default_factory=SegmentTable)
    changes: Mapping[PartitionId, TableChange] = field(default_factory=dict)

    def segments(
        self,
        partition: PartitionId,
        first: int = 0,
        end: int | None = None,
        most: int | None = None,
    ) -> list[Segment]:
        """Return the segments of a partition that overlap the offsets [first, end), by start.

        With `most`, about so many are returned, without a hole between them.
        """
        found = self.base.between(partition, first, end, most)
        change = self.changes.get(partition)
        if change is None:
            return found
        if found and len(found) == most:
            end = found[-1].end
        kept = [each for each in found if each.id not in change.removed]
        inside = [
            each for each in change.added if each.end > first and (end is None or each.start < end)
        ]
        return sorted(kept + inside, key=lambda each: each.start) if inside else kept

    def segment(self, wanted: SegmentId) -> Segment | None:
        """Return a segment, `None` if the archive does not have it at this version."""
        found = self.segments(wanted.partition_id, wanted.start, wanted.start + 1)
        return found[0] if found and found[0].id == wanted else None

    def table(self) -> SegmentTable:
        """Return all segments as one table."""
        topics = {each: self.partitions[each].topic for each in self.changes}
        return self.base.changed(self.changes, topics)

    def compacted(self) -> ArchiveState:
        """Return the same state with all changes merged into the table."""
        return replace(self, base=self.table(), changes={})

    def unused_objects(self) -> dict[str, RemovedObject]:
        """Return the objects that no segment uses any more, and that are not deleted yet."""
        if not self.removed:
            return {}
        keys = pa.array(list(self.removed), pa.string())
        table = self.table().rows["key"]
        used = set(pc.unique(table.filter(pc.is_in(table, keys))).to_pylist())
        return {key: when for key, when in self.removed.items() if key not in used}

    def after(self, entries: Iterable[tuple[LogEntry, str]]) -> ArchiveState:
        """Return the state after further entries.

        Args:
            entries: The entries, each with its SHA-256; their rules were checked.
        """
        made = _Making(self)
        for entry, tip in entries:
            made.take(entry, tip)
        return made.state()


class _Making:
    """A state that takes entries; copies of its mappings are made once for all of them."""

    def __init__(self, state: ArchiveState) -> None:
        self._base = state
        self._version, self._time, self._tip = state.version, state.time, state.tip
        self._partitions = dict(state.partitions)
        self._captures = dict(state.captures)
        self._writers = dict(state.writers)
        self._removed = dict(state.removed)
        self._changes = dict(state.changes)

    def state(self) -> ArchiveState:
        return ArchiveState(
            version=self._version,
            time=self._time,
            tip=self._tip,
            partitions=self._partitions,
            captures=self._captures,
            writers=self._writers,
            removed=self._removed,
            base=self._base.base,
            changes=self._changes,
        )

    def take(self, entry: LogEntry, tip: str) -> None:
        self._remove(entry)
        self._see(entry)
        self._add(entry)
        for key in entry.swept:
            self._removed.pop(key, None)
        for each in entry.captures:
            if each.value is None:
                self._captures.pop((each.kind, each.name), None)
            else:
                self._captures[each.kind, each.name] = Captured(each.value, entry.version)
        self._writers[entry.writer.work] = entry.writer
        self._version, self._time, self._tip = entry.version, entry.time, tip

    def _remove(self, entry: LogEntry) -> None:
        now = self._now()
        when = RemovedObject(entry.version, entry.time)
        for each in entry.remove:
            segment = now.segment(each)
            if segment is not None and segment.place is not None:
                self._removed[segment.place.key] = when
            if entry.kind is EntryKind.PRUNE:
                known = self._partitions[each.partition_id]
                begin = max(known.begin, each.end)
                self._partitions[each.partition_id] = replace(known, begin=begin)

    def _see(self, entry: LogEntry) -> None:
        begins = {each.partition_id: each.start for each in reversed(entry.add)}
        for each in entry.partitions:
            known = self._partitions.get(each.partition_id)
            begin = known.begin if known else begins.get(each.partition_id, begin_of(each))
            self._partitions[each.partition_id] = ArchivedTo(
                topic=each.topic,
                begin=begin,
                archived_to=known.archived_to if known else begin,
                log_start=each.log_start,
                stable_end=each.stable_end,
                seen=entry.time,
                tail=each.tail or (known.tail if known else None),
                fork=known.fork if known else each.fork,
            )

    def _add(self, entry: LogEntry) -> None:
        added: dict[PartitionId, list[Segment]] = {}
        removed: dict[PartitionId, list[SegmentId]] = {}
        for segment in entry.add:
            added.setdefault(segment.partition_id, []).append(segment)
        for each in entry.remove:
            removed.setdefault(each.partition_id, []).append(each)
        for partition in {**added, **removed}:
            change = self._changes.get(partition, TableChange())
            segments = added.get(partition, [])
            self._changes[partition] = change.then(removed.get(partition, ()), segments)
            if entry.kind is EntryKind.ARCHIVE:
                self._archived(segments, entry.time)

    def _archived(self, segments: list[Segment], now: int) -> None:
        first, last = segments[0], segments[-1]
        known = self._partitions.get(last.partition_id) or ArchivedTo(
            topic=first.topic,
            begin=first.start,
            archived_to=first.start,
            log_start=first.start,
            stable_end=last.end,
            seen=now,
        )
        self._partitions[last.partition_id] = replace(known, archived_to=last.end)

    def _now(self) -> ArchiveState:
        """Return a state for looking up segments."""
        return ArchiveState(base=self._base.base, changes=self._changes)


def begin_of(seen: SeenPartition) -> SourceOffset:
    """Return the first offset to archive of a partition that has no segment yet."""
    if seen.fork is not None:
        return seen.fork
    return seen.log_start if seen.begin is None else seen.begin


def is_streaming(segment: Segment) -> bool:
    """Return whether a segment was archived from Kafka directly, not made by a compaction."""
    return segment.level == STREAMING
