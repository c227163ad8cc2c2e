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
from towpath.cluster.metadata import every_partition
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.transform.frames import TransformFrames, range_of
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side
from towpath.settings import LinkConfig

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Preview:
    """Records, and what the query makes of them.

    Attributes:
        before: The records, by their columns.
        after: The rows that would be written.
    """

    before: Sequence[Row]
    after: Sequence[Row]


def preview(config: LinkConfig, file: Path, spark: Any, limit: int) -> Preview:
    """Read the latest records of a link, and send them through its query.

    Args:
        config: The link.
        file: Its file, for problems of the query.
        spark: The session.
        limit: The most offsets to read.

    Raises:
        ClusterError: The source cannot be read.
        ConfigError: The query is wrong, or there are no records.
        TowpathError: A record does not get through the query.
    """
    frames = TransformFrames(spark, config, file)
    frames.check()
    names, ranges = _latest(config, limit)
    if not ranges:
        text = "no topic that it names has a record"
        raise ConfigError((ConfigProblem("topics.include", text),))
    before, after = frames.both(frames.job(ranges, names))
    return Preview(_rows(before.to_pylist()), _rows(after.to_pylist()))


def _latest(config: LinkConfig, limit: int) -> tuple[dict[str, str], list[Any]]:
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
    return {str(name): str(name) for name in topics}, ranges


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
