"""Foreign logs presented as the state of an archive, so that a restore can plan them."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.archive.format.broker_log import LogSurvey
from towpath.archive.log import (
    Archive,
    ArchivedTo,
    ArchiveState,
    AsOf,
    Captured,
    CommitLog,
    open_archive,
)
from towpath.archive.log.columns import TableChange
from towpath.archive.model import GapCounts, PartitionId, Segment, SegmentPlace
from towpath.archive.read.foreign.broker_logs import ForeignLog, find_logs
from towpath.archive.read.foreign.log_endings import ENDING, LogEnding
from towpath.model.digest import Digest
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.runtime.clock import now_ms
from towpath.settings import StoreLayout
from towpath.store import Store

_VERSION = 1


def open_any(store: Store, region: str, as_of: AsOf, *, arriving: bool = False) -> Archive:
    """Open an archive as of a version, or foreign logs presented as one.

    Of foreign logs the headers of all batches are read, to know where they end and which
    transactions are open.

    Args:
        store: Where it is.
        region: The region, or the cluster of foreign logs.
        as_of: The moment.
        arriving: Whether others copy an archive there, as `CommitLog.open` has it.

    Raises:
        ConfigError: Foreign logs have no past, or there are none.
        CommitLogError: There is no archive, or none as of then, or its log is of no use.
        CorruptSegmentError: A foreign log is damaged before its end.
        StoreError: The store could not be read.
    """
    if store.config.layout is StoreLayout.ARCHIVE:
        return open_archive(store, region, as_of, arriving=arriving)
    if as_of != AsOf():
        text = f"is not used with store.layout: {store.config.layout}, which keeps no versions"
        raise ConfigError((ConfigProblem("--at" if as_of.time is not None else "--version", text),))
    logs = find_logs(store, region)
    surveys = store.threads.map(lambda log: log.open(store).survey(), logs.values())
    state = state_of(dict(zip(logs.values(), surveys, strict=True)))
    return Archive(CommitLog(store, region, state), state)


def state_of(surveys: Mapping[ForeignLog, LogSurvey]) -> ArchiveState:
    """Return an archive state that describes surveyed logs."""
    places: dict[PartitionId, ArchivedTo] = {}
    segments: dict[PartitionId, TableChange] = {}
    endings: dict[tuple[str, str], Captured] = {}
    now = now_ms()
    for log, survey in surveys.items():
        start = SourceOffset(max(log.log_start, survey.start or 0))
        end = SourceOffset(max(start, survey.stable_end))
        places[log.id] = ArchivedTo(
            topic=log.partition.topic,
            begin=start,
            archived_to=end,
            log_start=start,
            stable_end=end,
            seen=now,
        )
        if (ending := LogEnding.of(log, survey)) is not None:
            endings[ENDING, str(log.partition)] = Captured(ending.as_value(), _VERSION)
        if end > start:
            segments[log.id] = TableChange(added=(_segment(log, survey, start, end, now),))
    return ArchiveState(
        version=_VERSION, time=now, partitions=places, changes=segments, captures=endings
    )


def _segment(
    log: ForeignLog, survey: LogSurvey, start: SourceOffset, end: SourceOffset, now: int
) -> Segment:
    """Return a segment for a whole log; records of aborted transactions count as records."""
    records = min(survey.records, end - start)
    return Segment(
        cluster=log.id.cluster,
        topic_id=log.id.topic_id,
        topic=log.partition.topic,
        partition=log.id.partition,
        start=start,
        end=end,
        raw_bytes=survey.size,
        first=start,
        last=SourceOffset(end - 1),
        min_time=survey.oldest,
        max_time=survey.newest,
        digest=Digest(records),
        gaps=GapCounts(compacted=end - start - records),
        format=SegmentFormat.BATCHES,
        place=SegmentPlace(key=log.files[-1].name, size=survey.size),
        created=now,
    )
