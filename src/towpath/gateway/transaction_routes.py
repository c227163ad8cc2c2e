"""Transactional ids: what they write, what of them is held, and where they are. Pure.

A transactional id has its producer id and epoch from the coordinator of one cluster. When it moves,
the gateway makes it on the other cluster; its client goes on with what it holds until it asks for a
new epoch, which the other cluster gives. So of each id exactly one pair of producer id and epoch
has to be translated, and only in the requests of clients. Sequences of that pair go on with 0 where
it moved to, as those of a new epoch must.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from towpath.gateway.producer_eras import SEQUENCES
from towpath.gateway.unplaced_ids import UnplacedIds
from towpath.ledger.entries import MovedTransactional, Promoted

MOST = 50_000
"""Transactional ids that are remembered: those that were heard of last."""


@dataclass(slots=True)
class SeenTransactional:
    """What a transactional id did through this gateway.

    Attributes:
        producers: Its last producer id; of several gateways, what each of them saw last.
        topics: The topics to which it wrote; `groups`, the groups whose offsets it committed.
        is_open: Whether it has begun a transaction and not ended it.
    """

    producers: set[int] = field(default_factory=set)
    topics: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    is_open: bool = False

    @property
    def is_unused(self) -> bool:
        """Whether it began, and has written nothing that is known."""
        return bool(self.producers) and not (self.topics or self.groups or self.is_open)


@dataclass(slots=True)
class TransactionHold:
    """Transactions that may not begin, as their topics and groups move.

    Attributes:
        topics: The topics that move; `groups`, the groups.
        ids: The transactional ids that move with them.
        sealed: Whether nothing of them may pass, also of transactions that are open.
        back: Whether they go back to the source.
        stay: Ids that stay although nothing is known here that they wrote; `None` for all of these,
            where not all topics move.
        late: Other ids that wanted to begin a transaction for what moves.
    """

    topics: Set[str]
    groups: Set[str]
    ids: set[str]
    back: bool = False
    stay: Set[str] | None = None
    sealed: bool = False
    late: set[str] = field(default_factory=set)

    def touches(self, name: str, topics: Iterable[str], groups: Iterable[str]) -> bool:
        """Whether a request of a transactional id is about what moves."""
        if name in self.ids:
            return True
        if self.topics.isdisjoint(topics) and self.groups.isdisjoint(groups):
            return False
        self.late.add(name)
        return True


@dataclass(slots=True)
class TransactionRoutes:
    """Where transactional ids are, and what of them is held.

    Attributes:
        hold: What is held, `None` while nothing is.
        moved: The ids that the target serves.
        known: The ids that ever moved, with what they were before the last move.
        stay: Other ids that write at the source to what is not promoted.
        is_whole: Whether all topics of the link are promoted: new ids are the target's then.
        most: How many ids are remembered.
        unplaced: Ids that wait until it is known where they are.
    """

    hold: TransactionHold | None = None
    moved: set[str] = field(default_factory=set)
    known: dict[str, MovedTransactional] = field(default_factory=dict)
    stay: frozenset[str] = frozenset()
    is_whole: bool = False
    most: int = MOST
    unplaced: UnplacedIds = field(default_factory=UnplacedIds)
    _seen: OrderedDict[str, SeenTransactional] = field(default_factory=OrderedDict)
    _heard: set[str] = field(default_factory=set)
    _unnoted: set[str] = field(default_factory=set)
    _began: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """By id, topic and partition, the sequence of a client that is 0 where it moved to."""

    def move(self, record: Promoted) -> None:
        """Note ids that another cluster serves from now on."""
        names = {each.id for each in record.transactional}
        if record.back:
            self.moved = (self.moved - names) | {*record.staying}
        else:
            self.moved |= names
        self.known |= {each.id: each for each in record.transactional}
        for name in names:
            self.unplaced.leaves(name)
        self._began = {key: number for key, number in self._began.items() if key[0] not in names}
        self._began |= {
            (each.id, at.topic, at.partition): at.sequence
            for each in record.transactional
            for at in each.sequences
        }

    def is_moved(self, name: str) -> bool:
        """Whether the target serves a transactional id."""
        return name in self.moved or (self.is_whole and name not in self.stay)

    def is_strange(self, name: str) -> bool:
        """Whether the target may not know an id: it began there unseen, or never moved there."""
        return self.is_moved(name) and name not in self.known

    # What is held

    def holds(self, name: str, topics: Iterable[str] = (), groups: Iterable[str] = ()) -> bool:
        """Whether a request that may begin a transaction has to wait."""
        hold = self.hold
        if not self._leaves(name) or hold is None:
            return False
        if not hold.touches(name, topics, groups):
            return hold.sealed and self._goes_along(hold, name)
        return hold.sealed or not self._of(name).is_open

    def is_sealed(self, name: str) -> bool:
        """Whether an id may get no new epoch."""
        return self._leaves(name) and self.hold is not None and self.hold.sealed

    def late(self) -> set[str]:
        """Return the other ids that have to move with those that are held."""
        hold = self.hold
        if hold is None:
            return set()
        if hold.stay is None:
            return {*hold.late}
        along = {name for name in self._seen if self._goes_along(hold, name)}
        return hold.late | {*filter(self._leaves, along - hold.ids)}

    def _goes_along(self, hold: TransactionHold, name: str) -> bool:
        """Whether an id moves as it has written nothing yet, and all topics move."""
        return hold.stay is not None and name not in hold.stay and self._of(name).is_unused

    def _leaves(self, name: str) -> bool:
        """Whether an id is on the cluster that something leaves now."""
        return self.hold is not None and self.is_moved(name) is self.hold.back

    # What was seen

    def saw(
        self, name: str, producer: int, topics: Iterable[str] = (), groups: Iterable[str] = ()
    ) -> SeenTransactional:
        """Note a request of a transactional id; return what is known of it."""
        seen = self._seen.setdefault(name, SeenTransactional())
        self._seen.move_to_end(name)
        self._heard.add(name)
        before = seen.producers, len(seen.topics), len(seen.groups)
        seen.producers = {producer}
        seen.topics.update(topics)
        seen.groups.update(groups)
        if before != (seen.producers, len(seen.topics), len(seen.groups)):
            self._unnoted.add(name)
        while len(self._seen) > self.most:
            self._heard.discard(self._seen.popitem(last=False)[0])
        return seen

    def opened(self, names: Iterable[str]) -> None:
        """Note transactions that are open at the source, of ids that were not heard of yet."""
        for name in names:
            self._seen.setdefault(name, SeenTransactional(is_open=True))

    def ended(self, names: Iterable[str]) -> None:
        """Note that no transaction of these ids is open."""
        for name in names:
            self._of(name).is_open = False

    def unnoted(self, *, every: bool = False) -> dict[str, SeenTransactional]:
        """Return ids that did something new since the last call.

        Args:
            every: Also those that did something since the last such call, were it nothing new.
        """
        names = self._unnoted & self._seen.keys()
        self._unnoted = set()
        if every:
            names |= self._heard
            self._heard = set()
        return {name: self._as_there(name) for name in names}

    def note_again(self, names: Iterable[str]) -> None:
        """Count ids among those that did something new, as nobody could note it."""
        self._unnoted |= {*names}

    def seen(self) -> Mapping[str, SeenTransactional]:
        """Return what transactional ids did through this gateway, under ids that brokers know."""
        return {name: self._as_there(name) for name in self._seen}

    def _as_there(self, name: str) -> SeenTransactional:
        each = self._seen[name]
        return SeenTransactional(
            {self._there(name, producer) for producer in each.producers},
            {*each.topics},
            {*each.groups},
            each.is_open,
        )

    def learn(self, seen: Mapping[str, SeenTransactional]) -> None:
        """Take in what ids did through all gateways, this one included."""
        self._seen.update(seen)

    def _there(self, name: str, producer: int) -> int:
        known = self.known.get(name)
        return known.there_id if known is not None and producer == known.left_id else producer

    def copy(self) -> TransactionRoutes:
        """Return a copy, for another thread."""
        seen = OrderedDict(self.seen())
        return replace(
            self, hold=None, moved={*self.moved}, known={**self.known}, _seen=seen,
            _heard=set(), _unnoted=set(), _began={**self._began},
        )  # fmt: skip

    def _of(self, name: str) -> SeenTransactional:
        return self._seen.get(name) or SeenTransactional()

    # What ids are called

    def identity(self, name: str, producer: int, epoch: int) -> tuple[int, int]:
        """Return producer id and epoch by which brokers know what a client holds.

        An epoch from before the one that moved becomes one that the cluster refuses, as the one
        that it left would have done.
        """
        known = self.known.get(name)
        if known is None or producer != known.left_id or epoch > known.left_epoch:
            return producer, epoch
        fenced = epoch < known.left_epoch
        return known.there_id, known.there_epoch - fenced

    def sequence(
        self, name: str, place: tuple[str, int], producer: int, epoch: int, sequence: int
    ) -> int:
        """Return the sequence by which brokers know one of a client's in a partition."""
        if not self.is_held(name, producer, epoch):
            return sequence
        return (sequence - self._began.get((name, *place), 0)) % SEQUENCES

    def is_held(self, name: str, producer: int, epoch: int) -> bool:
        """Whether a client holds exactly the pair that moved."""
        known = self.known.get(name)
        return known is not None and (producer, epoch) == (known.left_id, known.left_epoch)

    def held(self, name: str, producer: int, epoch: int) -> tuple[int, int]:
        """Return producer id and epoch that a client holds, for those by which brokers know it."""
        known = self.known.get(name)
        if known is None or (producer, epoch) != (known.there_id, known.there_epoch):
            return producer, epoch
        return known.left_id, known.left_epoch

    def begun(self, name: str) -> dict[tuple[str, int], int]:
        """Return by partition the sequence of a client's that is 0 where it moved to."""
        return {(key[1], key[2]): number for key, number in self._began.items() if key[0] == name}

    def is_fenced(self, name: str, producer: int, epoch: int) -> bool:
        """Whether a client holds an epoch from before the one that moved."""
        known = self.known.get(name)
        return known is not None and producer == known.left_id and epoch < known.left_epoch

    def has_ended(self, name: str, producer: int, epoch: int, *, committed: bool) -> bool:
        """Whether the last transaction before the move ended so, of the one that moved."""
        known = self.known.get(name)
        if known is None or not self.is_held(name, producer, epoch):
            return False
        return known.ended == (COMMITTED if committed else ABORTED)


COMMITTED, ABORTED = "CompleteCommit", "CompleteAbort"
"""States of transactions that have ended, in Kafka's words."""


def joined_beyond(
    seen: SeenTransactional, topics: Set[str], groups: Set[str]
) -> Iterator[tuple[str, str]]:
    """Yield each topic and group of an id that is not among these; one of each pair is ""."""
    yield from ((topic, "") for topic in sorted(seen.topics - topics))
    yield from (("", group) for group in sorted(seen.groups - groups))
