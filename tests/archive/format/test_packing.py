"""Archived rows become batches with the same records, at the same offsets, of the same times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import written
from tests.support.logs.batches import CODECS, at_offsets, batch, numbered
from tests.support.logs.logs import Log, Seen, logs, read_plainly
from towpath.archive.format.packing import columns_of, digest_of, pack_rows
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.schema import ARCHIVED, OFFSET, archived, to_micros, to_millis
from towpath.model.digest import Digest
from towpath.wire import plain
from towpath.wire.batch import (
    BASE,
    COUNT,
    LAST,
    LENGTH,
    LOG_APPEND_TIME,
    POSITION,
    BatchHeader,
    scan,
)
from towpath.wire.packing import RowPacker, Rows, pack, used_again
from towpath.wire.plain import Record


def rows_of(log: Log) -> list[pa.RecordBatch]:
    raw, footer = written(log, options=ParquetOptions())
    return list(ParquetObjectReader(pa.BufferReader(raw), "a").rows(footer)) if raw else []


def unpacked(data: bytes | bytearray | memoryview) -> list[Seen]:
    """Return the records of batches, read plainly; also checks each header."""
    buffer = np.frombuffer(bytearray(data), np.uint8)
    found: list[Seen] = []
    for row in scan(buffer, 0, len(buffer)):
        raw = bytes(data[row[POSITION] : row[POSITION] + row[LENGTH]])
        header = BatchHeader.read(raw)
        records = plain.decode(raw)
        assert header.max_timestamp == max(each.timestamp for each in records)
        assert header.base_offset == records[0].offset
        assert header.base_offset + header.last_offset_delta == records[-1].offset
        appended = int(bool(header.attributes & LOG_APPEND_TIME))
        found += [Seen(each, appended, header.leader_epoch) for each in records]
    return found


@given(logs(), st.sampled_from(CODECS), st.booleans(), st.sampled_from([62, 130, 1 << 20]))
def test_the_same_records_come_back(log: Log, codec: int, apart: bool, most: int) -> None:
    records, _ = read_plainly(log, log.start, log.end)
    packed = [pack_rows(rows, codec, most=most, apart=apart) for rows in rows_of(log)]
    data = b"".join(packed)
    assert unpacked(data) == records
    table = scan(np.frombuffer(bytearray(data), np.uint8), 0, len(data))
    if apart:
        assert (table[:, LAST] - table[:, BASE] + 1 == table[:, COUNT]).all()
    if most == 62:
        assert len(table) == len(records)


@given(logs())
def test_without_append_time_all_times_stay_as_create_time(log: Log) -> None:
    records, _ = read_plainly(log, log.start, log.end)
    packed = b"".join(pack_rows(rows, 3, append_time=False) for rows in rows_of(log))
    assert unpacked(packed) == [Seen(each.record, 0, each.epoch) for each in records]


@given(logs())
def test_the_digest_of_rows_is_that_of_their_batches(log: Log) -> None:
    raw, footer = written(log)
    if raw:
        digest = Digest()
        for rows in ParquetObjectReader(pa.BufferReader(raw), "a").rows(footer):
            digest = digest.then(digest_of(rows))
        assert digest == footer.digest


def test_a_slice_of_rows_is_packed_as_its_records() -> None:
    records = numbered([Record(b"%d" % i, None, ((b"h", b"%d" % i),), i) for i in range(9)])
    (rows,) = rows_of(Log((bytes(batch(records)),)))
    part = rows.slice(3, 4)
    assert [each.record for each in unpacked(pack_rows(part, 0))] == list(records[3:7])
    whole = digest_of(rows.slice(0, 3)).then(digest_of(part)).then(digest_of(rows.slice(7)))
    assert whole == digest_of(rows)


@given(logs(), st.sampled_from(CODECS), st.booleans(), st.sampled_from([130, 1 << 20]), st.data())
def test_pieces_become_the_batches_of_the_whole(
    log: Log, codec: int, apart: bool, most: int, data: st.DataObject
) -> None:
    for rows in rows_of(log):
        whole = columns_of(rows, append_time=False)
        ends = st.lists(st.integers(0, len(rows)), max_size=5)
        packer = RowPacker(codec, most=most, apart=apart)
        runs = [*packer.all_of(parts(whole, sorted(data.draw(ends, "ends"))))]
        made = b"".join(each.data for each in runs)
        assert made == bytes(pack(whole, codec, most=most, apart=apart))
        assert [run.last for run in runs] == [int(rows.column(OFFSET)[-1].as_py())]


def parts(rows: Rows, ends: list[int]) -> Iterator[Rows]:
    """Yield pieces of rows that end there, the values of each in memory of its own."""
    spans, data = rows.values
    for first, end in pairwise([0, *ends, len(spans)]):
        yield rows.part(first, (spans[first:end], data.copy()))


def test_memory_of_runs_is_used_again() -> None:
    noise = np.random.default_rng(3)
    values = [noise.bytes(100_000) for _ in range(100)]
    records = numbered([Record(b"k", value) for value in values])
    each = rows_of(Log((bytes(batch(records)),)))
    rows = pa.Table.from_batches(each).combine_chunks().to_batches()[0]
    whole = columns_of(rows, append_time=False)
    runs = [*RowPacker(0, most=1 << 19, apart=True).all_of([whole])]
    assert [each.record.value for run in runs for each in unpacked(run.data)] == values
    *full, last = runs
    memories = [run.memory for run in full if run.memory is not None]
    assert len(memories) == len(full) == 2
    assert last.memory is None, "a few batches hold much memory"
    for memory in memories:
        used_again(memory)
    again = [run.memory for run in RowPacker(0, most=1 << 19, apart=True).all_of([whole])]
    known = {id(memory) for memory in memories}
    assert all(id(memory) in known for memory in again[:-1])


def test_a_batch_has_one_epoch_and_ends_where_its_deltas_end() -> None:
    records = at_offsets([Record(b"k", b"v", (), 5)] * 3, [0, 1, 2**31 + 1])
    raws = [bytearray(batch([each])) for each in records]
    raws[1][12:16] = (9).to_bytes(4, "big")
    (rows,) = rows_of(Log(tuple(map(bytes, raws))))
    data = pack_rows(rows, 0)
    assert [(each.record.offset, each.epoch) for each in unpacked(data)] == [
        (0, 3),
        (1, 9),
        (2**31 + 1, 3),
    ]
    far = at_offsets([Record(b"k", b"v", (), 5)] * 2, [0, 2**31])
    (rows,) = rows_of(Log(tuple(bytes(batch([each])) for each in far)))
    assert len(scan(np.frombuffer(pack_rows(rows, 0), np.uint8), 0, len(pack_rows(rows, 0)))) == 2


def test_nothing_is_packed_of_nothing_and_disorder_is_refused() -> None:
    (rows,) = rows_of(Log((bytes(batch(numbered([Record(b"k", b"v")] * 2))),)))
    assert pack_rows(rows.slice(0, 0), 0) == bytearray()
    assert digest_of(rows.slice(0, 0)) == Digest()
    with pytest.raises(ValueError, match="do not ascend"):
        pack_rows(rows.take(pa.array([1, 0])), 0)


@given(
    st.lists(
        st.one_of(st.sampled_from([-1, 0, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1)),
        max_size=5,
    )
)
def test_every_time_fits(times: list[int]) -> None:
    micros, raw = to_micros(np.array(times, np.int64))
    columns = {each.name: pa.nulls(len(times), each.type) for each in ARCHIVED}
    made = {**columns, "timestamp": micros, "timestamp_raw": raw}
    loose = pa.schema([each.with_nullable(True) for each in ARCHIVED])
    rows = pa.RecordBatch.from_arrays([made[each] for each in ARCHIVED.names], schema=loose)
    assert to_millis(rows).tolist() == times
    assert archived.__doc__
