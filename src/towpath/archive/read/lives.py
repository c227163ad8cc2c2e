"""Lives of topics for `towpath archive lives`; a recreated topic has several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import ArchiveState, CommitLog
from towpath.archive.log.partition_sums import PartitionSums, sums_of
from towpath.archive.model import PartitionId
from towpath.model.amounts import counted
from towpath.model.nouns import TopicId, TopicName
from towpath.settings.naming import fits
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLife:
    """A topic from its creation to its deletion; a recreated topic is another life.

    Attributes:
        topic: Its name.
        id: Its id, which `--life` of a restore names.
        partitions: How many partitions are archived; `records` of all of them, with all histories.
        filtered: Offsets that were left out, as a restore had written them.
        begun: When its first segment that is still there was archived, in ms; `None` if there is
            none.
        seen: When it was seen last at the source, in ms.
        first: The lowest timestamp of a record, in ms, and `last`, the highest; `None` where there
            is none.
        latest: Whether it is the latest life of its name, which is restored by default.
    """

    topic: TopicName
    id: TopicId
    partitions: int
    records: int
    filtered: int
    begun: int | None
    seen: int
    first: int | None
    last: int | None
    latest: bool


def lives(config: ArchiveConfig, topics: tuple[str, ...]) -> tuple[TopicLife, ...]:
    """Return the lives of topics, by name and from the earliest to the latest.

    Args:
        config: The archive.
        topics: Expressions of the topics; none for all.

    Raises:
        CommitLogError: There is no archive, or its log cannot be used.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        state = CommitLog.open(store, config.region).state
    return tuple(each for each in lives_of(state) if not topics or fits(each.topic, topics))


def lives_of(state: ArchiveState) -> Iterator[TopicLife]:
    """Yield the lives of all topics of an archive, in order."""
    parts: dict[TopicId, list[PartitionId]] = {}
    for each in state.partitions:
        parts.setdefault(each.source.topic_id, []).append(each)
    seen = {id_: max(state.partitions[each].seen for each in of) for id_, of in parts.items()}
    names = {id_: state.partitions[of[0]].topic for id_, of in parts.items()}
    latest: dict[TopicName, TopicId] = {}
    ordered = sorted(parts, key=lambda id_: (names[id_], seen[id_]))
    for id_ in ordered:
        latest[names[id_]] = id_
    sums, times = sums_of(state), _times(state)
    for id_ in ordered:
        own = [sums.get(each, PartitionSums()) for each in parts[id_]]
        found = [times[each] for each in parts[id_] if each in times]
        yield TopicLife(
            topic=names[id_],
            id=id_,
            partitions=len({each.partition for each in parts[id_]}),
            records=sum(each.records for each in own),
            filtered=sum(each.gap_counts.filtered for each in own),
            begun=min(_told(found, "created_min"), default=None),
            seen=seen[id_],
            first=min(_told(found, "min_time_min"), default=None),
            last=max(_told(found, "max_time_max"), default=None),
            latest=latest[names[id_]] == id_,
        )


def left_out_sentences(state: ArchiveState) -> list[str]:
    """Return a sentence for each topic life with offsets that were filtered out."""
    return [
        f"{each.topic} (topic id {each.id}): {counted(each.filtered, 'offset')} left out, as a"
        " restore had written them (filtered); a restore of this archive lacks them"
        for each in lives_of(state)
        if each.filtered
    ]


def _told(found: Sequence[dict[str, Any]], column: str) -> list[int]:
    return [each[column] for each in found if each[column] is not None]


def _times(state: ArchiveState) -> dict[PartitionId, dict[str, Any]]:
    """Return the times of the segments of each partition."""
    table = state.table()
    wanted = [("created", "min"), ("min_time", "min"), ("max_time", "max")]
    rows = table.rows.select(["partition", "created", "min_time", "max_time"])
    grouped = pa.TableGroupBy(rows, "partition").aggregate(wanted)
    return {table.partitions[row["partition"]].id: row for row in grouped.to_pylist()}
