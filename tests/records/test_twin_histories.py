"""Random histories of two links in opposite directions, on logs in memory, with kills.

Both logs are plain lists of batches; the lanes are the real ones. Whatever happens, each record of
a client is on each side once, in the order of its client's log, and both links come to rest.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copying.lanes import COMMIT, marker, plain
from tests.support.logs.batches import batch, numbered
from tests.support.session.examples import examples
from towpath.cluster.data.buffers import BufferPool
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import LinkIdentity, Opened
from towpath.ledger.producers import generations, of_generation, producer_id
from towpath.ledger.twins import Direction, PrivateWriters
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.records.change_services import ChangeServices, Ready
from towpath.records.items import Wait
from towpath.records.lane.lane import Lane
from towpath.records.standing import known_standing
from towpath.records.work import Assignment
from towpath.wire.batch import CONTROL, TRANSACTIONAL
from towpath.wire.digest import record_hashes
from towpath.wire.header import BatchHeader, split
from towpath.wire.plain import Record, decode

TP = TopicPartition(TopicName("orders"), 0)
SIDES = "ab"
CLUSTERS = {side: ClusterId(side) for side in SIDES}
IDS = {side: TopicId(f"id-{side}") for side in SIDES}


@dataclass
class Log:
    """The log of one partition, and the ledger beside it."""

    batches: list[bytes] = field(default_factory=list)
    ledger: list[LinkIdentity | Opened] = field(default_factory=list)
    end: int = 0

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append a batch as a leader does: its offset and epoch are outside the checksum."""
        at, header = self.end, BatchHeader.read(data)
        self.batches.append(struct.pack(">q", at) + bytes(data[8:]))
        self.end += header.last_offset_delta + 1
        return at

    def values(self, only: frozenset[ProducerId] | None = None) -> list[bytes]:
        found = []
        for data in self.batches:
            header = BatchHeader.read(data)
            mine = only is None or header.producer_id in only
            if mine and not header.attributes & CONTROL:
                found += [record.value or b"" for record in decode(data)]
        return found


@dataclass
class Twins:
    """What a slice knows of its source's ledger: read only when a lane asks for it."""

    ledger: list[LinkIdentity | Opened]
    own: Direction
    target: ClusterId
    writers: PrivateWriters = field(default_factory=PrivateWriters)
    read: int = 0

    def wrote(self, _: Assignment, producer: ProducerId) -> bool | None:
        found = self.writers.direction(producer)
        return None if found is None else found == self.own.back(self.target)

    def want(self, a: Assignment, producers: Sequence[ProducerId]) -> Ready:
        def ready() -> bool:
            for entry in self.ledger[self.read :]:
                self.writers.take(entry)
            self.read = len(self.ledger)
            return all(self.wrote(a, each) is not None for each in producers)

        return ready


@dataclass
class Link:
    """One link, whose copier is killed now and then."""

    side: str
    logs: dict[str, Log]
    fill: int
    lane: Lane | None = None
    books: PartitionBooks = field(default_factory=PartitionBooks)
    generation: int = 0

    @property
    def other(self) -> str:
        return "b" if self.side == "a" else "a"

    @property
    def source(self) -> Log:
        return self.logs[self.side]

    @property
    def target(self) -> Log:
        return self.logs[self.other]

    @property
    def ids(self) -> tuple[LinkName, ClusterId, TopicId, TopicId, TopicPartition]:
        name = LinkName(f"from-{self.side}")
        return name, CLUSTERS[self.side], IDS[self.side], IDS[self.other], TP

    @property
    def first(self) -> ProducerId:
        return producer_id(*self.ids)

    @property
    def work(self) -> Assignment:
        return Assignment(
            source=TP,
            target=TP,
            source_id=IDS[self.side],
            target_id=IDS[self.other],
            producer_id=self.first,
            filler_id=producer_id(*self.ids, purpose="filler"),
            marker_id=producer_id(*self.ids, purpose="marker"),
            start=SourceOffset(0),
            fill=self.fill,
        )

    def begin(self) -> None:
        """Open the partition: the claim is in the ledger before the first record."""
        if self.books.opened is None:
            opened = Opened(
                link=self.ids[0], topic=TP.topic, partition=0, source_topic_id=IDS[self.side],
                target_topic=TP.topic, target_topic_id=IDS[self.other], producer_id=self.first,
                mode=Mode.MAPPED, reasons=(), source_start=SourceOffset(0),
                target_start=TargetOffset(0), run_id="r", at=0,
            )  # fmt: skip
            self.target.ledger += [
                LinkIdentity(self.ids[0], CLUSTERS[self.side], CLUSTERS[self.other])
            ]
            self.target.ledger += [opened]
            self.books.take(opened)
        standing = known_standing(self.books, 0)
        standing.position = replace(standing.position, generation=self.generation)
        standing.passed = self.tail(standing.position.target)
        own = Direction(CLUSTERS[self.side], TP, TP)
        twins = Twins(self.source.ledger, own, CLUSTERS[self.other])
        self.lane = Lane(self.work, standing, outside=ChangeServices(link=self.ids[0], twins=twins))

    def tail(self, start: int) -> BeyondReceipt:
        """Return the link's records behind the receipt."""
        offsets, hashes, own = [0][:0], [0][:0], generations(self.first)
        for data in self.target.batches:
            header = BatchHeader.read(data)
            if header.producer_id in own and header.base_offset >= start:
                some = record_hashes(data)
                offsets += some[0].tolist()
                hashes += some[1].tolist()
        return BeyondReceipt(offsets, np.array(hashes, np.uint64))

    def kill(self) -> None:
        """Lose the copier; the next one writes under the next generation."""
        self.lane, self.generation = None, self.generation + 1

    def tell(self) -> None:
        """Write a receipt."""
        if self.lane is not None:
            self.books.take(self.lane.progress.receipt(self.ids[0], "copier"))

    def fetch(self, most: int) -> bool:
        """Take in some batches. Returns whether anything happened."""
        if self.lane is None:
            self.begin()
            return True
        lane, before = self.lane, self.lane.expected
        data = b"".join(each for each in self.source.batches if self._ends(each) > before)
        some = b"".join(map(bytes, [*split(memoryview(data))][:most]))
        frame = BufferPool(1 << 30).adopt(np.frombuffer(bytearray(some), np.uint8))
        lane.take(frame, 0, len(some))
        asked = self.answer()
        return lane.expected > before or asked

    def answer(self) -> bool:
        lane = self.lane
        wait = lane.queue.due_wait if lane is not None else None
        if lane is None or not isinstance(wait, Wait):
            return False
        assert wait.ready(), "the twin's claim stands in the ledger before its records"
        lane.queue.waited(wait)
        return True

    @staticmethod
    def _ends(data: bytes) -> int:
        header = BatchHeader.read(data)
        return header.base_offset + header.last_offset_delta + 1

    def send(self, answered: int) -> bool:
        """Send what may be sent; only so many answers arrive."""
        lane, sent = self.lane, list[int]()
        if lane is None:
            return False
        while (fill := lane.fill_due) is not None:
            for _ in range(fill.end - fill.base):
                self.target.append(marker(0, producer_id(*self.ids, purpose="marker"), COMMIT))
            lane.filled(fill.end)
        while (made := lane.next_batch()) is not None:
            sent.append(self.target.append(made.data))
        for base in sent[:answered]:
            lane.unanswered -= 1
            lane.acknowledge(TargetOffset(base))
        if len(sent) > answered:
            self.kill()
        return bool(sent)


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "commit", "fetch", "send", "tell", "kill", "lose"]),
              st.sampled_from(SIDES), st.integers(0, 4)),
    max_size=60,
)  # fmt: skip


