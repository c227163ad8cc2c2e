"""What the query of a link makes of its latest records; nothing is written."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo, every_partition
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.transform.frames import TransformFrames, range_of
from towpath.model.errors import ClusterError, ConfigError, ConfigProblem
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import LinkConfig

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Preview:
    """Records, and what the query makes of them.

    Attributes:
        before: The records, by their columns.
        after: The rows that would be written.
        places: The partition on the target that each row of `after` would be written to.
        notes: What a user should know of these, in sentences.
    """

    before: Sequence[Row]
    after: Sequence[Row]
    places: Sequence[TopicPartition]
    notes: Sequence[str] = ()


def preview(config: LinkConfig, file: Path, spark: Any, limit: int) -> Preview:
    """Read the latest records of a link, and send them through its query.

    Args:
        config: The link.
        file: Its file, for problems of the query.
        spark: The session.
        limit: The most offsets to read.

    Raises:
        ClusterError: The source cannot be read.
        ConfigError: The query is wrong, a mirror topic cannot have its name, or there are no
            records.
        TowpathError: A record does not get through the query.
    """
    frames = TransformFrames(spark, config, file)
    frames.check()
    topics, ranges = _latest(config, limit)
    if not ranges:
        text = "no topic that it names has a record"
        raise ConfigError((ConfigProblem("topics.include", text),))
    names = {str(name): str(config.topics.target_name(name)) for name in topics}
    counts, notes = _counts(config, topics)
    tried = frames.tried(frames.job(ranges, names), counts)
    return Preview(_rows(tried.before), _rows(tried.after), tried.places, notes)


def _counts(
    config: LinkConfig, topics: Mapping[TopicName, TopicInfo]
) -> tuple[dict[str, int], list[str]]:
    """Return the number of partitions that each mirror topic has, or will have.

    A query can be tried before the target can be reached; a note tells it then.
    """
    wanted = config.topics.partitions
    names = {config.topics.target_name(name): info for name, info in topics.items()}
    counts = {str(name): wanted or len(info.partitions) for name, info in names.items()}
    try:
        with Admin(config.target, Side.TARGET) as target:
            there = target.topics.describe([*names])
    except ClusterError as error:
        return counts, [f"partitions on the target are as a new mirror topic has them: {error}"]
    return counts | {str(n): len(i.partitions) for n, i in there.items() if i.partitions}, []


def _latest(config: LinkConfig, limit: int) -> tuple[dict[TopicName, TopicInfo], list[Any]]:
    """Return the topics, and a range for each partition that has records with its share of them."""
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        topics = {n: i for n, i in source.topics.describe().items() if config.topics.takes(i)}
        tps = every_partition(topics)
        ends = source.offsets.latest(tps, committed=True)
        starts = source.offsets.earliest(tps)
    held = {tp: ends[tp] - starts[tp] for tp in tps if tp in ends and tp in starts}
    left, ranges = limit, []
    full = sorted((tp for tp, count in held.items() if count), key=lambda tp: (held[tp], tp))
    for number, tp in enumerate(full):
        share = min(held[tp], -(-left // (len(full) - number)))
        left -= share
        if share:
            at = TransformedPosition(topics[tp.topic].id, ends[tp] - share)
            ranges.append(range_of(tp, topics[tp.topic].id, at, ends[tp]))
    return topics, ranges


def _rows(rows: Iterable[Row]) -> list[Row]:
    return [{name: shown(value) for name, value in row.items()} for row in rows]


def shown(value: Any) -> Any:
    """Return the value of a column as JSON has it: bytes as text, else in base64 behind a mark."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return f"base64:{base64.b64encode(value).decode()}"
        case datetime():
            return value.isoformat(timespec="milliseconds")
        case list():
            return [shown(each) for each in value]
        case dict():
            return {name: shown(each) for name, each in value.items()}
        case _:
            return value
