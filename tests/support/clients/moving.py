"""Producers and members of groups that know nothing but a gateway, while their cluster moves."""

from __future__ import annotations

import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Producer

from tests.support.kafka import consume, wait_until

PARTITIONS, RATE = 2, 50
QUIET = {"log_level": 0}
VALUE = struct.Struct(">iq")
Read = tuple[int, int]


@dataclass
class Traffic:
    """Producers and members of groups that know nothing but the gateway.

    Attributes:
        errors: What applications were told.
        sent: How many records each producer sent.
        waits: How long each record took until it was acknowledged, in seconds.
        read: Partition and offset of each record that members of a group read.
        values: What these records are, by group.
        times: When, by group.
        security: How clients encrypt and log in.
        idempotent: Whether producers are.
        rate: How many records a producer sends in a second.
    """

    bootstrap: str
    topic: str
    errors: list[str] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    read: dict[str, list[Read]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[Read, bytes]] = field(default_factory=lambda: defaultdict(dict))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    security: dict[str, Any] = field(default_factory=dict)
    idempotent: bool = True
    rate: int = RATE
    _writing: threading.Event = field(default_factory=threading.Event)
    _reading: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def write(self, number: int) -> None:
        self._begin(self._write, number)

    def join(self, group: str, **more: Any) -> None:
        self._begin(self._read, group, more)

    def end_writing(self) -> None:
        self._writing.set()
        wait_until(lambda: len(self.sent) == self._writers, "producers end", 60)

    def close(self) -> None:
        self._writing.set()
        self._reading.set()
        for each in self._threads:
            each.join()

    @property
    def _writers(self) -> int:
        return sum(each.name.startswith("write") for each in self._threads)

    def _begin(self, what: Callable[..., None], *about: Any) -> None:
        name = "write" if what == self._write else "read"
        thread = threading.Thread(target=what, args=about, name=name)
        self._threads.append(thread)
        thread.start()

    def _told(self, error: Any) -> None:
        self.errors.append(str(error))

    def _write(self, number: int) -> None:
        config = {"bootstrap.servers": self.bootstrap, "linger.ms": 2, **QUIET, **self.security}
        config["enable.idempotence"] = self.idempotent
        # By default the others send on without end, and all of it waits at a busy broker.
        config["max.in.flight.requests.per.connection"] = 5
        producer = Producer({**config, "error_cb": self._told})
        begun, count = time.monotonic(), 0

        def delivered(at: float) -> Callable[[Any, Any], None]:
            def told(error: Any, _: Any) -> None:
                if error is not None:
                    self._told(error)
                self.waits.append(time.monotonic() - at)

            return told

        while not self._writing.is_set():
            while count < (time.monotonic() - begun) * self.rate:
                value, partition = VALUE.pack(number, count), count % PARTITIONS
                on = delivered(time.monotonic())
                producer.produce(self.topic, value, partition=partition, on_delivery=on)
                count += 1
            producer.poll(0.02)
        if producer.flush(60):
            self._told("records are left")
        self.sent[number] = count

    def _read(self, group: str, more: dict[str, Any]) -> None:
        config = {"bootstrap.servers": self.bootstrap, "group.id": group, **QUIET, **more}
        config |= self.security
        consumer = Consumer({**config, "auto.offset.reset": "earliest", "error_cb": self._told})
        consumer.subscribe([self.topic])
        while not self._reading.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                self._told(message.error())
                continue
            place, value = (message.partition() or 0, message.offset() or 0), message.value() or b""
            if self.values[group].setdefault(place, value) != value:
                self._told(f"another record at {place}")
            self.read[group].append(place)
            self.times[group].append(time.monotonic())
        consumer.close()


def require_whole(traffic: Traffic, bootstrap: str) -> None:
    """Fail unless a cluster has each record of all producers once, in the order of each."""
    numbers = range(PARTITIONS)
    found = [VALUE.unpack(each.value or b"") for each in consume(bootstrap, traffic.topic, numbers)]
    wanted = {(number, n) for number, count in traffic.sent.items() for n in range(count)}
    assert Counter(found) == Counter(wanted), "none is lost or doubled"
    for number in traffic.sent:
        for partition in numbers:
            own = [n for who, n in found if who == number and n % PARTITIONS == partition]
            assert own == sorted(own), "none overtook another"
