"""Offsets that the source has deleted before they were copied, detected before a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Mode, TopicName
from towpath.model.reasons import ReasonCode
from towpath.settings import LinkConfig

PURGED = "-repartition"
"""How the names of topics end from which Kafka Streams deletes what it has read."""


def with_unread(
    rows: Iterable[PartitionStatus], source: Admin, patience: float | None = None
) -> tuple[PartitionStatus, ...]:
    """Return the rows with the offsets that the source deleted before they were copied.

    A receipt in the ledger is some seconds old while a run goes on. So this is told where the end
    of the target's log tells what was copied: where the offsets are those of the source, and where
    nothing lies there behind the last receipt. It is not told of topics that Kafka Streams purges,
    as a run passes over what all groups had read.

    Args:
        rows: The partitions.
        source: Asked for first offsets. If it does not answer, that is not known.
        patience: As for `ask_leaders`.
    """
    kept = tuple(rows)
    behind = {
        row.tp: row
        for row in kept
        if row.state is State.BEHIND and _at(row) >= 0 and not row.topic.endswith(PURGED)
    }
    if not behind:
        return kept
    try:
        firsts = source.offsets.earliest(behind, patience=patience)
    except ClusterError:
        return kept
    found = {tp: firsts[tp] for tp, row in behind.items() if firsts.get(tp, -1) > _at(row)}
    return tuple(
        replace(row, unread_end=found[row.tp], codes=(*row.codes, str(ReasonCode.GAP)))
        if row.tp in found
        else row
        for row in kept
    )


def _at(row: PartitionStatus) -> int:
    """Return up to where a partition is copied, -1 if that is not known exactly."""
    if row.target_log_end < 0:
        return -1
    if row.mode == Mode.IDENTICAL:
        return max(row.source_end, row.target_log_end)
    return row.source_end if row.target_log_end == row.target_end else -1


def findings(rows: Iterable[PartitionStatus], config: LinkConfig) -> Iterator[Note | Problem]:
    """Yield a finding for each topic with deleted offsets: a problem if a run stops there.

    Args:
        rows: The partitions, see `with_unread`.
        config: The link.
    """
    topics: dict[TopicName, list[PartitionStatus]] = defaultdict(list)
    for row in rows:
        if row.unread:
            topics[row.topic].append(row)
    for name, some in topics.items():
        first = some[0]
        rest = len(some) - 1
        more = f", and of {counted(rest, 'other partition')} some" if rest else ""
        text = (
            f"the source has deleted offsets {first.source_end} to {first.unread_end - 1} of"
            f" partition {first.partition} before they were copied{more}"
        )
        if config.records.stops_on_gap(name):
            text += ": a run stops there, unless all groups had read them; `records.on_gap: record`"
            yield Problem(name, f"{text} goes on behind them", Cause.TOPIC)
        else:
            yield Note(name, f"{text}; `records.on_gap` says what a run does")
