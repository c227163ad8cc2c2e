"""The offsets of a batch or micro-batch, and how they are spread over tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.datasource import InputPartition

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo
from towpath.dataframes.options import EARLIEST, LATEST, OffsetBound, Place, SourceOptions
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.settings.sections.own_topics import is_own


@dataclass(frozen=True)
class OffsetRange(InputPartition):
    """The offsets [start, end) of a partition, for one task.

    Attributes:
        tp: The partition.
        topic_id: The id of its topic; another id is another topic.
        start: The first offset.
        end: The offset behind the last one.
    """

    tp: TopicPartition
    topic_id: TopicId
    start: int
    end: int

    @property
    def value(self) -> object:  # what Spark shows of it
        """The range as text."""
        return f"{self.tp} [{self.start}, {self.end})"


def topics_of(
    admin: Admin, options: SourceOptions, *, may_lack: bool = False
) -> dict[TopicName, TopicInfo]:
    """Return the topics that a query's options select.

    Args:
        admin: The cluster.
        options: Which topics.
        may_lack: Whether topics that are named may be missing, as they were deleted meanwhile.

    Raises:
        ClusterError: The cluster does not answer, or refuses a topic.
        ConfigError: A topic that is named is not there.
    """
    pattern = options.pattern
    if pattern is not None:
        found = admin.topics.describe()
        return {
            name: topic
            for name, topic in found.items()
            if re.fullmatch(pattern, name) and not (topic.internal or is_own(name))
        }
    names = options.topics or tuple(dict.fromkeys(topic for topic, _ in options.places))
    found = admin.topics.describe(map(TopicName, names))
    missing = [name for name in names if TopicName(name) not in found]
    if missing and not may_lack:
        what = "assign" if options.places else "subscribe"
        raise ConfigError((ConfigProblem(what, f"{', '.join(missing)}: no such topic"),))
    for topic in found.values():
        if topic.error is not None:
            raise topic.error
    return found


def places_of(options: SourceOptions, topics: Iterable[TopicInfo]) -> list[TopicPartition]:
    """Return the partitions that a query's options select."""
    wanted = set(options.places)
    every = (
        TopicPartition(topic.name, each.partition) for topic in topics for each in topic.partitions
    )
    return [tp for tp in every if not wanted or (str(tp.topic), tp.partition) in wanted]


def require_named(admin: Admin, options: SourceOptions, tps: Sequence[TopicPartition]) -> None:
    """Raise if options name partitions that are not read, or offsets that do not exist yet.

    Raises:
        ClusterError: A partition does not answer.
        ConfigError: With every such partition and offset.
    """
    start, end = options.start or OffsetBound(), options.end
    known = {(str(tp.topic), tp.partition): tp for tp in tps}
    named: dict[str, Iterable[Place]] = {
        "assign": options.places,
        "startingOffsets": start.offsets,
        "endingOffsets": end.offsets,
        "startingOffsetsByTimestamp": start.times,
        "endingOffsetsByTimestamp": end.times,
    }
    problems = [
        ConfigProblem(option, f"{topic}-{number}: is not among the partitions that are read")
        for option, places in named.items()
        for topic, number in places
        if (topic, number) not in known
    ]
    for option, bound, committed in (
        ("startingOffsets", start, False),
        ("endingOffsets", end, True),
    ):
        asked = {known[at]: offset for at, offset in bound.offsets.items() if at in known}
        problems += [
            ConfigProblem(option, f"{tp}: {asked[tp]} is beyond its end, {log_end}")
            for tp, log_end in _ends(admin, asked, committed=committed)
            if asked[tp] > log_end
        ]
    if problems:
        raise ConfigError(tuple(problems))


def require_ordered(
    options: SourceOptions,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> None:
    """Raise if options begin a partition behind where they end it, so that nothing is read.

    Args:
        options: The bounds.
        starts: Where partitions begin.
        ends: Where they end.

    Raises:
        ConfigError: With every such partition.
    """
    start, end = options.start or OffsetBound(EARLIEST), options.end
    problems = tuple(
        ConfigProblem(
            _option("starting", start),
            f"{tp}: begins at offset {starts[tp]}, behind offset {ends[tp]}, where"
            f" {_option('ending', end)} ends it",
        )
        for tp in sorted(starts)
        if starts[tp] > ends[tp] and _is_said(tp, start, EARLIEST) and _is_said(tp, end, LATEST)
    )
    if problems:
        raise ConfigError(problems)


def _is_said(tp: TopicPartition, bound: OffsetBound, usual: int) -> bool:
    """Whether a bound names an offset or a time of a partition."""
    if _time_of(tp, bound) is not None:
        return True
    return bound.offsets.get((str(tp.topic), tp.partition), bound.offset) != usual


def _option(which: str, bound: OffsetBound) -> str:
    if bound.times:
        return f"{which}OffsetsByTimestamp"
    return f"{which}Offsets" if bound.time is None else f"{which}Timestamp"


def _ends(
    admin: Admin, asked: Mapping[TopicPartition, int], *, committed: bool
) -> Iterator[tuple[TopicPartition, int]]:
    """Yield where partitions end of which an offset is named."""
    tps = [tp for tp, offset in asked.items() if offset >= 0]
    found = admin.offsets.latest(tps, committed=committed)
    return ((tp, found.sure(tp)) for tp in tps)


def offsets_at(
    admin: Admin, tps: Sequence[TopicPartition], bound: OffsetBound
) -> dict[TopicPartition, int]:
    """Return the offset of each partition for an offset bound.

    The end is that of committed records: records of open transactions come later.

    Raises:
        ClusterError: A partition does not answer.
    """
    wanted = {tp: bound.offsets.get((str(tp.topic), tp.partition), bound.offset) for tp in tps}
    times = {tp: time for tp in tps if (time := _time_of(tp, bound)) is not None}
    named = {tp: offset for tp, offset in wanted.items() if tp not in times}
    starts = admin.offsets.earliest(tp for tp, offset in named.items() if offset == EARLIEST)
    late = (tp for tp, offset in named.items() if offset == LATEST)
    ends = admin.offsets.latest([*times, *late], committed=True)
    found = admin.offsets.at_times(times)
    made = {tp: min(found.sure(tp), ends.sure(tp)) for tp in times}
    marks = {EARLIEST: starts, LATEST: ends}
    for tp, offset in named.items():
        made[tp] = marks[offset].sure(tp) if offset in marks else offset
    return made


def _time_of(tp: TopicPartition, bound: OffsetBound) -> int | None:
    return bound.times.get((str(tp.topic), tp.partition), bound.time)


def ranges_of(
    topics: Mapping[TopicName, TopicInfo],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[OffsetRange]:
    """Return one range for each partition that has offsets to read."""
    return [
        OffsetRange(tp, topics[tp.topic].id, start, ends[tp])
        for tp, start in sorted(starts.items())
        if start < ends.get(tp, start)
    ]


def spread(ranges: Sequence[OffsetRange], options: SourceOptions) -> list[OffsetRange]:
    """Cut ranges of offsets into as many tasks as the options ask for. Pure."""
    most = options.most_records
    total = sum(each.end - each.start for each in ranges)
    if options.least_tasks > len(ranges) and total:
        fair = max(1, total // options.least_tasks)
        most = min(most, fair) if most else fair
    return [part for each in ranges for part in _cut(each, most)]


def _cut(whole: OffsetRange, most: int) -> Iterator[OffsetRange]:
    step = most or whole.end - whole.start
    for start in range(whole.start, whole.end, step):
        yield replace(whole, start=start, end=min(start + step, whole.end))
