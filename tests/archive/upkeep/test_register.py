"""The files of an archive are read by other programs, and are tables of Iceberg as they are."""

from __future__ import annotations

import io
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.support.archive.archives import COMPACTOR, WRITER
from tests.support.archive.segments import TINY, buffer
from tests.support.archive.stored import REGION, StoredArchive, batches_of, old_records
from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.objects.buckets import Buckets
from tests.support.objects.stores import section
from tests.support.program import Program
from towpath.archive.errors import ArchiveHeldError
from towpath.archive.format.either_format import write_object
from towpath.archive.format.footer import SegmentHead
from towpath.archive.format.merging import merge, open_input
from towpath.archive.keys import shared_key
from towpath.archive.log import Draft, EntryKind, living_readers, sweep
from towpath.archive.model import PartitionId, Segment, SegmentPlace
from towpath.archive.show.registration import round_facts
from towpath.archive.upkeep.iceberg.register import Registration, keep_registered, register
from towpath.archive.upkeep.iceberg.tables import IcebergTables
from towpath.model.errors import StoreAwayError, StoreError
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.settings import check
from towpath.wire.plain import Record

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

pytestmark = pytest.mark.slow

NewName = Callable[[str], str]
UNSEEN = b"parquet-cpp"
"""Bytes of a footer that no reader looks at, as they look at no statistics that are wrong."""


@pytest.fixture
def stored(tmp_path: Path, new_name: NewName) -> StoredArchive:
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    name = new_name("shop")
    return StoredArchive(tmp_path, name, "127.0.0.1:1", {"iceberg": {"properties": properties}})


def catalog(stored: StoredArchive) -> Catalog:
    from pyiceberg.catalog import load_catalog

    uri = f"sqlite:///{stored.folder}/catalog.db"
    return load_catalog("towpath", type="sql", uri=uri)


def share(stored: StoredArchive, topic: str, parts: list[tuple[Record, ...]]) -> list[Segment]:
    """Archive several partitions of a topic in one object."""
    out = io.BytesIO()
    target = write_object(SegmentFormat.PARQUET, lambda: out, TINY)
    footers = []
    for partition, records in enumerate(parts):
        head = SegmentHead(
            cluster=partition_of(topic, 0).cluster,
            topic_id=TopicId(f"id-{topic}"),
            topic=TopicName(topic),
            partition=partition,
            start=SourceOffset(records[0].offset),
        )
        writer = target.segment(head, whole=True)
        for each in batches_of(records):
            writer.take(buffer(each), 0, len(each), ())
        footers.append(writer.close(SourceOffset(records[-1].offset + 1)))
    size = target.close()
    key = shared_key(REGION, TopicName(topic), 0)
    stored.store.put_new(key, out.getvalue())
    made = [
        footer.segment(
            SegmentFormat.PARQUET,
            SegmentPlace(
                key=key,
                size=size,
                first_row_group=footer.first_row_group,
                row_groups=len(footer.parts),
                crc=zlib.crc32(out.getvalue()),
            ),
        )
        for footer in footers
    ]
    stored.log.append(Draft(writer=WRITER, add=tuple(made)))
    return made


def partition_of(topic: str, partition: int) -> PartitionId:
    from tests.support.archive.archives import partition_id

    return partition_id(partition, topic)


def compact(stored: StoredArchive, inputs: list[Segment]) -> Segment:
    """Replace segments by one; their objects stay."""
    out = io.BytesIO()
    store = stored.store
    places = [each.place for each in inputs if each.place is not None]
    opened = [
        open_input(SegmentFormat.PARQUET, store.reader(place.key), place.key, place.first_row_group)
        for place in places
    ]
    footer, size = merge(opened, lambda: out, level=1, good_bytes=0)
    key = f"{REGION}/compacted-{inputs[0].topic}-{inputs[0].partition}.parquet"
    store.put_new(key, out.getvalue())
    place = SegmentPlace(key=key, size=size, row_groups=len(footer.parts))
    made = footer.segment(SegmentFormat.PARQUET, place)
    removed = tuple(each.id for each in inputs)
    draft = Draft(writer=COMPACTOR, kind=EntryKind.COMPACT, remove=removed, add=(made,))
    stored.log.append(draft)
    return made


