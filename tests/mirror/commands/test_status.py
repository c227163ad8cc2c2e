"""`towpath status`: the ledger beside what both clusters say now."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.kafka import Record, create_topic, delete_before, produce
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.dev.broker import LocalCluster
from towpath.mirror.plan.link_plan import build
from towpath.mirror.status.whole_link import LinkLook, LinkStatus
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.runtime.clock import now_ms

pytestmark = pytest.mark.broker


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("status"))
    made.create(2)
    produce(source.bootstrap, made.topic, [Record(b"k", b"v")] * 10)
    made.slices()  # writes the file and makes the ledger
    return made


def status(
    mirror: Mirror, capsys: pytest.CaptureFixture[str], code: int = 0
) -> list[dict[str, Any]]:
    file = mirror.folder / f"{mirror.topic}.yaml"
    assert main(["status", str(file), "--output", "json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["link"] == mirror.topic
    rows: list[dict[str, Any]] = told["partitions"]
    return rows


def test_the_lag_of_what_was_never_copied_has_an_unknown_age_and_the_bytes_of_its_log(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was 0.0 s, and 1,000 bytes a record."""
    file = mirror.folder / f"{mirror.topic}.yaml"
    assert main(["status", str(file), "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["totals"]
    assert (told["lag_records"], told["lag_seconds"], told["lag_unknown"]) == (10, None, 1)
    assert told["lag_seconds_longest_known"] == 0.0
    assert 0 < told["lag_bytes_estimated"] < 10 * 100
    assert main(["status", str(file)]) == 0
    assert re.search(r"lag 10 \(about \d+ B, \? s\)", capsys.readouterr().out)
    mirror.catch_up()
    assert main(["status", str(file), "--output", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["totals"]
    assert (told["lag_seconds"], told["lag_unknown"], told["lag_bytes_estimated"]) == (0.0, 0, 0)


def test_from_not_started_to_caught_up(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = status(mirror, capsys)
    assert (first["state"], first["lag_records"]) == ("not started", 10)
    assert (second["state"], second["lag_records"]) == ("not started", 0)
    mirror.catch_up()
    first, second = status(mirror, capsys)
    assert (first["state"], first["source_end"], first["target_end"]) == ("caught up", 10, 10)
    assert (first["mode"], first["reason"], first["records"]) == ("identical", "", 10)
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"v")] * 3)
    behind = status(mirror, capsys)[0]
    assert (behind["state"], behind["lag_records"]) == ("behind", 3)
    assert (behind["source_log_end"], behind["target_log_end"]) == (13, 10)
    assert behind["lag_seconds"] >= 0


def test_it_looks_again_until_it_is_stopped(
    mirror: Mirror, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def look(self: LinkLook, topics: re.Pattern[str]) -> LinkStatus:
        looks.append(topics.pattern)
        if len(looks) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return once(self, topics)

    once = LinkLook.once
    monkeypatch.setattr(LinkLook, "once", look)
    file = str(mirror.folder / f"{mirror.topic}.yaml")
    assert main(["status", file, "--watch", "--topics", "no.*"]) == 0
    said = capsys.readouterr().out
    assert looks == ["no.*"] * 2
    assert said.count("0 partitions\n") == 2


def test_what_the_target_lost_is_told_and_never_caught_up(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.catch_up()
    receipt = mirror.books().receipt
    assert receipt is not None
    acknowledged = replace(
        receipt,
        source_end=SourceOffset(15),
        target_end=TargetOffset(15),
        sequence=15,
        records=15,
        run=(SourceOffset(0), TargetOffset(0), 15),
        at=now_ms(),
    )
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 5)
    mirror.note(acknowledged)
    first, second = status(mirror, capsys, 3)
    assert (first["state"], first["lag_records"], second["state"]) == ("stopped", 0, "caught up")
    assert first["lost"] == {
        "target_end": 10, "acknowledged": 15, "source_first": 10, "source_end": 15, "records": 5
    }  # fmt: skip
    assert "the log ends at offset 10, but records up to offset 14 had been" in first["error"]
    assert "`towpath repair`" in first["error"]


def test_what_retention_took_from_the_target_is_told_and_not_lost(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.catch_up()
    delete_before(mirror.target.bootstrap, mirror.topic, 10)
    first = status(mirror, capsys, code=3)[0]
    assert (first["state"], first["lost"]) == ("caught up", None)
    assert (first["deleted"]["first"], first["deleted"]["end"]) == (0, 10)


def test_a_topic_that_the_file_no_longer_asks_for_is_no_trouble(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.catch_up()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 5)
    other = replace(mirror, topic=f"{mirror.topic}-other", link=mirror.topic)
    other.slices()
    first = status(mirror, capsys)[0]
    assert (first["state"], first["error"], first["lag_records"]) == ("excluded", "", 0)
    assert (first["source_end"], first["target_topic"]) == (10, mirror.topic)


def test_a_table_tells_why_a_partition_is_mapped(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("mapped"), records={"offsets": "mapped"})
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(None, b"v")] * 1234)
    mirror.catch_up()
    assert main(["status", str(tmp_path / f"{mirror.topic}.yaml")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "link mapped-1" in said.replace(mirror.topic, "mapped-1")
    assert "run: none is alive" in said
    assert "1,234 records" in said
    assert "1 partition: ✓ 1 caught up" in said
    assert "✓ caught up mapped 1,234 1,234 1,234 0" in said
    assert f"{mirror.topic}-0: mapped, because asked for by `records.offsets: mapped`" in said


def test_a_partition_without_a_leader_is_named(
    tmp_path: Path,
    three: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, three, target, new_name("leaderless"), timeout="120s")
    create_topic(three.bootstrap, mirror.topic, 3, replication=1)
    create_topic(target.bootstrap, mirror.topic, 3)
    mirror.catch_up()
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    topics = admin.list_topics(timeout=30)
    gone = topics.topics[mirror.topic].partitions[0].leader
    other = Mirror(tmp_path, three, target, new_name("leaderless"), timeout="5s")
    made = NewTopic(other.topic, 1, replica_assignment=[[gone]])
    admin.create_topics([made])[other.topic].result(30)
    three.stop_broker(gone)
    try:
        began = time.monotonic()
        rows = status(mirror, capsys, code=3)
        took = time.monotonic() - began
        plan = build(other.config)
    finally:
        three.restart(gone)
    assert took < 60, "it waited for the leader"
    assert [row["state"] for row in rows] == ["no leader now", "caught up", "caught up"]
    assert f"source: asking for offsets of {mirror.topic}-0" in rows[0]["error"]
    assert [row["error"] for row in rows[1:]] == ["", ""]
    assert (plan.exit_code, list(plan.topics)) == (0, [other.topic])
    assert "so it is not known yet where new partitions begin" in plan.notes[-1].text


def test_a_topic_that_can_have_no_name_on_the_target_hides_no_other(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("named"))
    long = mirror.topic.ljust(249, "x")
    for topic in (mirror.topic, long):
        create_topic(source.bootstrap, topic)
    mirror.slices()
    file = tmp_path / f"{mirror.topic}.yaml"
    file.write_text(
        file.read_text().replace("include: [", f'rename: "eu.{{topic}}"\n  include: ["{long}", ')
    )
    well, wrong = status(mirror, capsys, 3)
    assert (well["target_topic"], well["state"]) == (f"eu.{mirror.topic}", "not started")
    assert (wrong["target_topic"], wrong["state"]) == ("", "stopped")
    assert "a name that is longer than 249 characters" in wrong["error"]


def test_a_source_that_is_gone_leaves_what_the_ledger_knows(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.catch_up()
    file = mirror.folder / f"{mirror.topic}.yaml"
    gone = file.read_text().replace(mirror.source.bootstrap, "127.0.0.1:1").replace("30s", "1s", 1)
    file.write_text(gone)
    assert main(["status", str(file), "--output", "json"]) == 4
    told = json.loads(capsys.readouterr().out)
    assert told["source_gone"].startswith("source: ")
    assert told["groups"]["asked"] is False
    first, second = told["partitions"]
    assert (first["source_end"], first["target_log_end"], first["lag_records"]) == (10, 10, -1)
    assert (first["state"], second["state"]) == ("no leader now", "no leader now")
    assert main(["status", str(file)]) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert "the source cannot be asked, and this is what the ledger knows: source: " in said
    assert "groups: the file has no section `groups`" in said
