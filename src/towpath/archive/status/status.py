"""The status for `towpath archive status`, from the commit log and the source."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from uuid import uuid4

import numpy as np

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import ArchivedTo, ArchiveState, CommitLog
from towpath.archive.log.lease import RUN_WORK, ArchiveLease, read_lease
from towpath.archive.log.partition_sums import PartitionSums, sums_of
from towpath.archive.log.schema_parts import SCHEMAS, captured_parts, captured_registry
from towpath.archive.model import GapCounts, PartitionId
from towpath.archive.status.compaction_status import CompactionStatus, compaction_status
from towpath.archive.status.deletable import DeleteAnswer, answer
from towpath.archive.status.source_now import look_at_source
from towpath.archive.write.progress import ArchiveRowState
from towpath.archive.write.source_look import PartitionEnds, SourceLook, held_sentence
from towpath.archive.write.unread_records import unread_so_far
from towpath.model.errors import StoreError, StoreFullError
from towpath.model.nouns import SourceOffset, TopicId, TopicName
from towpath.runtime.clock import now_ms
from towpath.settings.naming import fits
from towpath.store import Store

_SILENT = 60_000
"""Milliseconds without a sign of life after which a run on another machine seems to be dead."""
_TOLD = 10
"""Histories, and partitions behind transactions, that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPartition:
    """The status of an archived partition.

    Attributes:
        id: Its identity.
        topic: The name of its topic.
        state: How it stands.
        begin: Where the archive of it begins.
        archived_to: The offset up to which it is archived.
        ends: Where its log begins and ends at the source; as of the last entry of the commit log
            if the source was not asked.
        exposed: Seconds for which its oldest offset that is not archived may have waited.
        segments: Number of segments; `records` and `raw_bytes` of all of them.
        gaps: Offsets without a record, by kind.
        why: Why its state is trouble, "" if it is not.
        fork: Where it differs from the history before, `None` for the first history.
        unread: Offsets that went with its topic before they were archived, and that no run has
            kept as a gap so far.
    """

    id: PartitionId
    topic: TopicName
    state: ArchiveRowState
    begin: SourceOffset
    archived_to: SourceOffset
    ends: PartitionEnds
    exposed: float
    segments: int = 0
    records: int = 0
    raw_bytes: int = 0
    gaps: GapCounts = field(default_factory=GapCounts)
    why: str = ""
    fork: SourceOffset | None = None
    unread: int = 0

    @property
    def lag(self) -> int:
        """Number of offsets at the source that are not archived."""
        is_over = self.state is ArchiveRowState.EARLIER
        return 0 if is_over else max(0, self.ends.stable_end - self.archived_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaTotals:
    """Totals of the archived schemas.

    Attributes:
        registry: The URL of the registry that they are of.
        subjects: Number of subjects; `versions` of all of them.
        objects: Number of objects; `size` of all of them, in bytes.
        version: The version of the archive that changed them last.
    """

    registry: str
    subjects: int
    versions: int
    objects: int
    size: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStatus:
    """The status of an archive.

    Attributes:
        where: Its commit log, as a URL.
        version: Its newest version, written at `time`, in ms.
        partitions: Its partitions, and those of the source that it lacks.
        objects: Number of objects with segments; `size` of all of them, in bytes.
        lease: The last sign of life of its run, `None` if there was none.
        full: Why the store takes no object, if its run has been silent; "" if it does.
        compaction: How its compaction stands.
        schemas: The archived schemas, `None` if there are none.
        source: Why the source could not be asked, "" if it was.
        notes: What a person should know besides.
        deletable: Whether the topics that were asked for may be deleted at the source; `None` if
            no topics were.
    """

    where: str
    version: int
    time: int
    partitions: tuple[ArchivedPartition, ...]
    objects: int
    size: int
    lease: ArchiveLease | None
    compaction: CompactionStatus
    schemas: SchemaTotals | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    deletable: DeleteAnswer | None = None
    full: str = ""

    @property
    def runs(self) -> bool:
        """Whether the archive's run seems to be alive."""
        return seems_alive(self.lease)

    @property
    def run_trouble(self) -> str:
        """What the archive's run reports that it cannot do, and why; "" for nothing."""
        told = self.lease.trouble if self.lease is not None and self.runs else ""
        return told or self.full

    @property
    def compacts(self) -> bool:
        """Whether a compaction seems to be running now."""
        return seems_alive(self.compaction.lease)

    @property
    def exposed(self) -> float:
        """Seconds of records that would be lost if the source failed now (RPO)."""
        return max((each.exposed for each in self.partitions), default=0.0)

    @property
    def troubled(self) -> tuple[ArchivedPartition, ...]:
        """The partitions in trouble, and those that lost records before they were archived."""
        return tuple(
            each
            for each in self.partitions
            if each.state is ArchiveRowState.TROUBLE
            or each.gaps.retention
            or each.gaps.lost
            or each.unread
        )


def seems_alive(lease: ArchiveLease | None) -> bool:
    """Return whether a lease's holder sent a heartbeat recently."""
    if lease is None or lease.over or lease.is_dead:
        return False
    return now_ms() - lease.beat < _SILENT


def look_at_archive(
    config: ArchiveConfig, *, ask_source: bool = True, topics: tuple[str, ...] = ()
) -> ArchiveStatus:
    """Observe an archive, and return its status.

    Args:
        config: The archive.
        ask_source: Whether to ask the source where its partitions end now.
        topics: Expressions of the topics to look at, which also asks whether these may be deleted
            at the source; by default all topics.

    Raises:
        CommitLogError: The commit log cannot be used, or there is no archive.
        StoreError: The store cannot be read.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(config.store))
        log = CommitLog.open(store, config.region)
        lease, _ = read_lease(store, config.region, RUN_WORK)
        seen, why, deleted = None, "", frozenset[TopicId]()
        if ask_source:
            seen, why, deleted = look_at_source(config, log.state, topics)
        at = now_ms()
        if ask_source and topics:
            log.follow()  # what was archived until the source was asked
        keys, sizes = _objects(log.state)
        return ArchiveStatus(
            where=log.where,
            version=log.state.version,
            time=log.state.time,
            partitions=tuple(
                each
                for each in _partitions(log.state, seen, deleted)
                if not topics or fits(each.topic, topics)
            ),
            objects=keys,
            size=sizes,
            lease=lease,
            compaction=compaction_status(config, store, log.state),
            schemas=_schemas(log.state, log.where),
            source=why,
            notes=(*log.notes, *history_sentences(log.state), *_told_held(seen)),
            deletable=answer(log.state, seen, why, at) if topics else None,
            full=_told_full(store, lease),
        )


def _told_full(store: Store, lease: ArchiveLease | None) -> str:
    """Return why a store takes no object any more, "" if it does, or if its run is not silent.

    A run whose store is full can leave no word there, not even a sign of life.
    """
    if lease is None or lease.over or seems_alive(lease):
        return ""
    key = f"_probe/{uuid4()}"
    try:
        store.put_new(key, b"room?")
        store.delete([key])
    except StoreFullError as error:
        return str(error)
    except StoreError:
        return ""  # who looks may have no right to write
    return ""


def history_sentences(state: ArchiveState) -> list[str]:
    """Return a sentence for each history that a newer one replaced, the latest first."""
    found = sorted(
        ((each, known) for each, known in state.partitions.items() if known.fork is not None),
        key=lambda item: (-item[0].history, item[1].topic, item[0].partition),
    )
    told = [_told_history(state, each, known) for each, known in found[:_TOLD]]
    return [*told, f"and {len(found) - _TOLD} more"] if len(found) > _TOLD else told


def _told_history(state: ArchiveState, partition: PartitionId, known: ArchivedTo) -> str:
    before = state.partitions[partition.of_history(partition.history - 1)]
    return (
        f"{known.topic}-{partition.partition}: the source's log was cut, and has other records from"
        f" offset {known.fork} on; history {partition.history} has them, and history"
        f" {partition.history - 1} what was archived before, up to offset {before.archived_to}"
    )


def _told_held(seen: SourceLook | None) -> list[str]:
    """Return a sentence for each partition that an open transaction holds up."""
    held = sorted((seen.topics[each.topic_id].name, each.partition, ends)
                  for each, ends in seen.ends.items() if ends.held) if seen else []  # fmt: skip
    told = [held_sentence(topic, number, ends) for topic, number, ends in held[:_TOLD]]
    return [*told, f"and {len(held) - _TOLD} more"] if len(held) > _TOLD else told


def _objects(state: ArchiveState) -> tuple[int, int]:
    """Return the number and the size of all objects that have segments."""
    rows = state.table().rows.select(["key", "size"]).drop_null()
    found = rows.group_by("key").aggregate([("size", "max")])
    return len(found), int(np.asarray(found["size_max"]).sum())


def _schemas(state: ArchiveState, where: str) -> SchemaTotals | None:
    parts = captured_parts(state, where)
    if not parts:
        return None
    return SchemaTotals(
        registry=captured_registry(state),
        subjects=sum(each.subjects for each in parts.values()),
        versions=sum(each.versions for each in parts.values()),
        objects=len(parts),
        size=sum(each.size for each in parts.values()),
        version=max(state.captures[SCHEMAS, name].version for name in parts),
    )


def _partitions(
    state: ArchiveState, seen: SourceLook | None, deleted: Collection[TopicId]
) -> Iterable[ArchivedPartition]:
    sums = sums_of(state)
    for partition, known in sorted(state.partitions.items(), key=lambda item: item[1].topic):
        is_over = partition.later in state.partitions
        own = sums.get(partition, PartitionSums())
        row = _partition(partition, known, own, seen, is_over=is_over)
        if partition.source.topic_id in deleted and row.lag:
            yield replace(row, unread=row.lag, why=unread_so_far(row.lag))
        else:
            yield row
    if seen is not None:
        for partition, ends in sorted(seen.ends.items()):
            if partition not in state.partitions:
                yield ArchivedPartition(
                    id=partition,
                    topic=seen.topics[partition.topic_id].name,
                    state=ArchiveRowState.WAITING,
                    begin=ends.log_start,
                    archived_to=ends.log_start,
                    ends=ends,
                    exposed=0.0,
                )


def _partition(
    partition: PartitionId,
    known: ArchivedTo,
    sums: PartitionSums,
    seen: SourceLook | None,
    *,
    is_over: bool,
) -> ArchivedPartition:
    ends, why = PartitionEnds(known.log_start, known.stable_end), ""
    state, source = None, partition.source
    if is_over:
        state = ArchiveRowState.EARLIER
    elif seen is not None:
        ends = seen.ends.get(source, ends)
        if source in seen.failed:
            why = str(seen.failed[source])
        elif known.topic in seen.hidden:
            why = str(seen.hidden[known.topic])
        elif source not in seen.ends:
            state = ArchiveRowState.GONE
        elif ends.stable_end < known.archived_to:
            why = f"the source log ends at offset {ends.stable_end}, before what is archived"
    lag = ends.stable_end - known.archived_to
    is_behind = lag > 0 and state is None
    state = state or (ArchiveRowState.WAITING if lag > 0 else ArchiveRowState.CAUGHT_UP)
    return ArchivedPartition(
        id=partition,
        topic=known.topic,
        state=ArchiveRowState.TROUBLE if why else state,
        begin=known.begin,
        archived_to=known.archived_to,
        ends=ends,
        exposed=max(0, now_ms() - known.seen) / 1000 if is_behind else 0.0,
        segments=sums.segments,
        records=sums.records,
        raw_bytes=sums.raw_bytes,
        gaps=sums.gap_counts,
        why=why,
        fork=known.fork,
    )