def registered(here: Here, file: str, code: int = 0) -> dict[str, dict[str, Any]]:
    ended = here("archive", "register", file, "-o", "json")
    assert ended.code == code, ended.said
    return {each["topic"]: each for each in ended.json["tables"]}


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted((row["partition"], row["offset"], row["key"], row["value"]) for row in table)


@pytest.mark.spark
def test_others_read_the_files_and_a_catalog_has_each_record_once(
    stored: StoredArchive, here: Here
) -> None:
    records = [each for each in old_records(90, 5) if each.offset % 9 != 3]
    segments = stored.put("pay.eu", records, cuts=[20, 41])
    parts = [old_records(8), old_records(9, 100)]
    shared = share(stored, "orders", parts)
    stored.kind = SegmentFormat.BATCHES
    stored.put("raw", old_records(3))
    stored.kind = SegmentFormat.PARQUET
    file = str(stored.file())
    told = registered(here, file, 3)
    assert told["raw"]["skipped_records"] == 3
    assert (told["pay.eu"]["files"], told["orders"]["files"]) == (3, 1)
    wanted = [(0, each.offset, each.key, each.value) for each in records]
    files = [str(stored.path(each)) for each in segments]

    # The same files, read by everyone.
    assert rows(pq.read_table(files).to_pylist()) == wanted
    with duckdb.connect() as base:
        read = base.read_parquet(files).project("partition, \"offset\", key, value")  # fmt: skip
        assert sorted(read.fetchall()) == wanted
    assert rows(spark_rows(files)) == wanted
    tables = catalog(stored)
    table = tables.load_table(("kafka", "pay.eu"))
    assert rows(table.scan().to_arrow().to_pylist()) == wanted
    assert {task.file.file_path for task in table.scan().plan_files()} == {
        f"file://{path}" for path in files
    }
    few = table.scan(row_filter="offset >= 41 and offset < 50").to_arrow()
    assert len(few) == sum(41 <= each.offset < 50 for each in records)

    # Nothing to do; then one of two partitions that share an object is compacted.
    again = registered(here, file, 3)["orders"]
    assert (again["changes"], again["copies"]) == ({"added": 0, "removed": 0}, 0)
    more = stored.put("orders", old_records(5, 8))
    compact(stored, [shared[0], *more])
    compact(stored, segments)
    told = registered(here, file, 3)
    assert (told["orders"]["files"], told["orders"]["copies"]) == (2, 1)
    assert told["pay.eu"]["changes"] == {"added": 1, "removed": 3}
    for topic, expected in (
        ("pay.eu", wanted),
        (
            "orders",
            [
                (number, each.offset, each.key, each.value)
                for number, part in enumerate([(*parts[0], *old_records(5, 8)), parts[1]])
                for each in part
            ],
        ),
    ):
        table = tables.load_table(("kafka", topic))
        assert rows(table.scan().to_arrow().to_pylist()) == [
            (number, offset, key, value) for number, offset, key, value in expected
        ]
    assert registered(here, file, 3)["orders"]["changes"] == {"added": 0, "removed": 0}


def spark_rows(files: list[str]) -> list[dict[str, Any]]:
    from towpath.engine.session import session

    spark = session("local[2]", "towpath tests", credentials=False)
    found: list[dict[str, Any]] = spark.read.parquet(*files).toArrow().to_pylist()
    return found


