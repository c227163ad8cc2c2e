"""What a log held comes out of its segments again, whatever happens to the objects meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.chunks import told
from tests.support.archive.shelves import MemoryArchive
from tests.support.logs.batches import batch, numbered
from tests.support.logs.logs import Log, logs, read_plainly
from towpath.archive.errors import WithheldError
from towpath.archive.model import GapKind
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.archive.read.feed.segment_supply import SegmentSupply
from towpath.archive.read.feed.supply import Chunk
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.model.reasons import ReasonCode
from towpath.wire.plain import Record

AS_IN_A_LOG = {GapKind.MARKER, GapKind.ABORTED}
FORMATS = st.lists(st.sampled_from(SegmentFormat), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def supply(
    archive: MemoryArchive, threads: ThreadPoolExecutor, end: int, start: int = 0
) -> SegmentSupply:
    wanted = ArchivedRange(
        partition=archive.known[0].partition_id,
        start=SourceOffset(start),
        end=SourceOffset(end),
        batch_bytes=200,
    )
    return SegmentSupply(archive, wanted, threads)


@given(logs(), st.data())
def test_segments_give_back_what_the_log_held(
    threads: ThreadPoolExecutor, log: Log, data: st.DataObject
) -> None:
    """Whatever its segments are, from whatever offset on, up to whatever end."""
    if log.end == log.start:
        return
    offset = st.integers(log.start, log.end)
    cuts = sorted(
        {log.start, *data.draw(st.lists(st.integers(log.start, log.end - 1), max_size=4))}
    )
    archive = MemoryArchive()
    archive.archive(log, cuts, log.end, data.draw(FORMATS, "formats"))
    first, end = sorted((data.draw(offset, "first"), data.draw(offset, "end")))
    seen, gaps = read_plainly(log, first, end)
    records, voids, at = told(supply(archive, threads, end).read(SourceOffset(first)), first)
    assert records == [each.record for each in seen]
    expected = {n for gap in gaps if gap.kind in AS_IN_A_LOG for n in range(gap.first, gap.end)}
    assert voids - {end - 1} <= expected
    if all(each.place is not None for each in archive.known):  # else the order is not known
        assert voids >= expected
    assert at == end if first < end else not records


PLAIN = Log(tuple(bytes(batch(numbered([Record(b"k", b"%d" % n, (), n)], n))) for n in range(40)))
QUARTERS = (0, 10, 20, 30)


def values(chunks: Iterable[Chunk]) -> list[int]:
    return [int(record.value or b"") for record in told(chunks)[0]]


@pytest.mark.parametrize("at", [0, 7, 10, 15])
def test_an_object_that_a_compaction_replaced_is_found_again(
    threads: ThreadPoolExecutor, at: int
) -> None:
    archive = MemoryArchive()
    segments = archive.archive(PLAIN, QUARTERS, 40)
    archive.compact(PLAIN, segments[:3])
    for gone in segments[1:3] if at < 10 else segments[:3]:
        assert gone.place is not None
        del archive.objects[gone.place.key]
    assert values(supply(archive, threads, 40).read(SourceOffset(at))) == [*range(at, 40)]
    # The one behind it is opened in a thread meanwhile, so either may come first.
    assert sorted(archive.opened[-2:]) == ["0-30-compacted", "30-40"]


def test_a_missing_object_is_told_behind_what_could_be_read(threads: ThreadPoolExecutor) -> None:
    archive = MemoryArchive()
    archive.archive(PLAIN, QUARTERS, 40)
    late = archive.objects.pop("20-30")
    chunks: list[Chunk] = []
    made = supply(archive, threads, 35)
    with pytest.raises(WithheldError) as found:
        chunks += made.read(SourceOffset(5))
    assert (found.value.first, found.value.end) == (20, 30)
    assert found.value.why.code is ReasonCode.ARCHIVE_MISSING
    archive.objects["20-30"] = late
    assert values(made.read(SourceOffset(20))) == [*range(20, 35)]


@pytest.mark.parametrize("damage", ["cut", "changed", "another"])
def test_a_damaged_object_is_told(threads: ThreadPoolExecutor, damage: str) -> None:
    archive = MemoryArchive()
    archive.archive(PLAIN, QUARTERS, 40)
    data = archive.objects["10-20"]
    changed = bytearray(data)
    changed[len(data) // 8] ^= 0xFF
    instead = {"cut": data[:-9], "changed": bytes(changed), "another": archive.objects["20-30"]}
    archive.objects["10-20"] = instead[damage]
    chunks: list[Chunk] = []
    reading = supply(archive, threads, 40).read(SourceOffset(0))
    with pytest.raises(WithheldError) as found:
        chunks.extend(reading)
    read = values(chunks)
    assert read == [*range(len(read))]
    assert (found.value.first, found.value.end) == (len(read), 20)
    assert found.value.why.code is ReasonCode.ARCHIVE_DAMAGED
    assert "object 10-20 of the archive is damaged" in str(found.value)


def test_offsets_that_the_log_no_longer_names_are_told(threads: ThreadPoolExecutor) -> None:
    archive = MemoryArchive()
    segments = archive.archive(PLAIN, QUARTERS, 40)
    archive.known = [segments[0], segments[2]]
    made = supply(archive, threads, 40)
    with pytest.raises(WithheldError) as found:
        list(made.read(SourceOffset(0)))
    assert (found.value.first, found.value.end) == (10, 20)
    with pytest.raises(WithheldError) as found:
        list(made.read(SourceOffset(20)))
    assert (found.value.first, found.value.end) == (30, 40)
    assert found.value.why.code is ReasonCode.ARCHIVE_UNCOVERED


@pytest.mark.parametrize("is_missing", [False, True])
def test_what_was_pruned_is_not_waited_for(
    threads: ThreadPoolExecutor, *, is_missing: bool
) -> None:
    """Whether the log says so when a reading comes there, or once an object is missing."""
    archive = MemoryArchive()
    segments = archive.archive(PLAIN, QUARTERS, 40)
    if is_missing:
        del archive.objects["10-20"]
        archive.added = segments[2:]
    else:
        archive.known = segments[2:]
    with pytest.raises(WithheldError) as found:
        list(supply(archive, threads, 40).read(SourceOffset(10)))
    assert (found.value.first, found.value.end, found.value.is_final) == (10, 20, True)
    assert found.value.why.code is ReasonCode.ARCHIVE_PRUNED


def test_readings_that_end_early_close_what_they_opened(threads: ThreadPoolExecutor) -> None:
    archive = MemoryArchive()
    archive.archive(PLAIN, QUARTERS, 40)
    chunks = supply(archive, threads, 40).read(SourceOffset(0))
    assert values([next(chunks)]) == [*range(10)]
    chunks.close()
    threads.submit(lambda: None).result()
    assert archive.opened in (["0-10"], ["0-10", "10-20"], ["10-20", "0-10"])
