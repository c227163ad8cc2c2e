"""The forecast of early deletions by retention on the target. Pure.

Kafka deletes whole segments, from the start of a log (`UnifiedLog.deleteOldSegments`): by
`retention.ms` those whose largest timestamp is older, by `retention.bytes` those beyond which the
log still has so many bytes. A segment without any timestamp counts by the time of its file. No
broker tells where its segments begin, so nothing here depends on that: what may go is a bound.

The rule (docs/decisions/0073): retention is released where the target keeps all that the source's
own retention keeps. What is past the retention of both sides may then go on the target first, by
less than a segment; that is told, and keeps nothing back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from towpath.model.cleaner import left_alone
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import ConfigRules
from towpath.topics.cleaning import by_rule, cleaning
from towpath.topics.configs import POLICY, RETENTIONS, deletes, limit, tighter
from towpath.topics.foresight import NOTHING, Foresight

MS, BYTES = RETENTIONS
SEGMENT_BYTES, SEGMENT_MS, JITTER = "segment.bytes", "segment.ms", "segment.jitter.ms"
TIERED, COMPRESSION = "remote.storage.enable", "compression.type"
MOST_AHEAD = 60_000
"""Milliseconds by which the target's clock may be ahead of the source's and count as equal."""
_FILLER_OFFSETS, _FILLER_BYTES = 1_000_000, 1 << 20
"""Most offsets, and bytes, that one batch of filler takes (`landing/log_starts.py`)."""
_SEGMENT = 1 << 30
"""Kafka's default for `segment.bytes`."""

