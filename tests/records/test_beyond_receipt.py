"""Records found again at the source: by offset and by hash."""

from __future__ import annotations

import time

import numpy as np
import pytest

from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.records.beyond_receipt import BeyondReceipt, NotHereError, RecordMatch


def steps(
    passed: BeyondReceipt, source: dict[int, int], *, identical: bool = False
) -> list[RecordMatch]:
    offsets = np.array(list(source), np.int64)
    return list(
        passed.match(offsets, np.array(list(source.values()), np.uint64), identical=identical)
    )


def test_identical_records_are_one_step() -> None:
    passed = BeyondReceipt([5, 6, 7], [50, 60, 70])
    assert steps(passed, {5: 50, 6: 60}, identical=True) == [
        RecordMatch(0, SourceOffset(5), TargetOffset(5), 2)
    ]
    assert len(passed) == 1
    assert steps(passed, {7: 70, 8: 80}, identical=True) == [
        RecordMatch(0, SourceOffset(7), TargetOffset(7), 1)
    ]
    assert not passed


@pytest.mark.parametrize("source", [{6: 50}, {5: 51}])
def test_another_record_at_an_offset_is_not_identical(source: dict[int, int]) -> None:
    with pytest.raises(NotHereError, match="5"):
        steps(BeyondReceipt([5], [50]), source, identical=True)


def test_records_that_the_source_lost_are_passed_over() -> None:
    passed = BeyondReceipt([5, 6, 7, 8], [50, 60, 70, 80])
    assert steps(passed, {21: 60, 30: 80, 31: 90}) == [
        RecordMatch(1, SourceOffset(21), TargetOffset(6), 1),
        RecordMatch(1, SourceOffset(30), TargetOffset(8), 1),
    ]
    assert not passed


def test_an_unknown_record_is_new_so_nothing_is_left() -> None:
    passed = BeyondReceipt([5, 6], [50, 60])
    assert steps(passed, {30: 90, 31: 91}) == [
        RecordMatch(2, SourceOffset(30), TargetOffset(-1), 0)
    ]
    assert not passed


def test_what_a_batch_costs_does_not_grow_with_what_is_to_be_found() -> None:
    """All that is still to be found was sorted anew for each batch: 30 s for these."""
    count, batches = 100_000, 3_000
    hashes = np.arange(count, dtype=np.uint64)
    passed = BeyondReceipt(
        np.arange(count), hashes, missing=np.ones(count, np.int64), old_below=2**40
    )
    began = time.process_time()
    for number in range(batches):
        source = {2 * number: count + number, 2 * number + 1: number}  # one is gone on the target
        found = steps(passed, source)
        assert [(each.vanished, each.count) for each in found] == [(0, 1), (0, 1)]
    assert len(passed) == count - batches
    assert time.process_time() - began < 8
