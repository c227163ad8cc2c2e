"""Measurements of a link's run, from the counts of its meter. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.groups.counts import GroupCounts
from towpath.ledger.entries import LinkStage
from towpath.metering.detail import LIMIT, chosen
from towpath.metering.measurement import Measurement, Samples, alone, labelled
from towpath.metering.metric import Metric
from towpath.mirror.metrics import names
from towpath.mirror.metrics.meter import CONFIGURE, CREATE, GROW, REGISTER, Reading, SchemasReading
from towpath.mirror.metrics.stand import Stand, Sum, by_topic, sums
from towpath.model.nouns import Detail, Side

_COUNTED: Mapping[Metric, Callable[[GroupCounts], int]] = {
    names.OFFSETS_TRANSLATED: lambda each: each.translated,
    names.TRANSLATION_ERRORS: lambda each: each.translation_errors,
    names.OFFSETS_COMMITTED: lambda each: each.committed,
    names.COMMIT_ERRORS: lambda each: each.commit_errors,
}
_TIMED: Mapping[Metric, Callable[[GroupCounts], tuple[int, int]]] = {
    names.TRANSLATION_LATENCY: lambda each: (each.syncs, each.translation_ns),
    names.COMMIT_LATENCY: lambda each: (each.writes, each.commit_ns),
}
_BY_TOPIC: Mapping[Metric, Callable[[Stand], Mapping[str, int]]] = {
    names.QUARANTINED_RECORDS: lambda each: each.quarantined,
    names.SKIPPED_RECORDS: lambda each: each.skipped,
    names.DROPPED_RECORDS: lambda each: each.dropped,
    names.REWRITTEN_PARTS: lambda each: each.rewritten,
    names.UNCHANGED_IDS: lambda each: each.unchanged,
}


_STATES = [each for each in LinkStage if each not in {LinkStage.STOPPED, LinkStage.REMOVED}]
"""The states that a run can meet: a topic is stopped, and no link is removed under its run."""


@dataclass(frozen=True, slots=True)
class About:
    """Constant facts about a link's run.

    Attributes:
        states: All states of a partition.
        causes: All causes for leaving something out.
    """

    version: str
    link: str
    detail: Detail
    states: tuple[str, ...]
    causes: tuple[str, ...]


def measured(now: Reading, about: About) -> Iterator[Measurement]:
    """Yield every metric of a run, including those without a series at present.

    Args:
        now: All counts.
        about: What does not change while it runs.
    """
    yield from _theirs(now)
    yield from _schemas(now)
    yield Measurement(names.INFO, [((about.version, about.link), 1)])
    yield from _partitions(now, about)
    yield from _rounds(now)
    yield from _steps(now, about)
    yield from _waits(now)
    yield alone(names.RETENTION_HELD, now.retention_held)
    yield labelled(names.LINK_STATE, {each.value: each == now.state for each in _STATES})
    yield alone(names.EVENTS_LOST, now.events_lost)
    yield alone(names.SCHEMA_IDS_AWAITED, now.ids_awaited)
    yield labelled(names.SCHEMA_IDS_UNTRANSLATED, now.ids_passed)
    yield from _groups(now)
    yield from _registries(now.schemas)
    yield alone(names.TROUBLE, now.trouble)
    yield alone(names.LAST_LOOK, None if now.looked_at is None else now.looked_at / 1000)


def _theirs(now: Reading) -> Iterator[Measurement]:
    """Yield Redpanda's metrics of topics, but for the lag."""
    errors = sum(n for (*step, _), n in now.failed.items() if tuple(step) in {CREATE, GROW})
    yield alone(names.TOPICS_CREATED, now.created)
    yield alone(names.TOPIC_CREATE_ERRORS, errors)
    spent = (now.created, round(now.created_seconds * 1e9))
    yield alone(names.TOPIC_CREATE_LATENCY, spent)


def _schemas(now: Reading) -> Iterator[Measurement]:
    """Yield Redpanda's metrics of schemas."""
    for wanted, made, (count, errors, latency) in (
        (
            REGISTER,
            now.registered,
            (names.SCHEMAS_CREATED, names.SCHEMA_CREATE_ERRORS, names.SCHEMA_CREATE_LATENCY),
        ),
        (
            CONFIGURE,
            now.configured,
            (
                names.COMPATIBILITY_UPDATES,
                names.COMPATIBILITY_UPDATE_ERRORS,
                names.COMPATIBILITY_UPDATE_LATENCY,
            ),
        ),
    ):
        failed = sum(n for (*step, _), n in now.failed.items() if tuple(step) == wanted)
        yield alone(count, made[0])
        yield alone(errors, failed)
        yield alone(latency, (made[0], round(made[1] * 1e9)))


