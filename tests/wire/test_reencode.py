from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

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
    joined,
    numbered,
    sealed,
)
from tests.support.logs.random_logs import random_logs
from towpath.model.errors import CorruptBatchError
from towpath.wire import plain
from towpath.wire.batch import (
    CODEC_MASK,
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
)
from towpath.wire.opened import BASE, open_batch
from towpath.wire.plain import Record
from towpath.wire.reencode import Dense, _room, _write, reencode, reencode_opened

END = (1 << 63) - 1
LARGE = 1 << 20


def run(
    batches: Sequence[bytes | bytearray],
    first: int = 0,
    end: int = END,
    max_bytes: int = LARGE,
) -> list[Dense]:
    buffer, positions, lengths = joined(batches)
    return reencode(
        buffer, positions, lengths, first_offset=first, end_offset=end, max_bytes=max_bytes
    )


def offsets(dense: Dense) -> list[int]:
    return [start + i for start, length in dense.offsets.tolist() for i in range(length)]


def records(written: Sequence[Dense]) -> list[Record]:
    """Read what was written, at the source's offsets; check all that a broker insists on."""
    found: list[Record] = []
    for dense in written:
        header = BatchHeader.read(dense.batch)
        assert header.last_offset_delta + 1 == header.count == dense.count
        assert header.attributes & ~CODEC_MASK == 0
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
        assert (header.base_offset, header.leader_epoch) == (0, -1)
        read = plain.decode(dense.batch)
        assert [record.offset for record in read] == list(range(dense.count))
        assert header.first_timestamp == read[0].timestamp
        assert header.max_timestamp == max(record.timestamp for record in read)
        for (start, length), (after, _) in pairwise(dense.offsets.tolist()):
            assert start + length < after, "runs that touch are one"
        found += at_offsets(read, offsets(dense))
    return found


def logs() -> st.SearchStrategy[list[bytearray]]:
    """Return what draws consecutive batches of every kind, with holes within and between them."""
    return random_logs(
        st.lists(st.lists(RECORD, max_size=6), min_size=1, max_size=6),
        [1, 1, 1, 2, 90],
        attributes=st.sampled_from([0, LOG_APPEND_TIME, TRANSACTIONAL]),
        max_timestamp=st.none() | st.integers(0, 1 << 42),
        producer_id=st.sampled_from([-1, 77]),
    )


@given(logs(), st.data())
def test_what_is_written_is_what_the_readable_codec_reads(
    log: list[bytearray], data: st.DataObject
) -> None:
    source = [record for raw in log for record in plain.decode(raw)]
    places = [record.offset for record in source] or [0]
    edge = st.sampled_from([0, END, *places, *(place + 1 for place in places)])
    first, end = data.draw(edge), data.draw(edge)
    max_bytes = data.draw(st.sampled_from([70, 100, 150, 300, LARGE]))
    written = run(log, first, end, max_bytes)
    assert records(written) == [r for r in source if first <= r.offset < end]
    assert all(len(dense.batch) <= max_bytes or dense.count == 1 for dense in written)


@given(logs(), st.data())
def test_a_batch_that_is_dense_already_becomes_what_it_would_become_record_by_record(
    log: list[bytearray], data: st.DataObject
) -> None:
    """Only how it is made differs, so two copiers of different versions make the same bytes."""
    dense = numbered(
        data.draw(st.lists(RECORD, min_size=1, max_size=6)), data.draw(st.integers(0, 9))
    )
    some = [*log, batch(dense, data.draw(st.sampled_from(CODECS)))]
    for raw in some:
        source = open_batch(raw)
        base = int(source.batches[0, BASE])
        edge = st.sampled_from([0, END, base, base + 1, base + len(dense)])
        first, end = data.draw(edge), data.draw(edge)
        most = data.draw(st.sampled_from([70, 150, 300, LARGE]))
        slowly = _write(source, first, end, most, _room(source, most), apart=False)
        made = reencode_opened(source, first_offset=first, end_offset=end, max_bytes=most)
        assert [(d.batch, d.count, d.offsets.tolist()) for d in made] == [
            (d.batch, d.count, d.offsets.tolist()) for d in slowly
        ]


def one_record(body: bytes, behind: bytes = b"") -> bytearray:
    """Return a batch of one record with this body, and bytes behind it."""
    short = plain.encode(numbered([Record(b"k", b"v")]))
    records = bytes([2 * len(body)]) + body + behind
    length = (HEADER_SIZE - 12 + len(records)).to_bytes(4, "big")
    return sealed(bytes(short[:8]) + length + bytes(short[12:HEADER_SIZE]) + records)


@pytest.mark.parametrize("place", [1, 2], ids=["time", "offset"])
def test_a_number_with_more_bytes_than_it_needs_is_written_anew(place: int) -> None:
    short = plain.encode(numbered([Record(b"k", b"v")]))
    body = bytes(short[HEADER_SIZE + 1 :])
    long = body[:place] + bytes([body[place] | 0x80, 0]) + body[place + 1 :]
    (made,) = reencode_opened(open_batch(one_record(long)), max_bytes=LARGE)
    assert len(made.batch) == len(short)
    assert plain.decode(made.batch) == plain.decode(short)


def test_bytes_behind_dense_records_are_damage() -> None:
    body = bytes(plain.encode(numbered([Record(b"k", b"v")]))[HEADER_SIZE + 1 :])
    with pytest.raises(CorruptBatchError, match="bytes behind the last record"):
        reencode_opened(open_batch(one_record(body, b"\0")), max_bytes=LARGE)


