"""Receipts of frozen, replaced and cut off slices, and the target's cleaner: the furthest holds."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.support.copying.lanes import PRODUCER, lane, tp
from tests.support.ledger.books import opened
from tests.support.ledger.reasons import RETENTION
from tests.support.mirror import Mirror
from tests.support.session.examples import examples
from towpath.cluster.admin import Admin
from towpath.cluster.data import frames
from towpath.cluster.data.client import Client
from towpath.cluster.data.reactor import Reactor
from towpath.dev.broker import LocalCluster
from towpath.ledger import entries, keys
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Entry, Receipt
from towpath.ledger.keys import ABANDONED, SILENT
from towpath.ledger.ledger import Ledger
from towpath.model.nouns import LinkName, Side, SourceOffset, TargetOffset
from towpath.records import receipts
from towpath.records import standing as standings
from towpath.records.jobs import Jobs
from towpath.records.lane.progress import LaneProgress
from towpath.records.receipts import ReceiptKey
from towpath.records.standing import known_standing

pytestmark = pytest.mark.slow

LINK = LinkName("l")
OPENED = opened(tp(), producer_id=PRODUCER)
SLOWEST = 1_000_000
"""Milliseconds that a request is under way at most."""
SKEW = 300_000
"""Milliseconds by which clocks differ at most from the true time."""

Record = tuple[bytes, bytes | None]


@dataclass
class Slice:
    """One copier of the partition, with a clock that may be wrong."""

    progress: LaneProgress
    skew: int
    key: ReceiptKey
    blocked: bool = False
    seen: tuple[PartitionBooks, int] | None = None
    """What it read of the ledger, and when by its clock, if it did not go on from there yet."""


@dataclass
class Sent:
    """Entries on their way to the ledger."""

    batch: list[Record]
    due: int
    by: Slice


class Receipts(RuleBasedStateMachine):
    """Any order of writes, of arrivals, of looks and of the cleaner."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Record] = [entries.encode(OPENED)]
        self.furthest: Receipt | None = None
        self.slices: list[Slice] = []
        self.sent: list[Sent] = []
        self.time = 10**12
        self.clock = pytest.MonkeyPatch()
        names = count()
        self.clock.setattr(receipts, "new_name", lambda: f"copier {next(names)}")

    def teardown(self) -> None:
        self.clock.undo()

    def books(self) -> LinkBooks:
        books = LinkBooks(LINK)
        for record in self.log:
            entry = entries.decode(*record)
            assert entry is not None
            books.take(entry)
        return books

    @rule(skew=st.integers(-SKEW, SKEW))
    def open(self, skew: int) -> None:
        made = Slice(lane().progress, skew, ReceiptKey())
        self.slices.append(made)
        self._resume(made)

    @rule(at=st.integers(0, 9))
    def open_again(self, at: int) -> None:
        self._resume(self._slice(at))

    @rule(at=st.integers(0, 9))
    def read_only(self, at: int) -> None:
        one = self._slice(at)
        one.seen = self.books().of(tp()), self.time + one.skew

    def _resume(self, one: Slice) -> None:
        books, when = one.seen or (self.books().of(tp()), self.time + one.skew)
        one.progress.resume(known_standing(books, when))
        one.seen = None

    @rule(at=st.integers(0, 9), number=st.integers(0, 3))
    def copy(self, at: int, number: int) -> None:
        progress = self._slice(at).progress
        position = progress.position
        progress.note(position.source, position.target, number)
        progress.move(SourceOffset(position.source + number + 1), 0)

    @rule(at=st.integers(0, 9), back=st.integers(1, 5))
    def source_is_cut(self, at: int, back: int) -> None:
        progress = self._slice(at).progress
        progress.move(SourceOffset(max(0, progress.position.source - back)), 0)

    @rule(at=st.integers(0, 9))
    def become_mapped(self, at: int) -> None:
        self._slice(at).progress.become_mapped(RETENTION)

    @rule(at=st.integers(0, 9))
    def write(self, at: int) -> None:
        self._append(self._compose(self._slice(at)))

    @rule(at=st.integers(0, 9), due=st.integers(0, SLOWEST))
    def write_slowly(self, at: int, due: int) -> None:
        one = self._slice(at)
        one.blocked = True
        self.sent.append(Sent(self._compose(one), self.time + due, one))

    @rule(at=st.integers(0, 9), due=st.integers(0, SLOWEST), twice=st.booleans())
    def write_without_answer(self, at: int, due: int, *, twice: bool) -> None:
        one = self._slice(at)
        batch = self._compose(one)
        if twice:
            self._append(batch)
        one.key.change()
        self.sent.append(Sent(batch, self.time + due, one))

    @rule(at=st.integers(0, 9))
    def arrive(self, at: int) -> None:
        for sent in self.sent[at : at + 1]:
            self._arrive(sent)

    @rule(wait=st.sampled_from([1000, SILENT // 2, SILENT, ABANDONED + SKEW, 10 * ABANDONED]))
    def wait(self, wait: int) -> None:
        self.time += wait
        for sent in [sent for sent in self.sent if sent.due <= self.time]:
            self._arrive(sent)

    @rule(chance=st.sampled_from([0.3, 1.0]), rng=st.randoms(use_true_random=False))
    def clean(self, chance: float, rng: random.Random) -> None:
        self.log = list(cleaned(self.log, chance, rng))

    @invariant()
    def the_furthest_is_read(self) -> None:
        known = self.books().of(tp()).receipt
        assert (known and known.reach) == (self.furthest and self.furthest.reach)

    def _slice(self, at: int) -> Slice:
        free = [one for one in self.slices if not one.blocked]
        if not free:
            self.open(0)
            return self.slices[-1]
        return free[at % len(free)]

    def _compose(self, one: Slice) -> list[Record]:
        for module in (keys, standings):
            self.clock.setattr(module, "now_ms", lambda: self.time + one.skew)
        receipt, removed = one.key.write(one.progress, LINK)
        written: list[Entry] = [receipt, *removed]
        return [entries.encode(each) for each in written]

    def _arrive(self, sent: Sent) -> None:
        self.sent.remove(sent)
        sent.by.blocked = False
        self._append(sent.batch)

    def _append(self, batch: list[Record]) -> None:
        self.log.extend(batch)
        receipt = entries.decode(*batch[0])
        assert isinstance(receipt, Receipt)
        if self.furthest is None or receipt.reach > self.furthest.reach:
            self.furthest = receipt


def cleaned(log: list[Record], chance: float, rng: random.Random) -> Iterator[Record]:
    """Drop records that Kafka's cleaner may drop: those with a later one of their key, and removals
    without an earlier one."""
    later = {key: at for at, (key, _) in enumerate(log)}
    kept: set[bytes] = set()
    for at, (key, value) in enumerate(log):
        useless = at < later[key] or (value is None and key not in kept)
        if useless and rng.random() < chance:
            continue
        kept.add(key)
        yield key, value


TestReceipts = Receipts.TestCase
TestReceipts.settings = settings(examples(1, soak=2), stateful_step_count=40)


def test_keys_of_earlier_slices_are_removed_after_an_hour() -> None:
    machine = Receipts()
    for _ in range(30):
        machine.open(0)
        machine.copy(len(machine.slices) - 1, 1)
        machine.write(len(machine.slices) - 1)
        machine.time += ABANDONED // 6
    machine.teardown()
    assert len(machine.books().of(tp()).standing) == 7
    left = [key for key, _ in cleaned(machine.log, 1.0, random.Random(1))]
    assert len(left) < 12


@pytest.mark.broker
def test_an_answer_that_does_not_come_makes_another_key(
    source: LocalCluster, target: LocalCluster, tmp_path: Path, new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mirror = Mirror(tmp_path, source, target, new_name("unanswered"))
    mirror.create()
    (work,) = mirror.slices()
    about, lost = lane(), threading.Event()

    def received(connection: socket.socket, *rest: Any) -> None:
        if not lost.is_set():
            lost.set()
            raise ConnectionResetError
        frames.receive(connection, *rest)

    with (
        Admin(work.target, Side.TARGET) as admin,
        Client(work.target, Side.TARGET, admin) as client,
    ):
        reactor, ledger = Reactor(), Ledger(admin, client)
        writer = receipts.Receipts(work, admin, reactor, Jobs(reactor), {tp(): about})
        for number in range(4):
            about.progress.note(SourceOffset(number), TargetOffset(number), 1)
            about.progress.changed = True
            if number == 1:
                monkeypatch.setattr("towpath.cluster.data.client.receive", received)
            writer.write_last()
        found = ledger.read()
        told = [e for e in found if isinstance(e, Receipt) and e.link == work.link]
        writer.close()
    assert lost.is_set()
    assert [receipt.records for receipt in told] == [2, 4]
    assert len({receipt.copier for receipt in told}) == 2
