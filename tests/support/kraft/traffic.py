"""Clients that never stop while a cluster is taken to KRaft, and what they lived through."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer

from tests.support.kafka import PATIENCE, wait_until
from tests.support.kraft.patients import GROUP, PASSWORD, TRAFFIC, USER
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.dev.zookeeper_configs import MECHANISM

_EVERY = 0.01
"""Seconds between two records of the traffic."""
_STALLED = 40.0
"""Seconds without a record, though some were delivered, after which a consumer stands still: longer
than brokers take to elect leaders and to start again, shorter than `Traffic.flowing` waits."""


@dataclass(frozen=True, slots=True)
class TrafficResult:
    """What clients lived through.

    Attributes:
        sent: Records that the producer gave to librdkafka.
        failed: Of those, the ones that it could not deliver.
        lost: Delivered, and at no offset that the consumer saw.
        doubled: At more than one offset.
        pause: Longest time between two deliveries, in seconds.
        read_pause: Longest time between two records that the consumer got, in seconds.
        remade: How often a consumer that stood still was made anew.
    """

    sent: int
    failed: int
    lost: int
    doubled: int
    pause: float
    read_pause: float
    remade: int = 0

    @property
    def whole(self) -> bool:
        """Whether no record failed, was lost or doubled."""
        return self.failed == self.lost == self.doubled == 0


@dataclass
class _Clock:
    """The longest time between two events."""

    last: float | None = None
    longest: float = 0.0

    def tick(self) -> None:
        now = time.monotonic()
        if self.last is not None:
            self.longest = max(self.longest, now - self.last)
        self.last = now


@dataclass
class Traffic:
    """A producer (acks=all, idempotent, 100 records a second) and a consumer, both logged in.

    The producer has one request in flight: behind any new leader librdkafka (2.16.0) with several
    may send a record again, under a new producer epoch, that was appended already (#4953).

    Use it as a context manager, then ask for `result`.

    Attributes:
        kills: Whether brokers are killed meanwhile. A client then begins anew ("re-bootstrap").

    A consumer that stands still is made anew, in the same group; nothing else is forgiven. That is
    for librdkafka (2.16.0). Its clients forget all brokers that the last answer did not
    name. One that does not begin anew never comes back where those that are left are killed; one
    that does may stand still for good (#5301), but must where a broker is alone: while it starts it
    names none. A broker that starts while no controller leads also says that no topic exists, and
    clients ask again after five minutes only, unless they are told otherwise. Where such a broker
    takes long to start, a producer would soon refuse records by itself ("Unknown topic").
    """

    cluster: ZooKeeperCluster
    kills: bool = False
    sent: int = 0
    remade: int = 0
    _failures: list[str] = field(default_factory=list)
    _delivered: set[int] = field(default_factory=set)
    _seen: dict[tuple[int, int], int] = field(default_factory=dict)
    _deliveries: _Clock = field(default_factory=_Clock)
    _reads: _Clock = field(default_factory=_Clock)
    _end: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _broken: list[BaseException] = field(default_factory=list)
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=6))

    def __enter__(self) -> Traffic:
        for work in self._produce, self._consume:
            thread = threading.Thread(target=self._guarded, args=(work,), daemon=True)
            thread.start()
            self._threads.append(thread)
        wait_until(lambda: bool(self._broken or self._seen), "the first record arrived")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end = time.monotonic() + 3 * PATIENCE
        self._over.set()
        if kind is not None:
            return  # the cluster may be gone, and nobody asks for the result
        for thread in self._threads:
            thread.join(self._end - time.monotonic() + PATIENCE)

    def result(self) -> TrafficResult:
        """Return what happened, once both have ended."""
        assert self._over.is_set()
        assert not self._broken, self._broken
        assert not any(each.is_alive() for each in self._threads), "a client hangs"
        times = Counter(self._seen.values())
        return TrafficResult(
            sent=self.sent,
            failed=len(self._failures),
            lost=len(self._delivered - set(times)),
            doubled=sum(count - 1 for count in times.values()),
            pause=self._deliveries.longest,
            read_pause=self._reads.longest,
            remade=self.remade,
        )

    def flowing(self) -> None:
        """Wait until a record that is sent from now on has been consumed."""
        mark = self.sent
        end = time.monotonic() + 2 * PATIENCE
        while not self._broken and max(self._seen.values(), default=0) <= mark:
            assert time.monotonic() < end, f"records do not flow: {self._standing()}"
            time.sleep(0.02)
        assert not self._broken, self._broken

    def _standing(self) -> str:
        """Say how far each client is, and what it was told last."""
        read = dict(sorted(self._seen))
        return (
            f"{self.sent} sent, the last delivered {max(self._delivered, default=None)},"
            f" {len(self._failures)} failed {self._failures[-1:]},"
            f" {self.remade} consumers made anew,"
            f" read up to {max(self._seen.values(), default=None)}, offsets {read},"
            f" said last: {[*self._said]}"
        )

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # the thread of the test raises it
            self._broken.append(error)

    def _produce(self) -> None:
        producer = Producer(
            {
                **self._login,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "max.in.flight.requests.per.connection": 1,
                "error_cb": lambda error: self._said.append(f"producer: {error}"),
            }
        )
        following = time.monotonic()
        while not self._over.is_set():
            producer.produce(TRAFFIC, b"%d" % self.sent, on_delivery=self._delivery)
            self.sent += 1
            following += _EVERY
            while (left := following - time.monotonic()) > 0:
                producer.poll(left)
        assert not producer.flush(PATIENCE), "records could not be sent"

    def _delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failures.append(str(error))
            return
        self._deliveries.tick()
        self._delivered.add(int(message.value() or b"-1"))

    def _consume(self) -> None:
        while self._read():
            self.remade += 1
            self._said.append(f"consumer {self.remade} stood still, and is made anew")

    def _read(self) -> bool:
        """Read with one consumer to the end; return whether it stands still before that."""
        consumer, began = self._consumer(), time.monotonic()
        while not self._is_done():
            message = consumer.poll(0.05)
            if message is None:
                if self._stands_still(began):
                    # It may wait for brokers that it has forgotten.
                    threading.Thread(target=consumer.close, daemon=True).start()
                    return True
            elif (error := message.error()) is None:
                self._take(message)
            else:
                self._said.append(f"consumer: {error}")
        consumer.close()
        return False

    def _is_done(self) -> bool:
        """Whether everything was read behind the last record, or its time is over."""
        if not self._over.is_set():
            return False
        late = time.monotonic() > self._end
        return late or (not self._threads[0].is_alive() and self._complete())

    def _consumer(self) -> Consumer:
        consumer = Consumer(
            {
                **self._login,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "error_cb": lambda error: self._said.append(f"consumer: {error}"),
            }
        )
        consumer.subscribe([TRAFFIC])
        return consumer

    def _stands_still(self, began: float) -> bool:
        """Whether a consumer that was made then got nothing for long, and something is there."""
        last = max(began, self._reads.last or began)
        return time.monotonic() - last > _STALLED and not self._complete()

    def _take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        if (partition, offset) not in self._seen:
            self._reads.tick()
        self._seen[partition, offset] = int(message.value() or b"-1")

    @property
    def _login(self) -> dict[str, Any]:
        more: dict[str, Any] = {
            "metadata.recovery.strategy": "none",
            "topic.metadata.propagation.max.ms": 300_000,
        }
        if self.kills or len(self.cluster.brokers) == 1:
            more["metadata.recovery.strategy"] = "rebootstrap"
        if self.kills:
            more["topic.metadata.refresh.interval.ms"] = 5_000
        return {**_login(self.cluster), **more}

    def _complete(self) -> bool:
        return self._delivered <= set(self._seen.values())


def _login(cluster: ZooKeeperCluster) -> dict[str, Any]:
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": MECHANISM,
        "sasl.username": USER,
        "sasl.password": PASSWORD.reveal(),
        "log_level": 0,
    }
