from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
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
    from_arrow,
    numbered,
    sealed,
    to_arrow,
)
from towpath.model.errors import CorruptBatchError
from towpath.wire import plain, records, unpacking
from towpath.wire.batch import (
    CONTROL,
    CRC,
    LOG_APPEND_TIME,
    SEQUENCES,
    TRANSACTIONAL,
    BatchHeader,
    scan,
    sound,
    stamp,
)
from towpath.wire.plain import Record

LISTS = st.lists(RECORD, min_size=1, max_size=12)


@given(LISTS, st.sampled_from(CODECS), st.integers(0, 2**62))
def test_the_fast_encoder_equals_the_readable_one(
    some: Sequence[Record], codec: int, base: int
) -> None:
    fast = records.encode(
        to_arrow(some), codec, base_offset=base, producer_id=9, base_sequence=4, transactional=True
    )
    slow = plain.encode(
        some, codec, base_offset=base, producer_id=9, base_sequence=4, transactional=True
    )
    assert fast == slow
    assert plain.decode(fast) == numbered(some, base)


@given(LISTS, st.sampled_from(CODECS), st.data())
def test_the_fast_decoder_equals_the_readable_one(
    some: Sequence[Record], codec: int, data: st.DataObject
) -> None:
    gaps = data.draw(st.lists(st.integers(1, 1000), min_size=len(some), max_size=len(some)))
    placed = at_offsets(some, np.cumsum(gaps).tolist())
    late = data.draw(st.sampled_from([0, LOG_APPEND_TIME]))
    raw = batch(placed, codec, attributes=late, base=0)
    assert from_arrow(records.decode(raw)) == plain.decode(raw)
    if not late:
        assert plain.decode(raw) == placed


@given(RECORD, st.integers(-1, 2**62), st.integers(0, 2**62))
def test_the_bytes_of_one_record_are_read(record: Record, time: int, offset: int) -> None:
    data = plain.record_bytes([record], [5])
    read = plain.record_of(data, timestamp=time, offset=offset)
    assert read == replace(record, timestamp=time, offset=offset)
    for wrong in (data[:-1], data + b"\0"):
        with pytest.raises(CorruptBatchError):
            plain.record_of(wrong, timestamp=time, offset=offset)


@given(LISTS, st.data())
def test_a_slice_is_encoded_as_its_records(some: Sequence[Record], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(some) - 1))
    count = data.draw(st.integers(1, len(some) - start))
    part = to_arrow(some).slice(start, count)
    assert records.encode(part) == plain.encode(some[start : start + count])


def test_types_that_other_writers_of_arrow_use() -> None:
    loose = pa.RecordBatch.from_pylist(
        [
            {"timestamp": 5, "key": "k", "value": b"v", "headers": None},
            {"timestamp": 6, "key": None, "value": b"", "headers": [{"name": "n", "value": "c"}]},
        ],
        schema=pa.schema(
            {
                "timestamp": pa.int64(),
                "key": pa.string(),
                "value": pa.large_binary(),
                "headers": pa.list_(pa.struct({"name": pa.string(), "value": pa.string()})),
            }
        ),
    )
    same = [Record(b"k", b"v", (), 5), Record(None, b"", ((b"n", b"c"),), 6)]
    assert records.encode(loose) == plain.encode(same)


def test_null_and_empty_stay_different() -> None:
    for codec in CODECS:
        assert from_arrow(records.decode(batch(SMALL, codec))) == SMALL


def test_log_append_time_is_the_time_of_every_record() -> None:
    raw = batch(SMALL, attributes=LOG_APPEND_TIME, max_timestamp=77)
    assert records.decode(raw).column("timestamp").to_pylist() == [77, 77, 77]
    assert {record.timestamp for record in plain.decode(raw)} == {77}


def test_a_control_batch_is_read_like_any_other() -> None:
    raw = batch([Record(b"\0\0\0\1", b"\0\0\0\0\0\0")], attributes=CONTROL)
    assert records.decode(raw).column("key").to_pylist() == [b"\0\0\0\1"]


def test_a_batch_that_compaction_emptied() -> None:
    raw = batch([], base=10, last=14)
    assert plain.decode(raw) == ()
    assert records.decode(raw).num_rows == 0
    assert records.decode(raw).schema.equals(records.RECORDS)


