"""`towpath cutover` on real clusters, in the Spark that the tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from tests.support.here import MASTER, Here
from tests.support.kafka import Record, create_topic, produce
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def link_file(folder: Path, source: LocalCluster, target: LocalCluster, link: str) -> Path:
    file = folder / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {link}\ntopics: {{include: ['{link}.*']}}\n"
    )
    return file


def retention(cluster: LocalCluster, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(admin.describe_configs([resource])[resource].result(30)["retention.ms"].value)


def test_a_migration_from_its_rehearsal_to_its_end(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders", 2, {"retention.ms": "86400000"})
    empty = create_topic(source.bootstrap, f"{link}.empty")
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % i) for i in range(500)])
    file = link_file(tmp_path, source, target, link)
    early = here("cutover", str(file), "--dry-run", "--quiet", "0", *MASTER)
    assert early.code == 3, early.said
    assert "mirror first, with `towpath run`" in early.out
    assert here("apply", str(file), "--yes").code == 0
    assert retention(target, topic) == "-1", "it is held while the copy is filled"
    assert here.run(str(file), "--until-caught-up").code == 0
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % i) for i in range(500, 700)])
    rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "0", *MASTER, "-o", "json")
    assert rehearsed.code == 0, rehearsed.said
    assert rehearsed.json["estimated_seconds"] > 0
    assert (rehearsed.json["equal_records"], rehearsed.json["steps"]) == (500, 0)
    report = tmp_path / "report.json"
    words = ("--quiet", "0", *MASTER, "--report", str(report))
    ended = here("cutover", str(file), *words)
    assert ended.code == 0, ended.said
    assert "cut over: 3 partitions equal, 700 records" in ended.out
    told = json.loads(report.read_text())
    assert (told["complete"], told["equal_partitions"]) == (True, 3)
    assert list(told["seconds"]) == ["look", "drain", "sync", "verify", "look again"]
    assert retention(target, topic) == "86400000"
    assert here("diff", str(file)).code == 0
    assert empty in AdminClient({"bootstrap.servers": target.bootstrap}).list_topics().topics


def test_nothing_is_begun_while_somebody_writes(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders")
    file = link_file(tmp_path, source, target, link)
    # An open transaction is writing that needs no second thread here.
    producer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": link})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0
    try:
        ended = here("cutover", str(file), "--quiet", "0", *MASTER)
    finally:
        producer.abort_transaction(30)
    assert ended.code == 3
    assert f"{topic}-0: a transaction of producer" in ended.out
    assert "not cut over: leave the clients where they are" in ended.out
    file.write_text(file.read_text().replace(f"{link}.*", f"{link}.none"))
    ended = here("cutover", str(file), "--quiet", "0", *MASTER)
    assert (ended.code, "nothing to cut over" in ended.out) == (3, True)
    assert "matches no topic" in ended.out
    assert topic not in AdminClient({"bootstrap.servers": target.bootstrap}).list_topics().topics
