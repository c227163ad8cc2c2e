"""`towpath archive prune`: remove the oldest segments of partitions.

The removal is written to the log first. Objects are deleted later, when nobody needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import ValidationError

from towpath.archive.config import ArchiveConfig
from towpath.archive.config.retention import RetentionConfig
from towpath.archive.log import ArchiveState, CommitLog, Draft, EntryKind
from towpath.archive.model import PartitionId, Segment, SegmentId
from towpath.archive.read.listing import require_topics
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import CompactionProgress
from towpath.archive.upkeep.slice.merge_plan import object_shares
from towpath.archive.upkeep.tidying import tidy
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import SourceOffset, TopicName
from towpath.runtime.clock import now_ms
from towpath.settings.naming import fits
from towpath.settings.problems import faults_of
from towpath.store import Store
from towpath.store.stopping import stoppable

_MOST = 20_000
"""Segments of one entry, unless a single partition loses more."""
_STOPPED = "some of what may go may still be there; run the command again"
_ROUNDED = 0.5
"""Bytes by which sums of shares of objects may be off."""
_OPTIONS = {"max_age": "--older-than", "max_size": "--keep-size"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneWishes:
    """The rules for what may be pruned.

    Attributes:
        rules: The first rule that names a topic counts; without any, nothing goes by them.
        version: What was archived up to this version goes; `None` for none.
        topics: Regular expressions; only topics whose whole name matches one.
    """

    rules: tuple[RetentionConfig, ...] = ()
    version: int | None = None
    topics: tuple[str, ...] = (".*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedPartition:
    """The segments to prune in one partition.

    Attributes:
        id: The partition.
        topic: The name of its topic.
        begin: Where its archive begins now; `end`, where it will.
        archived_to: Where it ends.
        segments: The segments.
        bytes: Bytes of their objects; of an object that others share, their share.
    """

    id: PartitionId
    topic: TopicName
    begin: SourceOffset
    end: SourceOffset
    archived_to: SourceOffset
    segments: tuple[SegmentId, ...]
    records: int
    bytes: int
    newest: int | None

    @property
    def all(self) -> bool:
        """Whether nothing of the partition is left."""
        return self.end == self.archived_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """A pruning plan, and its result.

    Attributes:
        version: The version of the archive that was looked at.
        partitions: What goes.
        done: What was deleted besides; `None` for a plan alone.
    """

    version: int
    partitions: tuple[PrunedPartition, ...]
    done: CompactionProgress | None = None


def wishes_of(
    config: ArchiveConfig,
    age: float | None,
    size: int | None,
    version: int | None,
    topics: tuple[str, ...] = (".*",),
) -> PruneWishes:
    """Return the pruning rules of the options, or of the file if no option is given.

    Raises:
        ConfigError: Neither asks for anything, or an amount is out of bounds.
    """
    if age is not None or size is not None:
        rules: tuple[RetentionConfig, ...] = (_rule_of(age, size),)
    else:
        rules = config.retention if version is None else ()
    if not rules and version is None:
        text = (
            "is empty, and no option says what may go: add rules to the file, or name one of"
            " --older-than, --keep-size and --up-to-version"
        )
        raise ConfigError((ConfigProblem("retention", text),))
    return PruneWishes(rules=rules, version=version, topics=topics)


def _rule_of(age: float | None, size: int | None) -> RetentionConfig:
    told = {"max_age": f"{float(age):.3f}s" if age is not None else None}
    told["max_size"] = f"{size}B" if size is not None else None
    try:
        return RetentionConfig.model_validate(told)
    except ValidationError as error:
        faults = [fault for _, fault in faults_of(error, RetentionConfig)]
        problems = (ConfigProblem(_OPTIONS[str(each.place[0])], each.text) for each in faults)
        raise ConfigError(tuple(problems)) from None


def plan_pruning(config: ArchiveConfig, wishes: PruneWishes) -> Pruning:
    """Plan the removal of segments.

    Raises:
        CommitLogError: The log cannot be used, there is no archive, or no such version.
        ConfigError: The archive has none of the topics that are named.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        return _plan(CommitLog.open(store, config.region), wishes)


