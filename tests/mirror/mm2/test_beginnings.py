"""A link that begins where MirrorMaker 2 stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

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
    end_offsets,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.mirror.mm2 import beginnings
from towpath.model.nouns import Mode
from towpath.model.reasons import ReasonCode

pytestmark = pytest.mark.broker

Names = Callable[[str], str]


@pytest.fixture(autouse=True)
def short_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody be watched for longer than the tests need."""
    monkeypatch.setattr(beginnings, "_QUIET", 0.2)


@dataclass
class Successor:
    """A link into the mirror topics of MirrorMaker 2."""

    folder: Path
    source: LocalCluster
    target: LocalCluster
    here: Here
    alias: str
    topic: str

    def __post_init__(self) -> None:
        rename = f"  rename: '{self.alias}.{{topic}}'\n"
        self.mirror = Mirror(self.folder, self.source, self.target, self.topic, more=rename)
        self.file = self.folder / f"{self.topic}.yaml"
        _ = self.mirror.config  # writes the file

    @property
    def copy(self) -> str:
        """The mirror topic."""
        return f"{self.alias}.{self.topic}"

    def begin(self, *options: str) -> Ended:
        alias = ("--source-alias", self.alias)
        words = ("import", "mm2-positions", str(self.file), *alias, *options)
        return self.here(*words, "--output", "json")

    def note(self, offset: int | None, partition: int = 0) -> None:
        """Note a position, as MirrorMaker 2 does."""
        about = {"cluster": self.alias, "partition": partition, "topic": self.topic}
        key = json.dumps(["MirrorSourceConnector", about]).encode()
        value = None if offset is None else json.dumps({"offset": offset}).encode()
        produce(self.target.bootstrap, f"mm2-offsets.{self.alias}.internal", [Record(key, value)])

    def whys(self, done: Ended) -> list[str]:
        return [each["why"] for each in done.json["partitions"]]


def numbered(numbers: Iterable[int]) -> list[Record]:
    return [Record(b"k", b"%d" % n, timestamp=1_700_000_000_000 + n) for n in numbers]


def values(target: LocalCluster, topic: str) -> list[bytes | None]:
    return [record.value for record in consume(target.bootstrap, topic)]


@pytest.fixture
def succeeding(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, here: Here, new_name: Names
) -> Successor:
    """Return a link whose mirror topic is there, as is the topic of positions."""
    made = Successor(tmp_path, source, target, here, new_name("us"), new_name("seam"))
    create_topic(source.bootstrap, made.topic, 2)
    create_topic(target.bootstrap, made.copy, 2)
    create_topic(target.bootstrap, f"mm2-offsets.{made.alias}.internal", 1)
    return made


def test_a_link_goes_on_behind_what_mirror_maker_wrote(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, here: Here, new_name: Names
) -> None:
    alias, topic = new_name("us"), create_topic(source.bootstrap, new_name("orders"))
    link = Successor(tmp_path, source, target, here, alias, topic)
    produce(source.bootstrap, topic, numbered(range(100)))
    with MirrorMaker(tmp_path / "mm2", source, target, alias, topic) as running:
        topics = AdminClient({"bootstrap.servers": target.bootstrap})
        wait_until(lambda: link.copy in topics.list_topics().topics, "the mirror topic", START)
        wait_until(lambda: end_offsets(target.bootstrap, link.copy)[1] == 100, "all", START)
        refused = link.begin("--yes")
        assert (refused.code, refused.json["error"]["code"]) == (3, "MM2_RUNS"), refused.said
        running.stop()
    produce(source.bootstrap, topic, numbered(range(100, 150)))
    dry = link.begin("--dry-run")
    assert (dry.code, dry.json["done"]) == (0, False)
    done = link.begin("--yes")
    assert (done.code, done.json["done"]) == (0, True)
    [one] = done.json["partitions"]
    assert (one["copied"], one["begins"], one["target_end"], one["compared"]) == (99, 100, 100, 100)
    link.mirror.catch_up()
    assert values(target, link.copy) == [b"%d" % n for n in range(150)]
    books = link.mirror.books()
    assert books.mode is Mode.MAPPED
    assert books.opened is not None
    assert [each.code for each in books.opened.reasons] == [ReasonCode.MIRRORED_BEFORE]
    assert books.offsets().runs == ((100, 100, 50),)
    again = link.begin("--yes")
    assert (again.code, link.whys(again)) == (0, ["this link has begun to copy it already"])


def test_what_was_copied_behind_the_last_note_is_not_copied_again(succeeding: Successor) -> None:
    link = succeeding
    source, target = link.source.bootstrap, link.target.bootstrap
    produce(source, link.topic, numbered(range(2000)))
    # MirrorMaker 2 was killed: it had copied more than it had noted.
    produce(target, link.copy, numbered(range(1500)))
    link.note(4)
    done = link.begin("--yes")
    assert done.code == 0, done.said
    one, empty = done.json["partitions"]
    assert (one["begins"], one["compared"], one["why"]) == (1500, 100, "")
    assert (empty["begins"], empty["fine"]) == (None, True)
    link.mirror.catch_up()
    assert values(link.target, link.copy) == [b"%d" % n for n in range(2000)]