@pytest.mark.parametrize("codec", CODECS)
def test_many_tiny_batches_become_one(codec: int) -> None:
    source = numbered([Record(b"k%d" % i, b"v" * 100, (), 1000 - i) for i in range(2000)], 5_000)
    (dense,) = run([batch([record], codec) for record in source])
    assert dense.offsets.tolist() == [[5000, 2000]]
    assert BatchHeader.read(dense.batch).attributes == codec
    assert records([dense]) == list(source)


def test_a_merged_batch_equals_one_encoded_at_once() -> None:
    source = numbered([replace(r, timestamp=i) for i, r in enumerate(SMALL * 5)])
    (dense,) = run([batch(source[:4]), batch(source[4:5]), batch(source[5:])])
    expected = plain.encode(source)
    expected[12:16] = dense.batch[12:16]
    assert dense.batch == expected


def test_parts_are_filled_up_to_the_limit() -> None:
    source = numbered([Record(b"", b"v" * 100, (), 7) for _ in range(1000)])
    written = run([batch(source)], max_bytes=10_000)
    assert records(written) == list(source)
    assert all(9_850 < len(dense.batch) <= 10_000 for dense in written[:-1])


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_compressed_batch_is_split_by_what_it_takes_compressed(codec: int) -> None:
    noise = np.random.default_rng(11).bytes(200_000)
    # The second half compresses worse than the ratio of the whole says.
    values = [b"a" * 1000] * 200 + [noise[i : i + 1000] for i in range(0, 200_000, 1000)]
    source = numbered([Record(None, value, (), 7) for value in values])
    written = run([batch(source, codec)], max_bytes=20_000)
    assert records(written) == list(source)
    assert max(len(dense.batch) for dense in written) <= 20_000
    assert len(written) < 45


def test_a_record_larger_than_the_limit_stands_alone() -> None:
    source = numbered([Record(None, b"a"), Record(None, b"b" * 500), Record(None, b"c")])
    written = run([batch(source)], max_bytes=100)
    assert [dense.count for dense in written] == [1, 1, 1]
    assert records(written) == list(source)


def test_a_change_of_codec_begins_a_batch() -> None:
    written = run([batch(numbered([SMALL[0]], i), codec) for i, codec in enumerate([3, 3, 0, 4])])
    codecs = [BatchHeader.read(dense.batch).attributes for dense in written]
    assert codecs == [3, 0, 4]
    assert [dense.offsets.tolist() for dense in written] == [[[0, 2]], [[2, 1]], [[3, 1]]]


def test_log_append_time_becomes_the_time_of_each_record() -> None:
    late = batch(SMALL, attributes=LOG_APPEND_TIME, max_timestamp=99)
    (dense,) = run([late, batch(numbered(SMALL[:1], 1003))])
    times = [record.timestamp for record in records([dense])]
    assert times == [99, 99, 99, SMALL[0].timestamp]


def test_holes_are_told() -> None:
    source = at_offsets(SMALL * 2, [3, 4, 7, 20, 21, 22])
    (dense,) = run([batch(source[:4], last=20), batch(source[4:])], 4, 22)
    assert dense.offsets.tolist() == [[4, 1], [7, 1], [20, 2]]


def test_nothing_in_the_range_gives_nothing() -> None:
    assert run([batch(SMALL)], 0, 1000) == []
    assert run([batch(SMALL)], 1003, END) == []
    assert run([batch([], base=5, last=9)]) == []
    assert run([]) == []


def test_batches_may_lie_anywhere_in_the_buffer() -> None:
    raw = batch(SMALL)
    buffer = np.frombuffer(b"before" + raw + b"behind", np.uint8)
    (dense,) = reencode(
        buffer,
        np.array([6], np.int64),
        np.array([len(raw)], np.int64),
        first_offset=0,
        end_offset=END,
        max_bytes=LARGE,
    )
    assert records([dense]) == list(SMALL)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_anywhere_is_refused_or_has_no_effect(codec: int) -> None:
    for damaged in damages(batch(SMALL[:2], codec)):
        try:
            written = run([damaged])
        except CorruptBatchError:
            continue
        # Bodies are copied unread; whoever reads them sees what they see in the source.
        try:
            source = plain.decode(damaged)
        except CorruptBatchError:
            continue
        assert records(written) == list(source)


def test_batches_that_are_wrong_are_refused_with_their_number_and_reason() -> None:
    first, good = batch(SMALL), batch(numbered(SMALL, 1003))
    stale = bytearray(good)
    stale[-1] ^= 1
    old = bytearray(good)
    old[16] = 1
    behind = bytearray(good + b"\0")
    behind[8:12] = (len(behind) - 12).to_bytes(4, "big")
    beyond = bytearray(good)
    beyond[26] = 1
    many = bytearray(good)
    many[57] = 0x7F
    less = bytearray(good)
    less[57] = 0xFF
    for raw, why in [
        (stale, "batch 1 of 2: its checksum is wrong"),
        (old, "batch 1 of 2: its magic is not 2"),
        (good[:-1], "batch 1 of 2: it does not lie inside the buffer"),
        (good[:40], "batch 1 of 2: it does not lie inside the buffer"),
        (sealed(behind), "batch 1 of 2: bytes behind the last record"),
        (sealed(beyond), "batch 1 of 2: record offsets do not ascend"),
        (first, "batch 1 of 2: record offsets do not ascend"),
        (sealed(many), "records in .* bytes"),
        (sealed(less), "batch 1 of 2: it has a negative record count"),
        (batch(numbered(SMALL, 1003), attributes=CONTROL), "a control batch holds no records"),
    ]:
        with pytest.raises(CorruptBatchError, match=why):
            run([first, raw])
