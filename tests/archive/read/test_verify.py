"""`towpath archive verify` finds what is missing, damaged or altered, in the log and in objects."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.archive.archives import WRITER, partition_id, segment, without_checksum
from tests.support.archive.stored import REGION, StoredArchive, old_records
from tests.support.objects.buckets import Buckets
from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import CorruptSegmentError, NoArchiveError
from towpath.archive.format.gaps import Gaps
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.keys import checkpoint_key, entry_key
from towpath.archive.log import ArchivedTo, ArchiveState, Draft
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.columns import SegmentTable, TabledPartition, table_of
from towpath.archive.model import GapCounts, GapKind, OffsetGap, Segment
from towpath.archive.read.verify.content import CheckSlice, check, records_of
from towpath.archive.read.verify.findings import CheckedArchive, CheckedObject, VerifyScope
from towpath.archive.read.verify.tiling import untiled
from towpath.archive.read.verify.verify import OnDone, verify
from towpath.archive.show.verification import check_data, check_picture
from towpath.cli.show.output import console
from towpath.model.digest import Digest
from towpath.model.errors import StoppedError
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName
from towpath.settings import StoreConfig
from towpath.store import Store

pytestmark = pytest.mark.slow

DEEP = VerifyScope(deep=True)
SHALLOW = VerifyScope()


@dataclass
class Kept(StoredArchive):
    """An archive in any store."""

    kept: StoreConfig | None = None

    @cached_property
    def store(self) -> Store:
        return Store(self.config().store)

    def config(self, **restore: Any) -> ArchiveConfig:
        made = super().config(**restore)
        return made.model_copy(update={"store": self.kept}) if self.kept else made

    def verify(self, scope: VerifyScope) -> CheckedArchive:
        """Verify it in this process."""
        read = inline if scope.reads else None
        return verify(self.config(), scope, read, lambda *_: None, threading.Event())

    def problems(self, scope: VerifyScope) -> list[tuple[str, str, str]]:
        return [(each.code, each.about, each.why) for each in self.verify(scope).problems]

    def alter(self, key: str, change: Callable[[bytearray], Any]) -> None:
        """Write an object anew, changed."""
        data = bytearray(self.store.get(key))
        changed = change(data)
        self.store.put(key, bytes(data if changed is None else changed))


def inline(slices: Sequence[CheckSlice], done: OnDone) -> Iterator[CheckedObject]:
    for number, each in enumerate(slices):
        for found in check(each):
            yield CheckedObject.from_json(found.to_json())
        done(number + 1, len(slices))


@pytest.fixture
def archive(tmp_path: Path) -> Kept:
    """Return an archive of three segments of one partition, and one of another."""
    return filled(Kept(tmp_path, "shop", "127.0.0.1:1"))


@pytest.fixture(params=["file", "s3"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """Return the same in a folder and in a bucket."""
    kept = None
    if request.param == "s3":
        buckets: Buckets = request.getfixturevalue("buckets")
        kept = buckets.new()
    return filled(Kept(tmp_path, "shop", "127.0.0.1:1", kept=kept))


def filled(made: Kept) -> Kept:
    with_holes = [each for each in old_records(60) if each.offset not in {25, 26, 59}]
    made.put("orders", with_holes, [20, 40], end=60)
    made.put("orders", old_records(10), partition=1)
    return made


def orders(archive: Kept, partition: int = 0) -> list[Segment]:
    return archive.log.state.segments(partition_id(partition))


def key_of(segment: Segment) -> str:
    assert segment.place is not None
    return segment.place.key


def test_a_whole_archive_has_no_problem(anywhere: Kept) -> None:
    archive = anywhere
    found = archive.verify(SHALLOW)
    assert (found.problems, found.version, found.entries) == ([], 2, 2)
    assert (found.segments, found.objects, found.orphans) == (4, 4, (0, 0))
    assert found.unsummed == (0 if archive.kept else 4)  # files have no checksum of their own
    found = archive.verify(DEEP)
    assert (found.problems, found.unsummed) == ([], 0)
    assert [each.records for each in found.partitions.values()] == [57, 10]
    assert found.bytes == sum(each.size for each in archive.store.list(f"{REGION}/orders/"))
    data = check_data("shop", found, 1.5)
    assert (data["whole"], data["partitions"][0]["segments"]) == (True, 3)


def test_histories_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = Kept(tmp_path, "shop", "127.0.0.1:1")
    archive.put("orders", old_records(20))
    number = archive.fork("orders", 10)
    archive.put("orders", old_records(15, 10), number=number)
    found = archive.verify(DEEP)
    data = check_data("shop", found, 1.5)
    told = [(each["topic_id"], each["history"], each["records"]) for each in data["partitions"]]
    assert told == [("id-orders", 0, 20), ("id-orders", 1, 15)]
    console().print(check_picture(found, data))
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()]
    assert ["orders", "0", "1"] in rows
    assert ["orders", "0~1", "1"] in rows


def test_whole_batches_are_verified_as_well(tmp_path: Path) -> None:
    archive = filled(Kept(tmp_path, "shop", "127.0.0.1:1", kind=SegmentFormat.BATCHES))
    assert archive.problems(DEEP) == []
    second = orders(archive)[1]
    archive.alter(key_of(second), lambda data: data[:30] + b"?" + data[31:])
    ((_, _, why),) = archive.problems(DEEP)
    assert why.endswith("they have changed")


def test_a_missing_or_shorter_object_is_found_without_reading(anywhere: Kept) -> None:
    archive = anywhere
    first, second, _ = orders(archive)
    archive.store.delete([key_of(first)])
    archive.alter(key_of(second), lambda data: data[:-5])
    for scope in (SHALLOW, DEEP):
        gone, cut = archive.problems(scope)
        assert gone[:2] == ("STORE_MISSING", key_of(first))
        assert cut[:2] == ("CORRUPT_SEGMENT", key_of(second))
        assert re.fullmatch(r"it has \d+ bytes, and the commit log says \d+", cut[2])


def test_a_changed_byte_is_found_wherever_it_is(anywhere: Kept, rng: random.Random) -> None:
    archive = anywhere
    second = orders(archive)[1]
    assert second.place is not None
    whole = archive.store.get(key_of(second))
    size = len(whole)
    places = (
        (size // 3, size - 9) if archive.kept else (0, size - 200, *rng.sample(range(size), 12))
    )
    for at in places:
        changed = bytearray(whole)
        changed[at] ^= 1 << rng.randrange(8)
        archive.store.put(key_of(second), bytes(changed))
        ((code, about, _),) = archive.problems(DEEP)
        assert (code, about) == ("CORRUPT_SEGMENT", key_of(second)), at
        if archive.kept:
            ((_, _, why),) = archive.problems(SHALLOW)
            assert "CRC-32" in why


def test_what_has_changed_is_named(archive: Kept) -> None:
    second = orders(archive)[1]
    whole = archive.store.get(key_of(second))

    def why(at: int) -> str:
        changed = bytearray(whole)
        changed[at] ^= 1
        archive.store.put(key_of(second), bytes(changed))
        return archive.problems(DEEP)[0][2]

    assert re.fullmatch(r"bytes \d+ to \d+ have changed", why(len(whole) // 5))
    assert why(whole.index(b"parquet-cpp")).endswith(
        "all records are whole, so its footer, an index or unused bytes have changed"
    )


def test_an_object_of_another_segment_is_found(archive: Kept) -> None:
    first, second, third = orders(archive)
    archive.store.put(key_of(second), archive.store.get(key_of(third)))
    found = archive.problems(DEEP)
    assert [each[:2] for each in found] == [("CORRUPT_SEGMENT", key_of(second))]
    # The same if the log says so: an entry that names the wrong object.
    start, end = SourceOffset(60), SourceOffset(80)
    wrong = replace(
        first, start=start, end=end, first=start, last=SourceOffset(79), place=third.place
    )
    archive.log.append(Draft(writer=WRITER, add=(wrong,)))
    whys = [why for _, about, why in archive.problems(DEEP) if about == key_of(third)]
    assert whys == ["its footer says start 40, and the commit log 60; is it another segment's"
                    " object?"]  # fmt: skip


def test_records_that_are_others_than_the_log_says_are_found(archive: Kept) -> None:
    (made,) = archive.put("late", old_records(40))
    whole = archive.store.get(key_of(made))
    file = ParquetObjectReader(pa.BufferReader(whole), "late")
    (footer,) = file.footers
    other = Digest(40, made.digest.unordered ^ 1, made.digest.ordered)
    lied = replace(made, digest=other)
    footer_of_liar = replace(footer, digest=other)
    with pytest.raises(CorruptSegmentError, match="its 40 records have the digest"):
        records_of(file, lied, footer_of_liar)
    gap = Gaps.of([OffsetGap(SourceOffset(7), SourceOffset(8), GapKind.LOST)])
    with pytest.raises(CorruptSegmentError, match="a record at offset 7, where its footer has a"):
        records_of(file, made, replace(footer, gaps=gap))
    assert records_of(file, made, footer) == 40


# The log


def test_a_deleted_entry_is_found(archive: Kept) -> None:
    archive.put("more", old_records(5))
    archive.store.delete([entry_key(REGION, 2)])
    ((code, about, why),) = archive.problems(SHALLOW)
    assert (code, about) == ("ARCHIVE_BROKEN", entry_key(REGION, 2))
    assert why == "this entry of the commit log is missing"
    assert archive.verify(DEEP).version == 1


def test_a_deleted_entry_before_a_checkpoint_is_found(archive: Kept) -> None:
    archive.put("more", old_records(5))
    archive.log.checkpoint()
    archive.store.delete([entry_key(REGION, 1)])
    found = archive.verify(DEEP)
    assert [each.about for each in found.problems] == [entry_key(REGION, 1)]
    assert (found.version, found.objects) == (3, 5)  # they were verified nevertheless


def test_a_changed_entry_is_found_by_its_checksum(archive: Kept) -> None:
    archive.put("more", old_records(5))
    for version in (2, 3):  # the newest one, too
        kept = archive.store.get(entry_key(REGION, version))
        archive.alter(
            entry_key(REGION, version), lambda data: data.replace(b'"here"', b'"hers"', 1)
        )
        ((code, about, why),) = archive.problems(SHALLOW)
        assert (code, about) == ("ARCHIVE_BROKEN", entry_key(REGION, version))
        assert why.startswith("its bytes are not those that were written")
        archive.store.put(entry_key(REGION, version), kept)


def test_any_flipped_bit_of_any_entry_is_found(archive: Kept, rng: random.Random) -> None:
    archive.put("more", old_records(5))
    for version in (1, 2, 3):
        key = entry_key(REGION, version)
        kept = archive.store.get(key)
        for at in rng.sample(range(len(kept)), 20):
            changed = bytearray(kept)
            changed[at] ^= 1 << rng.randrange(8)
            archive.store.put(key, bytes(changed))
            assert [each[1] for each in archive.problems(SHALLOW)] == [key], at
        archive.store.put(key, kept)


def test_a_changed_entry_of_an_older_towpath_is_found_by_the_one_behind_it(archive: Kept) -> None:
    archive.store.put(entry_key(REGION, 2), without_checksum(archive.log.entry(2)))
    archive.put("more", old_records(5))
    found = archive.verify(SHALLOW)
    assert (found.problems, found.entries, found.unsummed_entries) == ([], 3, 1)
    data = check_data("shop", found, 1.5)
    assert (data["unsummed_entries"], data["unsummed_checkpoints"]) == (1, 0)
    archive.alter(entry_key(REGION, 2), lambda data: data.replace(b'"here"', b'"hers"', 1))
    ((code, about, why),) = archive.problems(SHALLOW)
    assert (code, about) == ("ARCHIVE_BROKEN", entry_key(REGION, 3))
    assert why.endswith("wrote it: version 2 was changed, or exchanged")


def test_an_entry_that_is_none_is_found(archive: Kept) -> None:
    archive.put("more", old_records(5))
    archive.alter(entry_key(REGION, 1), lambda data: data[:-1])
    (none,) = archive.problems(SHALLOW)
    assert none[1] == entry_key(REGION, 1)


def test_a_changed_checkpoint_is_found_and_passed_over(archive: Kept) -> None:
    archive.log.checkpoint()
    key = checkpoint_key(REGION, 2)
    kept = archive.store.get(key)
    archive.alter(key, lambda data: data.replace(b'"orders"', b'"order5"', 1))
    ((code, about, why),) = archive.problems(SHALLOW)
    assert (code, about) == ("ARCHIVE_BROKEN", key)
    assert "its bytes are not those that were written" in why
    archive.store.put(key, kept)
    assert archive.problems(SHALLOW) == []


def test_a_checkpoint_that_says_something_else_is_found(archive: Kept) -> None:
    state = archive.log.state.compacted()
    rows = state.base.rows.slice(1)
    checkpoints = LogCheckpoints(archive.store, REGION)
    checkpoints.write(replace(state, base=SegmentTable(state.base.partitions, rows)))
    ((_, _, why), *_) = archive.problems(SHALLOW)
    assert "it has 3 segments, and the entries make 4; delete it" in why
    archive.store.delete([checkpoint_key(REGION, 2)])
    assert archive.problems(SHALLOW) == []


def test_there_must_be_an_archive(tmp_path: Path) -> None:
    with pytest.raises(NoArchiveError):
        Kept(tmp_path, "none", "127.0.0.1:1").verify(SHALLOW)


def state_of(*segments: Segment, end: int) -> ArchiveState:
    tabled = TabledPartition(partition_id(), TopicName("orders"))
    place = ArchivedTo(
        topic=TopicName("orders"),
        begin=SourceOffset(0),
        archived_to=SourceOffset(end),
        log_start=SourceOffset(0),
        stable_end=SourceOffset(end),
        seen=0,
    )
    rows = table_of(segments, {partition_id(): 0})
    return ArchiveState(partitions={partition_id(): place}, base=SegmentTable([tabled], rows))


@pytest.mark.parametrize(
    ("segments", "end", "said"),
    [
        ([(0, 10), (10, 20)], 20, []),
        ([(0, 10), (12, 20)], 20, ["a segment ends at offset 10, the next begins at 12"]),
        ([(0, 10), (8, 20)], 20, ["a segment ends at offset 10, the next begins at 8"]),
        (
            [(0, 10)],
            20,
            ["its segments hold the offsets 0 to 9, and the commit log says 0 to 19"],
        ),
        ([], 5, ["the commit log says that offsets 0 to 4 are archived, in no segment"]),
        ([], 0, []),
    ],
)
def test_segments_must_tile(segments: list[tuple[int, int]], end: int, said: list[str]) -> None:
    state = state_of(*(segment(*each) for each in segments), end=end)
    assert [each.why for each in untiled(state)] == said


# What is looked at


def test_some_topics_some_partitions_or_a_sample_are_looked_at(archive: Kept) -> None:
    archive.put("more", old_records(5))
    assert archive.verify(replace(DEEP, topics=re.compile("mor."))).objects == 1
    narrowed = archive.verify(replace(SHALLOW, partitions=frozenset({1})))
    assert (narrowed.objects, narrowed.orphans) == (1, None)
    half = replace(SHALLOW, share=0.5, seed=3)
    assert archive.verify(half).objects == archive.verify(half).objects
    assert archive.verify(replace(SHALLOW, share=0.0)).objects == 0


def test_a_sample_is_about_as_large_as_it_should_be() -> None:
    keys = [f"eu/orders/0/0/{number}" for number in range(2000)]
    for share in (0.0, 0.1, 0.5, 1.0):
        scopes = [replace(DEEP, share=share, seed=seed) for seed in (1, 2)]
        one, other = ({key for key in keys if each.takes_object(key)} for each in scopes)
        assert abs(len(one) - share * len(keys)) < 120
        assert (one == other) is (share in {0.0, 1.0})


def test_a_segment_of_gaps_alone_needs_no_object(archive: Kept) -> None:
    gaps = segment(60, 70, gaps=range(60, 70))
    archive.log.append(Draft(writer=WRITER, add=(gaps,)))
    found = archive.verify(DEEP)
    assert (found.problems, found.segments, found.objects) == ([], 5, 4)
    assert gaps.gaps == GapCounts(marker=10)


def test_objects_that_are_in_no_entry_are_counted(archive: Kept) -> None:
    archive.store.put_new(f"{REGION}/orders/0/0/stray.parquet", b"1234")
    archive.store.put_new(f"0a1b/{REGION}/orders/0/0/stray.parquet", b"1")
    archive.store.put_new("elsewhere/orders/0/0/stray.parquet", b"1")
    found = archive.verify(SHALLOW)
    assert (found.orphans, found.problems) == ((2, 5), [])


def test_who_may_only_read_verifies_as_well(buckets: Buckets, tmp_path: Path) -> None:
    made = filled(Kept(tmp_path, "shop", "127.0.0.1:1", kept=buckets.new()))
    assert made.kept is not None
    made.kept = buckets.for_reader(made.kept)
    del made.store
    found = made.verify(DEEP)
    assert found.problems == []
    assert "may look missing" in found.notes[0]


def test_a_verification_that_is_stopped_proves_nothing(archive: Kept) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(StoppedError, match="nothing is proven"):
        verify(archive.config(), SHALLOW, None, lambda *_: None, stop)


def test_people_see_one_line_for_each_problem(
    archive: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, _ = orders(archive)
    archive.store.delete([key_of(first), key_of(second)])
    archive.store.put_new(f"{REGION}/orders/0/0/stray.parquet", b"1234")
    found = archive.verify(DEEP)
    console().print(check_picture(found, check_data("shop", found, 2.0)))
    lines = capsys.readouterr().out.splitlines()
    assert len([each for each in lines if each.startswith("✗ ")]) == 2
    assert "1 object (4 B) in no entry of the commit log" in "\n".join(lines)
    assert "see `towpath explain STORE_MISSING`" in lines
    assert lines[-1].startswith("version 2: 2 problems; the commit log has 2 entries, 4 segments")
