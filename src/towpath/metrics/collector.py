"""Converts counts to metric families of the Prometheus client, anew for each scrape.

Topics that are no longer mirrored therefore leave no series behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from towpath.metrics import names
from towpath.metrics.groups import GroupCounts
from towpath.metrics.meter import CONFIGURE, CREATE, GROW, REGISTER, Meter, Reading, SchemasReading
from towpath.metrics.names import Kind, Metric
from towpath.metrics.stand import LIMIT, Stand, Sum, by_topic, chosen, sums
from towpath.model.nouns import Detail, Side

Samples = Iterable[tuple[tuple[str, ...], float]]
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
_ENDINGS = {Kind.COUNTER: "_total"}


@dataclass(frozen=True, slots=True)
class About:
    """Facts about a link that do not change while it runs.

    Attributes:
        states: All states of a partition.
        causes: All causes for leaving something out.
    """

    version: str
    link: str
    detail: Detail
    states: tuple[str, ...]
    causes: tuple[str, ...]


class MeterCollector(Collector):
    """Collector that reads a meter for each scrape."""

    def __init__(self, meter: Meter, about: About) -> None:
        self._meter, self._about = meter, about

    def collect(self) -> Iterator[Family]:
        """Yield every metric, also those without a series now."""
        now = self._meter.read()
        yield from _theirs(now)
        yield from _schemas(now)
        yield family(names.INFO, [((self._about.version, self._about.link), 1)])
        yield from _partitions(now, self._about)
        yield from _rounds(now)
        yield from _steps(now, self._about)
        yield from _waits(now)
        yield family(names.RETENTION_HELD, [((), now.retention_held)])
        yield family(names.EVENTS_LOST, [((), now.events_lost)])
        yield family(names.SCHEMA_IDS_AWAITED, _if_known(now.ids_awaited))
        passed = (((reason,), number) for reason, number in now.ids_passed.items())
        yield family(names.SCHEMA_IDS_UNTRANSLATED, passed)
        yield from _groups(now)
        yield from _registries(now.schemas)
        yield family(names.TROUBLE, [((), now.trouble)])
        yield family(names.LAST_LOOK, _if_known(now.looked_at, 1000))


def _theirs(now: Reading) -> Iterator[Family]:
    """Yield Redpanda's metrics of topics, but for the lag."""
    errors = sum(n for (*step, _), n in now.failed.items() if tuple(step) in {CREATE, GROW})
    yield family(names.TOPICS_CREATED, [((), now.created)])
    yield family(names.TOPIC_CREATE_ERRORS, [((), errors)])
    spent = (now.created, round(now.created_seconds * 1e9))
    yield _summary(names.TOPIC_CREATE_LATENCY, [((), spent)])


def _schemas(now: Reading) -> Iterator[Family]:
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
        yield family(count, [((), made[0])])
        yield family(errors, [((), failed)])
        yield _summary(latency, [((), (made[0], round(made[1] * 1e9)))])


def _groups(now: Reading) -> Iterator[Family]:
    """Yield the metrics of groups."""
    known = now.groups
    counts = {(name,): each for name, each in known.counts.items()} if known else {}
    for metric, read in _COUNTED.items():
        yield family(metric, ((key, read(each)) for key, each in counts.items()))
    for metric, spent in _TIMED.items():
        yield _summary(metric, ((key, spent(each)) for key, each in counts.items()))
    yield family(names.GROUPS_AGE, [((), known.age)] if known else [])
    outcomes = known.outcomes if known else {}
    yield family(names.GROUP_POSITIONS, (((each,), n) for each, n in outcomes.items()))


def _registries(known: SchemasReading | None) -> Iterator[Family]:
    """Yield our own metrics of schemas."""
    yield family(names.SCHEMAS_AGE, [((), known.age)] if known else [])
    for metric, what in (
        (names.SCHEMA_VERSIONS, "versions"),
        (names.SCHEMAS_SKIPPED, "skipped"),
        (names.REGISTRY_REQUESTS, "requests"),
    ):
        yield family(metric, known.of(what).items() if known else [])


