"""Rows of a source partition in a target partition, compared one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from towpath.compare.listed_rows import Allowed, ListedRows, compare_lists
from towpath.compare.row_sums import (
    RowCollector,
    RowList,
    RowLook,
    from_json,
    joined,
    skips_of,
    to_json,
)
from towpath.model.nouns import TopicName, TopicPartition
from towpath.wire.digest import fold

PAIR = TopicPartition(TopicName("a"), 1), TopicPartition(TopicName("b"), 2)


def rows(hashes: Sequence[int], places: Sequence[int] = ()) -> RowList:
    numbers = np.array(hashes, np.uint64)
    found = places or range(len(hashes))
    return RowList(numbers, numbers, np.array(found, np.int64))


def compared(made: Sequence[int], there: Sequence[int], **allowed: bool) -> ListedRows:
    return compare_lists(rows(made), rows(there, range(100, 100 + len(there))), Allowed(**allowed),
                         timed=True)  # fmt: skip


def test_equal_rows_have_no_difference() -> None:
    found = compared([1, 2, 2, 3], [1, 2, 2, 3])
    assert found == ListedRows(equal=4)


def test_what_is_missing_alone_doubled_or_moved_is_counted_with_the_first_offset() -> None:
    assert compared([1, 2, 3], [1, 3]) == ListedRows(equal=2, missing=Counter([2]), first=101)
    assert compared([1, 2], [1, 9, 2]) == ListedRows(equal=2, extra=Counter([9]), first=101)
    assert compared([1, 2], [1, 2, 2]) == ListedRows(equal=2, doubled=1, first=102)
    assert compared([1, 2, 3], [1, 3, 2]) == ListedRows(equal=3, moved=2, first=101)
    changed = compared([1, 2, 3], [1, 7, 3])
    assert (changed.missing, changed.extra) == (Counter([2]), Counter([7]))


def test_a_front_that_one_side_no_longer_has_is_no_difference_but_what_is_behind_it_is() -> None:
    assert compared([3, 4], [1, 2, 3, 4], front=True) == ListedRows(equal=2, expired=2)
    assert compared([3, 4, 5], [1, 2, 3, 5], front=True).missing == Counter([4])
    assert compared([1, 2, 3], [3], front_gone=True) == ListedRows(equal=1, deleted=2)
    assert compared([1, 2, 3], [3]).missing == Counter([1, 2])


def test_compaction_explains_older_rows_of_a_key_alone() -> None:
    made = RowList(*(np.array([1, 2, 3], np.uint64),) * 2, np.array([7, 8, 7], np.int64))
    allowed = Allowed(target_compacts=True)
    found = compare_lists(made, rows([2, 3]), allowed, timed=True)
    assert (found.compacted, found.unproven, found.equal) == (1, 0, 2)
    found = compare_lists(made, rows([1, 2]), allowed, timed=True)
    assert (found.compacted, found.unproven) == (0, 1), "the last row of its key"
    found = compared([2], [1, 2], source_compacts=True)
    assert (found.expired, found.equal, found.extra.total()) == (1, 1, 0)


def test_sums_are_joined_over_parts_and_leave_out_what_they_shall() -> None:
    hashes = np.arange(1, 11, dtype=np.uint64)
    texts, parts = [], [(0, hashes[:4]), (4, hashes[4:])]
    for first, some in reversed(parts):
        collector = RowCollector(RowLook())
        collector.take(PAIR, some[:1], some[:1], np.empty(0, np.int64), untimed=1)
        collector.take(PAIR, some[1:], some[1:], np.empty(0, np.int64))
        texts.append(to_json(first, collector.found))
    found = from_json(texts)
    whole = joined(found)[PAIR]
    assert (whole.count, whole.untimed, whole.plain) == (10, 2, fold(hashes))
    skips = skips_of(found, {PAIR: 6})
    assert skips == {0: {PAIR: 4}, 4: {PAIR: 2}}
    rest = []
    for first, some in parts:
        collector = RowCollector(RowLook(skips[first], frozenset({PAIR})))
        for one in np.split(some, [1, 3]):
            collector.take(PAIR, one, one, one.astype(np.int64))
        rest.append(to_json(first, collector.found))
    again = joined(from_json(rest))[PAIR]
    assert (again.count, again.plain) == (10, fold(hashes[6:]))
    assert again.rows.places.tolist() == [*range(1, 11)]