def prune(config: ArchiveConfig, wishes: PruneWishes, stop: threading.Event) -> Pruning:
    """Remove the oldest segments of partitions from the archive.

    Raises:
        ArchiveHeldError: Another process compacts, prunes or forgets.
        CommitLogError: The log cannot be used, there is no archive, or no such version.
        ConfigError: The archive has none of the topics that are named.
        StoppedError: The user asked to stop while the store was away.
        StoreError: The store cannot be used.
    """
    with stoppable(stop, _STOPPED), Store(config.store, stop=stop) as store:
        log = CommitLog.open(store, config.region)
        with archive_lease(config, store, "prune", stop) as lease:
            log.follow()
            plan = _plan(log, wishes)
            for remove in _portions(plan.partitions):
                lease.require()
                log.append(Draft(writer=lease.writer, kind=EntryKind.PRUNE, remove=remove))
            progress = CompactionProgress()
            tidy(config, log, lease, progress)
            return Pruning(version=log.state.version, partitions=plan.partitions, done=progress)


def _plan(log: CommitLog, wishes: PruneWishes) -> Pruning:
    require_topics(log.state, wishes.topics, "--topics")
    then = log.as_of(wishes.version) if wishes.version is not None else None
    found = tuple(plan_partitions(log.state, wishes, now_ms(), then))
    return Pruning(version=log.state.version, partitions=found)


def plan_partitions(
    state: ArchiveState, wishes: PruneWishes, now: int, then: ArchiveState | None = None
) -> Iterator[PrunedPartition]:
    """Yield the segments to prune in each partition. Pure.

    Args:
        state: The archive.
        wishes: What may go.
        now: The present time, in ms.
        then: The archive as of the version that `wishes` name.
    """
    table = state.table()
    shares = object_shares(table)
    places = table.rows["partition"].to_numpy()
    for place, partition in enumerate(table.partitions):
        rule = next((each for each in wishes.rules if each.concerns(partition.topic)), None)
        known = state.partitions[partition.id]
        if not fits(known.topic, wishes.topics):
            continue
        segments = table.between(partition.id)
        low, high = np.searchsorted(places, [place, place + 1])
        sizes = shares[low:high]
        count = _by_version(segments, partition.id, then)
        if rule is not None:
            count = max(count, _by_age(segments, rule, now), _by_size(sizes, rule))
        if count:
            gone = segments[:count]
            times = [each.max_time for each in gone if each.max_time is not None]
            yield PrunedPartition(
                id=partition.id,
                topic=known.topic,
                begin=known.begin,
                end=gone[-1].end,
                archived_to=known.archived_to,
                segments=tuple(each.id for each in gone),
                records=sum(each.records for each in gone),
                bytes=round(float(sizes[:count].sum())),
                newest=max(times, default=None),
            )


def _by_version(
    segments: Sequence[Segment], partition: PartitionId, then: ArchiveState | None
) -> int:
    known = then.partitions.get(partition) if then is not None else None
    if known is None:
        return 0
    return sum(each.end <= known.archived_to for each in segments)


def _by_age(segments: Sequence[Segment], rule: RetentionConfig, now: int) -> int:
    """Return how many segments in front are old."""
    if rule.max_age is None:
        return 0
    before = now - rule.max_age * 1000
    count = 0
    for each in segments:
        newest = each.created if each.max_time is None else each.max_time
        if newest >= before:
            break
        count += 1
    return count


def _by_size(sizes: np.ndarray[tuple[int], np.dtype[np.float64]], rule: RetentionConfig) -> int:
    """Return how many segments in front may go: those behind each have `max_size` alone."""
    if rule.max_size is None:
        return 0
    behind = sizes.sum() - np.cumsum(sizes)
    return int((behind >= rule.max_size - _ROUNDED).sum())


def _portions(partitions: Iterable[PrunedPartition]) -> Iterator[tuple[SegmentId, ...]]:
    held_back: list[SegmentId] = []
    for each in partitions:
        if held_back and len(held_back) + len(each.segments) > _MOST:
            yield tuple(held_back)
            held_back = []
        held_back += each.segments
    if held_back:
        yield tuple(held_back)
