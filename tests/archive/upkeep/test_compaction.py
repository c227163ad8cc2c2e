"""Compactions: until nothing qualifies, equal in every record, and nothing is deleted too early."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import WRITER, compacting
from tests.support.archive.compacting import EAGER, compacted, held_records, here, objects
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.here import Here
from tests.support.kafka import wait_until
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.errors import WriterReplacedError
from towpath.archive.format import either_format
from towpath.archive.log import ArchiveReading, CommitLog, Draft
from towpath.archive.model import Segment
from towpath.archive.read import unnamed_objects as unnamed
from towpath.archive.upkeep import tidying
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import WORK, CompactionProgress
from towpath.archive.upkeep.slice.compact_work import CompactResult, CompactSlice
from towpath.model.errors import TowpathError
from towpath.model.nouns import SegmentFormat
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.slow

Told = Callable[[int, int], None]


class KilledError(Exception):
    """What ends a compaction here as kill -9 does."""


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    return MixedArchive(tmp_path)


def contents(archive: MixedArchive) -> dict[int, Any]:
    store, state = archive.store, archive.log.state
    return {each.partition: held_records(store, state, each) for each in state.partitions}


def named(archive: MixedArchive) -> set[str]:
    return {each.place.key for each in archive.log.state.table() if each.place}


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (SegmentFormat.PARQUET, "4MiB"),
        (SegmentFormat.BATCHES, "0B"),
        pytest.param(SegmentFormat.PARQUET, "0B", marks=pytest.mark.soak),
        pytest.param(SegmentFormat.BATCHES, "4MiB", marks=pytest.mark.soak),
    ],
)
def test_all_that_segments_can_be_is_merged(
    archive: MixedArchive, rng: random.Random, kind: SegmentFormat, share: str
) -> None:
    records = archive.fill(rng)
    before = contents(archive)
    assert {number: len(found) for number, found in before.items()} == {
        number: len(found) for number, found in records.items()
    }
    counts = {each: len(archive.log.state.segments(each)) for each in archive.log.state.partitions}
    config = archive.config(format=str(kind), segments={"share": share})
    done = compacted(config)
    assert contents(archive) == before
    assert (done.failed, done.redundant) == ({}, 0)
    assert (done.read, done.written) == (sum(counts.values()), len(counts))
    for each in counts:
        (segment,) = archive.log.state.segments(each)
        assert segment.level == 1
    assert objects(archive.store, REGION) == named(archive)
    together = 1 if share == "4MiB" else 3
    assert len(named(archive)) in ({together} if kind is SegmentFormat.PARQUET else {1, 2, 3})
    again = compacted(config, EAGER.model_copy(update={"max_level": 1}))
    assert (again.read, again.swept, again.orphans) == (0, 0, 0)


def test_a_quiet_partition_is_compacted_beside_a_busy_one(archive: MixedArchive) -> None:
    """By the rule of a file that says nothing but the age at which few segments are enough."""
    records = old_records(60)
    for at in range(0, 60, 5):
        archive.own(records, at, at + 5, 1)
    archive.own(records, 0, 2)
    last = archive.own(records, 2, 3)
    quiet = {"min_age": "0s", "max_age": "1s"}
    wait_until(lambda: now_ms() > last.created + 1000, "all are old enough")
    done = compacted(archive.config(), CompactionConfig.model_validate(quiet))
    assert (done.read, done.written) == (14, 2)
    for number, end in ((0, 3), (1, 60)):
        (segment,) = archive.log.state.segments(partition(number))
        assert (segment.level, segment.start, segment.end) == (1, 0, end)
    assert len(held_records(archive.store, archive.log.state, partition(0))) == 3


def test_levels_are_merged_on(archive: MixedArchive, rng: random.Random) -> None:
    archive.fill(rng, segments=20)
    before = contents(archive)
    config = archive.config()
    small = EAGER.model_copy(update={"max_count": 4})
    up = small.model_copy(update={"min_level": 1, "max_level": 1})
    done = compacted(config, small, up)
    levels = [segment.level for segment in archive.log.state.segments(partition())]
    assert levels in ([2, 1], [2, 2])
    assert done.read > 60
    assert contents(archive) == before


def key_of(segment: Segment) -> str:
    assert segment.place is not None
    return segment.place.key


def ten(archive: MixedArchive, number: int = 0, size: int = 10) -> list[Segment]:
    records = old_records(10 * size)
    return [archive.own(records, at, at + size, number) for at in range(0, 10 * size, size)]


def test_objects_stay_for_the_grace_and_for_the_slowest_reader(archive: MixedArchive) -> None:
    ten(archive)
    keys = named(archive)
    with ArchiveReading(archive.store, REGION, "restore") as reading:
        reading.passed(archive.log.state.version)
        done = compacted(archive.config())
        assert (done.written, done.swept, done.waiting) == (1, 0, 10)
        assert objects(archive.store, REGION) == keys | named(archive)
        reading.passed(archive.log.state.version)
        assert compacted(archive.config(grace="1h")).waiting == 10
    done = compacted(archive.config())
    assert (done.swept, done.waiting) == (10, 0)
    assert objects(archive.store, REGION) == named(archive)


def test_delete_false_keeps_what_was_merged(archive: MixedArchive) -> None:
    ten(archive)
    kept = archive.config(compaction=[{"delete": False}])
    done = compacted(kept)
    assert (done.swept, done.waiting) == (0, 10)
    assert compacted(kept).waiting == 10
    assert compacted(archive.config(compaction=[{}])).swept == 10


def test_damage_stops_its_partition_alone(archive: MixedArchive) -> None:
    first = ten(archive)
    ten(archive, 1)
    path = archive.folder / "store" / key_of(first[4])
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    for share in ("0B", "4MiB"):
        done = compacted(archive.config(segments={"share": share}))
        assert list(done.failed) == ["orders-0"]
        assert "is damaged" in done.failed["orders-0"]
        assert done.damaged == 1
    assert len(archive.log.state.segments(partition(0))) == 10
    assert len(archive.log.state.segments(partition(1))) == 1


def test_an_object_that_is_gone_is_named(archive: MixedArchive) -> None:
    first = ten(archive)
    archive.store.delete([key_of(first[4])])
    done = compacted(archive.config())
    assert key_of(first[4]) in done.failed["orders-0"]
    assert len(archive.log.state.segments(partition())) == 10


def test_where_a_slice_dies_halves_find_the_merge_that_kills_it(archive: MixedArchive) -> None:
    for number in range(5):
        ten(archive, number, 2)

    def dying(slices: Sequence[CompactSlice], told: Told) -> list[CompactResult]:
        killing = [m for work in slices for b in work.bundles for m in b if m.id.partition == 3]
        if killing:
            raise TowpathError("Spark failed: a worker died")
        return here(slices, told)

    done = compacted(archive.config(segments={"share": "0B"}), run=dying)
    assert done.failed == {"orders-3": "Spark failed: a worker died"}
    assert [len(archive.log.state.segments(partition(n))) for n in range(5)] == [1, 1, 1, 10, 1]


def test_what_another_process_replaced_meanwhile_is_dropped(archive: MixedArchive) -> None:
    segments = ten(archive)

    def raced(slices: Sequence[CompactSlice], told: Told) -> list[CompactResult]:
        found = here(slices, told)
        (made,) = [each.made for each in here(slices, told) if each.made]
        other = CommitLog.open(archive.store, REGION)
        draft = compacting(*segments, into=[made])
        other.append(draft)
        return found

    done = compacted(archive.config(), run=raced)
    assert (done.written, done.redundant) == (0, 1)
    assert len(archive.log.state.segments(partition())) == 1
    held_records(archive.store, archive.log.state, partition())


def test_a_compaction_whose_lease_was_taken_over_commits_nothing(archive: MixedArchive) -> None:
    ten(archive)

    def slow(slices: Sequence[CompactSlice], told: Told) -> list[CompactResult]:
        found = here(slices, told)
        writer = replace(WRITER, work="compact", epoch=99)
        CommitLog.open(archive.store, REGION).append(Draft(writer=writer))
        return found

    with pytest.raises(WriterReplacedError):
        compacted(archive.config(), run=slow)
    assert len(archive.log.state.segments(partition())) == 10


# Orphans


def test_orphans_go_when_nobody_can_commit_them(archive: MixedArchive) -> None:
    records = old_records(60)
    archive.own(records, 0, 30)
    late = archive.own(records, 10, 30, commit=False)  # refused: the archive is further
    coming = archive.own(records, 30, 60, commit=False)
    (others,) = archive.shared([(records, 5, 20, 0)], commit=False)
    unknown = archive.own(records, 0, 30, 7, commit=False)  # its topic is not archived yet
    foreign = "eu/orders/0/0/readme.txt"
    archive.store.put(foreign, b"mine")
    archive.store.put("us/orders/0/0/" + "0" * 20 + "-" + "0" * 20 + ".parquet", b"another region")
    assert compacted(archive.config(grace="1h")).unsettled == 4
    done = compacted(archive.config())
    assert (done.orphans, done.unsettled) == (2, 0)
    assert {*done.stranded} == {key_of(coming), key_of(unknown)}
    left = {each.key for each in archive.store.list()}
    assert not {key_of(late), key_of(others)} & left
    assert {key_of(coming), key_of(unknown), foreign} <= left
    archive.log.append(Draft(writer=WRITER, add=(coming,)))
    assert len(held_records(archive.store, archive.log.state, partition())) == 60


def test_what_the_run_commits_while_orphans_are_looked_at_stays(
    archive: MixedArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind an outage, when objects that are older than the grace are committed at last."""
    records = old_records(60)
    archive.own(records, 0, 30)
    coming = archive.own(records, 30, 60, commit=False)
    true = either_format.read_object

    def committed_meanwhile(*of: Any) -> Any:
        log.append(Draft(writer=WRITER, add=(coming,)))
        return true(*of)

    config = archive.config()
    monkeypatch.setattr(unnamed, "read_object", committed_meanwhile)
    log = CommitLog.open(archive.store, REGION)  # which a run and its compaction share
    with archive_lease(config, archive.store, WORK, threading.Event()) as lease:
        tidying.tidy(config, log, lease, CompactionProgress())
    assert len(held_records(archive.store, log.state, partition())) == 60