@dataclass
class History:
    logs: dict[str, Log]
    links: dict[str, Link]
    written: dict[str, list[bytes]] = field(default_factory=lambda: {side: [] for side in SIDES})
    count: int = 0

    def write(self, side: str, count: int, *, transactional: bool) -> None:
        values = [b"%s%d" % (side.encode(), self.count + n) for n in range(count)]
        self.count += count
        self.written[side] += values
        records = numbered([Record(b"k", value) for value in values])
        attributes = TRANSACTIONAL if transactional else 0
        self.logs[side].append(batch(records, attributes=attributes, producer_id=5))
        if transactional:
            self.logs[side].append(marker(0, 5, COMMIT))

    def play(self, what: str, side: str, number: int) -> None:
        link = self.links[side]
        match what:
            case "write" | "commit":
                self.write(side, number + 1, transactional=what == "commit")
            case "fetch":
                link.fetch(number + 1)
            case "send":
                link.send(1000)
            case "lose":
                link.send(number)
            case "tell":
                link.tell()
            case _:
                link.kill()

    def settle(self) -> None:
        """Let both links copy until nothing moves any more."""
        for _ in range(1000):
            moved = [link.fetch(1000) | link.send(1000) for link in self.links.values()]
            if not any(moved):
                return
        pytest.fail("the links never come to rest")


@examples(1, soak=3)
@given(STEPS, st.sampled_from([0, 1000]))
def test_each_record_is_on_each_side_once(steps: list[tuple[str, str, int]], fill: int) -> None:
    logs = {side: Log() for side in SIDES}
    history = History(logs, {side: Link(side, logs, fill) for side in SIDES})
    for step in steps:
        history.play(*step)
    history.settle()
    everything = sorted(history.written["a"] + history.written["b"])
    for side, link in history.links.items():
        assert sorted(logs[side].values()) == everything
        assert logs[link.other].values(generations(link.first)) == history.written[side]
        assert link.lane is not None
        assert link.lane.progress.records == len(history.written[side])
        assert link.lane.progress.position.sequence == len(history.written[side])


def test_what_nobody_claimed_is_never_copied() -> None:
    logs = {side: Log() for side in SIDES}
    link = Link("a", logs, 0)
    link.begin()
    assert link.lane is not None
    logs["a"].append(plain(0))
    stranger = of_generation(ProducerId((1 << 40) + 77), 3)
    logs["a"].append(batch(numbered([Record(b"k", b"theirs")]), producer_id=stranger))
    logs["a"].append(plain(0))
    link.fetch(10)
    link.send(10)
    with pytest.raises(AssertionError, match="claim"):
        link.answer()
    link.send(10)
    assert logs["b"].end == 1
    wait = link.lane.queue.due_wait
    assert wait is not None
    assert f"producer id {stranger}" in str(wait.why)
    assert link.lane.expected == 1
