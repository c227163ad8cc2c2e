"""Compaction: the same records in one object, by copying row groups, or nothing at all."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import TINY, buffer, head, seen, written, written_whole
from tests.support.logs.batches import batch, numbered
from tests.support.logs.logs import Log, logs, read_plainly
from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.batches_reader import BatchesObjectReader
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.merging import merge, merge_batches, open_input
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetObject, ParquetOptions
from towpath.archive.format.regrouping import MergedInput
from towpath.archive.format.row_groups import RowGroupCopier, RowGroupSource
from towpath.archive.format.thrift import read_struct
from towpath.model.digest import Digest
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicId
from towpath.wire.plain import Record

pytestmark = pytest.mark.slow

BLOOMING = ParquetOptions(row_group_bytes=1, row_group_rows=3, bloom=True)
PARQUET, BATCHES = SegmentFormat.PARQUET, SegmentFormat.BATCHES


def parquet_input(raw: bytes, footer: SegmentFooter) -> MergedInput:
    return open_input(PARQUET, io.BytesIO(raw), "a") if raw else MergedInput(footer)


def batches_input(raw: bytes, footer: SegmentFooter) -> MergedInput:
    return open_input(BATCHES, io.BytesIO(raw), "a") if raw else MergedInput(footer)


def ranges(data: st.DataObject, log: Log) -> list[tuple[int, int]]:
    cuts = data.draw(st.lists(st.integers(log.start, log.end), max_size=4), "cuts")
    bounds = sorted({log.start, *cuts, log.end + 1})
    return list(pairwise(bounds))


@given(logs(), st.data())
def test_the_merged_segment_holds_the_same(log: Log, data: st.DataObject) -> None:
    inputs = []
    for start, end in ranges(data, log):
        if data.draw(st.integers(0, 3)):
            options = data.draw(st.sampled_from([TINY, BLOOMING, ParquetOptions()]))
            inputs.append(parquet_input(*written(log, start, end, options, [1] * 7)))
        else:
            inputs.append(batches_input(*written_whole(log, start, end)))
    out = io.BytesIO()
    good = data.draw(st.sampled_from([0, 700, 1 << 40]))
    options = data.draw(st.sampled_from([TINY, ParquetOptions()]))
    footer, size = merge(inputs, lambda: out, level=1, options=options, good_bytes=good)
    assert size == len(out.getvalue())
    records, gaps = read_plainly(log, log.start, log.end + 1)
    assert list(footer.gaps) == gaps
    assert (footer.head.level, footer.head.start, footer.end) == (1, log.start, log.end + 1)
    assert footer.digest == reduce(Digest.then, (each.footer.digest for each in inputs))
    assert footer.raw_bytes == sum(each.footer.raw_bytes for each in inputs)
    if not records:
        assert size == 0
        return
    reader = ParquetObjectReader(pa.BufferReader(out.getvalue()), "a")
    assert reader.footers == (footer,)
    assert seen(reader.rows(footer)) == records
    reader.check(footer)


@given(logs(), st.data())
def test_objects_of_batches_are_merged_by_their_bytes(log: Log, data: st.DataObject) -> None:
    inputs = [batches_input(*written_whole(log, *each)) for each in ranges(data, log)]
    out = io.BytesIO()
    footer, size = merge_batches(inputs, lambda: out, level=2)
    records, gaps = read_plainly(log, log.start, log.end + 1)
    assert list(footer.gaps) == gaps
    if not records:
        assert size == 0
        return
    reader = BatchesObjectReader(io.BytesIO(out.getvalue()[:size]), "a")
    assert reader.footers == (footer,)
    assert seen(reader.rows(footer)) == records


def segments(count: int = 3, size: int = 40) -> list[tuple[bytes, SegmentFooter]]:
    records = [
        Record(b"key-%d" % i, b"%d" % i * 30, ((b"h", b"x"),), 1000 + i)
        for i in range(count * size)
    ]
    made = []
    for first in range(0, count * size, size):
        data = bytes(batch(numbered(records[first : first + size], first)))
        options = ParquetOptions(bloom=True)
        made.append(written(Log((data,)), first, first + size, options))
    return made


def test_copied_row_groups_keep_statistics_indexes_and_filters() -> None:
    given = segments()
    out = io.BytesIO()
    merge([parquet_input(*each) for each in given], lambda: out, level=1, good_bytes=0)
    file = pq.ParquetFile(pa.BufferReader(out.getvalue()))
    assert file.num_row_groups == 3
    assert file.metadata.num_rows == 120
    for number in range(3):
        group = file.metadata.row_group(number)
        before = pq.ParquetFile(pa.BufferReader(given[number][0])).metadata.row_group(0)
        for one, other in zip(_chunks(group), _chunks(before), strict=True):
            same = ("path_in_schema", "statistics", "total_compressed_size", "encodings")
            assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
            assert one.has_offset_index == other.has_offset_index
        assert (group.column(4).statistics.min, group.column(4).statistics.max) == (
            number * 40,
            number * 40 + 39,
        )
    table = pq.read_table(pa.BufferReader(out.getvalue()), filters=[("offset", ">=", 100)])
    assert table.num_rows == 20
    assert pq.read_schema(pa.BufferReader(out.getvalue())).equals(
        pq.read_schema(pa.BufferReader(given[0][0])), check_metadata=False
    )
    _check_index_positions(out.getvalue())


def _chunks(group: pq.RowGroupMetaData) -> list[pq.ColumnChunkMetaData]:
    return [group.column(number) for number in range(group.num_columns)]


def _check_index_positions(raw: bytes) -> None:
    """Each page that an index names must begin where a page of its column begins."""
    source = RowGroupSource(io.BytesIO(raw), "a")
    for group in source.groups:
        for chunk in group.get(1).values:
            meta = chunk.get(3)
            index, _ = read_struct(raw, chunk.get(4))
            assert index.get(1).values[0].get(1) == meta.get(9)
            if 14 in meta.fields:
                bloom, _ = read_struct(raw, meta.get(14))
                assert bloom.get(1) >= 32


def merged(given: list[tuple[bytes, SegmentFooter]]) -> tuple[bytes, SegmentFooter]:
    out = io.BytesIO()
    footer, _ = merge([parquet_input(*each) for each in given], lambda: out, level=1, good_bytes=0)
    return out.getvalue(), footer


def test_a_file_that_was_merged_is_merged_again() -> None:
    given = segments(4)
    raw, footer = merged([merged(given[:2]), merged(given[2:])])
    reader = ParquetObjectReader(pa.BufferReader(raw), "a")
    assert [each.record.offset for each in seen(reader.rows(footer))] == list(range(160))
    assert len(footer.parts) == 4
    _check_index_positions(raw)


def test_a_segment_of_a_shared_object_is_merged_alone() -> None:
    log = Log((bytes(batch(numbered([Record(b"k", b"v")] * 5))),))
    out = io.BytesIO()
    target = ParquetObject(lambda: out, TINY)
    writers = [target.segment(head(0, partition), whole=True) for partition in range(2)]
    for writer in writers:
        writer.take(buffer(log.data), 0, len(log.data))
    footers = [writer.close(SourceOffset(5)) for writer in writers]
    target.close()
    given = open_input(PARQUET, io.BytesIO(out.getvalue()), "a", footers[1].first_row_group)
    made = io.BytesIO()
    footer, _ = merge([given], lambda: made, level=1, good_bytes=0)
    assert footer.head.partition == 1
    (rows,) = ParquetObjectReader(pa.BufferReader(made.getvalue()), "a").rows(footer)
    assert rows.column("partition").to_pylist() == [1] * 5


@pytest.mark.parametrize("good", [0, 1 << 40])
def test_damage_of_an_input_ends_the_compaction(good: int) -> None:
    raw, footer = segments(1)[0]
    damaged = bytearray(raw)
    damaged[footer.parts[0].at + 30] ^= 1
    out = io.BytesIO()
    with pytest.raises(CorruptSegmentError):
        merge([parquet_input(bytes(damaged), footer)], lambda: out, level=1, good_bytes=good)


def test_records_that_are_others_end_the_compaction() -> None:
    raw, footer = segments(1)[0]
    given = parquet_input(raw, footer)
    (part,) = footer.parts
    other = replace(part, digest=replace(part.digest, ordered=1))
    lying = replace(given, footer=replace(footer, parts=(other,)))
    with pytest.raises(CorruptSegmentError, match="from 0 to 39 are not those that were written"):
        merge([lying], io.BytesIO, level=1)
    with pytest.raises(CorruptSegmentError, match="do not add up"):
        merge([lying], io.BytesIO, level=1, good_bytes=0)


def test_only_segments_that_follow_each_other_are_merged() -> None:
    (first, one), (_, _), (third, three) = segments()
    with pytest.raises(ValueError, match=r"\[80, 120\) does not follow \[0, 40\)"):
        merge([parquet_input(first, one), parquet_input(third, three)], io.BytesIO, level=1)
    other = replace(three, head=replace(three.head, topic_id=TopicId("x"), start=SourceOffset(40)))
    with pytest.raises(ValueError, match="does not follow"):
        merge([parquet_input(first, one), MergedInput(other)], io.BytesIO, level=1)
    with pytest.raises(ValueError, match="of no segments"):
        merge([], io.BytesIO, level=1)
    with pytest.raises(TypeError, match="another format"):
        merge_batches([parquet_input(first, one)], io.BytesIO, level=1)


def test_other_files_are_not_copied_from() -> None:
    raw, footer = segments(1)[0]
    for data in (b"", raw[:-1], raw[:-8] + b"\xff\xff\xff\x7fPAR1", raw[:-9] + b"\xff" + raw[-8:]):
        with pytest.raises(CorruptSegmentError):
            RowGroupSource(io.BytesIO(data), "a")
    foreign = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), foreign)
    copier = RowGroupCopier(io.BytesIO())
    copier.copy(RowGroupSource(io.BytesIO(raw), "a"), 0, footer.parts[0])
    with pytest.raises(CorruptSegmentError, match="other columns"):
        copier.copy(RowGroupSource(foreign, "b"), 0, footer.parts[0])
