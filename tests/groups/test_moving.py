"""Consumers that move in the middle of a stream go on at exactly the next record."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.clients.consumers import read_by_java, read_some
from tests.support.clients.records import COMPACT
from tests.support.here import Here
from tests.support.kafka import (
    PATIENCE,
    Record,
    commit,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    produce,
    set_config,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@dataclass
class Stream:
    """Three topics of a link: plain, transactional and compacted."""

    mirror: Mirror
    rng: random.Random
    written: int = 0

    @property
    def topics(self) -> tuple[str, str, str]:
        name = self.mirror.link
        return f"{name}.plain", f"{name}.transactional", f"{name}.compacted"

    @property
    def source(self) -> str:
        return self.mirror.source.bootstrap

    @property
    def target(self) -> str:
        return self.mirror.target.bootstrap

    def create(self, *, foreign: int) -> None:
        """Create the topics; those of the target have held records of others before."""
        for topic in self.topics:
            holes = COMPACT if topic.endswith("compacted") else {}
            create_topic(self.source, topic, 1, holes)
            create_topic(self.target, topic, 1)
            if foreign:
                produce(self.target, topic, [Record(None, b"foreign")] * foreign)
                delete_before(self.target, topic, foreign)

    def write(self, count: int) -> None:
        """Write records to each topic, each with a value of its own."""
        plain, transactional, compacted = self.topics
        for topic in (plain, compacted):
            produce(self.source, topic, self._some(topic, count))
        self._transactions(transactional, count)
        self.written += count

    def compact(self) -> None:
        """Write to the compacted topic until its cleaner has made holes, then stop the cleaner."""
        topic, numbers = self.topics[2], 0

        def holed() -> bool:
            nonlocal numbers
            numbers += 100
            records = [
                Record(b"%d" % self.rng.randrange(40), b"%s:early-%d" % (topic.encode(), number))
                for number in range(numbers - 100, numbers)
            ]
            produce(self.source, topic, records)
            offsets = [record.offset for record in consume(self.source, topic)]
            return len(offsets) < 0.7 * (offsets[-1] + 1)

        wait_until(holed, "the cleaner made holes")
        set_config(self.source, topic, "cleanup.policy", "delete")

    def visible(self, topics: Sequence[str] = ()) -> list[bytes]:
        """Return all values that consumers of the source see."""
        found = (consume(self.source, topic) for topic in topics or self.topics)
        return [record.value or b"" for each in found for record in each]

    def _some(self, topic: str, count: int) -> list[Record]:
        numbers = range(self.written, self.written + count)
        return [Record(b"k%d" % number, b"%s:%d" % (topic.encode(), number)) for number in numbers]

    def _transactions(self, topic: str, count: int) -> None:
        """Write small transactions, of which every third is aborted."""
        producer = Producer({"bootstrap.servers": self.source, "transactional.id": topic})
        producer.init_transactions(PATIENCE)
        records = self._some(topic, count)
        while records:
            size = self.rng.randint(1, 5)
            part, records = records[:size], records[size:]
            aborted = self.rng.randrange(3) == 0
            producer.begin_transaction()
            for record in part:
                producer.produce(topic, record.value, record.key, partition=0)
            producer.flush(PATIENCE)
            producer.abort_transaction() if aborted else producer.commit_transaction()


@pytest.fixture
def stream(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
) -> Stream:
    name = new_name("moving")
    mirror = Mirror(tmp_path, source, target, f"{name}[.].*", link=name)
    return Stream(mirror, rng)


def sync(stream: Stream, here: Here) -> None:
    """Bring the groups over, and expect the target to have every position then."""
    config = stream.mirror.config  # writes the file
    file = stream.mirror.folder / f"{config.link}.yaml"
    file.write_text(file.read_text() + f"groups: {{include: ['{config.link}-.*']}}\n")
    done = here("groups", "sync", str(file), "-o", "json")
    assert done.code == 0, done.said
    outcomes = done.json["outcomes"]
    assert outcomes.keys() <= {"CONFIRMED", "UNCHANGED"}, outcomes


@pytest.mark.parametrize(
    "foreign", [3, pytest.param(0, marks=pytest.mark.soak)], ids=["mapped", "identical"]
)
def test_groups_go_on_at_the_next_record(stream: Stream, here: Here, foreign: int) -> None:
    """The mirror topics have other offsets. One group has read everything, behind all markers."""
    link = stream.mirror.link
    ours, javas, done = f"{link}-librdkafka", f"{link}-java", f"{link}-done"
    stream.create(foreign=foreign)
    stream.compact()
    stream.write(40)
    read = {ours: read_some(stream.source, ours, stream.topics, 60)}
    read[javas] = read_by_java(stream.source, javas, stream.topics, 50)
    stream.mirror.catch_up()
    sync(stream, here)
    stream.write(60)
    read[ours] += read_some(stream.source, ours, stream.topics, 70)
    read[javas] += read_by_java(stream.source, javas, stream.topics, 45)
    everything = sorted(stream.visible())
    for topic in stream.topics:  # Java's consumers stand behind the last marker
        commit(stream.source, done, topic, 0, end_offsets(stream.source, topic)[1])
    stream.mirror.catch_up()
    sync(stream, here)
    stopped = {group: len(values) for group, values in read.items()}
    read[ours] += read_some(stream.target, ours, stream.topics, 10_000)
    left = len(everything) - len(read[javas])
    read[javas] += read_by_java(stream.target, javas, stream.topics, left)
    for group, values in read.items():
        assert sorted(values) == everything, f"{group} stopped after {stopped[group]} records"
    assert read_some(stream.target, done, stream.topics, 10_000) == []
    plain = stream.topics[0]
    produce(stream.target, plain, [Record(None, b"the next one")])
    assert read_some(stream.target, done, stream.topics, 10_000) == [b"the next one"]