def test_groups_that_stand_before_the_beginning_skip_nothing(
    succeeding: Successor, new_name: Names
) -> None:
    link = succeeding
    source, target = link.source.bootstrap, link.target.bootstrap
    produce(source, link.topic, numbered(range(100)))
    produce(target, link.copy, numbered(range(100)))
    link.note(99)
    assert link.begin("--yes").code == 0
    produce(source, link.topic, numbered(range(100, 120)))
    link.mirror.catch_up()
    before, behind = new_name("before"), new_name("behind")
    commit(source, before, link.topic, 0, 50)
    commit(source, behind, link.topic, 0, 110)
    groups = f"groups: {{include: [{before}, {behind}]}}\n"
    link.file.write_text(link.file.read_text() + groups)
    done = link.here("groups", "sync", str(link.file), "--output", "json")
    assert done.code == 0, done.said
    stands = {name: _committed(link, name) for name in (before, behind)}
    # The copy of the last record that it has read, which it reads again.
    assert stands == {before: 49, behind: 110}


def _committed(link: Successor, group: str) -> int:
    consumer = Consumer({"bootstrap.servers": link.target.bootstrap, "group.id": group})
    [found] = consumer.committed([TopicPartition(link.copy, 0)], 30)
    consumer.close()
    return found.offset


def test_what_the_target_lost_is_copied_again(succeeding: Successor) -> None:
    link = succeeding
    produce(link.source.bootstrap, link.topic, numbered(range(30)))
    produce(link.target.bootstrap, link.copy, numbered(range(20)))
    link.note(24)
    assert link.begin("--yes").code == 0
    link.mirror.catch_up()
    assert values(link.target, link.copy) == [b"%d" % n for n in range(30)]


def test_nothing_is_begun_without_a_proof(succeeding: Successor) -> None:
    link = succeeding
    source, target = link.source.bootstrap, link.target.bootstrap
    produce(source, link.topic, numbered(range(30)))
    link.note(19)
    assert "is empty; does `topics.rename` give the names" in link.whys(link.begin("--yes"))[0]
    produce(target, link.copy, [*numbered(range(20)), Record(b"k", b"of others")])
    strange = link.begin("--yes")
    assert strange.code == 3
    assert "not found at one certain place of the source" in link.whys(strange)[0]
    assert link.mirror.books().opened is None
    trusted = link.begin("--dry-run", "--trust-positions")
    assert trusted.json["partitions"][0]["begins"] == 20
    link.note(99)
    assert "its topic was made again, or its log was cut" in link.whys(link.begin("--yes"))[0]
    link.note(None)
    assert "MirrorMaker 2 has no position for it" in link.whys(link.begin("--yes"))[0]


def test_what_cannot_be_is_refused(succeeding: Successor, new_name: Names) -> None:
    link = succeeding
    text = link.file.read_text()
    link.file.write_text(text.replace("start: earliest", "start: earliest\n  offsets: identical"))
    identical = link.begin("--yes")
    assert (identical.code, "records.offsets: demands identical" in identical.said) == (2, True)
    link.file.write_text(text)
    nowhere = link.begin("--offsets-topic", new_name("nowhere"))
    assert (nowhere.code, "--offsets-topic: the target has no topic" in nowhere.said) == (2, True)
    produce(link.source.bootstrap, link.topic, numbered(range(3)))
    produce(link.target.bootstrap, link.copy, numbered(range(3)))
    link.note(2)
    unsure = link.begin()
    assert (unsure.code, "--yes: not a terminal" in unsure.said) == (2, True)
    assert link.mirror.books().opened is None


@pytest.mark.soak
def test_a_link_goes_on_behind_a_mirror_maker_that_was_killed(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, here: Here, new_name: Names
) -> None:
    alias, topic = new_name("us"), create_topic(source.bootstrap, new_name("orders"))
    link = Successor(tmp_path, source, target, here, alias, topic)
    seldom = {"eu.offset.flush.interval.ms": "15000", "tasks.max": "1"}
    with MirrorMaker(tmp_path / "mm2", source, target, alias, topic, seldom) as running:
        topics = AdminClient({"bootstrap.servers": target.bootstrap})
        produce(source.bootstrap, topic, numbered(range(100)))
        wait_until(lambda: link.copy in topics.list_topics().topics, "the mirror topic", START)
        offsets = f"mm2-offsets.{alias}.internal"
        wait_until(lambda: end_offsets(target.bootstrap, offsets)[1] > 0, "it noted", START)
        produce(source.bootstrap, topic, numbered(range(100, 5000)))
        wait_until(lambda: end_offsets(target.bootstrap, link.copy)[1] > 2000, "some", START)
        running.kill()
    produce(source.bootstrap, topic, numbered(range(5000, 6000)))

    def begun() -> bool:
        done = link.begin("--yes")  # its session must end first
        return done.code == 0

    wait_until(begun, "the link may begin", START)
    link.mirror.catch_up()
    assert values(target, link.copy) == [b"%d" % n for n in range(6000)]