def test_a_result_that_was_never_committed_is_an_orphan(archive: MixedArchive) -> None:
    ten(archive)

    def dying(slices: Sequence[CompactSlice], told: Told) -> list[CompactResult]:
        here(slices, told)
        raise KilledError

    with pytest.raises(KilledError):
        compacted(archive.config(segments={"share": "0B"}), run=dying)
    done = compacted(archive.config(segments={"share": "0B"}))
    assert (done.written, done.orphans, done.swept) == (1, 1, 10)
    (key,) = objects(archive.store, REGION)
    assert key in named(archive)
    held_records(archive.store, archive.log.state, partition())


def test_an_orphan_that_cannot_be_read_is_kept_and_named(archive: MixedArchive) -> None:
    ten(archive)
    key = "eu/orders/0/0/" + "0" * 20 + "-" + "9" * 20 + ".parquet"
    archive.store.put(key, b"nonsense")
    assert compacted(archive.config()).unreadable == (key,)


def test_a_deletion_that_comes_late_hits_nothing_that_others_wrote_since(
    archive: MixedArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process stands still before it deletes the orphan of a dead one; others go on meanwhile."""
    ten(archive)
    config = archive.config(segments={"share": "0B"})

    def dying(slices: Sequence[CompactSlice], told: Told) -> list[CompactResult]:
        here(slices, told)
        raise KilledError

    with pytest.raises(KilledError):
        compacted(config, run=dying)
    log = archive.log
    store = log.store
    delete = store.delete

    def late(keys: Iterable[str]) -> None:
        if not (ours := [*keys]):
            return
        monkeypatch.setattr(store, "delete", delete)
        never = EAGER.model_copy(update={"min_level": 7, "max_level": 7})
        assert compacted(config, never).orphans == len(ours)
        assert compacted(config, clean=False).written == 1
        delete(ours)

    with archive_lease(config, store, WORK, threading.Event()) as lease:
        pass  # it is silent for so long that others take it
    monkeypatch.setattr(store, "delete", late)
    tidying.tidy(config, log, lease, CompactionProgress())
    assert len(held_records(store, archive.log.state, partition())) == 100


# The command


@pytest.mark.spark
def test_the_command_compacts_on_spark(
    archive: MixedArchive, rng: random.Random, here: Here
) -> None:
    archive.fill(rng)
    before = contents(archive)
    archive.config(compaction=[{"min_age": "1h", "max_age": "2h"}])
    young = here.on_spark("archive", "compact", str(archive.file))
    assert young.code == 0, young.said
    assert "nothing to merge" in young.out
    one = here.on_spark(
        "archive", "compact", str(archive.file), "--now", "--partitions", "1", "--output", "json"
    )
    assert one.code == 0, one.said
    assert (one.json["segments_read"], one.json["segments_written"]) == (12, 1)
    rest = here.on_spark("archive", "compact", str(archive.file), "--now", "--topics", "ord.*")
    assert "24 segments became 2" in rest.out
    assert contents(archive) == before
    wrong = here("archive", "compact", str(archive.file), "--topics", "(")
    assert wrong.code == 2
    assert "--topics: '(' is not a regular expression" in wrong.err
