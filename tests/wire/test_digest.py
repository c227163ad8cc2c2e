from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.logs.batches import (
    CODECS,
    RECORD,
    SMALL,
    at_offsets,
    batch,
    damages,
    digest_of,
    joined,
    numbered,
)
from towpath.model.errors import CorruptBatchError
from towpath.wire.batch import LOG_APPEND_TIME
from towpath.wire.digest import Digest, digest_batches, record_hashes
from towpath.wire.plain import Record

LISTS = st.lists(RECORD, min_size=1, max_size=8).map(numbered)


@given(LISTS, LISTS, LISTS)
def test_then_is_associative_and_equals_one_pass(
    one: Sequence[Record], two: Sequence[Record], three: Sequence[Record]
) -> None:
    a, b, c = (digest_of(batch(some)) for some in (one, two, three))
    whole = digest_of(batch(numbered([*one, *two, *three])))
    assert a.then(b).then(c) == a.then(b.then(c)) == whole
    assert Digest().then(a) == a == a.then(Digest())


@given(LISTS, st.sampled_from(CODECS), st.integers(0, 1 << 60), st.data())
def test_what_differs_between_equal_logs_does_not_count(
    some: Sequence[Record], codec: int, base: int, data: st.DataObject
) -> None:
    plainly = digest_of(batch(some))
    elsewhere = numbered(some, base)
    assert digest_of(batch(elsewhere, codec, producer_id=5)) == plainly
    cut = data.draw(st.integers(0, len(some)))
    parts = [batch(part, codec) for part in (elsewhere[:cut], elsewhere[cut:]) if part]
    assert digest_batches(*joined(parts)) == plainly


@given(LISTS, st.data())
def test_a_range_counts_its_records_only(some: Sequence[Record], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(some)))
    end = data.draw(st.integers(first, len(some)))
    inside = some[first:end]
    expected = digest_of(batch(inside)) if inside else Digest()
    assert digest_of(batch(some), first, end) == expected


@given(LISTS, st.randoms(use_true_random=False))
def test_order_counts_in_one_of_the_two(some: Sequence[Record], random: object) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis hides the class
    a, b = digest_of(batch(some)), digest_of(batch(numbered(shuffled)))
    assert a.unordered == b.unordered
    same = [replace(r, offset=0) for r in some] == [replace(r, offset=0) for r in shuffled]
    assert (a.ordered == b.ordered) is same


def test_log_append_time_counts_as_the_time_a_consumer_sees() -> None:
    late = batch(SMALL, attributes=LOG_APPEND_TIME, max_timestamp=9)
    assert digest_of(late) == digest_of(batch([replace(r, timestamp=9) for r in SMALL]))


def test_without_times_only_times_may_differ() -> None:
    late = batch(SMALL, attributes=LOG_APPEND_TIME, max_timestamp=9)
    other = batch([replace(r, timestamp=1, value=b"other") for r in SMALL])
    timeless = [record_hashes(b, timed=False)[1].tolist() for b in (batch(SMALL), late, other)]
    assert timeless[0] == timeless[1]
    assert not set(timeless[0]) & set(timeless[2])
    parts = [joined([b]) for b in (batch(SMALL), late)]
    assert digest_batches(*parts[0], timed=False) == digest_batches(*parts[1], timed=False)


def test_the_first_difference_is_found() -> None:
    other = [SMALL[0], replace(SMALL[1], value=None), SMALL[2]]
    offsets, hashes = record_hashes(batch(at_offsets(SMALL, [5, 8, 9]), 3))
    _, changed = record_hashes(batch(at_offsets(other, [5, 8, 9])))
    assert offsets[hashes != changed].tolist() == [8]


U64 = (1 << 64) - 1


def absorb(state: int, word: int) -> int:
    state ^= word * 0x6A09E667F3BCC909 & U64
    state = (state << 29 | state >> 35) & U64
    return (state * 0xBB67AE8584CAA73B + 1) & U64


def readable_hash(record: Record) -> int:
    words = [record.timestamp]
    fields = [record.key, record.value, None, *(part for pair in record.headers for part in pair)]
    for index, field in enumerate(fields):
        if index == 2:
            words.append(len(record.headers))
            continue
        words.append(-1 if field is None else len(field))
        blob = field or b""
        words += [int.from_bytes(blob[i : i + 8], "little") for i in range(0, len(blob), 8)]
    state = 0x6A09E667F3BCC909
    for word in words:
        state = absorb(state, word & U64)
    for _ in range(2):
        state = (state ^ state >> 32) * 0x6A09E667F3BCC909 & U64
        state = (state ^ state >> 29) * 0xBB67AE8584CAA73B & U64
    return state ^ state >> 32


@given(LISTS)
def test_the_hash_is_the_readable_one(some: Sequence[Record]) -> None:
    _, hashes = record_hashes(batch(some))
    assert hashes.tolist() == [readable_hash(record) for record in some]


def neighbours() -> list[Record]:
    """Records that a careless hash takes for one another."""
    out = [Record(key, value) for key in (None, b"") for value in (None, b"")]
    out += [Record(b"", b"", headers) for headers in (((b"", None),), ((b"", b""),))]
    out += [Record(b"", b"", headers) for headers in (((b"a", b""),), ((b"", b"a"),))]
    out += [Record(b"", b"", ((b"a", b"b"), (b"c", b"d"))), Record(b"", b"", ((b"c", b"d"),))]
    out += [Record(b"", b"", ((b"c", b"d"), (b"a", b"b")))]
    out += [Record(bytes(i), bytes(20 - i)) for i in range(1, 20)]
    out += [Record(b"x" * i, b"") for i in range(1, 40)]
    out += [Record(b"", b"x" * i) for i in range(1, 40)]
    out += [Record(b"", b"", (), 1 << i) for i in range(63)]
    out += [
        Record(b"", bytes([0] * i + [1 << bit] + [0] * (19 - i)))
        for i in range(20)
        for bit in range(8)
    ]
    return out


def test_neighbours_differ_in_half_of_their_bits() -> None:
    some = numbered(neighbours())
    _, hashes = record_hashes(batch(some))
    assert len(set(hashes.tolist())) == len(some)
    base = int(hashes[3])
    flips = [(int(other) ^ base).bit_count() for other in hashes if int(other) != base]
    assert 30 < np.mean(flips) < 34
    assert min(flips) > 10


@pytest.mark.parametrize("codec", CODECS)
def test_damage_anywhere_is_refused_or_hashed(codec: int) -> None:
    for damaged in damages(batch(SMALL[:2], codec)):
        try:
            offsets, hashes = record_hashes(damaged)
        except CorruptBatchError:
            continue
        assert len(offsets) == len(hashes)


def test_the_hash_never_changes() -> None:
    # Receipts in ledgers hold digests: another hash would make all of them wrong.
    assert digest_of(batch(SMALL)) == Digest(3, 12671590249043087281, 8681881828055887977)
