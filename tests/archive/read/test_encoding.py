"""Archived records become record batches again, equal in every byte that a consumer sees."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.archived import archived
from tests.support.logs.batches import CODECS, RECORD, at_offsets, from_arrow, numbered
from towpath.archive.read.feed.encoding import encoded, nothing
from towpath.wire import batch as wire
from towpath.wire.codec import LZ4, NONE
from towpath.wire.packing import Packed
from towpath.wire.plain import Record
from towpath.wire.records import decode


def decoded(data: Packed) -> tuple[Record, ...]:
    buffer = np.frombuffer(data, np.uint8)
    found: list[Record] = []
    for row in wire.scan(buffer, 0, len(buffer)).tolist():
        position = row[wire.POSITION]
        found += from_arrow(decode(data[position : position + row[wire.LENGTH]]))
    return tuple(found)


def table(data: Packed) -> wire.Table:
    return wire.scan(np.frombuffer(data, np.uint8), 0, len(data))


@given(st.lists(RECORD, min_size=1, max_size=30), st.sampled_from(CODECS), st.data())
def test_records_come_back_as_they_were(
    records: Sequence[Record], codec: int, data: st.DataObject
) -> None:
    steps = data.draw(
        st.lists(st.integers(1, 3), min_size=len(records), max_size=len(records)), "steps"
    )
    there = at_offsets(records, np.cumsum(steps).tolist())
    made = encoded(archived(there), codec, most=data.draw(st.integers(1, 200), "most"))
    assert decoded(made) == there
    rows = table(made)
    assert (rows[:, wire.LAST] - rows[:, wire.BASE] + 1 == rows[:, wire.COUNT]).all()
    assert all(wire.sound(made[r[0] : r[0] + r[1]]) for r in rows.tolist())


@given(st.lists(RECORD, min_size=3, max_size=12), st.data())
def test_a_slice_of_a_larger_batch_is_encoded_alone(
    records: Sequence[Record], data: st.DataObject
) -> None:
    there = numbered(records, 100)
    first = data.draw(st.integers(0, len(records) - 1))
    end = data.draw(st.integers(first + 1, len(records)))
    assert decoded(encoded(archived(there)[first:end], 0)) == there[first:end]


def test_batches_end_at_holes() -> None:
    records = at_offsets([Record(b"k", b"v")] * 10, [0, 1, 2, 3, 4, 5, 6, 8, 9, 20])
    made = table(encoded(archived(records), 0))
    assert made[:, wire.BASE].tolist() == [0, 8, 20]
    assert made[:, wire.COUNT].tolist() == [7, 2, 1]


def test_control_batches_stand_where_the_offsets_are() -> None:
    records = at_offsets([Record(b"k", b"v")] * 6, [2, 3, 6, 7, 20, 21])
    voids = np.array([(0, 2), (4, 6), (8, 15), (15, 20), (22, 30)], np.int64)
    made = table(encoded(archived(records), 0, voids=voids))
    controls = made[:, wire.ATTRIBUTES] & wire.CONTROL != 0
    bases, ends = made[:, wire.BASE], made[:, wire.LAST] + 1
    assert np.stack((bases[controls], ends[controls]), 1).tolist() == voids.tolist()
    assert (bases[1:] >= ends[:-1]).all()
    assert [*zip(bases[~controls], ends[~controls], strict=True)] == [(2, 4), (6, 8), (20, 22)]


def test_what_compression_hardly_makes_smaller_stays_as_it_is() -> None:
    noise = numbered([Record(b"k", random.Random(n).randbytes(900)) for n in range(60)])
    same = numbered([Record(b"k", b"same" * 200) for n in range(60)])
    for records, codec in ((noise, NONE), (same, LZ4)):
        made = encoded(archived(records), LZ4, most=9000)
        assert decoded(made) == records
        codecs = {row[wire.ATTRIBUTES] & wire.CODEC_MASK for row in table(made).tolist()}
        assert codecs == {codec}


def test_batches_before_noise_stay_compressed() -> None:
    same = [Record(b"k", b"same" * 200) for n in range(30)]
    noise = [Record(b"k", random.Random(n).randbytes(n % 9 * 500)) for n in range(60)]
    records = numbered([*same, *noise, *same])
    made = encoded(archived(records), LZ4, most=9000)
    assert decoded(made) == records
    rows = table(made).tolist()
    assert all(wire.sound(made[r[0] : r[0] + r[1]]) for r in rows)
    codecs = [row[wire.ATTRIBUTES] & wire.CODEC_MASK for row in rows]
    assert codecs == sorted(codecs, reverse=True)
    assert set(codecs) == {LZ4, NONE}


def test_a_record_that_is_larger_than_a_batch_stands_alone() -> None:
    sizes = [10, 5000, 10, 200_000, 300_000, 10]
    records = numbered([Record(b"k", b"v" * size, ((b"h", b"x"),)) for size in sizes])
    for codec in CODECS:
        made = encoded(archived(records), codec, most=3000)
        assert decoded(made) == records
        assert table(made)[:, wire.COUNT].tolist() == [1] * 6


def test_no_records_are_no_batches() -> None:
    assert not encoded(archived([]), 0)


@pytest.mark.parametrize(("first", "end"), [(5, 6), (5, 5_000_000_000), (0, 1 << 31)])
def test_offsets_without_records_are_control_batches(first: int, end: int) -> None:
    rows = table(nothing(first, end))
    assert (rows[:, wire.ATTRIBUTES] == wire.CONTROL).all()
    assert int(rows[0, wire.BASE]) == first
    assert int(rows[-1, wire.LAST]) == end - 1
    assert (rows[1:, wire.BASE] == rows[:-1, wire.LAST] + 1).all()
