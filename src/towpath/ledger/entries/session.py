"""Ledger entries that a run and its slices exchange: heartbeats, dealt partitions, attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from towpath.model.nouns import EVENTS, LinkName, TopicName, TopicPartition
from towpath.runtime.clock import now_ms, readable

_LONG_AGO = 600_000
"""Milliseconds after which nobody waits for a further beat. The other machine's clock wrote the
time of the last one, so this is far more than what clocks differ by. Where they differ by more, the
older run hears the younger one and gives way."""
MIRROR = "mirror"
"""The kind of work of `run`, and of all commands that prepare, end or mend what it does."""
_KEYS = 1000
"""Number of keys under which the partitions for one slice are written. A slice hears an entry long
before so many others follow, and the ledger stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The heartbeat of one `towpath run`, with instructions for its slices.

    Rounds up to `ended_round` are over: a slice of such a round drains and returns. Of rounds up
    to `left_round` no slice runs any more. Whenever `news` is another number, the source has more
    than slices know; only sources that do not tell slices themselves have news, such as archives.
    """

    kind: ClassVar[str] = "session"

    link: LinkName
    run_id: str
    host: str
    pid: int
    started: int
    beat: int
    ended_round: int
    over: bool
    rested: bool = False
    """All slices of the run ended by themselves, so nothing that they sent can still arrive."""
    work: str = MIRROR
    """The kind of work: runs of different kinds do not refuse each other."""
    left_round: int = 0
    news: int = 0
    space: str = ""
    """Which processes `pid` is one of; "" where an older version wrote it."""
    born: int = 0
    """When the process began, in clock ticks since its machine did; 0 where nothing tells."""

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return _of_work(self.work)

    @property
    def may_live(self) -> bool:
        """Whether the run behind this heartbeat may still be alive."""
        return _may_live(self.beat, over=self.over)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """The present or former holder of a lease.

    Attributes:
        command: The command of Towpath: `run`, `apply`, `cutover`, `repair`.
        host: The host name.
        pid: The process id.
        since: When it got the lease, in ms since 1970.
    """

    command: str
    host: str
    pid: int
    since: int

    @property
    def where(self) -> str:
        """Host, process and start time of the holder, for people."""
        return f"on {self.host}, pid {self.pid}, since {readable(self.since)}"

    def __str__(self) -> str:
        return f"`towpath {self.command}` ({self.where})"


@dataclass(frozen=True, slots=True)
class MissingEvents:
    """Events of one process that could not be written; `str()` gives a sentence for people.

    Attributes:
        count: Number of events that are lost, or wait to be written again.
        why: Why the last attempt to write failed, "" where it did not.
    """

    count: int
    why: str = ""

    def __str__(self) -> str:
        verb = "event is" if self.count == 1 else "events are"
        return (
            f"{self.count} {verb} not written to topic {EVENTS}: {self.why or 'too many at once'}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLease:
    """The heartbeat of the one process that may change the target for a link.

    Attributes:
        owner: A name that no other process has.
        command: The command of Towpath that holds the lease: `run`, `apply`, `cutover`, `repair`.
        host: The host name.
        pid: The process id.
        since: When it got the lease, in ms since 1970.
        beat: When it gave this sign, likewise.
        over: Whether it has given the lease back.
        work: The kind of work; there is one lease for each.
        replaced: The dead process that this one took the lease over from, if it did.
        missing_events: The events of the process that are not written, if there are any.
        space: Which processes `pid` is one of; "" where an older version wrote it.
        born: When the process began, in clock ticks since its machine did; 0 where nothing tells.
    """

    kind: ClassVar[str] = "lease"

    link: LinkName
    owner: str
    command: str
    host: str
    pid: int
    since: int
    beat: int
    over: bool
    work: str = MIRROR
    replaced: LeaseHolder | None = None
    missing_events: MissingEvents | None = None
    space: str = ""
    born: int = 0

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return _of_work(self.work)

    @property
    def holder(self) -> LeaseHolder:
        """The process that holds the lease."""
        return LeaseHolder(command=self.command, host=self.host, pid=self.pid, since=self.since)

    @property
    def may_live(self) -> bool:
        """Whether the process behind this heartbeat may still be alive."""
        return _may_live(self.beat, over=self.over)


def _of_work(work: str) -> tuple[str | int, ...]:
    """Return the part of a key that names a kind of work; older versions knew mirrors alone."""
    return () if work == MIRROR else (work,)


def _may_live(beat: int, *, over: bool) -> bool:
    return not over and now_ms() - beat <= _LONG_AGO


@dataclass(frozen=True, slots=True, kw_only=True)
class Dealt:
    """Partitions that a run assigns to, or withdraws from, a running slice.

    Attributes:
        round: The round of the slice.
        slice: The number of the slice in its round.
        number: Counts these entries of one run.
        facts_from: The offset in partition 0 of the ledger from which on the slice must read what
            is about these partitions.
        settled: No request of an earlier copier can still arrive for these partitions.
        partitions: The assignments, as `records/work.py` writes and reads them.
        withdrawn: Source partitions that the slice must leave, by topic.
    """

    kind: ClassVar[str] = "dealt"

    link: LinkName
    run_id: str
    round: int
    slice: int
    number: int
    facts_from: int
    settled: bool
    partitions: tuple[Mapping[str, Any], ...]
    withdrawn: Mapping[TopicName, tuple[int, ...]] = field(default_factory=dict)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.slice, self.number % _KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The start of an attempt at a slice; earlier attempts stop sending when it appears.

    Attributes:
        attempt: Counts the attempts that Spark has made at the slice, from 0.
        name: A name that no other attempt has.
        ready: It waits for the slices of the round before, and all it needs is connected.
    """

    kind: ClassVar[str] = "attempt"

    link: LinkName
    run_id: str
    round: int
    slice: int
    attempt: int
    name: str
    ready: bool = False

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.slice, self.attempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Partitions that a slice has given up, with no write request left in flight.

    Attributes:
        round: The round of the slice.
        slice: The number of the slice in its round.
        number: Counts these entries of one slice.
        partitions: Source partitions, by topic.
    """

    kind: ClassVar[str] = "released"

    link: LinkName
    run_id: str
    round: int
    slice: int
    number: int
    partitions: Mapping[TopicName, tuple[int, ...]]

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.slice, self.number % _KEYS)

    @property
    def tps(self) -> Iterator[TopicPartition]:
        """The source partitions that the slice has given up."""
        return named_partitions(self.partitions)


def by_topic(tps: Iterable[TopicPartition]) -> dict[TopicName, tuple[int, ...]]:
    """Return partitions grouped by topic, as ledger entries list them."""
    found: defaultdict[TopicName, list[int]] = defaultdict(list)
    for tp in tps:
        found[tp.topic].append(tp.partition)
    return {topic: tuple(numbers) for topic, numbers in found.items()}


def named_partitions(topics: Mapping[TopicName, Iterable[int]]) -> Iterator[TopicPartition]:
    """Yield the partitions that an entry lists by topic."""
    for topic, numbers in topics.items():
        yield from (TopicPartition(topic, number) for number in numbers)