def _partitions(now: Reading, about: About) -> Iterator[Family]:
    detail = chosen(about.detail, now.stands)
    found = sums(detail, now.stands, now.copied)
    yield family(names.DETAIL, [((detail,), 1)])
    yield family(names.RECORDS_COPIED, ((key, each.records) for key, each in found.items()))
    yield family(names.BYTES_COPIED, ((key, each.bytes) for key, each in found.items()))
    for metric in (names.LAG_RECORDS, names.REDPANDA_LAG):
        yield family(metric, _known((key, each.lag_records) for key, each in found.items()))
    yield family(names.LAG_SECONDS, _known((key, each.known_lag) for key, each in found.items()))
    yield family(names.GAPS, ((key, each.gaps) for key, each in found.items()))
    yield family(names.GAP_OFFSETS, ((key, each.gap_offsets) for key, each in found.items()))
    archived = ((key, each.from_archive) for key, each in found.items())
    yield family(names.ARCHIVED_RECORDS, archived)
    yield family(names.DELETED_RECORDS, ((key, each.deleted) for key, each in found.items()))
    for metric, read in _BY_TOPIC.items():
        numbers = by_topic(detail, ((each.topic, read(each)) for each in now.stands))
        yield family(metric, numbers.items())
    yield family(names.PARTITION_STATE, _states(found))
    together = Counter(stand.state for stand in now.stands)
    yield family(names.PARTITIONS, (((state,), together[state]) for state in about.states))
    yield family(names.MAPPED_PARTITIONS, [((), sum(stand.mapped for stand in now.stands))])
    unknown = sum(stand.lag_records is None for stand in now.stands)
    yield family(names.UNKNOWN_LAG, [((), unknown)])
    untimed = sum(stand.lag_seconds is None for stand in now.stands)
    yield family(names.UNKNOWN_LAG_TIME, [((), untimed)])


def _states(found: Mapping[tuple[str, str], Sum]) -> Samples:
    for key, each in found.items():
        for state, number in each.states.items():
            yield (*key, state), number


def _rounds(now: Reading) -> Iterator[Family]:
    yield family(names.ROUNDS, [((), now.rounds)])
    yield family(names.SLOTS, _if_known(now.slots))
    yield family(names.ROUND_SECONDS, _if_known(now.round_seconds))
    yield family(names.ROUNDS_FAILED, (((why,), n) for why, n in now.failed_rounds.items()))


def _steps(now: Reading, about: About) -> Iterator[Family]:
    yield family(names.STEPS_DONE, now.done.items())
    yield family(names.STEPS_FAILED, now.failed.items())
    left_out = {**dict.fromkeys(about.causes, 0), **now.left_out}
    yield family(names.LEFT_OUT, (((cause,), n) for cause, n in left_out.items()))


def _waits(now: Reading) -> Iterator[Family]:
    yield family(names.THROTTLED, (((side,), now.throttled.get(side, 0.0)) for side in Side))
    limits = {"": now.limits.link} if now.limits.link is not None else {}
    few = len(now.limits.topics) <= LIMIT
    limits |= {str(name): rate for name, rate in now.limits.topics.items()} if few else {}
    yield family(names.MAX_RATE, (((topic,), rate) for topic, rate in limits.items()))
    waits = {topic: seconds for topic, seconds in now.limit_waits.items() if few or not topic}
    yield family(names.MAX_RATE_WAITS, (((topic,), seconds) for topic, seconds in waits.items()))


def _known(samples: Iterable[tuple[tuple[str, ...], float | None]]) -> Samples:
    return ((key, value) for key, value in samples if value is not None)


def _if_known(value: float | None, divisor: int = 1) -> Samples:
    return [] if value is None else [((), value / divisor)]


def _summary(metric: Metric, samples: Iterable[tuple[tuple[str, ...], tuple[int, int]]]) -> Family:
    """Return the family of a summary, given number and sum."""
    made = Family(metric.name, metric.meaning, metric.kind)
    for values, (number, total) in samples:
        labels = dict(zip(metric.labels, values, strict=True))
        made.add_sample(f"{metric.name}_count", labels, number)
        made.add_sample(f"{metric.name}_sum", labels, total)
    return made


def family(metric: Metric, samples: Samples) -> Family:
    """Return the family of a metric with its samples, each labels and a value."""
    ending = _ENDINGS.get(metric.kind, "")
    made = Family(metric.name.removesuffix(ending), metric.meaning, metric.kind)
    for values, value in samples:
        made.add_sample(metric.name, dict(zip(metric.labels, values, strict=True)), value)
    return made
