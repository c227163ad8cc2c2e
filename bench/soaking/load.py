"""The producers of a soak: idempotent ones of several codecs, and one with transactions."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from bench.soaking.kinds import Row, kind_of

Place = tuple[str, int]
PATIENCE = 120.0
BURST = 0.25
"""Seconds between two bursts, each to some topics."""
TRANSACTIONAL = 0.2
"""Share of the rate that is written in transactions."""
_FILLS = 200
_IDEMPOTENT = {
    "enable.idempotence": True,
    "partitioner": "murmur2_random",
    "message.timeout.ms": 300_000,
    "linger.ms": 50,
    "log_level": 0,
}


class Load:
    """Writes until it is stopped.

    Args:
        bootstrap: Of the source.
        topics: What is written to.
        rate: Records per second.
        seed: Of the records.
        frame: Returns the id, as four bytes, of the schema with which a topic is written now.

    Attributes:
        acked: Records that must be there, by partition: acknowledged, and committed.
        unknown: Records that may be there, as a commit or a record had no clear answer.
        aborted: Number of records of aborted transactions.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: Sequence[str],
        rate: int,
        seed: int,
        frame: Callable[[str], bytes],
    ) -> None:
        self.acked: Counter[Place] = Counter()
        self.unknown: Counter[Place] = Counter()
        self.aborted = 0
        self._bootstrap, self._rate, self._frame = bootstrap, rate, frame
        self._rng = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz 0123456789"
        self._fills = [
            "".join(self._rng.choices(letters, k=self._rng.randrange(300, 1100))).encode()
            for _ in range(_FILLS)
        ]
        self._topics = {
            way: [topic for topic in topics if kind_of(topic).transactional is way]
            for way in (False, True)
        }
        self._open: Counter[str] = Counter()
        self._paused: set[str] = set()
        self._producers: dict[str, Producer] = {}
        self._number, self._over = 0, threading.Event()
        self._lock = threading.Lock()
        self._failed: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._caught, args=(work,), name="soak-load")
            for work, way in ((self._write, False), (self._transact, True))
            if self._topics[way]
        ]

    def start(self) -> None:
        """Begin to write."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Write no more; everything has been answered then, and no transaction is open."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    def pause(self, topic: str) -> None:
        """Write no more to a topic, and wait for all answers; not for transactional topics."""
        with self._lock:
            self._paused.add(topic)
        deadline = time.monotonic() + PATIENCE
        while self._open[topic]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._open[topic]} records of {topic} have no answer")
            time.sleep(0.1)

    def go_on(self, topic: str) -> None:
        """Write to a topic again, which may be another one of its name."""
        with self._lock:
            self._paused.discard(topic)

    def forget(self, topic: str) -> Mapping[int, int]:
        """Forget the records of a paused topic, and return their number by partition."""
        with self._lock:
            places = [place for place in self.acked if place[0] == topic]
            return {place[1]: self.acked.pop(place) for place in places}

    def _caught(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - told by `stop`
            self._failed.append(error)

    def _write(self) -> None:
        share = 1 - TRANSACTIONAL if self._topics[True] else 1.0
        due = 0.0
        while not self._over.wait(BURST):
            due = min(due + self._rate * share * BURST, self._rate)
            with self._lock:
                topics = [each for each in self._topics[False] if each not in self._paused]
                for topic in self._rng.sample(topics, min(4, len(topics))):
                    for _ in range(int(due) // 4):
                        self._send(topic)
            due -= int(due) // 4 * 4
            for producer in list(self._producers.values()):
                producer.poll(0)
        for producer in self._producers.values():
            if left := producer.flush(PATIENCE):
                raise TimeoutError(f"{left} records have no answer")

    def _send(self, topic: str) -> None:
        codec = kind_of(topic).codec
        if codec not in self._producers:
            self._producers[codec] = Producer(
                {"bootstrap.servers": self._bootstrap, "compression.type": codec, **_IDEMPOTENT}
            )
        producer, row = self._producers[codec], self._row(topic)
        try:
            producer.produce(
                topic, row.value, row.key, headers=list(row.headers), on_delivery=self._answered
            )
            self._open[topic] += 1
        except BufferError:  # the source does not answer: the rate falls, and nothing is lost
            producer.poll(0)

    def _row(self, topic: str) -> Row:
        self._number += 1
        fill = self._fills[self._rng.randrange(_FILLS)]
        return kind_of(topic).made(self._rng, self._number, fill, self._frame(topic))

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        topic = message.topic() or ""
        (self.acked if error is None else self.unknown)[topic, message.partition() or 0] += 1
        self._open[topic] -= 1

    def _transact(self) -> None:
        rng, writer = random.Random(self._rng.random()), None
        due = 0.0
        while not self._over.is_set():
            pause = rng.uniform(0.2, 2.0)
            due = min(due + self._rate * TRANSACTIONAL * pause, self._rate)
            topics = rng.sample(self._topics[True], min(2, len(self._topics[True])))
            if writer is None:
                writer = self._transactional()
            elif self._transaction(writer, rng, topics, int(due)):
                due -= int(due)
            else:
                writer = None
            self._over.wait(pause)

    def _transaction(
        self, writer: Producer, rng: random.Random, topics: Sequence[str], count: int
    ) -> bool:
        """Write one transaction; return whether the producer can go on."""
        done: Counter[Place] = Counter()

        def answered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                done[message.topic() or "", message.partition() or 0] += 1

        is_ending = False
        try:
            writer.begin_transaction()
            for number in range(count):
                topic = topics[number % len(topics)]
                with self._lock:
                    row = self._row(topic)
                writer.produce(
                    topic, row.value, row.key, headers=list(row.headers), on_delivery=answered
                )
            writer.flush(PATIENCE)
            self._over.wait(rng.uniform(0, 1))
            if rng.random() < 1 / 7:
                writer.abort_transaction(PATIENCE)
                self.aborted += done.total()
                return True
            is_ending = True
            self._commit(writer)
        except (KafkaException, BufferError):
            if is_ending:
                self.unknown += done
            return False
        self.acked += done
        return True

    def _commit(self, writer: Producer) -> None:
        """Commit; what may be asked again is asked again, as a broker that died comes back."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return writer.commit_transaction(PATIENCE)
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _transactional(self) -> Producer | None:
        own = {"transactional.id": "soak", "message.timeout.ms": 60_000}
        configs = {**_IDEMPOTENT, **own, "compression.type": "lz4"}
        writer = Producer({"bootstrap.servers": self._bootstrap, **configs})
        try:
            writer.init_transactions(PATIENCE)
        except KafkaException:
            return None  # the source does not answer; what is open is aborted later
        return writer
