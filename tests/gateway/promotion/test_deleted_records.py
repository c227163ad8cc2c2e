"""Topics move while retention deletes their oldest records, or compaction their older values."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Consumer, Producer

from tests.support.clients.gateways import begin_clients, ends_of, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, QUIET, VALUE, Traffic
from tests.support.here import Here
from tests.support.kafka import consume, create_topic, end_offsets, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak, pytest.mark.timeout(600)]
SHORT = {"retention.ms": "20000", "segment.ms": "1000", "segment.bytes": "1048576"}
"""Members of KIP-848 may be silent for ten seconds and more while they move on a busy machine."""
COMPACTING = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "2000",
    "delete.retention.ms": "100",
}
KEYS = 40


def begins(bootstrap: str, topic: str) -> list[int]:
    return [end_offsets(bootstrap, topic, number)[0] for number in range(PARTITIONS)]


def test_topics_move_while_retention_deletes_where_they_begin(
    gateway_link: Link, here: Here
) -> None:
    """Members read all before it is deleted, so each record is read once, in order."""
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.short", PARTITIONS, SHORT)
    run = link.run_inside()
    served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    source, target = link.source.bootstrap, link.target.bootstrap
    try:
        groups = begin_clients(traffic, link.name)
        go_on(traffic, *groups)
        wait_for_end(link.target, topic, 20, run)
        wait_until(lambda: min(begins(source, topic)) > 0, "the source deletes", 90)
        before = begins(source, topic)
        promoted(here, link)
        ends = ends_of(link.source, topic)
        go_on(traffic, *groups)
        wait_until(lambda: begins(source, topic) > before, "the source deletes on", 90)
        wait_until(lambda: min(begins(target, topic)) > max(ends), "the target deletes all", 120)
        go_on(traffic, *groups)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        wait_until(lambda: all(len(traffic.values[each]) == total for each in groups), "all", 90)
    finally:
        traffic.close()
    assert traffic.errors == []
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    for group in groups:
        read = sorted(traffic.values[group].items())
        found = [(part, *VALUE.unpack(value)) for (part, _), value in read]
        wanted = {(n % PARTITIONS, who, n) for who, sent in traffic.sent.items()
                  for n in range(sent)}  # fmt: skip
        assert {*found} == wanted, "none is lost"
        assert len(found) == len(wanted), "none is doubled"
        assert [n for n in found if n[:2] == (0, 0)] == sorted(n for n in found if n[:2] == (0, 0))


@dataclass
class Keyed:
    """A producer of numbered values of a few keys, and members that read them."""

    bootstrap: str
    topic: str
    sent: int = 0
    errors: list[str] = field(default_factory=list)
    read: dict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list))
    _stop: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def begin(self, group: str) -> None:
        for what, about in ((self._write, ()), (self._read, (group,))):
            self._threads.append(threading.Thread(target=what, args=about))
            self._threads[-1].start()

    def end_writing(self) -> None:
        self._stop.set()
        self._threads[0].join()

    def close(self) -> None:
        self._stop.set()
        self._over.set()
        for each in self._threads:
            each.join()

    def last(self) -> dict[bytes, int]:
        """Return the last number of each key."""
        return {b"%d" % (n % KEYS): n for n in range(max(0, self.sent - KEYS), self.sent)}

    def _write(self) -> None:
        config = {"bootstrap.servers": self.bootstrap, "linger.ms": 2, **QUIET}
        producer = Producer({**config, "enable.idempotence": True})
        while not self._stop.is_set():
            key = b"%d" % (self.sent % KEYS)
            part = self.sent % KEYS % PARTITIONS
            producer.produce(self.topic, b"%d" % self.sent, key, part, on_delivery=self._told)
            producer.poll(0.005)
            self.sent += 1
        assert producer.flush(60) == 0

    def _told(self, error: object, _: object) -> None:
        if error is not None:
            self.errors.append(str(error))

    def _read(self, group: str) -> None:
        config = {"bootstrap.servers": self.bootstrap, "group.id": group, **QUIET}
        often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
        consumer = Consumer({**config, **often, "auto.offset.reset": "earliest"})
        consumer.subscribe([self.topic])
        while not self._over.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.read[message.key() or b""].append(int(message.value() or b""))
        consumer.close()


def test_topics_move_while_they_are_compacted(gateway_link: Link, here: Here) -> None:
    """Both clusters clean meanwhile; the last value of each key is there, and was read last."""
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.keys", PARTITIONS, COMPACTING)
    run = link.run_inside()
    served(link)
    keyed = Keyed(link.gateway.split("'")[1], topic)
    try:
        keyed.begin(f"{link.name}-group")
        wait_for_end(link.target, topic, 200, run)
        wait_until(lambda: is_cleaned(link.source.bootstrap, topic), "the source cleans", 120)
        promoted(here, link)
        ends = ends_of(link.source, topic)
        known = keyed.sent
        wait_until(lambda: keyed.sent > known + 10 * KEYS, "it writes on", 60)
        wait_until(lambda: is_cleaned(link.target.bootstrap, topic, max(ends)), "it cleans", 120)
        keyed.end_writing()
        last = keyed.last()
        wait_until(lambda: {key: each[-1] for key, each in keyed.read.items()} == last, "read", 60)
    finally:
        keyed.close()
    assert keyed.errors == []
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    there = consume(link.target.bootstrap, topic, range(PARTITIONS))
    assert {each.key: int(each.value or b"") for each in there} == last
    for numbers in keyed.read.values():
        assert numbers == sorted(numbers), "none overtook another"


def is_cleaned(bootstrap: str, topic: str, beyond: int = 0) -> bool:
    """Whether older values of keys are gone, and offsets with them, also behind an offset."""
    time.sleep(0.5)
    found = [each.offset for each in consume(bootstrap, topic, [0]) if each.offset >= beyond]
    return bool(found) and found[0] > beyond + KEYS
