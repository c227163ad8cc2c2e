"""`towpath cutover` on real clusters, in the Spark that the tests share."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource

from tests.support.clients.groups import member
from tests.support.copying.inside import SharedSpark
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, commit, consume, create_topic, produce
from tests.support.ledger.reasons import told
from tests.support.links import a_run_elsewhere
from tests.support.network.frozen import frozen_while_comparing, nothing, press_ctrl_c
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.groups.settle import settle
from towpath.ledger.entries import Gap
from towpath.ledger.events import EventReader
from towpath.ledger.link import open_link
from towpath.mirror.run.progress import Wishes
from towpath.mirror.run.run import run as mirror
from towpath.model.nouns import LEDGER, LinkName, Side, SourceOffset, TopicName, TopicPartition
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig, load

pytestmark = [pytest.mark.broker, pytest.mark.spark]
LEAVE = "leave the clients where they are"
PARTS = ["look", "drain", "sync", "verify", "look again"]
PARTS += ["groups", "look once more", "record", "settle"]
NOW = ("--quiet", "0", *MASTER)
CLOCK, APPEND = "message.timestamp.type", "LogAppendTime"


def link_file(
    folder: Path, source: LocalCluster, target: LocalCluster, link: str, more: str = ""
) -> Path:
    file = folder / f"{link}.yaml"
    file.write_text(
        f"source: {{bootstrap: '{source.bootstrap}'}}\n"
        f"target: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {link}\ntopics: {{include: ['{link}.*']}}\n{more}"
    )
    return file


def retention(cluster: LocalCluster, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(admin.describe_configs([resource])[resource].result(30)["retention.ms"].value)


def admin_of(cluster: LocalCluster, side: Side) -> Admin:
    return Admin(ClusterConfig.model_validate({"bootstrap": cluster.bootstrap}), side)


def left_on(
    target: LocalCluster, link: str
) -> tuple[dict[TopicPartition, int], list[bytes | None]]:
    """Return where logs of the link's topics end, and the keys of its entries in the ledger.

    Other tests use the target at the same time.
    """
    with admin_of(target, Side.TARGET) as admin:
        topics = admin.topics.describe().values()
        places = {
            t.name: [TopicPartition(t.name, p.partition) for p in t.partitions] for t in topics
        }
        own = [tp for name, tps in places.items() if link in name for tp in tps]
        ends = dict(admin.offsets.latest(own)) if own else {}
    number = len(places.get(LEDGER, ()))
    entries = consume(target.bootstrap, LEDGER, range(number)) if number else []
    return ends, [entry.key for entry in entries if link.encode() in (entry.key or b"")]


def some(first: int, count: int = 100, partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(first, first + count)]


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


@contextmanager
def writing_on(source: LocalCluster, topic: str) -> Iterator[None]:
    """Let two producers write all the time, one with an id and one without."""
    configs = {"bootstrap.servers": source.bootstrap, "linger.ms": 0}
    made = [Producer({**configs, "enable.idempotence": known}) for known in (True, False)]
    over, begun = threading.Event(), threading.Event()

    def write() -> None:
        while not over.is_set():
            for partition, producer in enumerate(made):
                # Its own time says nothing about when it was written.
                producer.produce(topic, b"x", partition=partition, timestamp=1_000_000_000_000)
                producer.flush(30)
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        over.set()
        thread.join()


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


def behind(part: Callable[..., Any], then: Callable[[], object]) -> Callable[..., Any]:
    """Return a part of a cutover that ends with what somebody else does meanwhile."""

    def both(*args: Any, **options: Any) -> Any:
        done = part(*args, **options)
        then()
        return done

    return both


@pytest.mark.soak
def test_who_begins_to_write_later_is_found(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders", 2)
    produce(source.bootstrap, topic, some(0) + some(0, partition=1))
    file = link_file(tmp_path, source, target, link)

    def cut(*then: Callable[[], object]) -> tuple[int, str]:
        monkeypatch.setattr("towpath.engine.starting.Starting", lambda *_, **__: SharedSpark(*then))
        ended = here("cutover", str(file), *NOW)
        return ended.code, ended.out

    def write(first: int) -> Callable[[], object]:
        idempotent = {"enable.idempotence": True}
        return lambda: produce(source.bootstrap, topic, some(first, 10), idempotent)

    code, out = cut(write(100))
    assert code == 3, out
    assert f"{topic}-0: grew from 100 to 110 since the first look; producer " in out
    assert f"{topic}-1" not in out
    code, out = cut(nothing, write(110))
    assert code == 3, out
    assert f"{topic}-0: grew from 110 to 120 since the first look; producer " in out
    assert "; its mirror topic lacks offsets 110 to 119" in out
    assert "stop who writes, then cut over again" in out
    assert out.count(f"{topic}-0: ") == 1, out
    later = f"{link}.later"

    def somebody_goes_on() -> None:
        create_topic(source.bootstrap, later)

    code, out = cut(nothing, somebody_goes_on)
    assert code == 3, out
    assert f"{later}: the topic appeared at the source since the first look" in out
    assert "never copied" not in out
    commit(source.bootstrap, f"{link}-group", topic, 0, 120)
    file.write_text(file.read_text() + f"groups: {{include: ['{link}-.*']}}\n")
    with monkeypatch.context() as patch:
        patch.setattr("towpath.mirror.cutover.cutover.settle", behind(settle, write(120)))
        code, out = cut()
    assert code == 3, out
    assert f"{topic}-0: grew from 120 to 130 since the first look; producer " in out
    assert "; its mirror topic lacks offsets 120 to 129" in out
    assert "stop who writes, then cut over again" in out
    with open_link(load(file)) as opened:
        opened.read()
        assert opened.books.of(TopicPartition(TopicName(topic), 0)).cut is None
    code, out = cut()
    assert code == 0, out
    assert consume(target.bootstrap, topic) == consume(source.bootstrap, topic)


@pytest.mark.soak
def test_a_group_that_could_not_be_moved_is_named_and_another_is_moved(
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
) -> None:
    """Somebody has started the consumers of one group on the target too early."""
    link = new_name("cutover")
    topic = create_topic(source.bootstrap, f"{link}.orders")
    produce(source.bootstrap, topic, some(0))
    for group in ("early", "waits"):
        commit(source.bootstrap, f"{link}-{group}", topic, 0, 7)
    more = f"groups: {{include: ['{link}-.*']}}\n"
    file = link_file(tmp_path, source, target, link, more)
    place = TopicPartition(TopicName(topic), 0)
    create_topic(target.bootstrap, topic)
    with member(source, f"{link}-waits", topic):
        live = here("cutover", str(file), "--dry-run", *NOW)
    named = f"1 group is still read at the source ({link}-waits: Stable): stop the clients"
    assert f"before the cutover: {named}" in " ".join(live.out.split())
    with member(target, f"{link}-early", topic):
        left = here("cutover", str(file), *NOW)
    said = " ".join(left.out.split())
    assert left.code == 3, left.said
    assert f"group {link}-early is not brought over in {place}: " in said
    assert f"group {link}-waits is not" not in said
    assert LEAVE in said
    with admin_of(target, Side.TARGET) as admin:
        assert admin.groups.committed(f"{link}-waits", [place]) == {place: 7}
        again = here("cutover", str(file), *NOW)
        assert again.code == 0, again.said
        assert admin.groups.committed(f"{link}-early", [place]) == {place: 7}
        admin.offsets.delete_records({place: 20})
    _unread_records_are_gone(here, file, place)


def _unread_records_are_gone(here: Here, file: Path, place: TopicPartition) -> None:
    """That the target may delete them does not say that their readers may miss them."""
    rehearsal = "cutover", str(file), "--dry-run", "--may-delete", *NOW
    where = f"({place}: offsets 7 to 19)"
    lost = f"13 records that the group has not read and the source still has {where}"
    link = place.topic.removesuffix(".orders")
    skips = here(*rehearsal, "--may-skip", f"{link}-early")
    said = " ".join(skips.out.split())
    assert skips.code == 3, skips.said
    assert f"note: group {link}-early: the target lacks {lost}; that is meant" in said
    assert f"group {link}-waits: the target lacks {lost}; let its clients read them" in said
    meant = here(*rehearsal, "--may-skip", f"{link}-early,{link}-waits")
    assert meant.code == 0, meant.said


@pytest.mark.soak
def test_what_comes_between_ends_it_clearly(
    source: LocalCluster,
    lone: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run elsewhere, a target that falls silent, Ctrl-C; behind each it can be done again."""
    link = new_name("cutover")
    topic, busy = create_topic(source.bootstrap, f"{link}.orders"), f"{link}.busy"
    produce(source.bootstrap, topic, some(0))
    file = link_file(tmp_path, source, lone, link)
    assert here.run(str(file), "--until-caught-up").code == 0
    with a_run_elsewhere(file):
        refused = here("cutover", str(file), *NOW)
        with writing_on(source, create_topic(source.bootstrap, busy, 2)):
            rehearsed = here("cutover", str(file), "--dry-run", "--quiet", "1", *MASTER)
    running = f"link {link} is running (on "
    stop_it = "stop that `towpath run` first, it drains when it gets Ctrl-C or SIGTERM"
    assert refused.code == 4, refused.said
    assert rehearsed.code == 0, rehearsed.said
    for said in (refused.out, rehearsed.out):
        assert running in said
        assert stop_it in said
    assert LEAVE in refused.out
    assert "the cutover would take about" in rehearsed.out
    busy_now = f"2 partitions are written to ({busy}-0, {busy}-1): stop the producers"
    assert f"before the cutover: {busy_now}" in " ".join(rehearsed.out.split())
    assert "rehearsed, nothing was changed: no problems" in rehearsed.out
    text = file.read_text()
    file.write_text(text.replace("target: {", "target: {request_timeout: 1s, "))
    silent = frozen_while_comparing(lone, lambda: here("cutover", str(file), *NOW), monkeypatch)
    assert silent.code == 4, silent.said
    assert "verify: target: " in silent.out
    assert LEAVE in silent.out
    file.write_text(text)
    began = time.monotonic()
    stopped = frozen_while_comparing(
        lone, lambda: here("cutover", str(file), *NOW), monkeypatch, press_ctrl_c
    )
    assert time.monotonic() - began < 30, "request_timeout"
    assert stopped.code == 3, stopped.said
    assert "stopped: not everything was compared, so nothing is proven" in stopped.out
    note_gap(file, TopicPartition(TopicName(topic), 0))
    with_gap = here("cutover", str(file), *NOW)
    assert with_gap.code == 0, with_gap.said
    assert f"note: {topic}-0: source offsets 50 to 59 were never copied: expired" in with_gap.out
    with admin_of(lone, Side.TARGET) as admin:
        admin.offsets.delete_records({TopicPartition(TopicName(topic), 0): 100})
    emptied = here("cutover", str(file), *NOW)
    assert emptied.code == 3, emptied.said
    assert f"{topic}-0: the target deleted 100 records that the source still has" in emptied.out


def note_gap(file: Path, tp: TopicPartition) -> None:
    """Write down that records were lost at the source before they could be copied."""
    config = load(file)
    with open_link(config) as link:
        opened = link.ledger.books(config.link).of(tp).opened
        assert opened is not None
        gap = Gap(
            link=config.link,
            topic=tp.topic,
            partition=0,
            producer_id=opened.producer_id,
            first=SourceOffset(50),
            end=SourceOffset(60),
            why=told("expired"),
            went_on=True,
            at=now_ms(),
        )
        link.ledger.append([gap])
