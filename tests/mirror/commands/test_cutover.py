"""`towpath cutover` on real clusters, in the Spark that the tests share."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.copying.inside import SharedSpark
from tests.support.cutovers import (
    APPEND,
    CLOCK,
    LEAVE,
    NOW,
    PARTS,
    admin_of,
    left_on,
    link_file,
    retention,
    some,
    writing_on,
)
from tests.support.here import MASTER, Here
from tests.support.kafka import commit, consume, create_topic, produce
from tests.support.network.frozen import nothing
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.events import EventReader
from towpath.mirror.run.progress import Wishes
from towpath.mirror.run.run import run as mirror
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.settings import ClusterConfig, load

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.spark(long=True)
@pytest.mark.alone("quotas")
def test_a_migration_from_its_rehearsal_to_its_end(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders", 2, {"retention.ms": "86400000"})
    empty = TopicName(create_topic(source.bootstrap, f"{link}.empty", config={CLOCK: APPEND}))
    produce(source.bootstrap, topic, some(0, 500))
    quota = Quota((Entity(EntityKind.USER, link),), QuotaKey.CONSUMER_BYTE_RATE)
    file = link_file(tmp_path, source, target, link, "access: {quotas: true}\n")
    before = left_on(target, link)
    _too_early(here, file)
    assert left_on(target, link) == before
    assert here("apply", str(file), "--yes").code == 0
    assert retention(target, topic) == "-1", "it is held while the mirror topic is filled"
    _mirror_while_somebody_writes(file, source, topic)
    produce(source.bootstrap, topic, some(700, 50, 1))
    with admin_of(source, Side.SOURCE) as admin:
        admin.quotas.change(quota, 1_000_000.0)
    before = left_on(target, link)
    rehearsed = here("cutover", str(file), "--dry-run", *NOW, "-o", "json")
    assert rehearsed.code == 0, rehearsed.said
    assert left_on(target, link) == before, "a rehearsal touches nothing"
    assert rehearsed.json["estimated_seconds"] > 0
    assert (rehearsed.json["equal_records"], rehearsed.json["steps"]) == (700, 0)
    commit(source.bootstrap, f"{link}-group", topic, 0, 1)
    refused = here("cutover", str(file), *NOW)
    assert refused.code == 3, refused.said
    said = " ".join(refused.out.split())
    assert f"1 consumer group with commits on mirrored topics ({link}-group)" in said
    assert "to cut over all the same, add --without-groups" in said
    assert "add `groups: {}` to bring them over" in said
    assert "not cut over, and nothing was touched" in said
    _rehearse_with_groups(here, file, link)
    report = tmp_path / "report.json"
    ended = here("cutover", str(file), *NOW, "--report", str(report))
    assert ended.code == 0, ended.said
    assert "cut over: 3 of 3 partitions equal, 750 records" in ended.out
    assert "to the target, where 1 group of consumers go on" in " ".join(ended.out.split())
    told = json.loads(report.read_text())
    assert (told["complete"], told["equal_partitions"]) == (True, 3)
    assert list(told["seconds"]) == PARTS
    _group_has_moved(target, told["group_positions"], link, topic)
    assert retention(target, topic) == "86400000"
    with admin_of(target, Side.TARGET) as admin:
        assert admin.quotas.describe().known[quota] == 1_000_000.0
        assert admin.configs.describe({empty})[empty][CLOCK].value == APPEND
    assert here("diff", str(file)).code == 0
    copied = consume(target.bootstrap, topic, (0, 1))
    assert copied == consume(source.bootstrap, topic, (0, 1))
    assert [each.value for each in copied][-1] == b"749", "written last, behind the run"
    _events_of(target, LinkName(link))
    _clients_write_behind_the_cut(here, file, target, topic)


def _too_early(here: Here, file: Path) -> None:
    early = here("cutover", str(file), "--dry-run", *NOW)
    assert early.code == 3, early.said
    assert "mirror first, with `towpath run`" in early.out


def _rehearse_with_groups(here: Here, file: Path, link: str) -> None:
    """It tells where each group would stand, and writes nothing."""
    mm2 = f"{{alias: target, source_alias: {link}}}"
    file.write_text(file.read_text() + f"groups: {{include: ['{link}-.*'], mm2: {mm2}}}\n")
    rehearsed = here("cutover", str(file), "--dry-run", *NOW, "-o", "json")
    assert rehearsed.code == 0, rehearsed.said
    [group] = rehearsed.json["group_positions"]
    [position] = group["positions"]
    assert (position["answer"]["offset"], position["answer"]["exactness"]) == (1, "exact")
    assert (position["due"], position["target"]) == (True, None)


def _group_has_moved(target: LocalCluster, told: list[Any], link: str, topic: str) -> None:
    [position] = told[0]["positions"]
    assert position["outcome"] in {"CONFIRMED", "UNCHANGED"}
    with admin_of(target, Side.TARGET) as admin:
        place = TopicPartition(TopicName(topic), 0)
        assert admin.groups.committed(f"{link}-group", [place]) == {place: 1}
    published = consume(target.bootstrap, f"{link}.checkpoints.internal")
    assert [(each.key or b"")[2:] for each in published if link.encode() in (each.key or b"")]


def _clients_write_behind_the_cut(here: Here, file: Path, target: LocalCluster, topic: str) -> None:
    """What they write is theirs: nothing fails, and everything says when the cutover was."""
    produce(target.bootstrap, topic, some(750, 7, 1))
    verified = here("verify", str(file), *MASTER)
    assert verified.code == 0, verified.said
    assert "7 records behind the cutover of " in " ".join(verified.out.split())
    status = here("status", str(file))
    assert status.code == 0
    assert "7 offsets behind the cutover of " in " ".join(status.out.split())
    planned = here("plan", str(file))
    assert "so clients may write to the mirror topics" in " ".join(planned.out.split())
    _what_clients_wrote_comes_back(here, file, topic)


def _what_clients_wrote_comes_back(here: Here, file: Path, topic: str) -> None:
    """A link in the other direction brings it, and what was there before is nobody's surplus."""
    there = load(file)
    back = file.with_name("back.yaml")
    back.write_text(
        f"source: {{bootstrap: '{','.join(there.target.bootstrap)}'}}\n"
        f"target: {{bootstrap: '{','.join(there.source.bootstrap)}'}}\n"
        f"link: {there.link}-back\ntopics: {{include: ['{there.link}.*']}}\n"
        "records: {start: latest}\n"
    )
    ran = here.run(str(back), "--until-caught-up")
    assert ran.code == 0, ran.said
    verified = here("verify", str(back), *MASTER)
    assert verified.code == 0, verified.said
    assert "7 equal records" in verified.out
    sides = (each.bootstrap for each in (there.source, there.target))
    old, new = (consume(",".join(side), topic, (0, 1)) for side in sides)
    assert old == new


