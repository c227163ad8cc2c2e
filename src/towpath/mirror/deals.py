"""Which slice of a round has which partition, and which slice gets those that come later. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.model.nouns import TopicPartition
from towpath.records.work import Assignment, Slice

Weighed = tuple[int, Assignment]
"""A partition with its weight: the number of records that it is behind."""
TOGETHER = 100
"""Partitions in one entry of the ledger."""

_CROWDED = 8
"""Partitions of each slice from which on all slices should run that can."""


@dataclass(slots=True)
class Hand:
    """The partitions of one slice.

    Attributes:
        held: Those that it has.
        later: Those of them that it was given while it ran.
    """

    held: dict[TopicPartition, Assignment] = field(default_factory=dict)
    later: dict[TopicPartition, Assignment] = field(default_factory=dict)

    def give(self, assignment: Assignment) -> None:
        """Give it one partition more, or one of its partitions anew."""
        self.held[assignment.source] = self.later[assignment.source] = assignment


@dataclass(slots=True)
class Table:
    """The slices of one round.

    Attributes:
        round: The number of the round.
        hands: What each slice has.
        settled: Nothing that was sent before the round began can still arrive at the target.
        checked: Partitions that came while the round was planned were looked for.
    """

    round: int
    hands: Sequence[Hand]
    settled: bool
    checked: bool = False

    @classmethod
    def of(cls, slices: Sequence[Slice], number: int, *, settled: bool) -> Table:
        """Return the table of a round that was just planned.

        Args:
            slices: Those of the round.
            number: The number of the round.
            settled: Nothing that was sent before the run began can still arrive at the target.
        """
        hands = [Hand({each.source: each for each in one.assignments}) for one in slices]
        return cls(number, hands, settled and all(each.settled for each in slices))

    @property
    def held(self) -> Mapping[TopicPartition, Assignment]:
        """All partitions that the slices have."""
        return {tp: a for hand in self.hands for tp, a in hand.held.items()}

    def is_crowded(self, slots: int) -> bool:
        """Whether so many partitions came that a round of more slices is worth its beginning.

        Args:
            slots: How many slices could run at the same time.
        """
        return len(self.hands) < slots and len(self.held) >= _CROWDED * slots

    def deal(self, weighed: Iterable[Weighed]) -> dict[int, list[Assignment]]:
        """Give partitions to the slices with the fewest; return who gets what.

        A partition that a slice has stays with it.
        """
        dealt: dict[int, list[Assignment]] = {}
        for assignment in heaviest_first(weighed):
            number = self._holder(assignment.source)
            self.hands[number].give(assignment)
            dealt.setdefault(number, []).append(assignment)
        return dealt

    def _holder(self, tp: TopicPartition) -> int:
        """Return the slice that has a partition, or else is to get it."""
        holding = (number for number, hand in enumerate(self.hands) if tp in hand.held)
        fewest = min(range(len(self.hands)), key=lambda n: len(self.hands[n].held))
        return next(holding, fewest)


def heaviest_first(weighed: Iterable[Weighed]) -> Iterator[Assignment]:
    """Return partitions in the order in which to deal them."""
    for _, assignment in sorted(weighed, key=lambda w: (-w[0], w[1].source)):
        yield assignment


def spread(weighed: Sequence[Weighed], slices: int) -> list[tuple[Assignment, ...]]:
    """Deal partitions to slices, the heaviest first, each to the lightest slice so far."""
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
