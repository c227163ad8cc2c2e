"""The assignment of partitions to the slices of a round, and of later ones. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.work import Assignment, Slice

Weighed = tuple[int, Assignment]
"""A partition with its weight (`Demand.weight`)."""
TOGETHER = 100
"""Most partitions in one entry of the ledger."""

_CROWDED = 8
"""Number of partitions per slice from which on as many slices as possible should run."""
_AHEAD = 60.0
"""Seconds for which the weight of a partition counts what will be written to it."""
_UNKNOWN_SIZE = 1000
"""Bytes of a record in a partition of which nothing was copied yet."""
_IDLE = 10_000
"""Weight of a partition without news. It keeps idle partitions from joining one slice."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Recent write rates of partitions, and their limits.

    Attributes:
        rates: Records per second that were written to each source partition; those without any are
            absent.
        still: Source partitions that stand still, whatever slice has them.
        limits: Bytes per second that are copied of source topics at most; those without a limit
            are absent.
    """

    rates: Mapping[TopicPartition, float] = field(default_factory=dict)
    still: frozenset[TopicPartition] = frozenset()
    limits: Mapping[TopicName, float] = field(default_factory=dict)

    def weight(self, tp: TopicPartition, lag: int, records: int, size: int) -> int:
        """Return the load of a partition: the bytes to copy to remove its lag in a minute.

        Args:
            tp: The source partition.
            lag: Its lag in records.
            records: How many of its records were copied so far.
            size: Their size in bytes.
        """
        if tp in self.still:
            return _IDLE
        each = size / records if records > 0 else _UNKNOWN_SIZE
        load = each * (lag + _AHEAD * self.rates.get(tp, 0.0))
        return _IDLE + round(min(load, _AHEAD * self.limits.get(tp.topic, inf)))


@dataclass(slots=True)
class Hand:
    """The partitions of one slice.

    Attributes:
        held: Its partitions.
        later: Those of them that were dealt to it while it ran.
        withdrawn: Partitions that were taken from it.
    """

    held: dict[TopicPartition, Assignment] = field(default_factory=dict)
    later: dict[TopicPartition, Assignment] = field(default_factory=dict)
    withdrawn: set[TopicPartition] = field(default_factory=set)

    def give(self, assignment: Assignment) -> None:
        """Add a partition, or replace one that the slice has."""
        self.held[assignment.source] = self.later[assignment.source] = assignment
        self.withdrawn.discard(assignment.source)

    def take(self, tps: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove the given partitions from the slice, and return those that it had."""
        taken = [tp for tp in tps if tp in self.held]
        for tp in taken:
            del self.held[tp]
            self.later.pop(tp, None)
        self.withdrawn.update(taken)
        return taken


@dataclass(slots=True)
class Table:
    """The slices of one round.

    Attributes:
        round: The number of the round.
        hands: The partitions of each slice.
        settled: Nothing that was sent before the round began can still arrive at the target.
        checked: Whether partitions that appeared during planning were looked for. While a round is
            planned that follows no other, nothing is dealt, so what appears then is dealt to it.
    """

    round: int
    hands: Sequence[Hand]
    settled: bool
    checked: bool = False

    @classmethod
    def of(cls, slices: Sequence[Slice], number: int, *, settled: bool) -> Table:
        """Return the table of a newly planned round.

        Args:
            slices: The slices of the round.
            number: The number of the round.
            settled: Nothing that was sent before the run began can still arrive at the target.
        """
        hands = [Hand({each.source: each for each in one.assignments}) for one in slices]
        settled = settled and all(each.settled for each in slices)
        checked = not any(each.follows for each in slices)
        return cls(number, hands, settled, checked)

    @property
    def held(self) -> Mapping[TopicPartition, Assignment]:
        """The partitions of all slices, each with its position."""
        return {tp: a for hand in self.hands for tp, a in hand.held.items()}

    def is_crowded(self, slots: int) -> bool:
        """Return whether a new round with more slices is worthwhile after many additions.

        Args:
            slots: Number of slices that could run at the same time.
        """
        return len(self.hands) < slots and len(self.held) >= _CROWDED * slots

    def deal(self, weighed: Iterable[Weighed]) -> dict[int, list[Assignment]]:
        """Assign partitions to the slices with the fewest; return the new partitions by slice.

        A partition that already belongs to a slice stays with it.
        """
        dealt: dict[int, list[Assignment]] = {}
        for assignment in heaviest_first(weighed):
            number = self._holder(assignment.source)
            self.hands[number].give(assignment)
            dealt.setdefault(number, []).append(assignment)
        return dealt

    def withdraw(self, tps: Collection[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Remove partitions from the slices that have them; return them by slice."""
        taken = {number: hand.take(tps) for number, hand in enumerate(self.hands)}
        return {number: gone for number, gone in taken.items() if gone}

    def _holder(self, tp: TopicPartition) -> int:
        """Return the slice that has a partition, otherwise the slice with the fewest partitions."""
        holding = (number for number, hand in enumerate(self.hands) if tp in hand.held)
        fewest = min(range(len(self.hands)), key=lambda n: len(self.hands[n].held))
        return next(holding, fewest)


def heaviest_first(weighed: Iterable[Weighed]) -> Iterator[Assignment]:
    """Return partitions by weight, the heaviest first."""
    for _, assignment in sorted(weighed, key=lambda w: (-w[0], w[1].source)):
        yield assignment


def spread(weighed: Sequence[Weighed], slices: int) -> list[tuple[Assignment, ...]]:
    """Distribute partitions, the heaviest first, each to the slice with the least weight."""
    weights = {assignment.source: weight for weight, assignment in weighed}
    parts: list[tuple[list[int], list[Assignment]]] = [
        ([0, 0], []) for _ in range(min(slices, len(weighed)))
    ]
    for assignment in heaviest_first(weighed):
        load, members = min(parts, key=lambda part: part[0])
        load[0] += weights[assignment.source]
        load[1] += 1
        members.append(assignment)
    return [tuple(members) for _, members in parts]
