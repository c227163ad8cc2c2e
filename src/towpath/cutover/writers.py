"""Who still writes to the source topics: what must be nobody when a migration ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers, ProducerState
from towpath.model.clock import readable
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition

_NAMED = 3

Ends = Mapping[TopicPartition, int]
States = Answers[TopicPartition, tuple[ProducerState, ...]]


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """What was seen of some topics at the source.

    Attributes:
        ends: Where each partition ends, open transactions included.
        states: What the leaders knew of producers just before.
    """

    ends: Ends = field(default_factory=dict)
    states: States = field(default_factory=lambda: Answers({}, {}))


@dataclass(frozen=True, slots=True)
class Writing:
    """A partition of the source that is not at rest.

    Attributes:
        tp: The partition.
        before: Where it ended at first.
        after: Where it ended at last; -1 where it is no more.
        producers: Those that wrote meanwhile, or hold a transaction open.
        unknown: Why the leader did not tell, if so.
        copied: The offset up to which its mirror topic reaches; `None` where nothing was copied
            meanwhile.
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
            return "it is no more at the source since the first look"
        if self.after < self.before:
            return (
                f"ended at {self.before} at the first look and ends at {self.after} now: it lost"
                " records, or the topic was made again"
            )
        return f"grew from {self.before} to {self.after} since the first look; {self._who}"

    @property
    def _who(self) -> str:
        if self.unknown:
            return f"who writes is not known: {self.unknown}"
        if not self.producers:
            return "the producer has no id, as it is not idempotent"
        return f"{_named(self.producers)} wrote"

    @property
    def _copy(self) -> str:
        if self.copied is None or self.after < self.before:
            return ""
        if self.copied < self.after:
            return f"; its mirror topic lacks offsets {self.copied} to {self.after - 1}"
        return "; its mirror topic has these, and lacks what comes next"


def look(source: Admin, topics: Iterable[TopicName]) -> SourceSnapshot:
    """Look where all partitions of these topics end, and who wrote to them.

    Raises:
        ClusterError: The source does not tell where all of them end.
    """
    found = source.topics.describe(topics)
    tps = [
        TopicPartition(name, each.partition)
        for name, info in found.items()
        for each in info.partitions
    ]
    states = _states(source, tps)
    answers = source.offsets.latest(tps)
    return SourceSnapshot({tp: answers.sure(tp) for tp in tps}, states)


def moved(source: Admin, first: SourceSnapshot, last: SourceSnapshot) -> tuple[Writing, ...]:
    """Return which partitions are not at rest between two looks, and because of whom.

    A producer wrote if what its leader knows of it is other than before the first look. Times are
    not asked: they are those of the records, which a producer sets as it likes.
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
    """Ask for the producers; brokers older than Kafka 2.8 do not know the question (KIP-664)."""
    wanted = tuple(tps)
    if not wanted:
        return Answers({}, {})
    try:
        return source.producers.states(wanted)
    except ClusterError as error:
        return Answers({}, dict.fromkeys(wanted, error))


def _named(states: Iterable[ProducerState]) -> str:
    newest = sorted(states, key=lambda state: -state.last_timestamp)
    shown = [f"producer {s.id}{_last(s)}" for s in newest[:_NAMED]]
    more = f" and {len(newest) - _NAMED} more" if len(newest) > _NAMED else ""
    return ", ".join(shown) + more


def _last(state: ProducerState) -> str:
    known = state.last_timestamp >= 0
    return f" (its last record is of {readable(state.last_timestamp)})" if known else ""