def test_records_of_five_megabytes_are_decoded() -> None:
    some = numbered([Record(b"k", bytes(5_000_000)), Record(b"k", b"x")])
    for codec in CODECS:
        assert from_arrow(records.decode(batch(some, codec))) == some


@pytest.mark.parametrize("codec", CODECS)
def test_damage_anywhere_is_refused_or_read_alike(codec: int) -> None:
    for damaged in damages(batch(SMALL, codec)):
        try:
            expected: tuple[Record, ...] | None = plain.decode(damaged)
        except CorruptBatchError:
            expected = None
        if expected is None:
            with pytest.raises(CorruptBatchError):
                records.decode(damaged)
        else:
            assert from_arrow(records.decode(damaged)) == expected


def test_damage_is_seen_by_the_checksum() -> None:
    raw = batch(SMALL)
    for large in (raw, batch([Record(b"", bytes(9000))])):
        large[-1] ^= 1
        with pytest.raises(CorruptBatchError, match="its checksum is wrong"):
            records.decode(large)
        with pytest.raises(CorruptBatchError, match="its checksum is wrong"):
            plain.decode(large)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\x10\0\0\0\x01\x01\0", "does not fit its batch"),
        (b"\x0c\0\0\0\x01\x7e\0", "does not fit its record"),
        (b"\x0c\0\0\0\x01\x01\x02", "does not fit its record"),
        (b"\x0e\0\0\0\x01\x01\0\0", "does not fit its record"),
        (b"\x10\0\0\0\x01\x01\x02\x01\x01", "does not fit its record"),
        (b"\x0c\0\0\0\x01\x01\0\0", "behind the last record"),
        (b"\0\0\0", "1 records in 3 bytes"),
    ],
)
def test_what_is_said_of_bad_records(body: bytes, why: str) -> None:
    header = BatchHeader.read(batch([Record(None, None)]))
    values = {name: getattr(header, name) for name in BatchHeader.__slots__}
    raw = sealed(BatchHeader(**{**values, "length": 49 + len(body)}).write() + body)
    with pytest.raises(CorruptBatchError, match=why):
        records.decode(raw)
    with pytest.raises(CorruptBatchError):
        plain.decode(raw)


def test_a_count_of_billions_takes_no_memory() -> None:
    raw = batch(SMALL)
    raw[57:61] = b"\x7f\xff\xff\xff"
    with pytest.raises(CorruptBatchError, match="2147483647 records in"):
        records.decode(sealed(raw))


def test_the_limit_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LIMIT", 5000)
    with pytest.raises(CorruptBatchError, match="zstd: more than 5000 bytes"):
        records.decode(batch([Record(b"", bytes(100_000))], 4))


def test_what_cannot_be_encoded() -> None:
    for encode, none in ((records.encode, to_arrow([])), (plain.encode, [])):
        with pytest.raises(ValueError, match="a batch of no records"):
            encode(none)
    loose = pa.list_(pa.struct({"name": pa.binary(), "value": pa.binary()}))
    nameless = to_arrow([Record(None, None)]).set_column(
        4, "headers", pa.array([[{"name": None, "value": b""}]], loose)
    )
    with pytest.raises(ValueError, match="a header without a name"):
        records.encode(nameless)


@given(LISTS, st.sampled_from(CODECS), st.integers(0, 2**62), st.integers(0, 2**15 - 1))
def test_a_stamp_makes_a_batch_transactional(
    some: Sequence[Record], codec: int, producer: int, epoch: int
) -> None:
    raw = np.frombuffer(bytearray(batch(numbered(some), codec)), np.uint8)
    table = scan(raw, 0, len(raw))
    stamp(raw, table, producer, SEQUENCES + 5, epoch=epoch, transactional=True)
    header = BatchHeader.read(raw.tobytes())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (producer, epoch, 5)
    assert header.attributes == codec | TRANSACTIONAL
    assert sound(raw.tobytes())
    assert header.crc == table[0, CRC]
    stamp(raw, scan(raw, 0, len(raw)), producer, 5)
    again = BatchHeader.read(raw.tobytes())
    assert (again.producer_epoch, again.attributes) == (0, codec)
    assert sound(raw.tobytes())
