"""Parquet segments: every record comes back as it was, and every other offset has its reason."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import TINY, buffer, head, seen, written
from tests.support.logs.batches import SMALL, at_offsets, batch, joined, numbered
from tests.support.logs.logs import Log, cut, logs, read_plainly
from tests.support.logs.old_messages import message
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import (
    FORMAT_KEY,
    ParquetObject,
    ParquetOptions,
    ParquetSegmentWriter,
)
from towpath.archive.format.wanted import Wanted
from towpath.archive.model import GapKind, SegmentPlace
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.wire import collector, columns, opening
from towpath.wire.batch import CONTROL, TRANSACTIONAL
from towpath.wire.digest import Digest, digest_batches
from towpath.wire.plain import Record
from towpath.wire.spare import Spares

pytestmark = pytest.mark.slow

BLOCKS = ParquetOptions(row_group_bytes=400, row_group_rows=9)


@given(logs(), st.data())
def test_records_and_gaps_come_back_as_they_were(log: Log, data: st.DataObject) -> None:
    start = max(0, log.start + data.draw(st.integers(-3, 5)))
    end = max(start + 1, log.end + data.draw(st.integers(-3, 3)))
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=4))
    options = data.draw(st.sampled_from([ParquetOptions(), TINY]))
    raw, footer = written(log, start, end, options, sizes)
    records, gaps = read_plainly(log, start, end)
    assert list(footer.gaps) == gaps
    assert footer.digest.records == len(records)
    place = SegmentPlace(key="a", size=len(raw)) if records else None
    segment = footer.segment(SegmentFormat.PARQUET, place)
    assert segment.problem is None
    times = [each.record.timestamp for each in records if each.record.timestamp != -1]
    assert (segment.min_time, segment.max_time) == (
        min(times, default=None),
        max(times, default=None),
    )
    sizes_of = [each.record.size + 16 for each in records]
    assert segment.raw_bytes == sum(sizes_of)
    if not records:
        assert raw == b""
        return
    reader = ParquetObjectReader(pa.BufferReader(raw), "a")
    assert reader.footers == (footer,)
    assert seen(reader.rows(footer)) == records
    reader.check(footer)


@given(st.lists(logs(), min_size=2, max_size=3), st.data())
def test_segments_that_are_written_side_by_side_share_memory_and_nothing_else(
    drawn: list[Log], data: st.DataObject
) -> None:
    """Memory is used again by whoever comes next, also of another partition."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (columns, collector):
            patch.setattr(module, "BLOCK", 4)
            patch.setattr(module, "MANY", 2)
        patch.setattr(columns, "_FIRST", 1)
        patch.setattr(opening, "_CHUNK", data.draw(st.sampled_from([64, 200])))
        patch.setattr(opening, "_SPARE_CHUNKS", Spares(3))
        patch.setattr(collector, "_SPARE_COLUMNS", Spares(3))
        outs = [io.BytesIO() for _ in drawn]
        targets = [ParquetObject(lambda out=out: out, BLOCKS) for out in outs]  # type: ignore[misc]
        writers = [t.segment(head(log.start)) for t, log in zip(targets, drawn, strict=True)]
        parts = [cut(log, [1] * len(log.batches)) for log in drawn]
        for index in range(max(map(len, parts))):
            for of_log, writer in zip(parts, writers, strict=True):
                for raw, aborted in of_log[index : index + 1]:
                    writer.take(buffer(raw), 0, len(raw), aborted)
        footers = [writer.close(SourceOffset(writer.expected + 1)) for writer in writers]
        for target in targets:
            target.close()
    for log, out, footer in zip(drawn, outs, footers, strict=True):
        alone, other = written(log, log.start, footer.end, sizes=[1] * len(log.batches))
        assert footer.digest == other.digest
        if alone:
            rows = ParquetObjectReader(pa.BufferReader(out.getvalue()), "a").rows(footer)
            again = ParquetObjectReader(pa.BufferReader(alone), "a").rows(other)
            assert seen(rows) == seen(again)


