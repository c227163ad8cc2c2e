"""Archives of topics that a restore writes to: its records are not archived again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.archive.stored import StoredArchive, old_records
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from towpath.archive.config import RestoredRecords
from towpath.archive.log import CommitLog
from towpath.archive.model import GapCounts
from towpath.archive.read.feed.restore_work import archived as archived_cluster
from towpath.archive.write.restored_records import RestoredHere
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import LinkIdentity, Opened
from towpath.model.errors import ConfigError
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
)
from towpath.settings import ClusterConfig, StoreConfig
from towpath.store import Store

NewName = Callable[[str], str]


def archive_file(folder: Path, name: str, cluster: LocalCluster, **more: object) -> Path:
    path = folder / f"{name}.back.yaml"
    told = {
        "kind": "archive",
        "archive": f"{name}-back",
        "source": {"bootstrap": cluster.bootstrap},
        "store": {"url": f"file:{folder / name}-back"},
        "region": "us",
        "topics": {"include": [f"{name}.*"]},
        **more,
    }
    path.write_text(json.dumps(told))
    return path


def archived(folder: Path, name: str, topic: str) -> tuple[int, GapCounts, int]:
    """Return the records and gaps that the archive has of a topic, and where it ends."""
    store = Store(StoreConfig.model_validate({"url": (folder / f"{name}-back").as_uri()}))
    state = CommitLog.open(store, "us").state
    [(partition, known)] = [item for item in state.partitions.items() if item[1].topic == topic]
    found = state.segments(partition)
    gaps = GapCounts()
    for each in found:
        gaps = gaps.then(each.gaps)
    return sum(each.records for each in found), gaps, known.archived_to


def delete_topic(bootstrap: str, topic: str) -> None:
    door = AdminClient({"bootstrap.servers": bootstrap})
    door.delete_topics([topic])[topic].result(10)
    wait_until(lambda: topic not in door.list_topics(timeout=10).topics, f"{topic} is gone")


def opened(origin: str, to: str, producer: int) -> Opened:
    return Opened(
        link=LinkName("restore.shop"),
        topic=TopicName("orders"),
        partition=0,
        source_topic_id=TopicId(origin),
        target_topic=TopicName("orders"),
        target_topic_id=TopicId(to),
        producer_id=ProducerId(producer),
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=SourceOffset(0),
        target_start=TargetOffset(0),
        run_id="r",
        at=5,
    )


@pytest.mark.parametrize("origin", ["lost", "lost~1", "elsewhere"])
def test_only_what_another_archive_has_is_left_out(origin: str) -> None:
    """What a restore of this archive wrote is part of the topic as it is now."""
    where = ClusterConfig.model_validate({"bootstrap": "127.0.0.1:1"})
    own = frozenset({TopicId("lost")})
    with Admin(where, Side.SOURCE) as source:
        here = RestoredHere(source, where, None, own.__contains__)
        here.take(LinkIdentity(LinkName("restore.shop"), archived_cluster("eu"), ClusterId("b")))
        here.take(opened(origin, "now", 7))
        now = TopicId("now")
        if origin != "elsewhere":
            here.require_decided([now])
            assert here.ids([now]) == {}
            assert here.told([now]) == ()
            return
        with pytest.raises(ConfigError, match="a restore of this archive then lacks the rest"):
            here.require_decided([now])
        assert ProducerId(7) in here.ids([now])[now]
        assert here.ids([TopicId("other")]) == {}
        (told,) = here.told([now])
        assert told.endswith("are left out; a restore of this archive lacks them")


def test_what_is_left_out_of_many_topics_is_found_in_one_pass() -> None:
    where, asked = ClusterConfig.model_validate({"bootstrap": "127.0.0.1:1"}), list[TopicId]()
    topics = [TopicId(f"now{n}") for n in range(300)]

    def own(topic: TopicId) -> bool:
        asked.append(topic)
        return False

    with Admin(where, Side.SOURCE) as source:
        here = RestoredHere(source, where, RestoredRecords.LEAVE_OUT, own)
        here.take(LinkIdentity(LinkName("restore.shop"), archived_cluster("eu"), ClusterId("b")))
        for number, topic in enumerate(topics):
            here.take(opened(f"old{number}", topic, 100 * number))
        found = here.ids(frozenset(topics[:200]))
    assert [*found] == topics[:200]
    assert ProducerId(100 * 7) in found[topics[7]]
    assert len(asked) == len(topics)


@pytest.mark.broker
@pytest.mark.spark
def test_a_topic_that_is_lost_twice_comes_back_whole(
    tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("twice")
    orders = f"{name}.orders"

    def file(number: int) -> str:
        restore = {"name": f"{name}.{number}", "topics": {"include": [orders]}}
        at = {"bootstrap": target.bootstrap}
        return str(archive_file(tmp_path, name, target, restored="leave_out", target=at,
                                restore=restore))  # fmt: skip

    def archive(number: int) -> None:
        ended = here.on_spark("archive", "run", file(number), "--until-caught-up")
        assert ended.code == 0, ended.said

    create_topic(target.bootstrap, orders, config={"retention.ms": "-1"})
    produce(target.bootstrap, orders, [Record(b"k%d" % n, b"old") for n in range(50)])
    archive(1)
    delete_topic(target.bootstrap, orders)
    ended = here.on_spark("restore", "run", file(1), "--verify")
    assert ended.code == 0, ended.said
    produce(target.bootstrap, orders, [Record(b"new", b"new")])
    archive(1)
    told = here("archive", "status", file(1), "--topics", orders, "--output", "json")
    assert told.json["safe_to_delete"]["why"] == []
    delete_topic(target.bootstrap, orders)
    ended = here.on_spark("restore", "run", file(2), "--verify", "--output", "json")
    assert ended.code == 0, ended.said
    assert (ended.json["records"], ended.json["filtered"]) == (51, 0)
    assert [each.value for each in consume(target.bootstrap, orders)] == [b"old"] * 50 + [b"new"]
    lives = here("archive", "lives", file(1), "--output", "json").json["lives"]
    assert [(each["records"], each["latest"]) for each in lives] == [(50, False), (51, True)]


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("form", ["parquet", "batches"])
def test_what_a_restore_wrote_is_left_out_and_told(
    tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here, form: str
) -> None:
    name = new_name("circle")
    orders, own = f"{name}.orders", f"{name}.own"
    stored = StoredArchive(tmp_path, name, target.bootstrap)
    stored.describe(orders, {"retention.ms": "-1"})
    stored.put(orders, old_records(20))
    ended = here.on_spark("restore", "run", str(stored.file()))
    assert ended.code == 0, ended.said
    produce(target.bootstrap, orders, [Record(b"k%d" % n, b"of others") for n in range(5)])
    create_topic(target.bootstrap, own)
    produce(target.bootstrap, own, [Record(b"k", b"v")])
    file = archive_file(tmp_path, name, target, format=form)
    asked = here.on_spark("archive", "run", str(file), "--until-caught-up")
    assert asked.code == 2, asked.said
    assert f"restores have written to {orders} (restore restore.{name}, of region eu)" in asked.said
    file = archive_file(tmp_path, name, target, format=form, restored="leave_out")
    ended = here.on_spark("archive", "run", str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 0, ended.said
    assert any("are left out" in each for each in ended.json["notes"]), ended.said
    records, gaps, end = archived(tmp_path, name, orders)
    last = consume(target.bootstrap, orders)[-1]
    assert (records, gaps.filtered, end) == (5, 20, last.offset + 1)
    assert archived(tmp_path, name, own)[0] == 1
    more = {"target": {"bootstrap": target.bootstrap}, "format": form, "restored": "leave_out"}
    back = {"name": f"{name}.back", "topics": {"include": [orders], "rename": "{topic}.back"}}
    file = archive_file(tmp_path, name, target, restore=back, **more)
    ended = here.on_spark("restore", "run", str(file), "--verify")
    assert ended.code == 3, ended.said
    assert "20 offsets do not come back: they were left out of the archive" in ended.said
    assert "20 offsets were left out of the archive (filtered)" in ended.said
    file = archive_file(tmp_path, name, target, restore={**back, "filtered": "accept"}, **more)
    ended = here.on_spark("restore", "run", str(file), "--verify")
    assert ended.code == 0, ended.said


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.soak
def test_all_is_archived_where_the_file_keeps_it(
    tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("moved")
    orders = f"{name}.orders"
    stored = StoredArchive(tmp_path, name, target.bootstrap)
    stored.put(orders, old_records(20))
    ended = here.on_spark("restore", "run", str(stored.file()))
    assert ended.code == 0, ended.said
    file = archive_file(tmp_path, name, target, restored="keep")
    ended = here.on_spark("archive", "run", str(file), "--until-caught-up")
    assert ended.code == 0, ended.said
    assert archived(tmp_path, name, orders)[0] == 20
