"""The meter of a link's run, which is passed around and opens no connection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from towpath.groups.counts import GroupCounts, GroupsReading, counted_in
from towpath.ledger.entries import LinkStage
from towpath.metering.meter import Meter
from towpath.mirror.metrics.stand import Stand
from towpath.model.nouns import TopicName
from towpath.model.rates import NO_LIMIT, RateLimits
from towpath.runtime.clock import now_ms

CREATE = ("topics", "CreateTopic")
GROW = ("topics", "AddPartitions")
REGISTER = ("schemas", "RegisterSchemas")
CONFIGURE = ("schemas", "SetSubjectConfig")
"""Subject of a step and what it does."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tried:
    """A step that was attempted: its subject, its kind, and the error code if it failed."""

    subject: str
    do: str
    reason: str = ""
    """The stable code of the error; empty where it was done."""


@dataclass(frozen=True, slots=True)
class SchemasReading:
    """The observed state of both schema registries.

    Attributes:
        since: When both were last looked at, or the run began, on the monotonic clock.
        counts: Numbers by what is counted and a label: `versions` by `there` and `missing`,
            `skipped` by reason, `requests` by side.
    """

    since: float
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def age(self) -> float:
        """Seconds since both registries were observed, or since the run began."""
        return max(0.0, time.monotonic() - self.since)

    def of(self, what: str) -> dict[tuple[str, ...], int]:
        """Return the numbers of one kind, by label."""
        return {(label,): number for (name, label), number in self.counts.items() if name == what}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The counts of a run at one moment.

    Attributes:
        copied: Records and bytes that this run copied, by topic and partition.
        done: How many steps, by subject and what they do.
        failed: The same, and the error's code.
        created: How many topics were created.
        created_seconds: How long all those took together.
        registered: How many versions of subjects were registered, and the seconds of all together.
        configured: The same of subjects that got what the source has set for them.
        left_out: How many things, by cause.
        slots: How many slices Spark runs at the same time.
        throttled: For how many seconds brokers asked us to wait, by side.
        limits: The limits in bytes per second that hold.
        limit_waits: For how many seconds slices waited for limits, by topic; "" for the link.
        state: The state of the link: a value of `LinkStage`.
        retention_held: On how many mirror topics that have caught up retention stays held back.
        events_lost: How many events were not written.
        failed_rounds: How many rounds, by the error's code.
        round_seconds: How long the last round took that ended.
        looked_at: When all partitions were last looked at, in ms since 1970.
        ids_awaited: How many ids of schemas partitions wait for, `None` where ids stay.
        ids_passed: How many ids of schemas have no id of the target, by the code of the reason.
        groups: Counts about groups of consumers, `None` if the file asks for none.
        schemas: Counts about schemas, `None` if the file asks for none.
    """

    stands: tuple[Stand, ...] = ()
    copied: Mapping[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    done: Mapping[tuple[str, str], int] = field(default_factory=dict)
    failed: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    created: int = 0
    created_seconds: float = 0.0
    registered: tuple[int, float] = (0, 0.0)
    configured: tuple[int, float] = (0, 0.0)
    left_out: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 0
    slots: int | None = None
    failed_rounds: Mapping[str, int] = field(default_factory=dict)
    round_seconds: float | None = None
    throttled: Mapping[str, float] = field(default_factory=dict)
    limits: RateLimits = NO_LIMIT
    limit_waits: Mapping[str, float] = field(default_factory=dict)
    retention_held: int = 0
    state: str = LinkStage.RUNNING.value
    events_lost: int = 0
    trouble: bool = False
    looked_at: int | None = None
    ids_awaited: int | None = None
    ids_passed: Mapping[str, int] = field(default_factory=dict)
    groups: GroupsReading | None = None
    schemas: SchemasReading | None = None


class Copied:
    """The records and bytes that this run copied, by topic and partition.

    Where a mirror topic is begun anew the ledger counts from 0 again; here it is added to what
    the one before had. What was there at the first look was copied by earlier runs.
    """

    def __init__(self) -> None:
        self._first = True
        self._seen: dict[int, tuple[int, int]] = {}
        self._totals: dict[tuple[str, int], tuple[int, int]] = {}

    def look(self, stands: Iterable[Stand]) -> dict[tuple[str, int], tuple[int, int]]:
        """Add the present positions; return what this run has copied of each partition."""
        for stand in stands:
            there = stand.records, stand.bytes
            seen = self._seen.get(stand.incarnation, there if self._first else (0, 0))
            more = max(0, there[0] - seen[0]), max(0, there[1] - seen[1])
            self._seen[stand.incarnation] = seen[0] + more[0], seen[1] + more[1]
            key = stand.topic, stand.partition
            records, size = self._totals.get(key, (0, 0))
            self._totals[key] = records + more[0], size + more[1]
        self._first = False
        return dict(self._totals)


class LinkMeter(Meter[Reading]):
    """Counts what happens in a run, from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._copied = Copied()
        self._began = time.monotonic()

    def read(self) -> Reading:
        """Return the counts so far."""
        return self.newest or Reading()

    @property
    def ready(self) -> bool:
        """Whether both clusters have been observed."""
        return self.read().looked_at is not None

    def looked(self, stands: Iterable[Stand]) -> None:
        """Record the present standing of every partition."""
        found = tuple(stands)
        with self._lock:
            copied = self._copied.look(found)
            self.tell(replace(self.read(), stands=found, copied=copied, looked_at=now_ms()))

    def tried(self, step: Tried) -> None:
        """Count an attempted step."""
        with self._lock:
            now, key = self.read(), (step.subject, step.do)
            if step.reason:
                failed = _one_more(now.failed, (*key, step.reason))
                self.tell(replace(now, failed=failed))
            else:
                self.tell(replace(now, done=_one_more(now.done, key)))

    def created(self, seconds: float) -> None:
        """Count a created topic, with its duration."""
        with self._lock:
            now = self.read()
            self.tell(
                replace(now, created=now.created + 1, created_seconds=now.created_seconds + seconds)
            )

    def registered(self, versions: int, seconds: float) -> None:
        """Count the registered versions of a subject, with their common duration."""
        with self._lock:
            number, spent = self.read().registered
            now = number + versions, spent + seconds
            self.tell(replace(self.read(), registered=now))

    def configured(self, seconds: float) -> None:
        """Count a subject that got the source's settings, with the duration."""
        with self._lock:
            number, spent = self.read().configured
            self.tell(replace(self.read(), configured=(number + 1, spent + seconds)))

    def ids(self, awaited: int, passed: Mapping[str, int]) -> None:
        """Record the number of awaited schema ids, and of ids without a counterpart by reason."""
        with self._lock:
            self.tell(replace(self.read(), ids_awaited=awaited, ids_passed=dict(passed)))

    def left_out(self, causes: Mapping[str, int]) -> None:
        """Record the number of left-out items, by cause."""
        with self._lock:
            self.tell(replace(self.read(), left_out=dict(causes)))

    def slots(self, number: int) -> None:
        """Record how many slices Spark runs at the same time."""
        with self._lock:
            self.tell(replace(self.read(), slots=number))

    def round_begins(self) -> None:
        """Start the measurement of a round; a round that ends starts the next measurement."""
        self._began = time.monotonic()

    def round_ended(self) -> None:
        """Count a round that ended, and record how long it took."""
        with self._lock:
            now = time.monotonic()
            took, self._began = now - self._began, now
            rounds = self.read().rounds + 1
            self.tell(replace(self.read(), rounds=rounds, round_seconds=took))

    def round_failed(self, reason: str) -> None:
        """Count a failed round by its error code."""
        with self._lock:
            failed = _one_more(self.read().failed_rounds, reason)
            self.tell(replace(self.read(), failed_rounds=failed))

    def throttled(self, seconds: Mapping[str, float]) -> None:
        """Record for how long the brokers of each side have throttled the run so far."""
        with self._lock:
            self.tell(replace(self.read(), throttled=dict(seconds)))

    def limited(self, limits: RateLimits, waits: Mapping[TopicName, float]) -> None:
        """Record the rate limits in force, and the seconds that slices waited for each."""
        with self._lock:
            found = {str(topic): seconds for topic, seconds in waits.items()}
            self.tell(replace(self.read(), limits=limits, limit_waits=found))

    def retention_held(self, topics: int) -> None:
        """Record the number of mirror topics whose retention stays withheld."""
        with self._lock:
            self.tell(replace(self.read(), retention_held=topics))

    def state(self, state: str) -> None:
        """Record the state of the link: a value of `LinkStage`."""
        with self._lock:
            self.tell(replace(self.read(), state=state))

    def events_lost(self, number: int) -> None:
        """Record the number of events that were not written so far."""
        with self._lock:
            self.tell(replace(self.read(), events_lost=number))

    def groups_begin(self) -> None:
        """Record that the sync of groups has started."""
        with self._lock:
            self.tell(replace(self.read(), groups=GroupsReading(since=time.monotonic())))

    def groups_synced(
        self, counts: Mapping[str, GroupCounts], outcomes: Mapping[str, int], *, good: bool
    ) -> None:
        """Count a sync of groups.

        Args:
            counts: What it did, by group.
            outcomes: Positions by outcome.
            good: Whether all groups were looked at and no answer was lost.
        """
        with self._lock:
            now = self.read().groups or GroupsReading(since=time.monotonic())
            since = time.monotonic() if good else now.since
            added = counted_in(now.counts, counts)
            groups = GroupsReading(since=since, outcomes=dict(outcomes), counts=added)
            self.tell(replace(self.read(), groups=groups))

    def schemas_seen(self, counts: Mapping[tuple[str, str], int], at: float | None) -> None:
        """Record an observation of both schema registries.

        Args:
            counts: Numbers by what is counted and a label; see `SchemasReading`.
            at: When both were looked at, on the monotonic clock; `None` if they could not be.
        """
        with self._lock:
            before = self.read().schemas or SchemasReading(since=time.monotonic())
            # What a look could not tell stands as it was seen last.
            seen = dict(counts) if at else {**before.counts, **_only(counts, "requests", "skipped")}
            schemas = SchemasReading(at or before.since, seen)
            self.tell(replace(self.read(), schemas=schemas))

    def in_trouble(self, trouble: bool) -> None:
        """Record whether the run as a whole is in trouble."""
        with self._lock:
            self.tell(replace(self.read(), trouble=trouble))


def _only(counts: Mapping[tuple[str, str], int], *names: str) -> dict[tuple[str, str], int]:
    return {key: number for key, number in counts.items() if key[0] in names}


def _one_more(counts: Mapping[T, int], key: T) -> dict[T, int]:
    return {**counts, key: counts.get(key, 0) + 1}
