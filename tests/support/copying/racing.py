"""Copiers of one mapped partition that race, freeze and die, and a leader that forgets them.

Requests arrive as late as chance has it, and any copier may go on at any moment, whatever it was
doing: no permit holds one back here. What keeps records from being doubled is the target alone.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tests.support.copying.lanes import NODE, PRODUCER
from tests.support.copying.race_leader import TP, Leader, last_of
from tests.support.copying.race_stand_in import TOPIC_ID, StandIn
from tests.support.logs.batches import batch, numbered
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.produce import Produced
from towpath.ledger.books import LinkBooks
from towpath.ledger.keys import new_name
from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.errors import ClusterError, TowpathError, UnreachableError
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
)
from towpath.records.change_services import NOTHING as NOTHING_OUTSIDE
from towpath.records.change_services import ChangeServices
from towpath.records.items import Batch
from towpath.records.lane.lane import Lane
from towpath.records.standing import Standing
from towpath.records.target.opening import Opener
from towpath.records.target.tail import Underway
from towpath.records.target.written import surplus
from towpath.records.work import Assignment, CopySlice
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig, OffsetsPolicy
from towpath.wire import batch as wire
from towpath.wire.plain import Record

LINK = LinkName("race")
DAY_MS = 86_400_000
WORK = Assignment(
    source=TP,
    target=TP,
    source_id=TopicId("s"),
    target_id=TOPIC_ID,
    producer_id=PRODUCER,
    filler_id=ProducerId(7),
    start=SourceOffset(0),
)
DEEP = 2
"""So many openings go on inside of each other at most."""


def source(count: int, length: int) -> list[bytearray]:
    """Return batches of old records; each value is the record's source offset."""
    records = numbered([Record(b"k", b"%d" % n, (), 1) for n in range(count * length)])
    return [batch(records[at : at + length]) for at in range(0, count * length, length)]