@pytest.mark.soak
@pytest.mark.spark
def test_a_bucket_is_asked_and_registered_with_the_login_of_the_store(
    stored: StoredArchive, here: Here, buckets: Buckets, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = buckets.new()
    assert bucket.keys is not None
    monkeypatch.setenv("ARCHIVE_SECRET", bucket.keys.secret_access_key.reveal())
    keys = {
        "access_key_id": bucket.keys.access_key_id,
        "secret_access_key": "env:ARCHIVE_SECRET",
    }
    place = {"url": bucket.url, "endpoint": bucket.endpoint, "region": bucket.region, "keys": keys}
    stored.more = {**stored.more, "store": place}
    records = old_records(40)
    stored.put("orders", records, cuts=[20])
    parts = [old_records(8), old_records(9, 100)]
    first, _ = share(stored, "users", parts)
    compact(stored, [first, *stored.put("users", old_records(5, 8))])
    file = str(stored.file())
    asked = here.on_spark(
        "archive", "query", file, "select topic, count(*) from records group by 1", "-o", "csv"
    )
    assert sorted(asked.out.splitlines()[1:]) == ['"orders",40', '"users",22'], asked.said
    told = registered(here, file)
    assert (told["users"]["files"], told["users"]["copies"]) == (2, 1)
    config = stored.config()
    assert config.iceberg is not None
    tables = IcebergTables(config.iceberg, config.store, "")._catalog
    for topic, count in (("orders", 40), ("users", 22)):
        table = tables.load_table(("kafka", topic))
        assert len(table.scan().to_arrow()) == count
        assert all(task.file.file_path.startswith("s3://") for task in table.scan().plan_files())


def test_what_cannot_be_registered_is_told_and_stops_no_other(
    stored: StoredArchive, here: Here
) -> None:
    stored.put("orders", old_records(4), number="one")
    stored.put("users", old_records(4))
    file = str(stored.file())
    registered(here, file)
    stored.put("orders", old_records(6), number="two")
    stored.put("users", old_records(4, 4))
    told = registered(here, file, 3)
    assert "of topic id one" in told["orders"]["why"]
    assert told["users"]["changes"]["added"] == 1
    stored.more = {"iceberg": {"properties": {"type": "rest", "uri": "http://127.0.0.1:1"}}}
    away = here("archive", "register", str(stored.file()))
    assert away.code == 4, away.said
    assert "opening the catalog towpath" in away.err
    assert "Traceback" not in away.err
    stored.more = {}
    without = here("archive", "register", str(stored.file()))
    assert without.code == 2, without.said
    assert "iceberg: is missing" in without.err


def flip(stored: StoredArchive, segment: Segment, at: int) -> None:
    """Change a bit of the object of a segment."""
    assert segment.place is not None
    whole = bytearray(stored.store.get(segment.place.key))
    whole[at] ^= 1
    stored.store.put(segment.place.key, bytes(whole))


def test_no_table_gets_a_file_whose_bytes_have_changed(stored: StoredArchive, here: Here) -> None:
    """A changed statistic would hide records from each query, and from each later copy."""
    (orders,) = stored.put("orders", old_records(40))
    (users,) = stored.put("users", old_records(40))
    file = str(stored.file())
    assert orders.place is not None
    whole = stored.store.get(orders.place.key)
    flip(stored, orders, whole.index(UNSEEN))
    told = registered(here, file, 3)
    assert "is damaged: its bytes have the CRC-32" in told["orders"]["why"]
    assert (told["orders"]["files"], told["users"]["files"]) == (0, 1)
    stored.store.put(orders.place.key, whole)
    assert registered(here, file)["orders"]["files"] == 1
    flip(stored, users, 40)  # it is in the table already, and not looked at again
    assert registered(here, file)["users"]["why"] == ""


@pytest.mark.parametrize("of_one", [True, False])
def test_no_copy_is_made_of_an_object_whose_bytes_have_changed(
    stored: StoredArchive, here: Here, of_one: bool
) -> None:
    if of_one:  # another history has the end of it
        (damaged,) = stored.put("orders", old_records(40))
        number = stored.fork("orders", 30)
        stored.put("orders", old_records(10, 30), number=number, start=30, end=40)
    else:
        damaged, other = share(stored, "orders", [old_records(8), old_records(9, 100)])
        compact(stored, [other])
    assert damaged.place is not None
    whole = stored.store.get(damaged.place.key)
    flip(stored, damaged, whole.index(UNSEEN))
    file = str(stored.file())
    told = registered(here, file, 3)["orders"]
    assert "is damaged" in told["why"]
    stored.store.put(damaged.place.key, whole)
    assert registered(here, file)["orders"]["why"] == ""


def test_tables_follow_an_archive_that_grows_until_stopped(stored: StoredArchive) -> None:
    stored.put("orders", old_records(4))
    config, stop = stored.config(), threading.Event()
    told: list[Registration | StoreError] = []
    ended: list[Registration] = []

    def work() -> None:
        ended.append(keep_registered(config, 0.1, stop, told.append))

    def records() -> int:
        last = told[-1] if told else None
        return sum(each.records for each in last.tables) if isinstance(last, Registration) else -1

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        wait_until(lambda: records() == 4, "the first round")
        with pytest.raises(ArchiveHeldError):
            register(config)
        stored.put("orders", old_records(6, 4))
        stored.put("users", old_records(5))
        wait_until(lambda: records() == 15, "what came later is registered")
    finally:
        stop.set()
        thread.join(30)
    assert ended[0].complete
    assert len(catalog(stored).load_table(("kafka", "users")).scan().to_arrow()) == 5
    facts, is_trouble = round_facts(ended[0])
    assert (facts["version"], facts["tables"]) == (stored.log.state.version, 2)
    assert (facts["failed"], facts["why"], is_trouble) == (0, "", False)


def test_files_that_tables_name_stay_until_tables_are_made_anew(stored: StoredArchive) -> None:
    records = old_records(9)
    segments = stored.put("orders", records, cuts=[3, 6])
    config, stop = stored.config(), threading.Event()
    told: list[Registration | StoreError] = []
    again = threading.Event()

    def show(done: Registration | StoreError) -> None:
        told.append(done)
        again.wait(30)  # the round is over: the tables are what they are until the next one
        again.clear()

    thread = threading.Thread(target=keep_registered, args=(config, 0.1, stop, show), daemon=True)
    thread.start()
    try:
        wait_until(lambda: len(told) == 1, "the first round")
        compact(stored, segments)
        assert sweep(stored.log, COMPACTOR, 0) == ()
        table = catalog(stored).load_table(("kafka", "orders"))
        assert len(table.scan().to_arrow()) == len(records)
        again.set()
        wait_until(lambda: len(told) == 2, "the second round")
        assert len(sweep(stored.log, COMPACTOR, 0)) == len(segments)
        table = catalog(stored).load_table(("kafka", "orders"))
        assert len(table.scan().to_arrow()) == len(records)
    finally:
        stop.set()
        again.set()
        thread.join(30)
    assert living_readers(stored.store, REGION) == []


@pytest.mark.soak
def test_a_store_that_is_away_holds_up_no_end(
    stored: StoredArchive, own_buckets: Buckets, tmp_path: Path
) -> None:
    stored.more = {**stored.more, "store": section(own_buckets.new(), tmp_path)}
    for topic in ("orders", "users"):
        stored.put(topic, old_records(4))
    program = Program(tmp_path, "archive", "register", str(stored.file()), "--every", "1s")
    try:
        wait_until(lambda: "register.round" in program.said or not program.running, "it does", 90)
        assert program.running, program.said
        own_buckets.stop()
        wait_until(lambda: "STORE_AWAY" in program.said, "it tells that the store is away", 90)
        begun = time.monotonic()
        assert program.stop() == 0, program.said
        assert time.monotonic() - begun < 60
    finally:
        program.close()
    assert "Traceback" not in program.said
    assert "2 of 2 tables" in program.said


def test_a_round_that_fails_is_told_with_the_code_of_the_store() -> None:
    error = StoreAwayError("read an entry", "s3://bucket", "no answer")
    assert round_facts(error) == ({"why": str(error), "code": "STORE_AWAY"}, True)


@pytest.mark.parametrize("pause", ["0s", "soon", "5"])
def test_a_pause_that_is_none_is_refused(stored: StoredArchive, here: Here, pause: str) -> None:
    ended = here("archive", "register", str(stored.file()), "--every", pause)
    assert ended.code == 2, ended.said
    assert "--every: " in ended.err


@pytest.mark.parametrize(
    ("iceberg", "path"),
    [
        ({"properties": {"s3.secret-access-key": "x"}}, "iceberg.properties"),
        ({"properties": {"uri": "postgresql://a:b@c/d"}}, "iceberg.properties"),
        ({"table": "one"}, "iceberg.table"),
    ],
)
def test_secrets_and_names_that_would_meet_are_refused(
    stored: StoredArchive, iceberg: dict[str, Any], path: str
) -> None:
    stored.more = {"iceberg": iceberg}
    assert [each.path for each in check(stored.file())] == [path]
