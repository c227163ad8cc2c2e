"""Objects of whole batches: every byte as it was fetched, and every record readable as a row."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import buffer, head, seen, written, written_whole
from tests.support.logs.batches import SMALL, batch, numbered
from tests.support.logs.logs import Log, logs, read_plainly
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.batches_reader import BatchesObjectReader
from towpath.archive.format.batches_writer import TAIL, TAIL_MAGIC, BatchesObject
from towpath.archive.format.either_format import read_object, write_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.wanted import Wanted
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.wire.batch import BASE, LAST, scan, visible
from towpath.wire.plain import Record


@given(logs(), st.data())
def test_batches_and_rows_come_back_as_they_were(log: Log, data: st.DataObject) -> None:
    start = max(0, log.start + data.draw(st.integers(-3, 5)))
    end = max(start + 1, log.end + data.draw(st.integers(-3, 3)))
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=4))
    raw, footer = written_whole(
        log, start, end, sizes, data.draw(st.sampled_from([1, 200, 1 << 20]))
    )
    records, gaps = read_plainly(log, start, end)
    assert list(footer.gaps) == gaps
    _, other = written(log, start, end)
    assert (footer.digest, footer.raw_bytes) == (other.digest, other.raw_bytes)
    if not records:
        assert raw == b""
        return
    reader = BatchesObjectReader(io.BytesIO(raw), "a")
    assert reader.footers == (footer,)
    assert seen(reader.rows(footer)) == records
    table = scan(buffer(log.data), 0, len(log.data))
    kept = [
        raw
        for raw, row in zip(log.batches, table, strict=True)
        if row[LAST] >= start and row[BASE] < end
    ]
    assert (
        b"".join(each.data for each in reader.batches(footer))
        == b"".join(kept)[: footer_size(footer)]
    )
    first = data.draw(st.integers(start, end))
    wanted = Wanted(first, data.draw(st.integers(first, end)))
    assert seen(reader.rows(footer, wanted)) == [
        each for each in records if wanted.first <= each.record.offset < wanted.end
    ]


def footer_size(footer: SegmentFooter) -> int:
    return sum(part.size for part in footer.parts)


@given(logs())
def test_each_part_names_the_aborted_transactions_in_it(log: Log) -> None:
    raw, footer = written_whole(log)
    if not raw:
        return
    expected = {each.record.offset for each in read_plainly(log, log.start, log.end)[0]}
    found: set[int] = set()
    for packed in BatchesObjectReader(io.BytesIO(raw), "a").batches(footer):
        rows = scan(buffer(packed.data), 0, len(packed.data))
        assert packed.end == rows[-1, LAST] + 1
        for row in rows[visible(rows, packed.aborted)]:
            found |= {offset for offset in expected if row[BASE] <= offset <= row[LAST]}
        for row in rows[~visible(rows, packed.aborted)]:
            assert not {offset for offset in expected if row[BASE] <= offset <= row[LAST]}
    assert found == expected


@pytest.mark.parametrize("kind", SegmentFormat)
def test_both_formats_have_one_interface(kind: SegmentFormat) -> None:
    log = Log((bytes(batch(numbered(SMALL, 7), 3)), bytes(batch(numbered(SMALL, 20), 4))))
    out = io.BytesIO()
    target = write_object(kind, lambda: out)
    writer = target.segment(head(5), end=SourceOffset(22), left_out=())
    writer.take(buffer(log.data), 0, len(log.data), until=20)
    assert writer.expected == 10
    writer.take(buffer(log.data), 0, len(log.data))
    writer.flush()
    assert (writer.expected, writer.records) == (22, 5)
    assert writer.held > 0
    footer = writer.close(SourceOffset(22))
    assert target.close() == target.size == len(out.getvalue())
    source = (
        pa.BufferReader(out.getvalue())
        if kind is SegmentFormat.PARQUET
        else io.BytesIO(out.getvalue())
    )
    reader = read_object(kind, source, "a")
    assert reader.footers == (footer,)
    assert reader.segment(0) == footer
    assert [each.record.offset for each in seen(reader.rows(footer))] == [7, 8, 9, 20, 21]
    assert [each.end for each in reader.batches(footer)][-1] >= 22
    assert next(reader.rows(footer, columns=["offset"])).schema.names == ["offset"]
    reader.check(footer)
    reader.close()


def test_the_batches_of_a_parquet_object_have_no_holes() -> None:
    raw, footer = written(
        Log((bytes(batch(numbered(SMALL, 7), 3)), bytes(batch(numbered(SMALL, 20), 4))))
    )
    (packed,) = ParquetObjectReader(pa.BufferReader(raw), "a").batches(footer, Wanted(first=8), 3)
    table = scan(buffer(packed.data), 0, len(packed.data))
    assert table[:, [BASE, LAST]].tolist() == [[8, 9], [20, 22]]
    assert packed.end == 23


def test_filtered_batches_are_not_stored() -> None:
    ours, others = (
        bytes(batch(numbered([Record(b"k", b"v")], at), producer_id=who))
        for at, who in ((5, 7), (6, 8))
    )
    out = io.BytesIO()
    target = BatchesObject(lambda: out)
    writer = target.segment(head(5), left_out={7})
    writer.take(buffer(ours + others), 0, len(ours + others))
    footer = writer.close(SourceOffset(7))
    target.close()
    (packed,) = BatchesObjectReader(io.BytesIO(out.getvalue()), "a").batches(footer)
    assert bytes(packed.data) == others


def test_damage_is_seen_before_anything_is_handed_out() -> None:
    raw, footer = written_whole(Log((bytes(batch(SMALL)),)), start=1000)
    damaged = bytearray(raw)
    damaged[70] ^= 1
    reader = BatchesObjectReader(io.BytesIO(damaged), "a")
    for read in (reader.rows, reader.batches):
        with pytest.raises(CorruptSegmentError, match=r"bytes 0 to .*: they have changed"):
            list(read(footer))
    with pytest.raises(CorruptSegmentError, match="they have changed"):
        reader.check(footer)


def test_other_objects_are_refused() -> None:
    raw, _ = written_whole(Log((bytes(batch(SMALL)),)), start=1000)
    for data in (
        b"",
        b"x",
        raw[:-1],
        raw[: len(raw) // 2],
        TAIL.pack(99, TAIL_MAGIC),
        TAIL.pack(0, TAIL_MAGIC),
    ):
        with pytest.raises(CorruptSegmentError, match="a is damaged"):
            BatchesObjectReader(io.BytesIO(data), "a")
    for text in (
        b"[]",
        b'{"format": 1}',
        b'{"format": 1, "segments": []}',
        b'{"format": 1, "segments": [{}]}',
    ):
        with pytest.raises(CorruptSegmentError, match="its footer"):
            BatchesObjectReader(io.BytesIO(text + TAIL.pack(len(text), TAIL_MAGIC)), "a")
    newer = json.dumps({"format": 2}).encode()
    with pytest.raises(NewerSegmentError):
        BatchesObjectReader(io.BytesIO(newer + TAIL.pack(len(newer), TAIL_MAGIC)), "a")
    with pytest.raises(CorruptSegmentError, match="has one segment"):
        BatchesObjectReader(io.BytesIO(raw), "a").segment(1)


def test_many_batches_without_a_record_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towpath.archive.format.batches_writer._MOST_WAITING", 100)
    empty = [bytes(batch([], base=at, last=at)) for at in range(4)]
    last = bytes(batch(numbered([Record(b"k", b"v")], 4)))
    out = io.BytesIO()
    target = BatchesObject(lambda: out)
    writer = target.segment(head(0))
    for data in empty:
        writer.take(buffer(data), 0, len(data))
    assert len(out.getvalue()) == 4 * 61
    writer.take(buffer(last), 0, len(last))
    footer = writer.close(SourceOffset(5))
    target.close()
    assert [
        each.record.offset
        for each in seen(BatchesObjectReader(io.BytesIO(out.getvalue()), "a").rows(footer))
    ] == [4]


def test_an_object_without_a_record_is_of_no_use() -> None:
    raw, footer = written_whole(Log((bytes(batch([], base=0, last=3)),)))
    assert (raw, footer.parts) == (b"", ())
    out = io.BytesIO()
    target = BatchesObject(lambda: out)
    writer = target.segment(head(1000))
    writer.take(buffer(bytes(batch(SMALL))), 0, len(batch(SMALL)))
    size = len(out.getvalue())
    writer.close(SourceOffset(1003))
    target.abort()
    assert (target.close(), len(out.getvalue())) == (0, size)
