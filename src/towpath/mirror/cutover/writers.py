"""The search for producers that still write to source topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers, ProducerState, every_partition
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.clock import readable

_NAMED = 3

Ends = Mapping[TopicPartition, int]
States = Answers[TopicPartition, tuple[ProducerState, ...]]


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """Log ends and producers of some source topics at one time.

    Attributes:
        ends: The high watermark of each partition, which includes open transactions.
        states: The producer states that the leaders told just before.
    """

    ends: Ends = field(default_factory=dict)
    states: States = field(default_factory=lambda: Answers({}, {}))


@dataclass(frozen=True, slots=True)
class Writing:
    """A source partition that still changes.

    Attributes:
        tp: The partition.
        before: Its end at the first look.
        after: Its end at the last look; -1 if it no longer exists.
        producers: Producers that wrote meanwhile, or have an open transaction.
        unknown: Why the leader did not tell the producers, "" if it did.
        copied: The source offset up to which it is copied; `None` if nothing was copied meanwhile.
    """

    tp: TopicPartition
    before: int
    after: int
    producers: tuple[ProducerState, ...]
    unknown: str = ""
    copied: int | None = None

    def __str__(self) -> str:
        return f"{self.tp}: {self._what}{self._copy}"

    @property
    def _what(self) -> str:
        open_ = [state for state in self.producers if state.open_since >= 0]
        if self.before == self.after:
            whose = f" of {_named(open_)}" if open_ else ""
            return f"a transaction{whose} is open; its producer must commit or abort it"
        if self.after < 0:
            return "it no longer exists at the source since the first look"
        if self.after < self.before:
            return (
                f"ended at {self.before} at the first look and ends at {self.after} now: it lost"
                " records, or the topic was made again"
            )
        return f"grew from {self.before} to {self.after} since the first look; {self._who}"

    @property
    def _who(self) -> str:
        if self.unknown:
            return f"it is not known who writes: {self.unknown}"
        if not self.producers:
            return "the producer has no id, as it is not idempotent"
        return f"{_named(self.producers)} wrote"

    @property
    def _copy(self) -> str:
        if self.copied is None or self.after < self.before:
            return ""
        if self.copied < self.after:
            return f"; its mirror topic lacks offsets {self.copied} to {self.after - 1}"
        return "; its mirror topic has these, and will lack later ones"


def look_at_source(source: Admin, topics: Iterable[TopicName]) -> SourceSnapshot:
    """Return the ends of all partitions of these topics, and their producers.

    Raises:
        ClusterError: The source does not tell the ends of all partitions.
    """
    tps = every_partition(source.topics.describe(topics))
    states = _states(source, tps)
    answers = source.offsets.latest(tps)
    return SourceSnapshot({tp: answers.sure(tp) for tp in tps}, states)


def moved(source: Admin, first: SourceSnapshot, last: SourceSnapshot) -> tuple[Writing, ...]:
    """Return the partitions that changed between two looks, and their producers.

    A producer wrote if its state on the leader differs from that at the first look. Its timestamps
    do not count: they are record timestamps, which a producer may set to any value.
    """
    stable = source.offsets.latest(last.ends, committed=True)
    restless = [
        tp for tp, end in last.ends.items() if end != first.ends.get(tp, 0) or stable.sure(tp) < end
    ]
    states = _states(source, restless)
    gone = [Writing(tp, first.ends[tp], -1, ()) for tp in first.ends.keys() - last.ends.keys()]
    found = [_writing(tp, first, last, states) for tp in restless]
    return tuple(sorted((*gone, *found), key=lambda each: each.tp))


def _writing(
    tp: TopicPartition, first: SourceSnapshot, last: SourceSnapshot, states: States
) -> Writing:
    known = set(first.states.get(tp, ()))
    wrote = tuple(s for s in states.get(tp, ()) if s.open_since >= 0 or s not in known)
    failed = states.failed.get(tp) or first.states.failed.get(tp)
    before = first.ends.get(tp, 0)
    return Writing(tp, before, last.ends[tp], wrote, str(failed) if failed else "")


def _states(source: Admin, tps: Iterable[TopicPartition]) -> States:
    """Ask for producer states; brokers older than Kafka 2.8 cannot tell them (KIP-664)."""
    wanted = tuple(tps)
    if not wanted:
        return Answers({}, {})
    try:
        return source.producers.states(wanted)
    except ClusterError as error:
        return Answers({}, dict.fromkeys(wanted, error))


def _named(states: Iterable[ProducerState]) -> str:
    newest = sorted(states, key=lambda state: -state.last_timestamp)
    return shortened([f"producer {s.id}{_last(s)}" for s in newest], _NAMED)


def _last(state: ProducerState) -> str:
    known = state.last_timestamp >= 0
    return f" (its last record is of {readable(state.last_timestamp)})" if known else ""
