"""Records of others in target partitions: how many there are."""

from __future__ import annotations

import numpy as np
import pytest

from towpath.compare.row_sums import RowLook
from towpath.compare.written_rows import WrittenSlice, _Reading
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire import batch as wire
from towpath.wire import plain


@pytest.mark.parametrize(
    ("first", "end", "last", "count", "told"),
    [
        (0, 20, 9, 10, 10),
        (0, 20, 14, 10, 10),  # compaction has removed records behind the tenth
        (4, 20, 9, 10, 6),  # the batch begins before the slice
        (0, 7, 9, 10, 7),
        (3, 5, 9, 10, 2),
    ],
)
def test_records_are_counted_not_offsets(
    first: int, end: int, last: int, count: int, told: int
) -> None:
    at = TopicPartition(TopicName("a"), 0)
    target = ClusterConfig.model_validate({"bootstrap": "b:1"})
    reading = _Reading(WrittenSlice(target, at, first, end, {}, RowLook()))
    buffer = np.frombuffer(
        plain.encode([plain.Record(b"k", b"%d" % n) for n in range(10)]), np.uint8
    )
    rows = wire.scan(buffer, 0, len(buffer))
    assert rows[0, wire.COUNT] == count
    rows[0, wire.LAST] = last
    assert reading._records(buffer, rows) == told
