"""Sequences that go back along a target's log. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from tests.support.logs.compare import rows
from towpath.compare.doubled import Doubled, SequenceCheck, Stretch
from towpath.model.nouns import ProducerId
from towpath.wire import batch as wire
from towpath.wire.records import RECORDS, encode

OURS, OLD, OTHERS = ProducerId(1 << 41), ProducerId(1 << 42), ProducerId(7)
Part = tuple[int, int]
"""Sequence and number of records of a batch."""


def look(
    check: SequenceCheck, parts: Iterable[Part], first: int = 0, producer: int = OURS
) -> tuple[SequenceCheck, int]:
    """Let a check look at batches that lie side by side from an offset on."""
    buffer = bytearray()
    for sequence, count in parts:
        table = pa.RecordBatch.from_pylist(rows(count), schema=RECORDS)
        buffer += encode(
            table, base_offset=first, producer_id=producer, producer_epoch=0,
            base_sequence=sequence % wire.SEQUENCES,
        )  # fmt: skip
        first += count
    array = np.frombuffer(buffer, np.uint8)
    check.look(array, wire.scan(array, 0, len(array)))
    return check, first


def found(parts: Iterable[Part], **bounds: int) -> Doubled:
    check = SequenceCheck({OURS}, bounds.get("first", 0), bounds.get("end", 1 << 40))
    return look(check, parts)[0].found


def test_sequences_that_go_on_are_not_doubled() -> None:
    assert not found([(5, 3), (8, 1), (9, 4)]).stretches
    assert not found([(5, 3), (80, 2)]).stretches, "the target's cleaner took what was between"


def test_a_stretch_that_was_written_again_is_named() -> None:
    once = found([(0, 10), (10, 10), (10, 10), (20, 5)])
    assert (once.stretches, once.records) == ((Stretch(20, 30, 10),), 10)
    twice = found([(0, 10), (0, 4), (4, 4), (10, 2), (3, 9)])
    assert (twice.stretches, twice.records) == ((Stretch(10, 18, 8), Stretch(20, 29, 9)), 17)


def test_only_what_was_there_before_counts_of_a_batch_that_was_cut_in_another_way() -> None:
    assert found([(0, 10), (6, 10)]).stretches == (Stretch(10, 14, 4),)


def test_sequences_start_again_behind_the_last_one() -> None:
    last = wire.SEQUENCES - 5
    assert not found([(last, 5), (0, 5)]).stretches
    assert found([(last, 5), (0, 5), (last, 7)]).stretches == (Stretch(10, 17, 7),)


def test_each_producer_id_has_sequences_of_its_own_and_others_do_not_count() -> None:
    check = SequenceCheck({OURS, OLD}, 0, 1 << 40)
    end = look(check, [(70, 9)], producer=OLD)[1]
    end = look(check, [(0, 5)], end)[1]
    end = look(check, [(3, 3), (3, 3)], end, OTHERS)[1]
    assert not check.found.stretches
    look(check, [(70, 2)], end, OLD)
    assert check.found.stretches == (Stretch(end, end + 2, 2),)


def test_what_lies_behind_the_last_receipt_is_new_or_doubled() -> None:
    check = SequenceCheck({OURS}, 100, wire.NO_END, [(OURS, 100)])
    look(check, [(90, 15), (105, 5)], 95)  # the first five lie before
    assert (check.found.stretches, check.beyond) == ((Stretch(100, 105, 5),), 10)


def test_neighbouring_ranges_say_what_the_whole_says(rng: random.Random) -> None:
    for _ in range(50):
        parts: list[Part] = []
        furthest = 0
        while len(parts) < 8:
            sequence = rng.choice((furthest, furthest, rng.randint(0, furthest)))
            parts.append((sequence, rng.randint(1, 9)))
            furthest = max(furthest, sum(parts[-1]))
        total = sum(count for _, count in parts)
        border = rng.randint(1, total - 1)
        whole = found(parts)
        joined = found(parts, end=border).then(found(parts, first=border))
        assert joined.seen == whole.seen, parts
        assert bool(joined.records) == bool(whole.records), (parts, border)


def test_a_stretch_at_the_beginning_of_the_next_range_is_seen_when_they_are_joined() -> None:
    parts = [(0, 10), (0, 10), (10, 5)]
    for border in (5, 10, 15):
        joined = found(parts, end=border).then(found(parts, first=border))
        assert (joined.stretches, joined.records) == ((Stretch(10, 20, 10),), 10), border
