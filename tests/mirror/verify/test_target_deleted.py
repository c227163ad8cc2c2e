"""What the target deletes is told by `verify`, `status` and a rehearsed cutover, on brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from tests.support.here import MASTER, Here
from tests.support.kafka import PATIENCE, Record, create_topic, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.broker, pytest.mark.spark]
DAY, HOUR = 86_400_000, 3_600_000
FOR_EVER = {"retention.ms": "-1"}


def some(count: int, age: int = 0) -> list[Record]:
    at = now_ms() - age
    return [Record(b"k%d" % i, b"v%d" % i, timestamp=at + i) for i in range(count)]


def tp(topic: str) -> TopicPartition:
    return TopicPartition(TopicName(topic), 0)


def admin(cluster: LocalCluster, side: Side) -> Admin:
    return Admin(ClusterConfig.model_validate({"bootstrap": cluster.bootstrap}), side)


def shorten(cluster: LocalCluster, topic: str, ms: int) -> None:
    """Give a topic a retention of its own, and wait until the broker has deleted something."""
    entry = ConfigEntry("retention.ms", str(ms), incremental_operation=AlterConfigOpType.SET)
    wanted = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    client.incremental_alter_configs([wanted])[wanted].result(PATIENCE)
    with admin(cluster, Side.TARGET) as asked:
        wait_until(lambda: asked.offsets.earliest([tp(topic)])[tp(topic)] > 0, "the broker deleted")


def cut(cluster: LocalCluster, topic: str, before: int) -> None:
    with admin(cluster, Side.TARGET) as asked:
        asked.offsets.delete_records({tp(topic): before})


def gone_of(report: Any, topic: str) -> Any:
    [row] = [row for row in report["partitions"] if row["topic"] == topic]
    return row


def test_what_the_target_deleted_is_told_by_each_command(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    link = new_name("gone")
    segments = {"segment.ms": "60000"}
    short = create_topic(source.bootstrap, f"{link}.short", 1, FOR_EVER | segments)
    asked, meant, both = (
        create_topic(source.bootstrap, f"{link}.{name}", 1, FOR_EVER)
        for name in ("asked", "meant", "both")
    )
    past = create_topic(source.bootstrap, f"{link}.past", 1, {"retention.ms": str(HOUR)})
    produce(source.bootstrap, short, some(20, DAY))
    produce(source.bootstrap, short, some(3))
    setting = {"retention.bytes": "1000000000"}
    sized = create_topic(source.bootstrap, f"{link}.sized", 1, FOR_EVER | setting)
    for topic in (asked, meant, both, sized):
        produce(source.bootstrap, topic, some(10))
    # One segment, whose youngest record keeps the old ones.
    produce(source.bootstrap, past, [*some(6, DAY), *some(4)])
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {link}\ntopics: {{include: ['{link}.*'], may_delete: ['{link}.meant']}}\n"
    )
    assert here.run(str(file), "--until-caught-up").code == 0
    assert here("status", str(file)).code == 0

    shorten(target, short, HOUR)
    for topic in (asked, meant, sized):
        cut(target, topic, 4)
    cut(target, past, 6)
    cut(target, both, 3)
    cut(source, both, 5)

    topics = short, asked, meant, past, both, sized
    verify_tells(here, file, *topics)
    status_tells(here, file, *topics)
    a_rehearsal_tells(here, file, *topics)


def verify_tells(
    here: Here, file: Path, short: str, asked: str, meant: str, past: str, both: str, sized: str
) -> None:
    verified = here("verify", str(file), "-o", "json", *MASTER)
    assert verified.code == 3, verified.said
    report = verified.json
    assert not report["equal"]
    told = {
        "first": 0, "end": 20, "records": 20, "exact": True, "due": 0, "why": ["retention.ms"],
        "foretold": False, "meant": False,
    }  # fmt: skip
    row = gone_of(report, short)
    assert (row["verdict"], row["gone"]["target"], row["equal"]) == ("deleted", told, 3)
    assert row["codes"] == ["TARGET_DELETED", "RETENTION_TIGHTER"]  # more of it goes
    for topic in (asked, sized):
        row = gone_of(report, topic)
        assert (row["verdict"], row["gone"]["target"]["records"]) == ("deleted", 4)
        assert row["gone"]["target"]["why"] == ["DeleteRecords"]
    row = gone_of(report, meant)
    assert (row["verdict"], row["gone"]["target"]["meant"]) == ("equal", True)
    row = gone_of(report, past)
    assert (row["verdict"], row["gone"]["target"]["due"]) == ("equal", 6)
    row = gone_of(report, both)
    kinds = row["verdict"], row["gone"]["target"], row["gone"]["source"], row["gone"]["both"]
    assert kinds == ("equal", None, 2, 3)

    allowed = here("verify", str(file), "--may-delete", *MASTER)
    said = " ".join(allowed.out.split())
    assert f"{short}-0: the target deleted 20 records that the source still has" in said
    assert allowed.code == 0
    assert here("verify", str(file), "--sample", *MASTER).code == 3


def status_tells(
    here: Here, file: Path, short: str, asked: str, meant: str, past: str, both: str, sized: str
) -> None:
    looked = here("status", str(file), "-o", "json")
    assert looked.code == 3, looked.said
    deleted = {row["topic"]: row["deleted"] for row in looked.json["partitions"]}
    assert (deleted[short]["records"], deleted[short]["exact"]) == (20, False)
    assert (deleted[asked]["records"], deleted[meant]["meant"]) == (4, True)
    assert (deleted[sized]["records"], deleted[sized]["due"]) == (4, 0)
    assert (deleted[past]["due"], deleted[both]) == (6, None)
    assert "see `towpath explain TARGET_DELETED`" in here("status", str(file)).out


def a_rehearsal_tells(here: Here, file: Path, *topics: str) -> None:
    rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "0", "-o", "json", *MASTER)
    assert rehearsed.code == 3, rehearsed.said
    assert any(
        topics[0] in each and "deleted 20 records" in each for each in rehearsed.json["left_out"]
    )
    assert {each["topic"] for each in rehearsed.json["gone"]} == {*topics}
    rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "0", "--may-delete", *MASTER)
    assert rehearsed.code == 0, rehearsed.said
