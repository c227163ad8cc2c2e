"""Fetched batches become segments: they tile, keep the limits, and hold all of the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import seen
from tests.support.logs.batches import batch
from tests.support.logs.logs import Log, cut, logs, read_plainly
from tests.support.session.examples import examples
from towpath.archive.config.segments import SegmentLimits
from towpath.archive.format.either_format import read_object
from towpath.archive.format.uploads import Uploads
from towpath.archive.model import GapKind, OffsetGap, PartitionId, Segment
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.range_reader import FetchedPart, RangeReader
from towpath.archive.write.slice.range_writing import RangeWriting
from towpath.archive.write.slice.segment_objects import SharedObject, WritingTerms
from towpath.cluster.data.buffers import BufferPool
from towpath.model.errors import CorruptBatchError, StoreAwayError
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import StoreConfig
from towpath.store import Store
from towpath.store.writer import ObjectWriter
from towpath.wire.plain import Record

LOOSE = SegmentLimits(messages=1_000_000, bytes=1 << 30, age=300.0)
TERMS = WritingTerms("eu", spread=False)


@contextmanager
def storing() -> Iterator[tuple[Store, Uploads]]:
    with TemporaryDirectory() as folder:
        store = Store(StoreConfig(url=Path(folder).as_uri()))
        uploads = Uploads(store, "")
        yield store, uploads
        uploads.close()


def planned(start: int, end: int, partition: int = 0, *, shares: bool = False) -> PlannedRange:
    return PlannedRange(
        id=PartitionId(ClusterId("c"), TopicId("id"), partition),
        topic=TopicName("orders"),
        start=SourceOffset(start),
        end=SourceOffset(end),
        bytes=1,
        shares=shares,
    )


def feed(reader: RangeReader, log: Log, sizes: list[int], pool: BufferPool) -> None:
    """Hand the responses of a broker to a reader; each begins with the batch at `expected`."""
    for part, aborted in cut(log, sizes):
        frame = pool.frame(len(part))
        frame.buffer[: len(part)] = np.frombuffer(part, np.uint8)
        reader.take(frame, 0, len(part), aborted)
        frame.release()


def write_all(reader: RangeReader, writing: RangeWriting) -> None:
    while reader.pending:
        item = reader.next()
        writing.write(item)
        if isinstance(item, FetchedPart):
            item.frame.release()


def read_back(store: Store, segments: tuple[Segment, ...]) -> tuple[list[object], list[OffsetGap]]:
    records: list[object] = []
    gaps: list[OffsetGap] = []
    for segment in segments:
        assert segment.problem is None
        if segment.place is None:
            gaps += [OffsetGap(segment.start, segment.end, kind_of(segment))]
            continue
        file = read_object(segment.format, store.reader(segment.place.key), segment.place.key)
        footer = file.segment(segment.place.first_row_group)
        records += seen(file.rows(footer))
        gaps += [*footer.gaps]
    return records, gaps


def kind_of(segment: Segment) -> GapKind:
    kinds = [kind for kind in GapKind if segment.gaps.get(kind)]
    return kinds[0] if len(kinds) == 1 else GapKind.LOST


def merged(gaps: list[OffsetGap]) -> list[OffsetGap]:
    """Join neighbours of one kind, as cuts between segments part them."""
    found: list[OffsetGap] = []
    for each in gaps:
        if found and found[-1].end == each.first and found[-1].kind is each.kind:
            found[-1] = OffsetGap(found[-1].first, each.end, each.kind)
        else:
            found.append(each)
    return found


@examples(1.2)
@given(
    logs(),
    st.lists(st.integers(1, 3), max_size=3),
    st.sampled_from([1, 2, 5, 1_000_000]),
    st.sampled_from([1, 100, 1 << 30]),
    st.sampled_from(["own", "shared", "batches"]),
    st.data(),
)
def test_segments_hold_all_of_a_log(
    log: Log, sizes: list[int], messages: int, size: int, how: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(log.start, max(log.start, log.end - 1)))
    end = data.draw(st.integers(start + 1, max(log.end, start + 1) + 3))
    pool = BufferPool(64 << 20)
    with storing() as (store, uploads):
        work = planned(start, end, shares=how == "shared")
        terms = replace(TERMS, format=SegmentFormat.BATCHES) if how == "batches" else TERMS
        shared = SharedObject(work.topic, terms) if how == "shared" else None
        if shared is not None:
            shared.open = 1
        limits = SegmentLimits(messages, size, 300.0)
        reader, writing = RangeReader(work), RangeWriting(work, limits, uploads, terms, shared)
        feed(reader, log, sizes, pool)
        if not reader.fetched:
            reader.empty()
        write_all(reader, writing)
        writing.finish(whole=True)
        segments, trouble = writing.result()
        assert trouble is None
        assert (segments[0].start, segments[-1].end) == (start, end)
        assert all(first.end == second.start for first, second in pairwise(segments))
        records, gaps = read_back(store, segments)
        if all(each.place is not None or each.gaps.total == 0 for each in segments):
            assert (records, merged(gaps)) == read_plainly(log, start, end)
        else:
            assert records == read_plainly(log, start, end)[0]
    assert pool.held == 0


@given(logs(), st.integers(1, 3))
def test_a_segment_ends_with_the_batch_that_completes_it(log: Log, messages: int) -> None:
    with storing() as (_, uploads):
        work = planned(log.start, max(log.end, log.start + 1))
        limits = SegmentLimits(messages, 1 << 30, 300.0)
        reader, writing = RangeReader(work), RangeWriting(work, limits, uploads, TERMS)
        feed(reader, log, [], BufferPool(64 << 20))
        write_all(reader, writing)
        writing.finish(whole=True)
        segments, _ = writing.result()
    most = max((header_count(each) for each in log.batches), default=0)
    assert all(each.records < messages + most for each in segments)
    assert all(each.records >= messages for each in segments[:-1])


def header_count(data: bytes) -> int:
    return int.from_bytes(data[57:61], "big")


def test_small_ranges_share_an_object_and_one_alone_has_its_own_key() -> None:
    def run(partitions: int) -> list[Segment]:
        with storing() as (store, uploads):
            shared = SharedObject(TopicName("orders"), TERMS)
            shared.open = partitions
            found, writings = list[Segment](), list[RangeWriting]()
            for number in range(partitions):
                work = planned(0, 1, number, shares=True)
                writing = RangeWriting(work, LOOSE, uploads, TERMS, shared)
                reader = RangeReader(work)
                feed(reader, one(b"v%d" % number), [], BufferPool(1 << 20))
                write_all(reader, writing)
                writings.append(writing)
            for writing in reversed(writings):
                writing.finish(whole=True)
            for writing in writings:
                segments, _ = writing.result()
                found += segments
                records, _ = read_back(store, segments)
                assert len(records) == 1
            return found

    three = run(3)
    assert len({each.place.key for each in three if each.place}) == 1
    assert sorted(each.place.first_row_group for each in three if each.place) == [0, 1, 2]
    (alone,) = run(1)
    assert alone.place is not None
    assert alone.place.key == f"eu/orders/0/0/{0:020d}-{0:020d}.parquet"


def one(value: bytes) -> Log:
    return Log((bytes(batch([Record(b"k", value, (), 5, 0)])),))


def test_a_key_that_is_taken_becomes_another_one() -> None:
    with storing() as (store, uploads):
        keys = []
        for value in (b"of a dead writer", b"ours"):
            work = planned(0, 1)
            reader, writing = RangeReader(work), RangeWriting(work, LOOSE, uploads, TERMS)
            feed(reader, one(value), [], BufferPool(1 << 20))
            write_all(reader, writing)
            writing.finish(whole=True)
            (segment,), trouble = writing.result()
            assert trouble is None
            assert segment.place is not None
            keys.append(segment.place.key)
            records, _ = read_back(store, (segment,))
            assert value.decode() in repr(records)
        assert keys[0] != keys[1]
        assert keys[1].startswith(keys[0].removesuffix(".parquet"))


def test_a_damaged_batch_is_fetched_again_from_where_it_begins() -> None:
    good = [bytes(batch([Record(b"k", b"v%d" % at, (), 5, at)])) for at in range(3)]
    bad = bytearray(good[1])
    bad[-2] ^= 1
    with storing() as (store, uploads):
        work = planned(0, 3)
        reader, writing = RangeReader(work), RangeWriting(work, LOOSE, uploads, TERMS)
        pool = BufferPool(1 << 20)
        feed(reader, Log((good[0], bytes(bad), good[2])), [], pool)
        item = reader.next()
        assert isinstance(item, FetchedPart)
        with pytest.raises(CorruptBatchError):
            writing.write(item)
        item.frame.release()
        reader.stand_back(writing.next)
        assert (reader.expected, reader.held, reader.fetched) == (1, 0, False)
        feed(reader, Log((good[1], good[2])), [], pool)
        write_all(reader, writing)
        writing.finish(whole=True)
        segments, _ = writing.result()
        assert [each.records for each in segments] == [3]
        assert len(read_back(store, segments)[0]) == 3
        assert pool.held == 0


def test_what_retention_took_is_a_gap_and_a_cut_log_ends_the_range() -> None:
    with storing() as (_, uploads):
        work = planned(0, 10)
        reader, writing = RangeReader(work), RangeWriting(work, LOOSE, uploads, TERMS)
        reader.jump(SourceOffset(4), Reason.of(ReasonCode.RETENTION))
        data = bytes(batch([Record(None, b"v", (), 5, 4)], base=4))
        feed(reader, Log((data,)), [], BufferPool(1 << 20))
        assert reader.expected == 5
        reader.jump(SourceOffset(2), Reason.of(ReasonCode.SOURCE_CUT, end=2))
        assert (reader.fetched, reader.is_short) == (True, True)
        write_all(reader, writing)
        writing.finish(whole=False)
        (segment,), _ = writing.result()
    assert (segment.start, segment.end, segment.records) == (0, 5, 1)
    assert segment.gaps.retention == 4
    assert reader.trouble is not None
    assert reader.trouble.code is ReasonCode.SOURCE_CUT


def test_what_waits_is_compared_with_what_a_segment_lacks() -> None:
    limits = SegmentLimits(messages=1_000_000, bytes=10_000, age=300.0)
    pool = BufferPool(1 << 20)
    with storing() as (_, uploads):
        work = replace(planned(0, 100), probe=True)
        reader, writing = RangeReader(work), RangeWriting(work, limits, uploads, TERMS)
        assert not writing.will_be_full(1 << 20)  # nothing is known of the density
        data = batch([Record(b"k", b"v" * 1000, (), 1, offset) for offset in range(2)])
        frame = pool.frame(len(data))
        frame.buffer[: len(data)] = np.frombuffer(data, np.uint8)
        reader.take(frame, 0, len(data), ())
        frame.release()
        write_all(reader, writing)
        assert not writing.will_be_full(7_000)
        assert writing.will_be_full(8_500)
        assert not reader.fetched
        reader.suffice()
        assert (reader.fetched, reader.trouble, reader.is_short) == (True, None, True)
        writing.finish(whole=False)
        ((segment,), trouble) = writing.result()
        assert (segment.end, trouble) == (2, None)


class Breaking(Store):
    """A store in which some writes fail."""

    def __init__(self, config: StoreConfig, fails: set[int]) -> None:
        super().__init__(config)
        self._fails, self._writes = fails, 0

    def writer(self, key: str, storage_class: str = "", **options: Any) -> ObjectWriter:
        self._writes += 1
        if self._writes in self._fails:
            raise StoreAwayError("s3://there", "write")
        return super().writer(key, storage_class, **options)


def test_a_segment_that_could_not_be_written_ends_the_range(tmp_path: Path) -> None:
    """Nothing behind it counts, and its failure is never told as success."""
    store = Breaking(StoreConfig(url=tmp_path.as_uri()), {2})
    uploads = Uploads(store, "")
    log = Log(tuple(bytes(batch([Record(b"k", b"v", (), 7, n)])) for n in range(4)))
    writing = RangeWriting(planned(0, 4), replace(LOOSE, messages=1), uploads, TERMS)
    reader = RangeReader(planned(0, 4))
    pool = BufferPool(1 << 20)
    feed(reader, log, [], pool)
    write_all(reader, writing)
    writing.finish(whole=True)
    segments, trouble = writing.result()
    uploads.close()
    assert [(each.start, each.end) for each in segments] == [(0, 1)]
    assert trouble is not None
    assert trouble.codes == ("STORE_AWAY",)
