"""Copiers that race for a partition some of whose records the target refuses as too large.

They leave such records out as `records/landing/refusals.py` does. What `racing` says of chance
holds here, too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np

from tests.support.copying.lanes import ABORT, marker
from tests.support.copying.race_leader import TP, Leader
from tests.support.copying.race_stand_in import StandIn
from tests.support.copying.racing import LINK, WORK, Racer, World
from tests.support.logs.batches import batch, numbered
from towpath.cluster.admin.markers import Marker
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.produce import Produced
from towpath.ledger.entries import RefusedRecords
from towpath.ledger.keys import new_name
from towpath.model.changes import Undeliverable
from towpath.model.nouns import Mode, ProducerId
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch
from towpath.records.lane.lane import Lane
from towpath.records.lane.reshape import split
from towpath.runtime.clock import now_ms
from towpath.wire import batch as wire
from towpath.wire import plain
from towpath.wire.plain import Record

MESSAGE_TOO_LARGE = 10
LIMIT = 4000
"""`max.message.bytes` of the target, in bytes."""
COORDINATOR_FENCED = 52
_FILLER = ProducerId(7)


def mixed(rng: random.Random) -> tuple[list[bytearray], frozenset[int]]:
    """Return batches of records, and the offsets of those that the target refuses."""
    count = rng.randrange(1, 40)
    often = rng.choice((0.1, 0.3))
    large = frozenset(n for n in range(count) if rng.random() < often)
    sizes = [LIMIT + rng.randrange(3) if n in large else 0 for n in range(count)]
    records = numbered([Record(b"k", b"%d:" % n + b"x" * sizes[n], (), 1) for n in range(count)])
    made: list[bytearray] = []
    at = 0
    while at < count:
        end = at + rng.choice((1, 1, 2, 6, 12))
        made.append(batch(records[at:end]))
        at = end
    return made, large


@dataclass
class StrictLeader(Leader):
    """A leader that also checks sizes, before all else, and the coordinator epochs of markers."""

    coordinators: dict[int, int] = field(default_factory=dict)

    def append(self, data: bytes) -> Produced:
        if len(data) > LIMIT:
            return Produced(TP, MESSAGE_TOO_LARGE, -1)
        return super().append(data)

    def mark(self, wanted: Marker) -> int:
        if wanted.coordinator_epoch < self.coordinators.get(wanted.producer_id, -1):
            return COORDINATOR_FENCED
        code = super().mark(wanted)
        if not code:
            self.coordinators[wanted.producer_id] = wanted.coordinator_epoch
        return code

    def fill(self, end: int) -> None:
        """Write markers up to an offset."""
        while self.end < end:
            self._add(marker(0, _FILLER, ABORT), 1)


class Refusing(Racer):
    """A copier that leaves out what the target refuses."""

    terms = replace(WORK, max_batch=LIMIT, fill=1000)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.refuses: list[Batch] = []
        """What the target refused, until that is written down."""

    def answered(self, said: Produced) -> None:
        lane = self.lane
        assert lane is not None
        lane.overtaken |= lane.refused is not None and not said.error
        was_open = self.open
        super().answered(said)
        first = lane.refused
        if first is None or lane.unanswered or lane.overtaken or not was_open:
            return
        if first.error == MESSAGE_TOO_LARGE:
            self._make_smaller(lane)

    def _make_smaller(self, lane: Lane) -> None:
        lane.queue.send_again()
        lane.refused, self.open = None, True
        head = next(item for item in lane.queue.waiting if isinstance(item, Batch))
        if head.count > 1:
            lane.cutter.too_large(head)
            parts = split(head, lane.cutter.largest, lane.progress.producer)
            lane.queue.replace_head([head], parts)
            return
        batches = [item for item in lane.queue.waiting if isinstance(item, Batch)]
        alone = [each for each in batches if each.count == 1 and each.size > head.size]
        self.refuses = [head, *alone]

    def _open(self) -> None:
        self.refuses = []
        super()._open()

    def _copy(self, lane: Lane) -> None:
        if self.refuses:
            self._decide(lane)
        elif not self._fill(lane):
            super()._copy(lane)

    def _decide(self, lane: Lane) -> None:
        decisions, self.refuses, self.busy = [*self.refuses], [], True
        name, generation = new_name(), lane.progress.position.generation
        StandIn(self.world).append(
            RefusedRecords(
                link=LINK,
                topic=TP.topic,
                partition=TP.partition,
                producer_id=self.work.producer_id,
                first=each.base,
                end=each.end,
                why=Reason.of(
                    ReasonCode.RECORD_TOO_LARGE,
                    partition=str(TP), offset=each.base, size=each.size, target=TP.topic,
                ),
                policy=Undeliverable.SKIP,
                generation=generation,
                name=name,
                at=now_ms(),
            )
            for each in decisions
        )  # fmt: skip
        self.open = self.busy = False

    def _fill(self, lane: Lane) -> bool:
        """Do the due fill, as if nobody else filled at the same time (`test_marking` does that)."""
        fill = lane.fill_due
        if fill is None:
            return False
        if lane.progress.mode is Mode.MAPPED:
            lane.level = False
            return True
        self.busy = True
        self.world.meanwhile("fill")
        self.busy = False
        leader = self.world.leader
        assert isinstance(leader, StrictLeader)
        if not self.open or leader.end < max(fill.base, lane.progress.position.target):
            self.open = False
            return True
        leader.fill(fill.end)
        lane.filled(fill.end)
        return True

    def _take(self, lane: Lane, data: bytearray) -> None:
        """Take in some batches at a time, so that small ones are joined."""
        batches = self.world.batches
        at = next(n for n, each in enumerate(batches) if each is data)
        some = b"".join(batches[at : at + self.world.rng.randrange(1, 6)])
        frame = BufferPool(1 << 30).adopt(np.frombuffer(bytearray(some), np.uint8))
        lane.take(frame, 0, len(some))


def placed(leader: Leader) -> list[tuple[int, int]]:
    """Return the target offset and the source offset of each record of copiers."""
    found: list[tuple[int, int]] = []
    for data in leader.log:
        header = wire.BatchHeader.read(data)
        if not header.attributes & wire.CONTROL and header.producer_id >= 0:
            found += [(record.offset, number(record)) for record in plain.decode(bytes(data))]
    return found


def number(record: Record) -> int:
    """Return the source offset that a record tells."""
    return int((record.value or b"").partition(b":")[0])
