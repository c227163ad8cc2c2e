"""Who still writes to the source topics: what must be nobody when a migration ends."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ProducerState
from towpath.model.clock import now_ms, readable
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition

_RECENT_MS = 60_000
"""A producer that wrote so long ago or less may be the one that wrote now; clocks differ."""
_NAMED = 3

Ends = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Writing:
    """A partition of the source that is not at rest.

    Attributes:
        tp: The partition.
        before: Where it ended at first.
        after: Where it ended at last.
        producers: Those that its leader remembers and that may be the ones.
        unknown: Why the leader did not tell, if so.
    """

    tp: TopicPartition
    before: int
    after: int
    producers: tuple[ProducerState, ...]
    unknown: str = ""

    def __str__(self) -> str:
        if self.before == self.after:
            open_ = [state for state in self.producers if state.open_since >= 0]
            whose = f" of {_named(open_)}" if open_ else ""
            return f"{self.tp}: a transaction{whose} is open; let it be ended"
        grew = f"{self.tp}: grew from {self.before} to {self.after} while nobody should write"
        if self.unknown:
            return f"{grew}; who writes is not known: {self.unknown}"
        if not self.producers:
            return f"{grew}; the producer has no id, as it is not idempotent"
        return f"{grew}; {_named(self.producers)} wrote last"


def ends(source: Admin, topics: Iterable[TopicName]) -> Ends:
    """Return where all partitions of these topics end, open transactions included.

    Raises:
        ClusterError: The source does not tell of all of them.
    """
    found = source.topics(topics)
    tps = [
        TopicPartition(name, each.partition)
        for name, info in found.items()
        for each in info.partitions
    ]
    answers = source.latest(tps)
    return {tp: answers.sure(tp) for tp in tps}


def writing(
    source: Admin, topics: Iterable[TopicName], quiet: float, stop: threading.Event
) -> tuple[Ends, tuple[Writing, ...]]:
    """Look at the ends twice; return those at last, and the partitions that are not at rest.

    Args:
        source: The cluster.
        topics: What to look at.
        quiet: Seconds between the two looks.
        stop: Set to look sooner.

    Raises:
        ClusterError: The source does not tell.
    """
    names = tuple(topics)
    first = ends(source, names)
    stop.wait(quiet)
    last = ends(source, names)
    return last, moved(source, first, last)


def moved(source: Admin, first: Ends, last: Ends) -> tuple[Writing, ...]:
    """Return which partitions grew between two looks, or hold an open transaction, and by whom."""
    states = source.producer_states(last)
    stable = source.latest(last, committed=True)
    found = []
    for tp, end in last.items():
        before = first.get(tp, 0)
        grew = end != before
        known = states.get(tp, ())
        suspects = tuple(
            state for state in known if state.open_since >= 0 or (grew and _now(state))
        )
        open_ = stable.sure(tp) < end or any(state.open_since >= 0 for state in suspects)
        if grew or open_:
            failed = states.failed.get(tp)
            found.append(Writing(tp, before, end, suspects, _why(failed)))
    return tuple(found)


def _why(error: ClusterError | None) -> str:
    return "" if error is None else str(error)


def _now(state: ProducerState) -> bool:
    return now_ms() - state.last_timestamp < _RECENT_MS


def _named(states: Iterable[ProducerState]) -> str:
    newest = sorted(states, key=lambda state: -state.last_timestamp)
    shown = [f"producer {s.id} (at {readable(s.last_timestamp)})" for s in newest[:_NAMED]]
    more = f" and {len(newest) - _NAMED} more" if len(newest) > _NAMED else ""
    return ", ".join(shown) + more
