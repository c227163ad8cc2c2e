"""Topics and groups move to the target while their clients write and read."""

from __future__ import annotations

import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import consume, create_topic, end_offsets, wait_until
from tests.support.links import Link
from tests.support.program import Program
from towpath.dev import ports

pytestmark = [pytest.mark.broker, pytest.mark.spark]
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
        times: When, by group.
    """

    bootstrap: str
    topic: str
    errors: list[str] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    read: dict[str, list[Read]] = field(default_factory=lambda: defaultdict(list))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
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
        config = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "linger.ms": 2}
        producer = Producer({**config, **QUIET, "error_cb": self._told})
        begun, count = time.monotonic(), 0

        def delivered(at: float) -> Callable[[Any, Any], None]:
            def told(error: Any, _: Any) -> None:
                if error is not None:
                    self._told(error)
                self.waits.append(time.monotonic() - at)

            return told

        while not self._writing.is_set():
            while count < (time.monotonic() - begun) * RATE:
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
        consumer = Consumer({**config, "auto.offset.reset": "earliest", "error_cb": self._told})
        consumer.subscribe([self.topic])
        while not self._reading.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                self._told(message.error())
                continue
            self.read[group].append((message.partition(), message.offset()))
            self.times[group].append(time.monotonic())
        consumer.close()


@pytest.fixture
def link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.bootstrap}).list_topics().brokers))
        for each in (source, target)
    ]
    first, one, two = (f"127.0.0.1:{each}" for each in ports.reserve(3))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += " hold: 15s}"
    made = Link(tmp_path, source, target, new_name("moves"), gateway=gateway, timeout="10s")
    yield made
    for program in made.programs:
        program.close()


def served(link: Link) -> Program:
    program = link.start("gateway")
    wait_until(lambda: "listening on" in program.said, f"a gateway listens: {program.said}", 60)
    return program


def promoted(here: Here, link: Link) -> Any:
    """Promote; where the machine was too slow, everything went on as before, so do it again."""
    for _ in range(3):
        done = here("promote", str(link.file), "-o", "json")
        if done.json["state"] != "undone":
            break
    assert (done.code, done.json["state"]) == (0, "promoted"), done.said
    return done.json


def test_clients_move_and_notice_nothing(link: Link, here: Here) -> None:
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    bootstrap = link.gateway.split("'")[1]
    traffic = Traffic(bootstrap, topic)
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(classic, **{"heartbeat.interval.ms": 500})
        traffic.join(new, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]), "all read", 60)
        link.wait_for(run, topic)

        told = here("promote", str(link.file), "--dry-run", "-o", "json")
        assert (told.code, told.json["state"]) == (0, "told"), told.said
        assert f"group {classic}: 1 of 1 member came through this gateway" in told.json["told"]
        done = promoted(here, link)
        ends = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
        before = {group: len(read) for group, read in traffic.read.items()}

        def go_on() -> bool:
            return all(len(traffic.read[each]) > before[each] + 50 for each in (classic, new))

        wait_until(go_on, f"members read on the target: {traffic.errors} {gateway.said}", 60)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        wait_until(
            lambda: all(len({*traffic.read[each]}) >= total for each in (classic, new)),
            f"all {total} are read",
            60,
        )
    finally:
        traffic.close()
    assert traffic.errors == []
    after = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
    assert after == ends, "nothing came to the source any more"
    found = [VALUE.unpack(each.value or b"") for each in
             consume(link.target.bootstrap, topic, range(PARTITIONS))]  # fmt: skip
    wanted = {(number, n) for number, count in traffic.sent.items() for n in range(count)}
    assert Counter(found) == Counter(wanted), "none is lost or doubled"
    for number in traffic.sent:
        for partition in range(PARTITIONS):
            own = [n for who, n in found if who == number and n % PARTITIONS == partition]
            assert own == sorted(own), "none overtook another"
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"
    silent = {
        group: max(b - a for a, b in pairwise(times)) for group, times in traffic.times.items()
    }
    print(f"held {done['held_ms']} ms; longest send {max(traffic.waits):.2f} s; silent {silent}")  # noqa: T201