def test_arrays_of_rows_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    spares = Spares[columns.ColumnArrays](24)
    monkeypatch.setattr(collector, "_SPARE_COLUMNS", spares)
    few = (SMALL[0],) * 1024
    rows = 6 * columns.BLOCK
    target = ParquetObject(io.BytesIO, ParquetOptions(row_group_rows=2 * columns.BLOCK))
    writer = target.segment(head(0))
    for base in range(0, rows, len(few)):
        raw = batch(numbered(few, base))
        writer.take(buffer(raw), 0, len(raw))
    writer.close(SourceOffset(rows))
    target.close()
    held = 0
    while spares.take() is not None:
        held += 1
    assert held in {2, 3}, "as many as a row group has"


@given(logs(), st.data())
def test_only_what_is_wanted_is_read(log: Log, data: st.DataObject) -> None:
    raw, footer = written(log, log.start, log.end + 1, TINY)
    if not raw:
        return
    first = data.draw(st.integers(log.start - 1, log.end + 1))
    end = data.draw(st.integers(first, log.end + 2))
    since = data.draw(st.sampled_from([-(2**63), 0, 1, 2**42]))
    until = data.draw(st.sampled_from([2**63 - 1, 1, 2**41]))
    wanted = Wanted(first, end, since, until)
    reader = ParquetObjectReader(pa.BufferReader(raw), "a")
    every = (since, until) == (-(2**63), 2**63 - 1)
    expected = [
        each for each in read_plainly(log, log.start, log.end)[0]
        if first <= each.record.offset < end
        and (every or (each.record.timestamp != -1 and since <= each.record.timestamp < until))
    ]  # fmt: skip
    assert [
        e for e in seen(reader.rows(footer, wanted)) if every or e.record.timestamp < until
    ] == expected


def test_the_digest_is_that_of_the_log() -> None:
    batches = [
        batch(at_offsets(SMALL, [at, at + 1, at + 4]), codec) for at, codec in ((0, 4), (9, 3))
    ]
    _, footer = written(Log(tuple(map(bytes, batches))))
    assert footer.digest == digest_batches(*joined(batches))
    assert footer.digest == Digest().then(footer.digest)


def test_row_groups_that_no_wanted_record_can_be_in_are_not_read() -> None:
    batches = [
        bytes(batch(numbered([Record(b"k", b"v" * 50, (), 1000 + at)], at))) for at in range(9)
    ]
    raw, footer = written(Log(tuple(batches)), options=TINY, sizes=[1] * 9)
    assert len(footer.parts) == 9
    damaged = bytearray(raw)
    for part in footer.parts[:4]:
        damaged[part.at : part.at + part.size] = bytes(part.size)
    reader = ParquetObjectReader(pa.BufferReader(bytes(damaged)), "a")
    by_offset = seen(reader.rows(footer, Wanted(first=4)))
    by_time = seen(reader.rows(footer, Wanted(since=1004)))
    assert [each.record.offset for each in by_offset] == [4, 5, 6, 7, 8]
    assert by_time == by_offset
    with pytest.raises(CorruptSegmentError, match="a is damaged"):
        list(reader.rows(footer))
    with pytest.raises(CorruptSegmentError, match="bytes 4 to"):
        reader.check(footer)


def test_some_columns_are_read_alone() -> None:
    raw, footer = written(Log((bytes(batch(SMALL)),)), start=1000)
    reader = ParquetObjectReader(pa.BufferReader(raw), "a")
    (rows,) = reader.rows(footer, Wanted(first=1001), ["value", "key"])
    assert rows.to_pydict() == {"value": [b"", None], "key": [None, b""]}


def test_a_schema_id_is_seen_where_a_value_is_framed() -> None:
    values = [
        b"\0\0\0\0\7rest",
        b"\0\0\0\0\7",
        b"\0\0\0\7",
        b"\1\0\0\0\7",
        None,
        b"\0\xff\0\0\0",
        b"\0" * 5,
    ]
    raw, footer = written(Log((bytes(batch(numbered([Record(None, v) for v in values]))),)))
    (rows,) = ParquetObjectReader(pa.BufferReader(raw), "a").rows(footer, columns=["schema_id"])
    assert rows.column(0).to_pylist() == [7, 7, None, None, None, None, None]


