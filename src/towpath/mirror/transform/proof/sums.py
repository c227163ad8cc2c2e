"""Sums of both sides of all pairs of partitions, and what must be looked at again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from towpath.compare.row_sums import Pair, RowList, RowSum
from towpath.mirror.transform.proof.others import FoundOthers
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.model.digest import Digest
from towpath.model.nouns import TopicPartition

MOST_LISTED = 4_000_000
"""Rows of a pair beyond which they are not compared one by one."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What has to be looked at again.

    Attributes:
        made: How many rows to leave out of what the query makes, by pair.
        there: The same of what is on the target.
        lists: Pairs whose rows are wanted one by one.
    """

    made: Mapping[Pair, int] = field(default_factory=dict)
    there: Mapping[Pair, int] = field(default_factory=dict)
    lists: frozenset[Pair] = frozenset()

    @property
    def pairs(self) -> frozenset[Pair]:
        """All pairs that are looked at again."""
        return frozenset((*self.made, *self.there, *self.lists))


@dataclass(slots=True)
class Proof:
    """What was found of all pairs.

    Attributes:
        read: How many records of each source partition went through the query again.
        made: What it made of them.
        there: What is on the target.
        rest: Both without what one side no longer has, of the pairs where that matters.
        lists: Both row by row, where sums differ.
        bytes: Bytes that were read on the target.
        untimed: Whether a broker of the target sets timestamps.
        beside: Records that the link did not write.
    """

    read: Mapping[TopicPartition, int] = field(default_factory=dict)
    made: dict[Pair, RowSum] = field(default_factory=dict)
    there: dict[Pair, RowSum] = field(default_factory=dict)
    rest: dict[Pair, tuple[RowSum, RowSum]] = field(default_factory=dict)
    lists: dict[Pair, tuple[RowList, RowList]] = field(default_factory=dict)
    bytes: int = 0
    untimed: bool = False
    beside: FoundOthers = field(default_factory=FoundOthers)

    def take(
        self, made: Mapping[Pair, RowSum], there: Mapping[Pair, RowSum], wanted: Needed | None
    ) -> None:
        """Take up what a look has found."""
        if wanted is None:
            self.made, self.there = dict(made), dict(there)
            return
        for pair in wanted.pairs:
            both = made.get(pair, RowSum()), there.get(pair, RowSum())
            if pair in wanted.lists:
                self.lists[pair] = both[0].rows, both[1].rows
            else:
                self.rest[pair] = both

    def pairs(self, source: TopicPartition) -> list[Pair]:
        """Return the pairs of a source partition."""
        return sorted(pair for pair in {*self.made, *self.there} if pair[0] == source)

    def both(self, pair: Pair) -> tuple[RowSum, RowSum]:
        """Return the sums of a pair."""
        return self.made.get(pair, RowSum()), self.there.get(pair, RowSum())

    def timed(self, pair: Pair) -> bool:
        """Whether the timestamps of a pair can be compared."""
        return not self.untimed and not self.both(pair)[0].untimed

    def digests(self, pair: Pair) -> tuple[Digest, Digest]:
        """Return the digests of what must be equal."""
        both = self.rest.get(pair) or self.both(pair)
        timed = self.timed(pair)
        made, there = (each.timed if timed else each.plain for each in both)
        return made, there


def needs(proof: Proof, stands: Mapping[TopicPartition, ProofStand]) -> Needed:
    """Return what must be looked at again, nothing if what was found says all."""
    made, there, lists = dict[Pair, int](), dict[Pair, int](), set[Pair]()
    for tp, stand in stands.items():
        for pair in compared_pairs(proof, tp, stand):
            here, to = proof.both(pair)
            if pair in proof.lists or agrees(proof, pair):
                continue
            looked = pair in proof.rest or stand.source_compacts or stand.target_compacts
            if not looked and to.count > here.count and stand.front:
                there[pair] = to.count - here.count
            elif not looked and here.count > to.count and pair[1] in stand.shortened:
                made[pair] = here.count - to.count
            elif here.count + to.count <= MOST_LISTED:
                lists.add(pair)
    return Needed(made, there, frozenset(lists))


def compared_pairs(proof: Proof, tp: TopicPartition, stand: ProofStand) -> Iterator[Pair]:
    """Yield the pairs of a source partition whose records can be compared."""
    if stand.first >= 0:
        yield from (pair for pair in proof.pairs(tp) if pair[1] not in stand.unsettled)


def agrees(proof: Proof, pair: Pair) -> bool:
    """Return whether the sums of a pair say that its rows are equal."""
    made, there = proof.digests(pair)
    if made != there:
        return False
    if pair in proof.rest:
        return True
    here, to = proof.both(pair)
    return here.count == to.count
