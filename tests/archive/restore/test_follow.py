"""`towpath restore run --follow`: regions are restored as they grow, through the store alone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.archive.copied import Copied, CopiedToBucket
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from tests.support.kafka import PATIENCE, consume, topic_config, wait_until
from tests.support.objects import queues
from tests.support.objects.buckets import Buckets
from tests.support.objects.queues import LocalQueues, notification
from tests.support.objects.stores import section
from tests.support.program import Program
from towpath.dev.broker import LocalCluster
from towpath.settings import StoreConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
FOLLOW = {"look": "200ms", "silence": "3s"}
LATE = {"looks": 12, "timeout": "2m"}


class Follow:
    """A restore that follows copies of the archives of two regions."""

    def __init__(self, folder: Path, name: str, target: LocalCluster) -> None:
        (folder / "far").mkdir()
        self.folder, self.target = folder, target
        there = target.bootstrap
        self.eu = StoredArchive(folder / "far", name, there)
        self.us = StoredArchive(folder / "far", name, there, region="us")
        self.near = StoredArchive(folder, name, there)
        self.store = folder / f"{name}-store"
        self.copied = Copied(folder / "far" / f"{name}-store", self.store)
        self._runs: list[Program] = []

    def stop(self) -> None:
        """End what a test left behind."""
        for each in self._runs:
            if each.running:
                each.stop()

    def copy_to(self, bucket: StoreConfig, folder: Path) -> None:
        """Copy to a bucket, which keeps its objects in a folder."""
        there = self.folder / "far" / f"{self.near.name}-store"
        self.copied = CopiedToBucket(there, folder, bucket)
        self.near.more = {"store": section(bucket, self.folder)}

    def file(self, **restore: Any) -> str:
        """Write the file of the restore."""
        (self.folder / "far" / f"{self.near.name}-store").mkdir(exist_ok=True)
        sources = [{"region": "eu"}, {"region": "us"}]
        told = {"sources": sources, "follow": FOLLOW, "late": LATE, "receipts": "100ms"}
        return str(self.near.file(**told | restore))

    def start(self, file: str) -> Program:
        words = ("restore", "run", file, "--follow", "--output", "json")
        secret = {queues.VARIABLE: queues.SECRET}
        run = Program(self.folder, *words, env=secret, name=f"restore-{len(self._runs)}")
        self._runs.append(run)
        return run

    def wait(self, run: Program, topic: str, count: int, partition: int = 0) -> None:
        """Wait until a partition of the target has so many records."""

        def has() -> bool:
            assert run.running, run.said
            return len(self.keys(topic, partition)) >= count

        try:
            wait_until(has, f"{topic}-{partition} has {count} records", 60)
        except AssertionError as error:
            raise AssertionError(f"{error}: {run.said}") from None

    def keys(self, topic: str, partition: int = 0) -> list[tuple[int, bytes | None]]:
        try:
            found = consume(self.target.bootstrap, topic, [partition])
        except Exception:  # noqa: BLE001  # the topic is not there yet
            return []
        return [(each.offset, each.key) for each in found]


@pytest.fixture
def follow(tmp_path: Path, target: LocalCluster, new_name: NewName) -> Iterator[Follow]:
    made = Follow(tmp_path, new_name("shop"), target)
    yield made
    made.stop()


def partitions_of(bootstrap: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return len(admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions)


def offsets(first: int, end: int) -> list[tuple[int, bytes]]:
    return [(n, b"key %d" % n) for n in range(first, end)]


def test_regions_are_followed_while_they_grow(
    follow: Follow, new_name: NewName, here: Here
) -> None:
    """A region that is not there yet, and late objects, hold up nothing else."""
    orders, users, own = new_name("orders"), new_name("users"), {"retention.ms": "-1"}
    follow.eu.describe(orders, own)
    follow.eu.put(orders, old_records(10))
    follow.copied.copy()
    file = follow.file()
    run = follow.start(file)
    follow.wait(run, orders, 10)
    follow.us.put(users, old_records(5))  # a region that is new, and the objects come first
    follow.copied.copy(*follow.copied.objects())
    follow.eu.put(orders, old_records(10, 10))  # here the entries come first
    late = follow.copied.objects()
    assert late
    follow.copied.copy(*follow.copied.entries())
    follow.wait(run, users, 5)
    status = here("restore", "status", file, "--follow", "--output", "json")
    eu, us = status.json["sources"]
    assert (eu["source"], us["source"]) == ("eu", "us")
    assert [row["state"] for row in us["partitions"]] == ["restored"]
    follow.copied.copy()
    follow.wait(run, orders, 20)
    follow.eu.describe(orders, own | {"segment.ms": "7200000"}, partitions=3)
    follow.eu.put(orders, old_records(4), partition=2)
    follow.copied.copy()
    follow.wait(run, orders, 4, partition=2)
    assert topic_config(follow.target.bootstrap, orders, "segment.ms") == "7200000"
    follow.eu.describe(orders, own, partitions=4)  # which have no records so far
    follow.copied.copy()
    bootstrap = follow.target.bootstrap
    wait_until(lambda: partitions_of(bootstrap, orders) == 4, "it has 4 partitions", 60)
    wait_until(lambda: topic_config(bootstrap, orders, "segment.ms") != "7200000", "its config", 60)
    code = run.end_group(signal.SIGTERM)  # as `timeout` and some supervisors do
    assert follow.keys(orders) == offsets(0, 20)
    assert follow.keys(users) == offsets(0, 5)
    assert code in {0, 3}, run.said  # 3: the regions may have been silent for too long
    assert {each["region"] for each in run.json["sources"]} == {"eu", "us"}
    assert not run.json["trouble"]
    assert not run.json["left_out"]
    assert {(row["source"], row["mode"]) for row in run.json["partitions"]} == {
        ("eu", "identical"),
        ("us", "identical"),
    }


@pytest.mark.soak
def test_a_topic_that_was_made_again_follows_the_rest_of_the_old_one(
    follow: Follow, new_name: NewName
) -> None:
    orders = new_name("orders")
    follow.eu.put(orders, old_records(10), number="first")
    follow.copied.copy()
    run = follow.start(follow.file())
    follow.wait(run, orders, 10)
    follow.eu.put(orders, old_records(5, 10), number="first")
    follow.eu.put(orders, old_records(6), number="second")
    rest = follow.copied.objects()
    follow.copied.copy(*follow.copied.entries())
    follow.copied.copy(*(key for key in rest if "second" in key))
    wait_until(lambda: "ARCHIVE_LATE" in run.said or "waits for a part" in run.said, "late", 60)
    assert len(follow.keys(orders)) == 10
    follow.copied.copy()
    follow.wait(run, orders, 21)
    assert [key for _, key in follow.keys(orders)] == [
        *(b"key %d" % n for n in range(15)),
        *(b"key %d" % n for n in range(6)),
    ]
    run.stop()


@pytest.mark.soak
def test_silence_and_an_entry_that_is_missing_are_told(
    follow: Follow, new_name: NewName, here: Here
) -> None:
    orders = new_name("orders")
    follow.eu.put(orders, old_records(3))
    follow.copied.copy()
    file = follow.file(sources=[{"region": "eu"}])
    run = follow.start(file)
    follow.wait(run, orders, 3)
    wait_until(lambda: "not even a sign of life" in run.said, "the region is silent")
    status = here("restore", "status", file, "--follow", "--output", "json")
    assert status.code == 3
    assert status.json["archive"]["state"] == "silent"
    assert status.json["archive"]["codes"] == ["ARCHIVE_SILENT"]
    follow.eu.put(orders, old_records(3, 3))
    first = follow.copied.entries()
    follow.eu.put(orders, old_records(3, 6))
    follow.copied.copy(*(key for key in follow.copied.left() if key not in first))
    wait_until(lambda: "entry 2 of the commit log is missing" in run.said, "it is missing")
    assert len(follow.keys(orders)) == 3
    follow.copied.copy()
    follow.wait(run, orders, 9)
    status = here("restore", "status", file, "--follow", "--output", "json")
    assert status.code == 0, status.said
    assert status.json["archive"]["state"] == "followed"
    assert run.stop() in {0, 3}
    assert follow.keys(orders) == offsets(0, 9)


@pytest.mark.soak
def test_one_region_that_is_broken_stops_no_other(follow: Follow, new_name: NewName) -> None:
    """A lost object stops its partition, a broken log its region; the rest goes on."""
    orders, users = new_name("orders"), new_name("users")
    follow.eu.put(orders, old_records(4))
    follow.eu.put(orders, old_records(4), partition=1)
    follow.us.put(users, old_records(4))
    follow.copied.copy()
    file = follow.file(late={"looks": 3, "timeout": "1s"})
    run = follow.start(file)
    follow.wait(run, orders, 4)
    follow.wait(run, users, 4)
    follow.eu.put(orders, old_records(4, 4))
    follow.copied.copy(*follow.copied.entries())
    wait_until(lambda: "cannot be restored" in run.said, "the part is lost", 60)
    follow.eu.put(orders, old_records(4, 4), partition=1)
    follow.copied.copy(*(key for key in follow.copied.left() if f"{orders}/0/" not in key))
    follow.wait(run, orders, 8, partition=1)
    follow.us.put(users, old_records(4, 4))
    broken = follow.copied.entries()[-1]
    follow.copied.copy()
    (follow.store / broken).write_bytes(b"nothing")
    follow.us.put(users, old_records(4, 8))
    follow.copied.copy()
    wait_until(lambda: "us/_log" in run.said, "the log of a region is broken")
    follow.eu.put(orders, old_records(4, 8), partition=1)
    follow.copied.copy()
    follow.wait(run, orders, 12, partition=1)
    assert run.stop() == 3
    told = {(row["source"], row["partition"]): row for row in run.json["partitions"]}
    assert told["eu", 0]["codes"][0] == "ARCHIVE_LOST"
    assert {each["region"]: each["state"] for each in run.json["sources"]}["us"] == "broken"


@pytest.mark.soak
def test_a_topic_that_has_caught_up_is_cleaned_again(follow: Follow, new_name: NewName) -> None:
    orders, own = new_name("orders"), {"cleanup.policy": "compact", "retention.ms": "99999999999"}
    follow.eu.describe(orders, own)
    follow.eu.put(orders, old_records(10))
    follow.copied.copy()
    run = follow.start(follow.file(sources=[{"region": "eu"}]))
    follow.wait(run, orders, 10)
    bootstrap = follow.target.bootstrap
    wait_until(
        lambda: topic_config(bootstrap, orders, "cleanup.policy") == "compact",
        "it is compacted",
    )
    assert topic_config(bootstrap, orders, "message.timestamp.before.max.ms") == str((1 << 63) - 1)
    follow.eu.put(orders, old_records(10, 10))
    follow.copied.copy()
    wait_until(lambda: [n for n, _ in follow.keys(orders)[-1:]] == [19], "more")
    assert topic_config(bootstrap, orders, "cleanup.policy") == "compact"
    run.stop()


@pytest.mark.soak
def test_the_first_segment_may_have_to_wait(follow: Follow, new_name: NewName) -> None:
    orders = new_name("orders")
    follow.eu.put(orders, old_records(3))
    follow.copied.copy()
    created = follow.eu.log.state.time
    run = follow.start(follow.file(sources=[{"region": "eu", "first_delay": "20s"}]))
    follow.wait(run, orders, 3)
    [row] = consume(follow.target.bootstrap, orders, [0])[:1]
    assert row.offset == 0
    from towpath.runtime.clock import now_ms

    assert now_ms() - created >= 20_000
    run.stop()


@pytest.mark.soak
def test_a_notification_wakes_a_restore_that_looks_seldom(
    follow: Follow, new_name: NewName, buckets: Buckets
) -> None:
    jars = queues.fetch()
    if jars is None:
        pytest.skip("ElasticMQ needs Maven")
    server = LocalQueues(jars, follow.folder / "queues")
    try:
        orders, name = new_name("orders"), follow.near.name
        server.new(name)
        bucket = buckets.new("data")
        follow.copy_to(bucket, buckets.folder_of(bucket))
        follow.eu.put(orders, old_records(3))
        follow.copied.copy()
        file = follow.file(
            sources=[{"region": "eu"}],
            follow={"look": "10m", "silence": "1h"},
            notify=server.told(name),
        )
        run = follow.start(file)
        follow.wait(run, orders, 3)
        follow.eu.put(orders, old_records(3, 3))
        [entry] = follow.copied.entries()
        late = follow.copied.objects()
        follow.copied.copy(entry)
        server.send(name, notification(bucket.bucket, f"data/{entry}"))
        wait_until(lambda: "waits for a part" in run.said, "the part is late", 60)
        follow.copied.copy()
        server.send(name, notification(bucket.bucket, f"data/{late[0]}"))
        follow.wait(run, orders, 6)
        wait_until(lambda: server.left(name) == 0, "the messages were deleted")
        run.stop()
        assert run.json["notifications"]["objects"] == 2
    finally:
        server.stop()
