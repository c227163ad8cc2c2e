"""Producer states of the source at a promotion, by which repeated batches are recognised.

Producers go on with the ids and sequences that they have. The target has never heard of them, and
takes the first batch of an unknown id at any sequence. So until it knows a producer, the gateway
judges its batches as the source would have done: what the source holds is a repeat, what comes next
is taken, and anything else is not. Topics that go back are judged likewise, with both clusters in
each other's place. Ids are those that clients have. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from enum import Enum, auto

from towpath.gateway.producer_eras import SEQUENCES, canonical, own
from towpath.ledger.entries import PromotedTopic

_FAR = 1 << 30
KNOWN = 5
"""Batches of a producer that a broker remembers, and so the most that a producer has on its way
(KIP-98): when the target has taken as many, no older one comes any more."""

Place = tuple[str, int]
"""A topic and a partition."""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """The producer id, epoch and sequences of a record batch that a client sends.

    Attributes:
        producer: The producer id, -1 for a producer that is not idempotent.
        epoch: Its epoch.
        sequence: The sequence of the first record.
        records: How many records it has.
        transactional: Whether it is part of a transaction.
    """

    producer: int
    epoch: int
    sequence: int
    records: int
    transactional: bool = False

    @property
    def last(self) -> int:
        """The sequence of its last record."""
        return (self.sequence + self.records - 1) % SEQUENCES


class CutVerdict(Enum):
    """The decision about a batch for the target: send it, hold it back, or answer it."""

    SEND = auto()
    """The target judges it."""
    FIRST = auto()
    """The target does not know its producer: nothing may overtake it."""
    WAIT = auto()
    """The first batch of its producer is on its way."""
    REPEAT = auto()
    """The source held it, so the target has it."""
    FENCED = auto()
    """Its producer has a newer epoch."""
    EARLY = auto()
    """One before it is missing."""


@dataclass(slots=True)
class _Known:
    """What is known of a producer in a partition.

    Attributes:
        epoch: Its epoch at the cut; `last`, the sequence of its last record then.
        flying: Whether its first batch is on its way to the target.
        taken: How many batches the target has taken since.
    """

    epoch: int
    last: int
    flying: bool = False
    taken: int = 0


class CutTable:
    """The producer states of all promoted partitions at the moment of their promotion."""

    def __init__(self) -> None:
        self._known: dict[tuple[Place, int], _Known] = {}
        self._flying = set[tuple[Place, int]]()

    def __len__(self) -> int:
        return len(self._known)

    @property
    def flying(self) -> bool:
        """Whether the first batch of any producer is on its way."""
        return bool(self._flying)

    def add(self, topics: Iterable[PromotedTopic]) -> None:
        """Add the producer states that a promotion, or the way back, recorded.

        A producer that wrote nothing since an earlier one is still known by what that noted.
        """
        for topic in topics:
            for each in topic.partitions:
                for last in each.producers:
                    key = (topic.topic, each.partition), canonical(own(last.id, topic.era))
                    self._known[key] = _Known(last.epoch, last.sequence)

    def has(self, place: Place, producer: int) -> bool:
        """Whether batches of a producer, as the gateway knows it, have to be judged."""
        return (place, producer) in self._known

    def judge(self, place: Place, batch: SentBatch) -> CutVerdict:
        """Decide about a batch that a client sends to a promoted partition."""
        known = self._known.get((place, batch.producer))
        if known is None or batch.epoch > known.epoch:
            return CutVerdict.SEND
        if batch.epoch < known.epoch:
            return CutVerdict.FENCED
        if (known.last - batch.last) % SEQUENCES < _FAR:
            return CutVerdict.REPEAT
        if known.flying:
            return CutVerdict.WAIT
        if known.taken:
            return CutVerdict.SEND
        next_one = (known.last + 1) % SEQUENCES == batch.sequence
        return CutVerdict.FIRST if next_one else CutVerdict.EARLY

    def sent(self, place: Place, batch: SentBatch) -> None:
        """Note that a batch was sent to the target."""
        known = self._known.get((place, batch.producer))
        if known is not None and not known.taken and batch.epoch == known.epoch:
            known.flying = True
            self._flying.add((place, batch.producer))

    def answered(self, place: Place, batch: SentBatch, *, taken: bool) -> bool:
        """Note the answer to a batch; `taken` is false also if no answer came.

        Returns:
            Whether others may have waited for it.
        """
        known = self._known.get((place, batch.producer))
        self._flying.discard((place, batch.producer))
        if known is None:
            return False
        waited, known.flying = known.flying, False
        if taken:
            known.taken += 1
        if taken and (batch.epoch > known.epoch or known.taken >= KNOWN):
            del self._known[place, batch.producer]
        return waited

    def forget_all_but(self, place: Place, producers: Set[int]) -> None:
        """Forget all producers of a partition but these; the target judges the others.

        It is for partitions that were promoted so long ago that a broker would have forgotten the
        others, too.
        """
        for key in [*self._known]:
            if key[0] == place and key[1] not in producers and not self._known[key].flying:
                del self._known[key]

    def knows(self, place: Place, producer: int, epoch: int, last: int) -> None:
        """Note that the target has producer state for a producer.

        Args:
            place: The partition.
            producer: The producer id.
            epoch: Its epoch on the target.
            last: The sequence of its last record there.
        """
        known = self._known.get((place, producer))
        if known is None:
            return
        beyond = (last - known.last) % SEQUENCES
        if epoch > known.epoch or _FAR // 2 < beyond < _FAR:
            del self._known[place, producer]
        elif epoch == known.epoch and beyond < _FAR:
            known.taken = max(known.taken, 1)
