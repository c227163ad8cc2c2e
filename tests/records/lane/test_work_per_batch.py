"""How much work a lane does for each batch, whatever comes: bounded, so that no copy crawls."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.copying.lanes import ABORT, COMMIT, damaged, lane, marker, standing, took
from tests.support.logs.batches import CODECS, batch, numbered
from towpath.cluster.data.buffers import BufferPool
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.records.items import Batch, Fill
from towpath.records.lane.lane import Lane
from towpath.records.lane.queue import APART, YOUNGER, Queue
from towpath.wire import opened, plain
from towpath.wire.batch import CODEC_MASK, SEQUENCES, TRANSACTIONAL, BatchHeader
from towpath.wire.codec import GZIP, LZ4, NONE
from towpath.wire.plain import Record
from towpath.wire.tally import COLUMNS, OffsetTally

_CALLS = 120
"""Upper bound on the calls of Python functions per batch; 25 to 60 were counted."""
_OPENED = 2
"""How often a record is opened at most: once as it comes in, once while it waits."""


@dataclass
class Spent:
    """What was done: calls of functions of ours, and batches that were opened."""

    calls: int = 0
    opened: int = 0


@contextmanager
def spending() -> Iterator[Spent]:
    """Count what is done within."""
    spent, before = Spent(), opened.read_headers

    def count(frame: FrameType, event: str, _: Any) -> None:
        spent.calls += event == "call" and "towpath" in frame.f_code.co_filename

    def read(buffer: Any, positions: Any, lengths: Any) -> Any:
        spent.opened += len(positions)
        return before(buffer, positions, lengths)

    opened.read_headers = read
    sys.setprofile(count)
    try:
        yield spent
    finally:
        sys.setprofile(None)
        opened.read_headers = before


class Target:
    """Takes what a lane sends, a few batches at a time, and keeps the records."""

    def __init__(self, source: Lane) -> None:
        self._lane, self._flying = source, list[Batch]()
        self.records: list[tuple[bytes | None, bytes | None]] = []
        self.sent = 0
        self._sequence = 0

    def turn(self, most: int) -> bool:
        """Let the lane send what it may, and answer at most `most`. Returns whether more waits."""
        while (sent := self._lane.next_batch()) is not None:
            self._flying.append(sent)
            self.sent += 1
            assert len(self._flying) <= 5
        for _ in range(min(most, len(self._flying))):
            self._append(self._flying.pop(0))
        fill = self._lane.fill_due
        if fill is not None:
            self._lane.filled(fill.end)
        return self._lane.pending

    def _append(self, sent: Batch) -> None:
        header = BatchHeader.read(sent.data)
        assert header.base_sequence == self._sequence
        self._sequence = (self._sequence + header.count) % SEQUENCES
        self.records += [(each.key, each.value) for each in plain.decode(sent.data)]
        at = sent.base if self._lane.progress.mode is Mode.IDENTICAL else len(self.records)
        there = at if self._lane.progress.mode is Mode.IDENTICAL else at - header.count
        self._lane.unanswered -= 1
        self._lane.acknowledge(TargetOffset(there))


def source_batches(
    rng: random.Random, count: int, kinds: str, codecs: list[int], sizes: list[int]
) -> tuple[list[bytearray], list[tuple[int, int]], list[tuple[bytes | None, bytes | None]]]:
    """Return random batches, the aborted transactions among them, and what consumers see."""
    made, aborted, seen, base = [], [], [], 0
    for number in range(count):
        kind, value = rng.choice(kinds), b"%06d" % number + rng.randbytes(8)
        value += b"a" * rng.choice(sizes)
        several = [Record(b"k", value)] * rng.choice((1, 1, 1, 3))
        producer, bits = (-1, 0) if kind == "p" else (number % 3 + 5, 0)
        if kind in "tx":
            bits = TRANSACTIONAL
        records = numbered(several, base)
        made.append(batch(records, rng.choice(codecs), attributes=bits, producer_id=producer))
        base += len(several)
        if kind == "x":
            aborted.append((producer, base - len(several)))
        else:
            seen += [(each.key, each.value) for each in several]
        if kind in "tx":
            made.append(marker(base, producer, COMMIT if kind == "t" else ABORT))
            base += 1
    return made, aborted, seen


def copied(source: Lane, made: list[bytearray], aborted: Any, rng: random.Random) -> Target:
    """Let a lane copy batches that come in answers of random sizes, at random times."""
    target = Target(source)
    at = 0
    while at < len(made):
        size = rng.choice((1, 2, 7, 60, len(made)))
        data = b"".join(made[at : at + size])
        took_with(source, data, aborted)
        at += size
        for _ in range(rng.choice((0, 0, 1, 5))):
            target.turn(rng.choice((1, 5)))
    turns = 0
    while target.turn(5):
        turns += 1
        assert turns < 10 * len(made) + 100, "the lane stands still"
    return target


def took_with(source: Lane, data: bytes, aborted: Any) -> None:
    """Let a lane take in a response."""
    frame = BufferPool(1 << 30).adopt(np.frombuffer(bytearray(data), np.uint8))
    last = BatchHeader.read(data).base_offset
    source.take(frame, 0, len(data), [each for each in aborted if each[1] >= last])


@given(
    seed=st.integers(0, 2**32),
    count=st.sampled_from([1, 5, 40, 300]),
    kinds=st.sampled_from(["p", "i", "t", "pi", "tx", "pitx"]),
    codecs=st.lists(st.sampled_from([*CODECS]), min_size=1, max_size=4),
    sizes=st.lists(st.sampled_from([0, 30, 150, 1500, 3900, 9000]), min_size=1, max_size=3),
    mode=st.sampled_from([*Mode]),
)
def test_each_batch_is_touched_a_bounded_number_of_times(
    seed: int, count: int, kinds: str, codecs: list[int], sizes: list[int], mode: Mode
) -> None:
    rng = random.Random(seed)
    made, aborted, seen = source_batches(rng, count, kinds, codecs, sizes)
    source = lane()
    source.resume(replace(standing(), mode=mode))
    with spending() as spent:
        target = copied(source, made, aborted, rng)
    assert target.records == seen
    assert spent.opened <= _OPENED * len(made)
    assert target.sent <= len(made)
    assert spent.calls <= _CALLS * (len(made) + 10)


def small(numbers: range, codec: int = NONE, size: int = 100) -> list[bytearray]:
    """Return batches of one record each."""
    return [batch(numbered([Record(b"k", b"v" * size)], n), codec) for n in numbers]


@pytest.mark.parametrize("codecs", [(NONE, LZ4), (LZ4, GZIP), (GZIP, NONE)])
def test_small_batches_of_alternating_codecs_become_few(codecs: tuple[int, int]) -> None:
    """They were merged anew before each was sent, with 4,000 of them 600 times as much work."""
    made = [small(range(n, n + 1), codecs[n % 2])[0] for n in range(4000)]
    source = lane()
    with spending() as spent:
        target = copied(source, made, (), random.Random(1))
    assert len(target.records) == 4000
    assert spent.opened <= _OPENED * 4000
    assert spent.calls <= _CALLS * 4000
    assert target.sent < 40


def test_what_is_made_of_two_codecs_is_compressed_as_most_was() -> None:
    source = lane()
    took(source, *small(range(1), NONE))
    first = source.next_batch()
    took(source, *small(range(1, 9), NONE), *small(range(9, 11), LZ4), *small(range(11, 12), GZIP))
    source.unanswered -= 1
    source.acknowledge(TargetOffset(0))
    made = source.next_batch()
    assert first is not None
    assert made is not None
    assert (made.base, made.count) == (1, 11)
    assert BatchHeader.read(made.data).attributes & CODEC_MASK == made.codec == LZ4


def test_long_stretches_keep_their_codec() -> None:
    """To compress what nobody compressed would cost more than a request of its own."""
    source, much = lane(), 2 * APART // 160
    took(source, *small(range(1)))
    assert source.next_batch() is not None
    took(source, *small(range(1, much)), *small(range(much, 2 * much), LZ4))
    source.unanswered -= 1
    source.acknowledge(TargetOffset(0))
    sent = [source.next_batch() for _ in range(2)]
    assert [each.codec for each in sent if each is not None] == [NONE, LZ4]


@pytest.mark.parametrize("codec", [NONE, LZ4])
def test_old_records_are_not_joined_with_young_ones_of_another_segment(codec: int) -> None:
    """The target would keep them as long as the young ones, where the source deletes them."""
    source, day = lane(), 86_400_000
    times = [0, 0, 1, YOUNGER + 1, 2 * YOUNGER + 1, day, 1, day + 1]
    for number, time in enumerate(times):  # an answer each
        record = Record(b"k", b"v", timestamp=time)
        took(source, batch(numbered([record], number), codec))
        if not number:
            assert source.next_batch() is not None
    source.unanswered -= 1
    source.acknowledge(TargetOffset(0))
    sent = [source.next_batch() for _ in range(4)]
    assert [(each.count, each.time) for each in sent if each is not None] == [
        (2, 1), (2, 2 * YOUNGER + 1), (3, day + 1),
    ]  # fmt: skip


def test_one_damaged_batch_does_not_have_the_others_opened_again_and_again() -> None:
    source = lane()
    made = small(range(300), LZ4)
    made[299] = damaged(made[299])
    with spending() as spent:
        target = Target(source)
        took(source, *made)
        for _ in range(200):
            target.turn(1)
    assert spent.opened <= _OPENED * 300


def test_a_fill_with_a_long_tally_does_not_grow() -> None:
    """Each growth copies the tally: for records that a rule drops it would be quadratic."""
    queue, count = Queue(), 3000
    for n in range(count):
        row = np.zeros((1, COLUMNS), np.int64)
        row[0, :3] = n, n + 1, n % 2
        queue.put(Fill(SourceOffset(n), SourceOffset(n + 1), tally=OffsetTally(row)))
    fills = [item for item in queue.waiting if isinstance(item, Fill)]
    assert sum(len(fill.tally.rows) for fill in fills) == count
    assert max(len(fill.tally.rows) for fill in fills) < 300