def test_what_was_deleted_before_the_start_and_what_is_filtered_have_their_kind() -> None:
    ours, others = (
        bytes(batch(numbered([Record(b"k", b"v")], at), producer_id=who))
        for at, who in ((5, 7), (6, 8))
    )
    out = io.BytesIO()
    target = ParquetObject(lambda: out)
    writer = ParquetSegmentWriter(target, head(0), left_out={7})
    writer.pass_over(SourceOffset(4), GapKind.RETENTION)
    writer.take(buffer(ours + others), 0, len(ours + others))
    footer = writer.close(SourceOffset(9), GapKind.LOST)
    target.close()
    told = [(gap.first, gap.end, gap.kind.value) for gap in footer.gaps]
    assert told == [(0, 4, "retention"), (4, 5, "compacted"), (5, 6, "filtered"), (7, 9, "lost")]


def test_several_segments_share_an_object() -> None:
    log = Log((bytes(batch(numbered(SMALL, 7))),))
    out = io.BytesIO()
    target = ParquetObject(lambda: out, TINY)
    writers = [
        ParquetSegmentWriter(target, head(0, partition), whole=True) for partition in range(3)
    ]
    for writer in writers:
        writer.take(buffer(log.data), 0, len(log.data))
    empty = ParquetSegmentWriter(target, head(0, 3), whole=True).close(SourceOffset(2))
    footers = [writer.close(SourceOffset(10)) for writer in writers]
    target.close()
    reader = ParquetObjectReader(pa.BufferReader(out.getvalue()), "a")
    assert reader.footers == (empty, *footers)
    for number, footer in enumerate(footers):
        assert reader.segment(number) == footer
        assert footer.head.partition == number
        (rows,) = reader.rows(footer)
        assert rows.column("partition").to_pylist() == [number] * 3
    with pytest.raises(CorruptSegmentError, match="no segment begins at row group 7"):
        reader.segment(7)


@pytest.mark.parametrize("place", ["scan", "checksum"])
def test_batches_before_a_damaged_one_are_taken(place: str) -> None:
    batches = [batch(numbered([Record(b"k", b"v" * 9)], at)) for at in range(3)]
    batches[1][16 if place == "scan" else -1] ^= 0x41
    target = ParquetObject(io.BytesIO)
    writer = ParquetSegmentWriter(target, head(0))
    data = b"".join(batches)
    with pytest.raises(CorruptBatchError):
        writer.take(buffer(data), 0, len(data))
    assert writer.expected == 1
    good = bytes(batch(numbered([Record(b"k", b"v" * 9)], 1)))
    writer.take(buffer(good), 0, len(good))
    assert writer.close(SourceOffset(2)).digest.records == 2


def test_records_out_of_order_are_refused() -> None:
    twice = bytes(batch(at_offsets(SMALL, [4, 5, 5]), base=4, last=9))
    back = bytes(batch(numbered(SMALL, 0)) + batch(numbered(SMALL, 2)))
    beyond = bytes(batch(numbered(SMALL, 0), last=1))
    for data in (twice, back, beyond):
        writer = ParquetSegmentWriter(ParquetObject(io.BytesIO), head(0))
        with pytest.raises(CorruptBatchError, match="offsets do"):
            writer.take(buffer(data), 0, len(data))


def test_messages_of_an_old_format_are_taken() -> None:
    old = message(0, 5, b"k", None) + message(1, 6, None, b"v", time=77, attributes=8)
    out = io.BytesIO()
    target = ParquetObject(lambda: out)
    writer = ParquetSegmentWriter(target, head(5))
    writer.take(buffer(b"before" + old), 6, 6 + len(old))
    footer = writer.close(SourceOffset(7))
    target.close()
    found = seen(ParquetObjectReader(pa.BufferReader(out.getvalue()), "a").rows(footer))
    assert [(each.record, each.time_type) for each in found] == [
        (Record(b"k", None, (), -1, 5), 0), (Record(None, b"v", (), 77, 6), 1)
    ]  # fmt: skip


