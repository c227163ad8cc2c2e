"""Closed runs on their way into the ledger: none is lost, whatever write fails."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.copying.lanes import PRODUCER, lane, tp
from tests.support.ledger.books import opened
from tests.support.session.examples import examples
from towpath.ledger import chunks, entries
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Entry, Run, Runs
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset
from towpath.records import run_log
from towpath.records.receipts import ReceiptKey
from towpath.records.run_log import RunLog, again
from towpath.records.standing import known_standing

LINK = LinkName("l")
OPENED = opened(tp(), producer_id=PRODUCER, mode=Mode.MAPPED)
FEW, LARGE, MANY = 3, 10, 7


def run(number: int) -> Run:
    return (SourceOffset(number * 101), TargetOffset(number * 100), 100)


class Slice:
    """One copier, from where the ledger says; it closes one run after the other."""

    def __init__(self, books: PartitionBooks) -> None:
        self.progress = lane().progress
        self.key, self.log = ReceiptKey(), RunLog(LINK, tp(), PRODUCER)
        self.unwritten: list[Entry] = []
        self.resume(books)

    def resume(self, books: PartitionBooks) -> None:
        self.progress.resume(known_standing(books, 0))

    def copy(self) -> None:
        self.progress.note(*run(self.progress.records // 100))

    def copy_many(self, count: int) -> None:
        first = self.progress.records // 100
        pieces = [run(number)[::2] for number in range(first, first + count)]
        self.progress.note_all(np.array(pieces, np.int64), run(first)[1])

    def write(self) -> list[Entry]:
        runs = self.progress.runs
        made = [*self.unwritten, *self.log.add(runs.take_closed())]
        made += self.log.add_all(runs.take_many())
        receipt, _ = self.key.write(self.progress, LINK, self.log.packed())
        return [*made, receipt]

    def fail(self, written: list[Entry]) -> None:
        self.unwritten = [again(each) for each in written if isinstance(each, Runs)]
        self.key.change()
        self.log.finish()


DO = st.sampled_from(
    ["copy", "copy", "copy", "many", "write", "write", "fail", "late", "new", "again"]
)


@pytest.fixture
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_log, "TAIL", FEW)
        patch.setattr(chunks, "LARGE_RUNS", LARGE)
        yield


@settings(examples(1, soak=4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("_small")
@given(st.lists(DO, max_size=60), st.randoms(use_true_random=False))
def test_the_map_is_complete_up_to_the_receipt(steps: list[str], rng: random.Random) -> None:
    log: list[Entry] = [OPENED]
    late: list[list[Entry]] = []
    slices = [Slice(books_of(log))]
    for step in steps:
        one = rng.choice(slices)
        match step:
            case "copy":
                one.copy()
            case "many":
                one.copy_many(MANY)
            case "write":
                log += one.write()
                one.unwritten = []
            case "fail" | "late":
                written = one.write()
                one.fail(written)
                late += [written] if step == "late" else []
            case "new":
                slices.append(Slice(books_of(log)))
            case _:
                one.resume(books_of(log))
        if late and rng.random() < 0.3:
            log += late.pop(rng.randrange(len(late)))
    books = books_of(log)
    count = books.receipt.records // 100 if books.receipt else 0
    known = set(books.offsets().runs)
    assert set(map(run, range(count))) <= known <= set(map(run, range(MANY * len(steps))))


def books_of(log: list[Entry]) -> PartitionBooks:
    """Return what a reader finds once the cleaner has left only the last entry of each key."""
    last = {entries.encode(entry)[0]: entry for entry in log}
    books = LinkBooks(LINK)
    for entry in last.values():
        found = entries.decode(*entries.encode(entry))
        assert found is not None
        books.take(found)
    return books.of(tp())


def test_a_chunk_grows_until_it_is_large() -> None:
    log = RunLog(LINK, tp(), PRODUCER)
    written = {}
    for number in range(200_000):
        for entry in log.add([run(number)]):
            written[entry.about()] = entry
    assert len(log.tail) <= run_log.TAIL
    assert len(written) == 4
    assert sum(len(entry.packed) for entry in written.values()) < 10_000
