"""Observation of the logs of topics with withheld retention, to forecast deletions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.admin.disks import Disks
from towpath.cluster.metadata import every_partition
from towpath.ledger.books import LinkBooks
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.topics.configs import RETENTIONS, limit
from towpath.topics.holds import HeldTopic
from towpath.topics.retention import MOST_AHEAD, TIERED, LogSeen, TopicSeen

MS, BYTES = RETENTIONS
_PATIENCE = 5.0
"""Seconds for a partition without a leader; its topic is looked at again in the next round."""


@dataclass(frozen=True, slots=True)
class _Clocks:
    """How far the clocks of both clusters are ahead of this machine's, in ms; `None` if unknown."""

    source: int | None
    target: int | None

    @property
    def ahead(self) -> int | None:
        """Milliseconds by which the target's clock is ahead of the source's, `None` if unknown."""
        if self.source is None or self.target is None:
            return None
        return self.target - self.source

    @property
    def latest(self) -> int:
        """The latest time that the target's brokers may have now, in ms since 1970."""
        return now_ms() + (self.target or 0) + MOST_AHEAD


def look_at_withheld_logs(
    source: Admin, target: Admin, held: Mapping[TopicName, HeldTopic], books: LinkBooks
) -> dict[TopicName, TopicSeen]:
    """Return both clusters' logs of topics whose retention is withheld.

    What they do not tell is no error: it is part of the answer.

    Args:
        source: The cluster to read from.
        target: The cluster to write to.
        held: The topics.
        books: What the ledger knows; they tell where copying began.
    """
    if not held:
        return {}
    clocks = _Clocks(_told(source.cluster.ahead), _told(target.cluster.ahead))
    try:
        logs, untold = _logs(source, held, clocks.latest)
    except ClusterError as error:
        return {name: TopicSeen(ahead=clocks.ahead, untold=str(error)) for name in held}
    logs = _with_bytes(source, target, held, _copied(logs, books))
    by_topic: dict[TopicName, dict[int, LogSeen]] = defaultdict(dict)
    for tp, log in logs.items():
        by_topic[tp.topic][tp.partition] = log
    return {
        name: TopicSeen(logs=by_topic[name], ahead=clocks.ahead, untold=untold.get(name, ""))
        for name in held
    }


def look_at_older_times(target: Admin, held: Mapping[TopicName, HeldTopic]) -> dict[TopicName, int]:
    """Return how many offsets of mirror topics are past the target's `retention.ms` by now.

    A query may write older times than those it reads. What the target does not tell counts nothing,
    as retention by time is told elsewhere then.

    Args:
        target: The cluster that is written to.
        held: The topics.
    """
    latest = _Clocks(None, _told(target.cluster.ahead)).latest
    limits = {each.mirror: _since(each, latest) for each in held.values() if each.exists}
    times = {name: time for name, time in limits.items() if time is not None and time > 0}
    if not times:
        return {}
    try:
        tps = every_partition(target.topics.describe(times))
        firsts = target.offsets.earliest(tps, patience=_PATIENCE)
        asked = {tp: times[tp.topic] for tp in tps}
        fresh = target.offsets.at_times(asked, patience=_PATIENCE)
    except ClusterError:
        return {}
    past = Counter[TopicName]()
    for tp in tps:
        if tp in firsts and tp in fresh:
            past[tp.topic] += max(0, fresh[tp] - firsts[tp])
    return {name: past[each.mirror] for name, each in held.items() if past[each.mirror]}


def _told(ask: Callable[[], int | None]) -> int | None:
    try:
        return ask()
    except ClusterError:
        return None


def _logs(
    source: Admin, held: Mapping[TopicName, HeldTopic], latest: int
) -> tuple[dict[TopicPartition, LogSeen], dict[TopicName, str]]:
    """Return the logs of all partitions, and why some topics' are not all known."""
    tps = [TopicPartition(n, p) for n, each in held.items() for p in range(each.source.partitions)]
    firsts = source.offsets.earliest(tps, patience=_PATIENCE)
    ends = source.offsets.latest(tps, patience=_PATIENCE)
    known = [tp for tp in tps if tp in firsts and tp in ends]
    times = {tp: _since(held[tp.topic], latest) for tp in known}
    asked = {tp: time for tp, time in times.items() if time is not None and time > 0}
    fresh = source.offsets.at_times(asked, patience=_PATIENCE) if asked else {}
    any_time = dict.fromkeys(asked, 0)
    timed = source.offsets.at_times(any_time, patience=_PATIENCE) if asked else {}
    tiered = [tp for tp in known if held[tp.topic].final.get(TIERED) == "true"]
    future = source.offsets.at_time(tiered, latest, patience=_PATIENCE) if tiered else {}
    logs = {
        tp: LogSeen(
            first=firsts[tp],
            end=ends[tp],
            fresh=fresh.get(tp, firsts[tp]),
            timed=timed.get(tp, firsts[tp]),
            future=future.get(tp, ends[tp]) < ends[tp],
        )
        for tp in known
        if tp not in asked or (tp in fresh and tp in timed)
    }
    failed = {**firsts.failed, **ends.failed, **getattr(fresh, "failed", {})}
    return logs, {tp.topic: str(error) for tp, error in failed.items() if tp not in logs}


def _since(held: HeldTopic, latest: int) -> int | None:
    """Return the time before which the target's retention reaches, `None` if it reaches nothing."""
    most = limit(held.final.get(MS))
    return None if most is None or most == math.inf else int(latest - most)


def _copied(
    logs: Mapping[TopicPartition, LogSeen], books: LinkBooks
) -> dict[TopicPartition, LogSeen]:
    """Return the logs from where copying began."""
    found = dict(logs)
    for tp, log in logs.items():
        known = books.partitions.get(tp)
        if known is not None and known.opened is not None:
            found[tp] = log.since(known.opened.source_start)
    return found


def _with_bytes(
    source: Admin,
    target: Admin,
    held: Mapping[TopicName, HeldTopic],
    logs: Mapping[TopicPartition, LogSeen],
) -> dict[TopicPartition, LogSeen]:
    """Return the logs with their sizes, where retention counts them."""
    sized = [each for each in held.values() if (limit(each.final.get(BYTES)) or 0) < math.inf]
    here = _disks(source, {each.source.name: each.source.partitions for each in sized})
    there = _disks(target, {e.mirror: e.source.partitions for e in sized if e.exists})
    found = dict(logs)
    for tp, log in logs.items():
        each = held[tp.topic]
        if each in sized:
            copy = TopicPartition(each.mirror, tp.partition)
            mirrored = there.size(copy) if there is not None else None
            size = here.size(tp) if here is not None else None
            hidden = each.exists and mirrored is None
            found[tp] = log.sized(None if hidden else size, mirrored)
    return found


def _disks(admin: Admin, topics: Mapping[TopicName, int]) -> Disks | None:
    try:
        return admin.disks.describe(topics) if topics else None
    except ClusterError:
        return None