Configs = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    """A source partition's log, as far as the target's retention depends on it.

    Attributes:
        first: The first copied offset that the source has.
        end: The source's log end offset.
        fresh: The first offset that is younger than the target's `retention.ms`.
        timed: The first offset with a timestamp, `end` if there is none.
        future: Whether a record has a time that has not come yet.
        bytes: Bytes of the log at the source, `None` if unknown; `mirrored` likewise on the target,
            where it is `None` before the mirror topic exists.
    """

    first: int
    end: int
    fresh: int
    timed: int = -1
    future: bool = False
    bytes: int | None = None
    mirrored: int | None = None

    def since(self, start: int) -> LogSeen:
        """Return the part of the log from an offset on, before which nothing was copied."""
        first = min(max(self.first, start), self.end)
        return replace(
            self, first=first, timed=max(self.timed, first) if first > self.first else self.timed
        )

    def sized(self, size: int | None, mirrored: int | None) -> LogSeen:
        """Return the log with its bytes at the source and on the target."""
        return replace(self, bytes=size, mirrored=mirrored)

    def reach(self, most_ms: float, most_bytes: float) -> int:
        """Return an upper bound on the offset before which the target may delete.

        Args:
            most_ms: The target's `retention.ms`, infinity for none.
            most_bytes: Its `retention.bytes`, likewise.
        """
        reached = self.fresh if most_ms < math.inf else self.first
        size = self.bytes if self.mirrored is None else self.mirrored
        if most_bytes < math.inf and (size is None or size > most_bytes):
            reached = self.end  # segments, and so the records in them, are not known
        return max(self.first, min(reached, self.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSeen:
    """The logs of a source topic and its mirror topic.

    Attributes:
        logs: The partitions that answered, by number.
        ahead: Milliseconds by which the target's clock is ahead of the source's; `None` if unknown.
        untold: Why a cluster did not answer, "" if both did.
        changed: Whether records are changed on their way, so that they may take more bytes.
        transformed: Whether they go through a query, so that no partitions can be compared.
        older: Number of offsets of the mirror topic whose times a query has made older than the
            target's `retention.ms`, as far as that was looked at.
    """

    logs: Mapping[int, LogSeen] = field(default_factory=dict)
    ahead: int | None = None
    untold: str = ""
    changed: bool = False
    transformed: bool = False
    older: int = 0


def foresee(source: Configs, final: Configs, seen: TopicSeen, rules: ConfigRules) -> Foresight:
    """Return a forecast of source records that the target would delete early.

    Args:
        source: The configs in effect on the source topic.
        final: Those that would be in effect on the mirror topic without the hold.
        seen: The logs of both.
        rules: The rules in the file, which may be the cause.
    """
    deleted = _deleted(source, final, seen, rules) if expires(final) else NOTHING
    cleaned = tuple(cleaning(source, final, rules))
    if not cleaned:
        return deleted
    # Which keys come again, no broker tells, so all of it may go.
    ranges = {n: (log.first, log.end) for n, log in seen.logs.items() if log.end > log.first}
    return Foresight((*deleted.reasons, *cleaned), ranges)


def differs(source: Configs, final: Configs, rules: ConfigRules) -> Iterator[Reason]:
    """Yield reasons why a target keeps less than the source, as far as configs alone tell.

    Args:
        source: The configs in effect on the source topic; empty if the login may not see them.
        final: Those in effect on the mirror topic.
        rules: The rules in the file, which may be the cause.
    """
    if not source:
        return
    if expires(final) and any(_number(limit(final.get(key))) < math.inf for key in RETENTIONS):
        yield from _tighter(source, final, rules)
        yield from _finer(source, final)
    yield from cleaning(source, final, rules)


def _deleted(source: Configs, final: Configs, seen: TopicSeen, rules: ConfigRules) -> Foresight:
    """Return what the target's retention would delete."""
    most = {key: limit(final.get(key)) for key in RETENTIONS}
    if all(value == math.inf for value in most.values()):
        return NOTHING
    untold = [key for key, value in most.items() if value is None]
    most_ms, most_bytes = (_number(most[key]) for key in RETENTIONS)
    reasons = (
        *_tighter(source, final, rules),
        *_finer(source, final),
        *(_unknown("config", key) for key in untold),
        *_untold_limits(source, most),
        *_clocks(seen, most_ms),
        *(_times(source, final, seen) if most_ms < math.inf else ()),
        *(_sizes(source, final, seen) if most_bytes < math.inf else ()),
        *([_unknown("untold", seen.untold)] if seen.untold else []),
    )
    ranges = {
        number: (log.first, end)
        for number, log in seen.logs.items()
        if (end := log.end if untold else log.reach(most_ms, most_bytes)) > log.first
    }
    return Foresight(tuple(dict.fromkeys(reasons)), ranges)


def _untold_limits(source: Configs, most: Mapping[str, float | None]) -> Iterator[Reason]:
    """Yield limits of the target that cannot be compared, as the source does not tell its own."""
    for key, value in most.items():
        if _number(value) < math.inf and not kept_limit(source, key):
            yield _unknown("source", key)


def _number(value: float | None) -> float:
    return math.inf if value is None else value


def expires(configs: Configs) -> bool:
    """Return whether retention deletes records; without a cleaner not where `compact` is named."""
    return deletes(configs) and not left_alone(configs)


def kept_limit(configs: Configs, key: str) -> str:
    """Return a topic's retention limit, -1 for none, "" if unknown."""
    return configs.get(key, "") if expires(configs) else "-1"


def _tighter(source: Configs, final: Configs, rules: ConfigRules) -> Iterator[Reason]:
    """Yield limits of the target below those of the source."""
    for key in RETENTIONS:
        ours, theirs = kept_limit(source, key), final.get(key)
        if tighter(theirs, ours):
            yield Reason.of(
                ReasonCode.RETENTION_TIGHTER,
                key=key,
                theirs=theirs or "",
                ours=ours,
                policy=_idle(source),
                by=_of_retention(key, source, rules),
            )


def _idle(source: Configs) -> str:
    """Return the policy by which retention has no effect at the source, "" if it has."""
    if expires(source):
        return ""
    stopped = left_alone(source) if deletes(source) else ""
    return (source.get(POLICY) or "empty") + (f", and {stopped}" if stopped else "")


def _of_retention(key: str, source: Configs, rules: ConfigRules) -> str:
    if deletes(source) and left_alone(source):
        return "brokers"
    if key not in rules.override and POLICY in rules.override and not deletes(source):
        return f"override.{POLICY}"
    return by_rule(key, rules)


def _finer(source: Configs, final: Configs) -> Iterator[Reason]:
    """Yield settings with which the target's segments are smaller than the source's."""
    if not expires(source):
        return  # the limits differ, which is told
    pairs = {SEGMENT_BYTES: (source, final), SEGMENT_MS: (_unjittered(source), _unjittered(final))}
    for key, (ours, theirs) in pairs.items():
        if tighter(theirs.get(key), ours.get(key)):
            yield Reason.of(ReasonCode.SEGMENTS_FINER, key=key, theirs=theirs[key], ours=ours[key])


def _unjittered(configs: Configs) -> dict[str, str]:
    """Return after which time a segment ends at the earliest (`LogConfig.randomSegmentJitter`)."""
    time, jitter = limit(configs.get(SEGMENT_MS)), limit(configs.get(JITTER))
    if time is None or time == math.inf:
        return {}
    return {SEGMENT_MS: str(int(time - min(time, jitter or 0)))}


def _clocks(seen: TopicSeen, most_ms: float) -> Iterator[Reason]:
    if most_ms < math.inf and seen.ahead is not None and seen.ahead > MOST_AHEAD:
        yield Reason.of(ReasonCode.CLOCK_AHEAD, seconds=seen.ahead // 1000)


def _times(source: Configs, final: Configs, seen: TopicSeen) -> Iterator[Reason]:
    """Yield where retention counts by the times of files, which brokers do not tell."""
    if seen.older and all(log.fresh <= log.first for log in seen.logs.values()):
        yield _unknown("older", f"{seen.older:,}")
    # The cleaner removes records, so the first one need not lie at the start of the log.
    cleaned = "compact" in source.get(POLICY, "")
    for number, log in seen.logs.items():
        front = log.end if cleaned else log.first + 1
        if log.end > log.first and log.timed >= front:
            yield _unknown("times", str(number))
        elif log.future and final.get(TIERED) == "true":
            # Kafka 4.5 counts such local segments by the time of their files (KAFKA-20609).
            yield _unknown("future", str(number))


def _sizes(source: Configs, final: Configs, seen: TopicSeen) -> Iterator[Reason]:
    """Yield where the same records may take more bytes on the target."""
    if not expires(source) or limit(source.get(BYTES)) == math.inf:
        return  # the limits differ, which is told
    if limit(final.get(BYTES)) == math.inf:
        return
    theirs = final.get(COMPRESSION, "producer")
    if theirs not in {"producer", source.get(COMPRESSION, "producer")}:
        yield _unknown("compression", theirs)
    if seen.transformed:
        yield _unknown("transform")
        return
    if seen.changed:
        yield _unknown("changes")
    if "compact" in source.get(POLICY, ""):
        yield _unknown("cleaned")
    if "true" in {source.get(TIERED), final.get(TIERED)}:
        yield _unknown("tiered")
    yield from _larger(final, seen)


def _larger(final: Configs, seen: TopicSeen) -> Iterator[Reason]:
    """Yield the partitions that take more bytes on the target, or whose size is not told."""
    for number, log in seen.logs.items():
        if log.bytes is None:
            yield _unknown("sizes")
        elif log.mirrored is not None and log.mirrored > log.bytes + _filler(log, final):
            yield Reason.of(
                ReasonCode.LOG_LARGER, partition=number, theirs=log.mirrored, ours=log.bytes
            )


def _filler(log: LogSeen, final: Configs) -> int:
    """Return how many bytes before the first offset of a mirror topic may be filler.

    They lie in its first segment, which goes when the records in it would go without them.
    """
    most = limit(final.get(SEGMENT_BYTES))
    return int(min(math.ceil(log.first / _FILLER_OFFSETS) * _FILLER_BYTES, most or _SEGMENT))


def _unknown(what: str, detail: str = "") -> Reason:
    return Reason.of(ReasonCode.DELETION_UNKNOWN, what=what, detail=detail)