def test_nothing_is_opened_for_gaps_alone() -> None:
    def begin() -> io.BytesIO:
        raise AssertionError

    target = ParquetObject(begin)
    writer = ParquetSegmentWriter(target, head(0))
    marker = bytes(batch(numbered([Record(b"", b"")]), attributes=CONTROL | TRANSACTIONAL))
    writer.take(buffer(marker), 0, len(marker))
    footer = writer.close(SourceOffset(9))
    assert target.close() == 0
    segment = footer.segment(SegmentFormat.PARQUET, None)
    assert (segment.problem, segment.gaps.marker, segment.gaps.compacted) == (None, 1, 8)


def test_other_files_are_refused() -> None:
    raw, _ = written(Log((bytes(batch(SMALL)),)), start=1000)
    foreign, newer = io.BytesIO(), io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), foreign)
    table = pa.table({"a": [1]}).replace_schema_metadata({FORMAT_KEY: "2"})
    pq.write_table(table, newer)
    with pytest.raises(CorruptSegmentError, match="Towpath did not write"):
        ParquetObjectReader(pa.BufferReader(foreign.getvalue()), "x.parquet")
    with pytest.raises(NewerSegmentError, match=r"x.parquet has version 2 .* reads up to 1"):
        ParquetObjectReader(pa.BufferReader(newer.getvalue()), "x.parquet")
    for size in (0, 3, 100, len(raw) - 1):
        with pytest.raises(CorruptSegmentError, match=r"x.parquet is damaged"):
            ParquetObjectReader(pa.BufferReader(raw[:size]), "x.parquet")


def test_a_footer_that_lies_is_refused() -> None:
    _, footer = written(Log((bytes(batch(SMALL)),)), start=1000)
    told = footer.told()
    for change in (
        {"gaps": "AAAA"},
        {"gaps": "?"},
        {"digest": [1]},
        {"parts": [[1]]},
        {"created": None},
    ):
        with pytest.raises(ValueError, match=r"."):
            SegmentFooter.read({**told, **change})
    with pytest.raises(ValueError, match="is missing"):
        SegmentFooter.read({name: told[name] for name in told if name != "end"})
    assert SegmentFooter.read(told) == footer
    with pytest.raises(ValueError, match="do not cover"):
        SegmentFooter.read({**told, "end": 2000})


def test_an_object_that_is_given_up_gets_no_footer() -> None:
    out = io.BytesIO()
    target = ParquetObject(lambda: out, TINY)
    writer = ParquetSegmentWriter(target, head(1000))
    data = bytes(batch(SMALL))
    writer.take(buffer(data), 0, len(data))
    size = len(out.getvalue())
    assert size > 0
    target.abort()
    assert len(out.getvalue()) == size
    ParquetObject(lambda: out).abort()


def test_the_parquet_file_is_as_others_want_it() -> None:
    rng = np.random.default_rng(1)
    records = numbered(
        [
            Record(b"%d" % i, rng.bytes(150).hex().encode(), ((b"h", b"x"),), 1000 + i)
            for i in range(5000)
        ]
    )
    raw, footer = written(Log((bytes(batch(records, 4)),)), options=ParquetOptions(bloom=True))
    file = pq.ParquetFile(pa.BufferReader(raw))
    leaves = [file.schema.column(i) for i in range(len(file.schema.names))]
    assert [leaf.path for leaf in leaves] == [
        "key", "value", "headers.list.element.key", "headers.list.element.value", "offset",
        "timestamp", "timestamp_type", "partition", "leader_epoch", "schema_id", "timestamp_raw",
    ]  # fmt: skip
    assert b"ARROW:schema" not in file.metadata.metadata
    group = file.metadata.row_group(0)
    chunks = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert {chunk.compression for chunk in chunks.values()} == {"ZSTD"}
    assert not chunks["value"].is_stats_set
    assert not chunks["key"].is_stats_set
    assert (chunks["offset"].statistics.min, chunks["offset"].statistics.max) == (0, 4999)
    assert (
        chunks["offset"].encodings == ("DELTA_BINARY_PACKED", "RLE")
        or "DELTA_BINARY_PACKED" in chunks["offset"].encodings
    )
    assert all(chunk.has_offset_index for chunk in chunks.values())
    assert chunks["offset"].has_column_index
    (part,) = footer.parts
    assert sum(chunk.total_compressed_size for chunk in chunks.values()) == part.size
