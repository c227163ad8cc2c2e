"""Transactional producers that know nothing but a gateway, while their cluster moves."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place

from tests.support.clients.moving import PARTITIONS, QUIET
from tests.support.kafka import wait_until

RECORDS = 3
"""Records of a transaction in each partition."""
_ABORTED = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}
"""What is told of records that were not sent yet when their transaction was aborted."""


@dataclass
class Transactions:
    """Producers that write in transactions, and some that read in them as well.

    Attributes:
        bootstrap: The gateway.
        errors: What applications were told of connections.
        failures: What they were told of their transactions and records.
        committed: Each transaction that a producer committed, by its transactional id.
        aborted: Those that it aborted.
        waits: How long each transaction took, in seconds.
        session: Seconds for which a member may be silent before its coordinator drops it, where a
            program is given no `session.timeout.ms`. Behind a longer silence a transaction that it
            has open cannot commit its offsets.
        interrupted: What programs were told of such transactions, which they began anew.
    """

    bootstrap: str
    session: float = 45.0
    interrupted: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    committed: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    aborted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _writing: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def write(self, name: str, topic: str) -> None:
        """Begin to write numbered transactions, of which every fourth is aborted."""
        self._begin(self._write, name, topic)

    def process(self, name: str, group: str, inputs: str, output: str, **more: Any) -> None:
        """Begin to read a topic, to write each record to another, and to commit both at once."""
        self._begin(self._process, name, group, inputs, output, more)

    def end(self) -> None:
        """End producers, and those that read what they wrote once they have read all."""
        self._writing.set()
        for each in self._threads:
            if each.name in self.aborted:
                each.join(60)
        self._over.set()
        for each in self._threads:
            each.join(60)
        assert not any(each.is_alive() for each in self._threads), "all end"

    def close(self) -> None:
        """End all at once."""
        self._writing.set()
        self._over.set()
        for each in self._threads:
            each.join(10)

    def go_on(self, *names: str, count: int = 3) -> None:
        """Wait until each has committed some more transactions."""
        known = {name: len(self.committed[name]) for name in names}

        def are_told() -> bool:
            done = all(len(self.committed[name]) >= known[name] + count for name in names)
            return done or bool(self.failures)

        wait_until(are_told, "transactions go on", 60)
        assert self.failures == [], self.failures

    def _begin(self, what: Callable[..., None], *about: Any) -> None:
        def run() -> None:
            try:
                what(*about)
            except KafkaException as error:
                self.failures.append(f"{about[0]}: {error}")

        thread = threading.Thread(target=run, name=str(about[0]), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _told(self, error: Any) -> None:
        self.errors.append(str(error))

    def producer(self, name: str) -> Producer:
        """Return a producer that has begun with a transactional id."""
        config: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "linger.ms": 2}
        config["transactional.id"] = name
        # Else librdkafka 2.16 waits for ever for a group's coordinator once all brokers were away,
        # or once that one was, with the others as they were, and Metadata did not name it.
        config |= {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 500}
        config |= {"connections.max.idle.ms": 10_000}
        producer = Producer({**config, **QUIET, "error_cb": self._told})
        producer.init_transactions(60)
        return producer

    def consumer(self, group: str, topic: str, **more: Any) -> Consumer:
        """Return a member of a group that reads what was committed."""
        config = {"bootstrap.servers": self.bootstrap, "group.id": group, **QUIET, **more}
        config |= {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
        config |= {"isolation.level": "read_committed", "reconnect.backoff.max.ms": 500}
        consumer = Consumer({**config, "error_cb": self._told})
        consumer.subscribe([topic])
        return consumer

    def _write(self, name: str, topic: str) -> None:
        producer, number = self.producer(name), 0
        while not self._writing.is_set():
            begun = time.monotonic()
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                for n in range(RECORDS):
                    value = json.dumps([name, number, partition, n])
                    producer.produce(topic, value, partition=partition, on_delivery=self._delivered)
                producer.poll(0)
            if number % 4 == 3:
                producer.flush(60)
                producer.abort_transaction(60)
                self.aborted[name].append(number)
            else:
                producer.commit_transaction(60)
                self.committed[name].append(number)
            self.waits[name].append(time.monotonic() - begun)
            number += 1
            time.sleep(0.05)

    def _delivered(self, error: KafkaError | None, _: Any) -> None:
        if error is not None and error.code() not in _ABORTED:
            self.failures.append(str(error))

    def _process(
        self, name: str, group: str, inputs: str, output: str, more: dict[str, Any]
    ) -> None:
        producer, number = self.producer(name), 0
        consumer = self.consumer(group, inputs, **more)
        session = float(more.get("session.timeout.ms", 1000 * self.session)) / 1000
        heard = time.monotonic()
        while True:
            is_last = self._over.is_set()
            found = [each for each in consumer.consume(50, 0.2) if each.error() is None]
            if not found and is_last:
                break
            if not found:
                continue
            begun = time.monotonic()
            try:
                self.processed(producer, consumer, found, output)
            except KafkaException as error:
                if time.monotonic() - heard < session or not error.args[0].txn_requires_abort():
                    raise
                self.interrupted.append(f"{name}: {error}")
                producer.abort_transaction(60)
                begin_anew(consumer)
                continue
            heard = time.monotonic()
            self.committed[name].append(number)
            self.waits[name].append(heard - begun)
            number += 1
        consumer.close()

    def processed(
        self, producer: Producer, consumer: Consumer, found: list[Message], output: str
    ) -> None:
        """Write records, and commit how far was read with them."""
        producer.begin_transaction()
        for each in found:
            value = json.dumps([each.partition(), each.offset()])
            producer.produce(
                output, value, partition=each.partition() or 0, on_delivery=self._delivered
            )
        positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
        producer.send_offsets_to_transaction(
            [Place(each.topic, each.partition, each.offset) for each in positions],
            consumer.consumer_group_metadata(),
            60,
        )
        producer.commit_transaction(60)


def begin_anew(consumer: Consumer) -> None:
    """Let a member go back to what it committed last; one that was dropped does so by itself."""
    for each in consumer.committed(consumer.assignment(), 60):
        with suppress(KafkaException):  # it has just lost it
            consumer.seek(Place(each.topic, each.partition, max(each.offset, 0)))


def committed_values(bootstrap: str, topic: str) -> list[tuple[int, int, Any]]:
    """Return partition, offset and value of what a consumer of committed records sees."""
    config = {"bootstrap.servers": bootstrap, "group.id": "reader", **QUIET}
    consumer = Consumer(
        {**config, "isolation.level": "read_committed", "enable.partition.eof": True}
    )
    consumer.assign([Place(topic, number, 0) for number in range(PARTITIONS)])
    found, ended = list[tuple[int, int, Any]](), set[int]()
    while len(ended) < PARTITIONS:
        message = consumer.poll(10)
        assert message is not None, f"{topic} ends"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition() or 0)
            continue
        value = json.loads(message.value() or b"")
        found.append((message.partition() or 0, message.offset() or 0, value))
    consumer.close()
    return found


def require_whole_transactions(traffic: Transactions, bootstrap: str, topic: str) -> None:
    """Fail unless a cluster shows each committed transaction once and wholly, and no other."""
    found = [(*value,) for _, _, value in committed_values(bootstrap, topic)]
    names = {name for name in traffic.committed if name in traffic.aborted}
    wanted = [
        (name, number, partition, n)
        for name in names
        for number in traffic.committed[name]
        for partition in range(PARTITIONS)
        for n in range(RECORDS)
    ]
    assert Counter(found) == Counter(wanted), "none is lost, doubled, aborted or half"
    for name in names:
        for partition in range(PARTITIONS):
            own = [each[1::2] for each in found if (each[0], each[2]) == (name, partition)]
            assert own == sorted(own), "none overtook another"


def require_processed(bootstrap: str, inputs: str, output: str) -> None:
    """Fail unless each committed record of a topic was written once to another."""
    wanted = Counter(
        (partition, offset) for partition, offset, _ in committed_values(bootstrap, inputs)
    )
    found = Counter((*value,) for _, _, value in committed_values(bootstrap, output))
    assert found == wanted, "each record is processed once"