def _groups(now: Reading) -> Iterator[Measurement]:
    """Yield the metrics of groups."""
    known = now.groups
    counts = {(name,): each for name, each in known.counts.items()} if known else {}
    for metric, read in _COUNTED.items():
        yield Measurement(metric, ((key, read(each)) for key, each in counts.items()))
    for metric, spent in _TIMED.items():
        yield Measurement(metric, ((key, spent(each)) for key, each in counts.items()))
    yield alone(names.GROUPS_AGE, known.age if known else None)
    outcomes = known.outcomes if known else {}
    yield labelled(names.GROUP_POSITIONS, outcomes)


def _registries(known: SchemasReading | None) -> Iterator[Measurement]:
    """Yield our own metrics of schemas."""
    yield alone(names.SCHEMAS_AGE, known.age if known else None)
    for metric, what in (
        (names.SCHEMA_VERSIONS, "versions"),
        (names.SCHEMAS_SKIPPED, "skipped"),
        (names.REGISTRY_REQUESTS, "requests"),
    ):
        yield Measurement(metric, known.of(what).items() if known else [])


def _partitions(now: Reading, about: About) -> Iterator[Measurement]:
    detail = chosen(about.detail, now.stands)
    found = sums(detail, now.stands, now.copied)
    yield Measurement(names.DETAIL, [((detail,), 1)])
    yield Measurement(names.RECORDS_COPIED, ((key, each.records) for key, each in found.items()))
    yield Measurement(names.BYTES_COPIED, ((key, each.bytes) for key, each in found.items()))
    for metric in (names.LAG_RECORDS, names.REDPANDA_LAG):
        yield Measurement(metric, _known((key, each.lag_records) for key, each in found.items()))
    unstable = ((key, each.unstable) for key, each in found.items())
    yield Measurement(names.UNSTABLE_OFFSETS, unstable)
    yield Measurement(names.STRAY_RECORDS, ((key, each.strays) for key, each in found.items()))
    yield Measurement(names.STRAY_OFFSETS, ((key, each.unkept) for key, each in found.items()))
    yield Measurement(
        names.LAG_SECONDS, _known((key, each.known_lag) for key, each in found.items())
    )
    yield Measurement(names.GAPS, ((key, each.gaps) for key, each in found.items()))
    yield Measurement(names.GAP_OFFSETS, ((key, each.gap_offsets) for key, each in found.items()))
    archived = ((key, each.from_archive) for key, each in found.items())
    yield Measurement(names.ARCHIVED_RECORDS, archived)
    yield Measurement(names.DELETED_RECORDS, ((key, each.deleted) for key, each in found.items()))
    for metric, read in _BY_TOPIC.items():
        numbers = by_topic(detail, ((each.topic, read(each)) for each in now.stands))
        yield Measurement(metric, numbers.items())
    yield Measurement(names.PARTITION_STATE, _states(found))
    together = Counter(stand.state for stand in now.stands)
    yield Measurement(names.PARTITIONS, (((state,), together[state]) for state in about.states))
    yield alone(names.MAPPED_PARTITIONS, sum(stand.mapped for stand in now.stands))
    unknown = sum(stand.lag_records is None for stand in now.stands)
    yield alone(names.UNKNOWN_LAG, unknown)
    untimed = sum(stand.lag_seconds is None for stand in now.stands)
    yield alone(names.UNKNOWN_LAG_TIME, untimed)


def _states(found: Mapping[tuple[str, str], Sum]) -> Samples:
    for key, each in found.items():
        for state, number in each.states.items():
            yield (*key, state), number


def _rounds(now: Reading) -> Iterator[Measurement]:
    yield alone(names.ROUNDS, now.rounds)
    yield alone(names.SLOTS, now.slots)
    yield alone(names.ROUND_SECONDS, now.round_seconds)
    yield labelled(names.ROUNDS_FAILED, now.failed_rounds)


def _steps(now: Reading, about: About) -> Iterator[Measurement]:
    yield Measurement(names.STEPS_DONE, now.done.items())
    yield Measurement(names.STEPS_FAILED, now.failed.items())
    left_out = {**dict.fromkeys(about.causes, 0), **now.left_out}
    yield labelled(names.LEFT_OUT, left_out)


def _waits(now: Reading) -> Iterator[Measurement]:
    yield Measurement(names.THROTTLED, (((side,), now.throttled.get(side, 0.0)) for side in Side))
    limits = {"": now.limits.link} if now.limits.link is not None else {}
    few = len(now.limits.topics) <= LIMIT
    limits |= {str(name): rate for name, rate in now.limits.topics.items()} if few else {}
    yield Measurement(names.MAX_RATE, (((topic,), rate) for topic, rate in limits.items()))
    waits = {topic: seconds for topic, seconds in now.limit_waits.items() if few or not topic}
    yield Measurement(
        names.MAX_RATE_WAITS, (((topic,), seconds) for topic, seconds in waits.items())
    )


def _known(samples: Iterable[tuple[tuple[str, ...], float | None]]) -> Samples:
    return ((key, value) for key, value in samples if value is not None)