@dataclass
class World:
    """The source, the leader, the ledger, requests under way, and the copiers."""

    rng: random.Random
    batches: list[bytearray]
    leader: Leader = field(default_factory=Leader)
    ledger: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    copiers: list[Racer] = field(default_factory=list)
    under_way: list[Connection] = field(default_factory=list)
    deep: int = 0
    takes_markers: float = 0.9
    """How likely the answer to a request for markers comes."""
    restless: float = 0.3
    """How likely something more happens while a copier waits for an answer."""
    calm: bool = False
    """The leader forgets nobody, and nobody else writes, so offsets may be identical."""
    mapped: bool = False
    """The file wants mapped offsets also where the world is calm."""
    changes: Sequence[RecordChange] = (NO_CHANGE,)
    """What the files of copiers say; each has one of them."""
    outside: ChangeServices = NOTHING_OUTSIDE
    once: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What happens before the next answer, by what was asked: the name of a method of `StandIn`."""
    made: Callable[[World], Racer] | None = None
    """Makes a copier, plain ones by default."""

    @property
    def written_at(self) -> int:
        """The timestamp of the last record of each producer, as the leader tells it."""
        return now_ms() if self.calm else 1

    @property
    def records(self) -> int:
        """How many records there are at the source."""
        return sum(wire.BatchHeader.read(data).count for data in self.batches)

    def anything(self) -> None:
        """Let one thing happen, somewhere."""
        what = self.rng.random()
        if what < 0.35 and self.under_way:
            self.rng.choice(self.under_way).deliver()
        elif what < 0.4 and not self.calm:
            self.leader.forget()
        elif what < 0.43 and not self.calm:
            self.leader.write_foreign()
        elif what < 0.48 and self.under_way:
            self.rng.choice(self.under_way).cut(self.rng)
        elif self.copiers and what < 0.95:
            self.rng.choice(self.copiers[-4:]).go_on()
        elif self.deep < DEEP:
            self.copiers.append(self.copier())

    def copier(self) -> Racer:
        """Return a new copier."""
        return self.made(self) if self.made is not None else Racer(self)

    def meanwhile(self, asked: str) -> None:
        """Let things happen while a copier waits for an answer."""
        self.once.pop(asked, _nothing)()
        if self.deep < DEEP:
            self.deep += 1
            while self.rng.random() < self.restless:
                self.anything()
            self.deep -= 1

    def finish(self) -> None:
        """Let a last copier do the rest, while all that is under way still arrives."""
        last = self.copier()
        self.copiers, self.deep = [last], DEEP
        for _ in range(5000):
            last.go_on()
            if self.rng.random() < 0.5 and self.under_way:
                self.rng.choice(self.under_way).deliver()
            if last.done:
                break
        assert last.done
        for each in self.under_way:
            while each.waiting:
                each.deliver()

    def copied(self) -> list[int]:
        """Return the source offsets of the records on the target, in their order."""
        found: list[int] = []
        for data in self.leader.log:
            header = wire.BatchHeader.read(data)
            if header.attributes & wire.CONTROL or header.producer_id < 0:
                continue
            found += range(header.base_sequence, header.base_sequence + header.count)
        return found


@dataclass
class Connection:
    """Requests of one copier, which arrive one after the other, or never; so do answers."""

    owner: Racer
    waiting: deque[bytes] = field(default_factory=deque)
    is_cut: bool = False

    def deliver(self) -> None:
        """Let the next request arrive, and its answer, if nobody cut the connection."""
        if not self.waiting:
            return
        said = self.owner.world.leader.append(self.waiting.popleft())
        if not self.is_cut:
            self.owner.answered(said)

    def cut(self, rng: random.Random) -> None:
        """Lose all answers from now on, and some of the requests."""
        if self.is_cut:
            return
        self.is_cut = True
        kept = rng.randrange(len(self.waiting) + 1)
        self.waiting = deque(list(self.waiting)[:kept])
        self.owner.lost()


class Racer:
    """One copier: a lane, its opener, and the connection to the leader."""

    terms: ClassVar[Assignment] = WORK

    def __init__(self, world: World) -> None:
        self.world = world
        self.work = replace(self.terms, change=world.rng.choice(world.changes))
        identical = world.calm and not world.mapped
        config = ClusterConfig.model_validate({"bootstrap": "host:1", "request_timeout": "1h"})
        work = CopySlice(
            link=LINK,
            source=config,
            target=config,
            assignments=(self.work,),
            run_id=new_name(),
            round=1,
            seconds=0.0,
            offsets=OffsetsPolicy.AUTO if identical else OffsetsPolicy.MAPPED,
            settled=world.calm,
            target_memory_ms=DAY_MS,
        )
        stand_in: Any = StandIn(world)
        self.opener = Opener(work, stand_in, stand_in, stand_in, LinkBooks(LINK))
        self.lane: Lane | None = None
        self.connection = Connection(self)
        self.open = self.busy = False
        self.key = new_name()

    @property
    def done(self) -> bool:
        """Whether all is copied and acknowledged."""
        end, lane = self.world.records, self.lane
        return lane is not None and self.open and lane.progress.position.source == end

    def run(self, until: Callable[[], object]) -> None:
        """Go on, with all answers at once, until something is so."""
        for _ in range(1000):
            if until():
                return
            self.go_on()
            self.connection.deliver()
        raise AssertionError("it never came to that")

    def die(self) -> None:
        """Do nothing any more. What is under way is lost."""
        self.busy = self.connection.is_cut = True
        self.connection.waiting.clear()

    def go_on(self) -> None:
        """Do the next thing, unless an answer is still waited for."""
        if self.busy:
            return
        if not self.open:
            self._open()
        elif self.lane is not None:
            self._copy(self.lane)

    def _open(self) -> None:
        assert self.connection.is_cut or not self.connection.waiting
        self.connection.is_cut, self.busy = True, True
        try:
            answer: Standing | TowpathError = self.opener.open([self.work])[TP]
        except ClusterError as error:
            answer = error
        self.busy = False
        if isinstance(answer, UnreachableError):
            return
        assert isinstance(answer, Standing), answer
        if self.lane is None:
            self.lane = Lane(self.work, answer, outside=self.world.outside)
        else:
            self.lane.resume(answer)
        self.connection, self.open = Connection(self), True
        self.world.under_way.append(self.connection)

    def _copy(self, lane: Lane) -> None:
        for data in self.world.batches:
            if last_of(data) >= lane.expected and not lane.queue.waiting and not lane.holds:
                self._take(lane, data)
        wait = lane.queue.due_wait
        if wait is not None and wait.ready():
            lane.queue.waited(wait)
        if lane.outdated:
            self.busy = True
            self._tell(lane)
            self.open = self.busy = False
            return
        sent = lane.next_batch()
        if isinstance(sent, Batch):
            self.connection.waiting.append(bytes(sent.data))
        elif self.world.rng.random() < 0.2:
            self._tell(lane)

    def _take(self, lane: Lane, data: bytearray) -> None:
        frame = BufferPool(1 << 30).adopt(np.frombuffer(bytearray(data), np.uint8))
        lane.take(frame, 0, len(data))

    def _tell(self, lane: Lane) -> None:
        """Write a receipt, under a key of our own."""
        StandIn(self.world).append([lane.progress.receipt(LINK, self.key)])

    def answered(self, said: Produced) -> None:
        """An answer came: go on, or open again."""
        lane = self.lane
        assert lane is not None
        lane.unanswered -= 1
        if said.error or lane.refused is not None:
            lane.refused = lane.refused or said
            self.open = self.open and lane.unanswered > 0
            return
        ahead = lane.ahead(TargetOffset(said.base_offset))
        assert ahead >= 0
        reader: Any = StandIn(self.world)
        reader.opens = False
        first = said.base_offset - ahead
        between = surplus(reader, TP, first, said.base_offset, {PRODUCER}) if ahead else None
        assert between is None, "a record of ours lies where none should be"
        lane.acknowledge(TargetOffset(said.base_offset))

    def lost(self) -> None:
        """The connection was lost; what flies may be there, or still arrive."""
        if self.lane is not None and self.open:
            sent = Underway(NODE, self.lane.queue.sent_end, self.lane.queue.sent_oldest)
            self.opener.may_arrive(self.work, sent)
            self.open = False


def _nothing() -> None:
    pass
