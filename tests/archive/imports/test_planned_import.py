"""Buckets of kafka-replicator become archives of ours, each record once."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.replicator import ReplicatorBucket
from tests.support.archive.segments import seen
from tests.support.archive.stored import REGION, StoredArchive, old_records
from tests.support.here import Here
from tests.support.logs.batches import numbered
from towpath.archive.config.segments import SegmentsConfig
from towpath.archive.format.either_format import read_object
from towpath.archive.imports.bucket_layout import ReplicatorObject, pieces_of
from towpath.archive.imports.import_slice import imported
from towpath.archive.imports.import_work import ImportSlice
from towpath.archive.imports.replicator_rows import Emptiness, EmptyRules
from towpath.archive.model import PartitionId, Segment
from towpath.model.nouns import ClusterId, SegmentFormat, TopicId, TopicName
from towpath.settings import StoreConfig
from towpath.store import Store
from towpath.wire.plain import Record

NewName = Callable[[str], str]


@pytest.fixture
def bucket(tmp_path: Path) -> ReplicatorBucket:
    return ReplicatorBucket(tmp_path / "theirs")


def read(store: Store, segments: Sequence[Segment]) -> list[Record]:
    found: list[Record] = []
    for each in segments:
        assert each.problem is None
        if each.place is None:
            continue
        file = read_object(each.format, store.reader(each.place.key), each.place.key)
        footer = file.segment(each.place.first_row_group)
        assert footer.segment(SegmentFormat.PARQUET, each.place) == each
        assert each.place.crc == zlib.crc32(store.get(each.place.key))
        found += [one.record for one in seen(file.rows(footer))]
        file.close()
    return found


def as_stored(record: Record) -> Record:
    """Return a record as it comes back, if empty keys and values were null."""
    headers = tuple((name, value or b"") for name, value in record.headers)
    return replace(record, key=record.key or None, value=record.value or None, headers=headers)


@pytest.mark.spark
def test_a_bucket_is_imported_once_and_continued_later(
    tmp_path: Path, bucket: ReplicatorBucket, new_name: NewName, here: Here
) -> None:
    stored = StoredArchive(tmp_path, new_name("shop"), "127.0.0.1:1")
    stored.more = {"topics": {"include": ["orders", "users"]}}
    records = old_records(100, 7)
    bucket.put("orders", records[:30])
    bucket.put("orders", records[20:50])  # a writer died behind an upload
    bucket.put("orders", records[51:80])  # a marker between
    bucket.put("orders", records[90:])  # and a hole
    bucket.put("orders", records[:50], level=1)  # compacted, its inputs not deleted
    odd = numbered([Record(None, None, ((b"a", None), (b"a", b"")), -1), Record(b"", b"", (), 5)])
    bucket.put("users", odd, partition=3)
    bucket.put("secret", odd)
    (bucket.folder / "us-east-1" / "temp-upload").write_bytes(b"x")
    file = str(stored.file())
    asked = ("import", "kafka-replicator", file, "--from", f"file:{bucket.folder}", "-o", "json")
    done = here.on_spark(*asked)
    assert done.code == 3, done.said
    orders, users = done.json["partitions"]
    assert (orders["holes"], orders["lost"]) == ([[57, 58], [87, 97]], 10)
    assert (orders["overlapping"], orders["records"], users["records"]) == (60, 89, 2)
    assert done.json["passed_over"] == 1
    doubts = done.json["doubts"]
    assert (doubts["empty_keys"], doubts["empty_values"], doubts["no_time"]) == (2, 10, 1)
    assert doubts["empty_header_values"] == 18 + 2
    partition = PartitionId(ClusterId("kafka-replicator:us-east-1"), TopicId("name:orders"), 0)
    state = stored.log.state
    segments = state.segments(partition)
    kept = [*records[:50], *records[51:80], *records[90:]]
    assert read(stored.store, segments) == [as_stored(each) for each in kept]
    gaps = [each.gaps for each in segments]
    assert (sum(each.marker for each in gaps), sum(each.lost for each in gaps)) == (1, 10)

    nowhere = here.on_spark(*asked[:-2], "--from-region", "nope")
    assert nowhere.code == 2, nowhere.said
    assert "has no segments of kafka-replicator of region nope" in nowhere.err

    # Later there is more; what is there is not read again.
    more = old_records(5, 107)
    bucket.put("orders", more)
    again = here.on_spark(*asked[:-2])
    assert again.code == 3, again.said
    assert "5 records of 2 partitions imported" in again.out
    assert "10 offsets, which count as lost: 87 to 96" in again.out
    assert "a fault" not in again.said
    found = read(stored.store, stored.log.state.segments(partition))
    assert found == [as_stored(each) for each in (*kept, *more)]
    asks = here.on_spark("archive", "query", file, "select count(*) from users", "-o", "csv")
    assert asks.out.splitlines()[1] == "2"


@pytest.mark.parametrize("seed", range(3))
def test_whatever_overlaps_each_offset_comes_from_one_object(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        known: set[int] = set()
        objects = []
        for number in range(rng.randrange(1, 9)):
            first = rng.randrange(40)
            last = first + rng.randrange(12)
            known |= {*range(first, last + 1)}
            key = f"r/t/0/{rng.randrange(3)}/{first:020d}-{last:020d}"
            made = ReplicatorObject.of(key, 1)
            assert made is not None
            objects.append(replace(made, key=f"{key}{number}"))
        made_of = pieces_of(objects)
        at = min(known)
        for each in made_of.pieces:
            assert each.start == at < each.end
            at = each.end
            offsets = {*range(each.start, each.end)}
            if each.source is None:
                assert not offsets & known
            else:
                assert each.source.first <= each.start
                assert each.end <= each.source.end
        assert at == max(known) + 1


@pytest.mark.parametrize(
    "key",
    ["a/b/c/0/0/1-2", "r/t/x/0/" + "-".join(["0" * 20] * 2), "r/t/0/0/" + "9" * 20 + "-" + "9" * 20,
     f"r/t/0/0/{5:020d}-{4:020d}", f"r/t/0/0/{5:020d}-{6:020d}.parquet"],
)  # fmt: skip
def test_other_keys_are_no_segments(key: str) -> None:
    assert ReplicatorObject.of(key, 1) is None


def work(tmp_path: Path, bucket: ReplicatorBucket, **more: Any) -> ImportSlice:
    theirs = StoreConfig(url=bucket.folder.as_uri())
    with Store(theirs) as store:
        found = [ReplicatorObject.of(each.key, each.size) for each in store.list()]
    return ImportSlice(
        theirs=theirs,
        store=StoreConfig(url=(tmp_path / "ours").as_uri()),
        region=REGION,
        id=PartitionId(ClusterId("c"), TopicId("t"), 0),
        topic=TopicName("orders"),
        pieces=pieces_of(each for each in found if each is not None).pieces,
        rules=more.pop("rules", EmptyRules()),
        limits=SegmentsConfig(**more).of("orders"),
    )


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"topic": "other"}, "its topic is other instead of orders"),
        ({"messageCount": "4"}, "its messageCount is 4 instead of 10"),
        ({"endOffset": "77"}, "its endOffset is 77 instead of 19"),
    ],
)
def test_an_object_that_is_not_what_its_key_says_stops_its_partition(
    tmp_path: Path, bucket: ReplicatorBucket, told: dict[str, str], why: str
) -> None:
    bucket.put("orders", old_records(10))
    bucket.put("orders", old_records(10, 10), told=told)
    done = imported(work(tmp_path, bucket))
    assert why in done.why
    assert done.end == 10


def test_segments_are_cut_and_empty_stays_empty_where_that_is_asked_for(
    tmp_path: Path, bucket: ReplicatorBucket
) -> None:
    records = numbered([Record(b"", b"", (), 5 + n) for n in range(30)])
    path = bucket.put("orders", records)
    rules = EmptyRules(Emptiness.EMPTY, Emptiness.EMPTY)
    todo = work(tmp_path, bucket, max_messages=2, rules=rules)
    done = imported(todo)
    assert not done.why
    assert read(Store(todo.store), done.segments) == list(records)
    path.write_bytes(path.read_bytes()[:-100])
    assert "orders/0/0" in imported(todo).why
