"""Lag of groups on both sides, in records and in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.groups.model import GroupPosition
from towpath.groups.reading import Log
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.nouns import TopicPartition
from towpath.runtime.clock import now_ms

_PATIENCE = 5.0
"""Seconds that leaders get, each of which is asked once."""
MOST = 200
"""Most records on each side that are read for their age."""


class Lag(NamedTuple):
    """The lag of a group on one side.

    Attributes:
        records: Offsets from its position to the end of the log; -1 if that is not known.
        seconds: Age of the next record that it will read, 0 if there is none; -1 if not known.
    """

    records: int = -1
    seconds: float = -1.0


class Lags(NamedTuple):
    """The lags of a group in one partition, at the source and on the target."""

    source: Lag = Lag()
    target: Lag = Lag()


@dataclass(frozen=True, slots=True)
class ClusterEnd:
    """One cluster's log end offsets and times, as far as lags need them."""

    admin: Admin
    client: Client


_At = tuple[TopicPartition, int]


def lags(
    positions: Iterable[GroupPosition], source: ClusterEnd | None, target: ClusterEnd
) -> list[Lags]:
    """Return the lag of each position on both sides.

    A position that the target does not have counts from where a sync would put it.

    Args:
        positions: The positions.
        source: The source, `None` if it is gone.
        target: The target.
    """
    given = list(positions)
    here: list[_At] = [(each.tp, each.source) for each in given]
    there = [target_place(each) for each in given]
    ours = _lags(source, here) if source is not None else {}
    theirs = _lags(target, [each for each in there if each is not None])
    return [
        Lags(
            _told(each.lag, ours.get(at, Lag())),
            _told(each.target_lag, theirs.get(copy, Lag()) if copy is not None else Lag()),
        )
        for each, at, copy in zip(given, here, there, strict=True)
    ]


def _told(records: int, measured: Lag) -> Lag:
    """Return the lag that a broker tells of a share group, in the place of a measured one.

    Which record it reads next, no broker tells: the time is that of the first it may read.
    """
    if records < 0:
        return measured
    return Lag(records, measured.seconds if records else 0.0)


def target_place(position: GroupPosition) -> _At | None:
    """Return the group's present or future offset on the target, `None` if unknown."""
    if position.mirror is None:
        return None
    if position.known is not None:
        return position.mirror, position.known
    return (position.mirror, position.answer.offset) if position.answer is not None else None


def _lags(cluster: ClusterEnd, places: Iterable[_At]) -> Mapping[_At, Lag]:
    wanted = dict.fromkeys(places)
    try:
        tps = {tp for tp, _ in wanted}
        ends = cluster.admin.offsets.latest(tps, committed=True, patience=_PATIENCE)
    except ClusterError:
        return {}
    found, reads = {}, 0
    for tp, offset in wanted:
        if tp not in ends:
            continue
        behind, seconds = max(0, ends[tp] - offset), 0.0
        if behind:
            reads += 1
            seconds = _age(cluster, tp, offset, ends[tp]) if reads <= MOST else -1.0
        found[tp, offset] = Lag(behind, seconds)
    return found


def _age(cluster: ClusterEnd, tp: TopicPartition, offset: int, end: int) -> float:
    """Return the age of the first record from an offset on, 0 if there is none, -1 if unknown."""
    try:
        for record, _ in Log(cluster.admin, cluster.client, tp).records(offset, end):
            if record.offset >= offset:
                return (
                    max(0.0, (now_ms() - record.timestamp) / 1000) if record.timestamp > 0 else -1
                )
    except (ClusterError, CorruptBatchError):
        return -1.0
    return 0.0
