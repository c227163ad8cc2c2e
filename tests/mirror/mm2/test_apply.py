"""Checkpoints of MirrorMaker 2, applied to groups of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.clients.mirror_maker import START, MirrorMaker
from tests.support.here import Ended, Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    produce,
    wait_until,
)
from towpath.dev.broker import LocalCluster
from towpath.mirror.mm2.records import Checkpoint
from towpath.model import nouns
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName

pytestmark = pytest.mark.broker

Names = Callable[[str], str]


@dataclass
class Replica:
    """A target with the mirror topics and the checkpoints of a source of its own."""

    folder: Path
    target: LocalCluster
    here: Here
    alias: str
    topic: str = ""
    options: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.topic = create_topic(self.target.bootstrap, f"{self.alias}.orders", 2)
        compact = {"cleanup.policy": "compact"}
        create_topic(self.target.bootstrap, self.checkpoints, 1, compact)
        self.file = self.folder / "target.yaml"
        self.file.write_text(f'target: {{bootstrap: "{self.target.bootstrap}"}}\n')

    @property
    def checkpoints(self) -> str:
        return f"{self.alias}.checkpoints.internal"

    def mirror(self, records: int, config: dict[str, Any] | None = None) -> None:
        """Write records to partition 0, as MirrorMaker 2 does: without a producer id."""
        made = [Record(None, b"%d" % n, partition=0) for n in range(records)]
        produce(self.target.bootstrap, self.topic, made, config)

    def point(self, group: str, target: int, partition: int = 0, topic: str = "") -> None:
        """Write a checkpoint."""
        made = Checkpoint(
            group=group,
            tp=nouns.TopicPartition(TopicName(topic or self.topic), partition),
            source=SourceOffset(target + 1000),
            target=TargetOffset(target),
            metadata="of the source",
        )
        produce(self.target.bootstrap, self.checkpoints, [Record(made.key, made.value)])

    def apply(self, *options: str) -> Ended:
        alias = ("--source-alias", self.alias)
        words = ("checkpoints", "apply", str(self.file), "--from-mm2", *alias, *options)
        return self.here(*words, "--output", "json")

    def outcomes(self, done: Ended) -> dict[str, str]:
        """Return what became of each group in partition 0: the reason, else the outcome."""
        return {
            each["group"]: each["reason"]["code"] if each["reason"] else each["outcome"]
            for each in done.json["positions"]
            if each["partition"] == 0
        }

    def committed(self, group: str, partition: int = 0) -> tuple[int, str | None]:
        consumer = Consumer({"bootstrap.servers": self.target.bootstrap, "group.id": group})
        place = TopicPartition(self.topic, partition)
        [found] = consumer.committed([place], 30)
        consumer.close()
        return found.offset, found.metadata


@pytest.fixture
def replica(tmp_path: Path, target: LocalCluster, here: Here, new_name: Names) -> Replica:
    return Replica(tmp_path, target, here, new_name("us"))


@pytest.fixture
def member(replica: Replica, new_name: Names) -> Iterator[str]:
    """Return a group that has a member on the target."""
    group = new_name("busy")
    consumer = Consumer({"bootstrap.servers": replica.target.bootstrap, "group.id": group})
    consumer.subscribe([replica.topic])
    wait_until(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), "it has joined")
    yield group
    consumer.close()


def test_each_group_gets_what_its_checkpoint_says_or_a_reason(
    replica: Replica, member: str, new_name: Names
) -> None:
    target = replica.target.bootstrap
    replica.mirror(100)
    fresh, ahead, behind, equal, old, late = (new_name(kind) for kind in "abcdef")
    delete_before(target, replica.topic, 20)
    commit(target, ahead, replica.topic, 0, 90)
    commit(target, behind, replica.topic, 0, 30)
    commit(target, equal, replica.topic, 0, 50)
    for group in (fresh, ahead, behind, equal, member):
        replica.point(group, 40)
        replica.point(group, 50)
    replica.point(old, 7)
    replica.point(late, 130)
    replica.point(fresh, 5, partition=4)
    replica.point(fresh, 5, topic="local")
    produce(target, replica.checkpoints, [Record(b"rubbish", b"x"), Record(b"gone", None)])

    dry = replica.apply("--dry-run")
    assert dry.code == 3
    assert replica.committed(fresh)[0] == -1001  # nothing
    done = replica.apply()
    assert done.code == 3
    assert replica.outcomes(done) == {
        fresh: "NO_MIRROR_TOPIC",  # of its two topics, the last one
        ahead: "GROUP_AHEAD",
        behind: "CONFIRMED",
        equal: "UNCHANGED",
        old: "CONFIRMED",
        late: "CONFIRMED",
        member: "GROUP_HAS_MEMBERS",
    } | {fresh: replica.outcomes(done)[fresh]}
    reasons = {
        (each["topic"], each["partition"]): each["reason"]["code"] if each["reason"] else ""
        for each in done.json["positions"]
        if each["group"] == fresh
    }
    assert reasons == {
        (replica.topic, 0): "",
        (replica.topic, 4): "MIRROR_PARTITION_GONE",
        ("local", 0): "NO_MIRROR_TOPIC",
    }
    assert replica.committed(fresh) == (50, "of the source")
    assert [replica.committed(each)[0] for each in (ahead, behind, old, late)] == [90, 50, 20, 100]
    whys = {each["group"]: each["why"] for each in done.json["positions"]}
    assert whys[old] == "records from offset 7 to 19 were deleted on the target"
    assert "the checkpoint is at offset 130, and the log ends at 100" in whys[late]
    notes = "\n".join(done.json["notes"])
    assert "2 records of" in notes
    assert f"group {old} has no offset for {replica.topic}-1: auto.offset.reset" in notes
    assert "without a producer id" in notes
    again = replica.apply("--groups", f"{behind},{equal}")
    assert (again.code, set(replica.outcomes(again).values())) == (0, {"UNCHANGED"})
    back = replica.apply("--groups", ahead, "--rewinds")
    assert (back.code, replica.committed(ahead)[0]) == (0, 50)


def test_records_of_others_are_not_skipped(replica: Replica, new_name: Names) -> None:
    group, early = new_name("group"), new_name("early")
    replica.mirror(40)
    replica.mirror(10, {"enable.idempotence": True})
    replica.mirror(40)
    replica.point(group, 80)
    replica.point(early, 20)
    done = replica.apply()
    assert (done.code, replica.outcomes(done)) == (3, {group: "OTHER_RECORDS", early: "CONFIRMED"})
    [why] = [each["why"] for each in done.json["positions"] if each["group"] == group]
    assert "10 records that others wrote at offsets 40 to 49" in why
    unseen = replica.apply("--scan", "none", "--dry-run")
    assert "nobody looked for records that others wrote" in unseen.json["notes"][0]
    told = replica.apply("--over-others")
    assert (told.code, replica.committed(group)[0]) == (0, 80)


def test_what_cannot_be_is_refused(replica: Replica, here: Here, new_name: Names) -> None:
    file = str(replica.file)
    missing = here("checkpoints", "apply", file)
    assert (missing.code, "--from-mm2: is needed" in missing.said) == (2, True)
    size = here("checkpoints", "apply", file, "--from-mm2", "--scan", "7")
    assert (size.code, "--scan: 7 has no unit" in size.said) == (2, True)
    nowhere = here("checkpoints", "apply", file, "--from-mm2", "--separator", new_name("x"))
    assert (nowhere.code, "--source-alias: the target has no topic" in nowhere.said) == (2, True)
    nobody = replica.apply("--groups", "nobody")
    assert (nobody.code, "group nobody has no checkpoint" in nobody.said) == (2, True)
    replica.file.write_text("source: {bootstrap: 'a:1'}")
    none = replica.apply()
    assert (none.code, "no section `target`" in none.said) == (2, True)
    replica.file.write_text("target: {bootstrap: 'a'}")
    wrong = replica.apply()
    assert (wrong.code, "target.yaml:1:21: target.bootstrap[0]: 'a' is not" in wrong.said) == (
        2,
        True,
    )


@pytest.mark.soak
def test_groups_go_on_where_mirror_maker_itself_says(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Names, here: Here
) -> None:
    topic = create_topic(source.bootstrap, new_name("orders"))
    produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(100)])
    group, alias = new_name("shop"), new_name("us")
    commit(source.bootstrap, group, topic, 0, 100)
    with MirrorMaker(tmp_path / "mm2", source, target, alias, topic):
        topics = AdminClient({"bootstrap.servers": target.bootstrap})
        checkpoints, mirror = f"{alias}.checkpoints.internal", f"{alias}.{topic}"
        both = {checkpoints, mirror}
        wait_until(lambda: both <= topics.list_topics().topics.keys(), "its topics", START)
        wait_until(lambda: end_offsets(target.bootstrap, mirror)[1] == 100, "all is there", START)
        # It is exact only for a group that has read everything.
        wait_until(lambda: _last(target, checkpoints) == 100, "the checkpoint is exact", START)
        produce(source.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(100, 140)])
        wait_until(lambda: end_offsets(target.bootstrap, mirror)[1] == 140, "the rest", START)
    file = tmp_path / "target.yaml"
    file.write_text(f'target: {{bootstrap: "{target.bootstrap}"}}\n')
    words = ("checkpoints", "apply", str(file), "--from-mm2", "--source-alias", alias)
    done = here(*words)
    assert done.code == 0, done.said
    assert "confirmed" in done.out
    left = consume_as(target, group, mirror)
    assert left == [b"%d" % n for n in range(100, 140)]
    later = here(*words, "--output", "json")
    assert [each["reason"]["code"] for each in later.json["positions"]] == ["GROUP_AHEAD"]


def _last(target: LocalCluster, checkpoints: str) -> int:
    found = [
        Checkpoint.read(record.key or b"", record.value or b"").target
        for record in consume(target.bootstrap, checkpoints)
    ]
    return found[-1] if found else -1


def consume_as(target: LocalCluster, group: str, topic: str) -> list[bytes | None]:
    """Return what a group reads from where it stands up to the end, and let it commit."""
    consumer = Consumer(
        {"bootstrap.servers": target.bootstrap, "group.id": group, "enable.partition.eof": True}
    )
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    ended = False
    while not ended:
        message = consumer.poll(30)
        assert message is not None
        ended = message.error() is not None
        found += [] if ended else [message.value()]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found