def _events_of(target: LocalCluster, link: LinkName) -> None:
    """All that happened is told: one run by hand, and that of the cutover."""
    with admin_of(target, Side.TARGET) as admin:
        config = ClusterConfig.model_validate({"bootstrap": target.bootstrap})
        with Client(config, Side.TARGET, admin) as client:
            events = list(EventReader(admin, client).read(link))
    run = ["run.started", "round.started", "round.ended", "run.ended"]
    told = [event.what for event in events if event.what.startswith(("run", "round", "cutover"))]
    assert told == [*run, "cutover.started", *run, "cutover.ended"]
    assert events[-1].facts == {"complete": True, "trouble": []}
    made = [event.facts["do"] for event in events if event.what == "step.done"]
    assert made.count("CreateTopic") == 2
    [state, *_] = [event for event in events if event.what == "partition.state"]
    assert state.about.startswith(f"{link}.")
    assert (state.facts["before"], state.facts["state"]) == ("not started", "copied")


def _mirror_while_somebody_writes(file: Path, source: LocalCluster, topic: str) -> None:
    """Mirror; 200 records are written after the run has begun."""
    spark = SharedSpark(lambda: produce(source.bootstrap, topic, some(500, 200)))
    ended = mirror(load(file), Wishes(until_caught_up=True), spark, threading.Event(), nothing)
    assert sum(row.records for row in ended.rows) == 700


def test_nothing_is_begun_while_somebody_writes(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders", 2)
    file = link_file(tmp_path, source, target, link)
    before = left_on(target, link)
    with writing_on(source, topic):
        ended = here("cutover", str(file), "--quiet", "1", *MASTER)
    with admin_of(source, Side.SOURCE) as admin:
        [known] = admin.producers.sequences([TopicPartition(TopicName(topic), 0)]).popitem()[1]
    assert ended.code == 3
    lines = [line for line in ended.out.splitlines() if line.startswith(topic)]
    assert [line.partition(":")[0] for line in lines] == [f"{topic}-0", f"{topic}-1"]
    assert "grew from" in lines[0]
    assert f"producer {known} " in lines[0]
    assert "the producer has no id, as it is not idempotent" in lines[1]
    assert LEAVE in ended.out
    _an_open_transaction(source, topic, file, here)
    file.write_text(file.read_text().replace(f"{link}.*", f"{link}.none"))
    ended = here("cutover", str(file), *NOW)
    assert (ended.code, "nothing to cut over" in ended.out) == (3, True)
    assert "matches no topic" in ended.out
    assert left_on(target, link) == before


def _an_open_transaction(source: LocalCluster, topic: str, file: Path, here: Here) -> None:
    producer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(30) == 0
    try:
        ended = here("cutover", str(file), *NOW)
    finally:
        producer.abort_transaction(30)
    assert ended.code == 3
    assert f"{topic}-0: a transaction of producer" in ended.out
    assert LEAVE in ended.out
