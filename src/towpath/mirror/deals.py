"""Which slice of a round has which partition, and which slice gets a later one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.model.nouns import TopicPartition
from towpath.records.work import Assignment, Slice

Weighed = tuple[int, Assignment]
"""A partition with its weight: its lag in records."""
TOGETHER = 100
"""Most partitions in one entry of the ledger."""

_CROWDED = 8
"""Number of partitions per slice from which on as many slices as possible should run."""


@dataclass(slots=True)
class Hand:
    """The partitions of one slice.

    Attributes:
        held: Its partitions.
        later: Those of them that were dealt to it while it ran.
    """

    held: dict[TopicPartition, Assignment] = field(default_factory=dict)
    later: dict[TopicPartition, Assignment] = field(default_factory=dict)

    def give(self, assignment: Assignment) -> None:
        """Add a partition, or replace one that the slice has."""
        self.held[assignment.source] = self.later[assignment.source] = assignment


@dataclass(slots=True)
class Table:
    """The slices of one round.

    Attributes:
        round: The number of the round.
        hands: The partitions of each slice.
        settled: Nothing that was sent before the round began can still arrive at the target.
        checked: Whether partitions that appeared during planning were looked for.
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
        return cls(number, hands, settled and all(each.settled for each in slices))

    @property
    def held(self) -> Mapping[TopicPartition, Assignment]:
        """The partitions of all slices."""
        return {tp: a for hand in self.hands for tp, a in hand.held.items()}

    def is_crowded(self, slots: int) -> bool:
        """Whether so many partitions were added that a new round with more slices is worthwhile.

        Args:
            slots: Number of slices that could run at the same time.
        """
        return len(self.hands) < slots and len(self.held) >= _CROWDED * slots

    def deal(self, weighed: Iterable[Weighed]) -> dict[int, list[Assignment]]:
        """Give partitions to the slices with the fewest; return the new partitions of each slice.

        A partition that already belongs to a slice stays with it.
        """
        dealt: dict[int, list[Assignment]] = {}
        for assignment in heaviest_first(weighed):
            number = self._holder(assignment.source)
            self.hands[number].give(assignment)
            dealt.setdefault(number, []).append(assignment)
        return dealt

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
    """Deal partitions, the heaviest first, each to the slice with the least weight so far."""
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
