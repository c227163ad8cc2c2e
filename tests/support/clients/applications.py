"""Applications that live through a migration: stopped on one cluster, started on another.

Each one notes what it wrote or read, so that a test can tell afterwards whether it went on right.
Those of librdkafka are threads here; Streams applications and consumers of Java are processes
(`java/StreamsApplication.java`, `java/Application.java`).
"""

from __future__ import annotations

import itertools
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from tests.support.kafka import PATIENCE, wait_until
from towpath.dev import distribution
from towpath.engine import java

_PROGRAMS = Path(__file__).parents[1] / "java"
_EVERY = 0.05
"""Seconds between two records, or two transactions, of a writer."""
Configs = Mapping[str, str]


class Worker:
    """A client in a thread of its own, from `start` to `stop`."""

    def __init__(self) -> None:
        self._over, self._thread = threading.Event(), threading.Thread()
        self._broken: list[BaseException] = []

    def start(self, at: Configs) -> None:
        """Begin on a cluster.

        Args:
            at: Configs of librdkafka that lead to the cluster.
        """
        self._over.clear()
        self._thread = threading.Thread(target=self._guarded, args=(at,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End in good order, as an application that is deployed anew."""
        self._over.set()
        self._thread.join(3 * PATIENCE)
        assert not self._thread.is_alive(), f"{self} hangs"
        self.check()

    def leave(self) -> None:
        """End without a check, if it has not ended yet."""
        self._over.set()

    def check(self) -> None:
        """Fail where the client failed."""
        assert not self._broken, f"{self}: {self._broken}"

    def _guarded(self, at: Configs) -> None:
        try:
            self._work(at)
        except BaseException as error:  # noqa: BLE001  # the test raises it
            self._broken.append(error)

    def _work(self, at: Configs) -> None:
        raise NotImplementedError


class Writer(Worker):
    """A producer of numbered records, idempotent, or in transactions of which some are aborted.

    Attributes:
        topic: Where it writes.
        delivered: The values that the cluster has acknowledged, in order of their numbers.
    """

    def __init__(self, topic: str, partitions: int, *, transactional: bool = False) -> None:
        super().__init__()
        self.topic, self._partitions, self._transactional = topic, partitions, transactional
        self.delivered: list[bytes] = []
        self._numbers = itertools.count()

    def __str__(self) -> str:
        return f"the writer of {self.topic}"

    def _work(self, at: Configs) -> None:
        ids = {"transactional.id": f"{self.topic}-writer"} if self._transactional else {}
        configs: dict[str, Any] = {**at, "enable.idempotence": True, "linger.ms": 5, **ids}
        producer = Producer(configs)
        if self._transactional:
            producer.init_transactions(PATIENCE)
        while not self._over.wait(_EVERY):
            self._transaction(producer) if self._transactional else self._write(producer, 2)
        left = producer.flush(PATIENCE)
        assert not left, f"{left} records were not delivered"

    def _write(self, producer: Producer, count: int, delivered: list[bytes] | None = None) -> None:
        into = self.delivered if delivered is None else delivered

        def told(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._broken.append(RuntimeError(str(error)))
            else:
                into.append(message.value() or b"")

        for number in itertools.islice(self._numbers, count):
            value = b"w%d:%s-%d" % (number % 7, self.topic.encode(), number)
            part = number % self._partitions
            producer.produce(self.topic, value, b"%d" % (number % 50), part, on_delivery=told)
            producer.poll(0)

    def _transaction(self, producer: Producer) -> None:
        some: list[bytes] = []
        producer.begin_transaction()
        self._write(producer, 3, some)
        producer.flush(PATIENCE)
        if next(self._numbers) % 5 == 0:
            producer.abort_transaction(PATIENCE)
            return
        producer.commit_transaction(PATIENCE)
        self.delivered += some


class Reader(Worker):
    """A group with one member, which commits behind each record that it has read.

    Attributes:
        group: Its name.
        values: What it has read, on all clusters.
        committed: The partitions for which it has committed an offset, on any cluster.
        more: Configs of its own, such as `group.protocol`.
    """

    def __init__(self, group: str, topics: Sequence[str], **more: str) -> None:
        super().__init__()
        self.group, self.topics = group, [*topics]
        self.more = {name.replace("_", "."): value for name, value in more.items()}
        self.values: list[bytes] = []
        self.committed: set[tuple[str, int]] = set()
        self.reset = "earliest"

    def __str__(self) -> str:
        return f"group {self.group}"

    def start(self, at: Configs) -> None:
        """Begin on a cluster; only the first time may there be no position."""
        super().start(at)

    def _work(self, at: Configs) -> None:
        configs: dict[str, Any] = {
            **at,
            "group.id": self.group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": self.reset,
            "isolation.level": "read_committed",
            **self.more,
        }
        self.reset = "error"
        consumer = Consumer(configs)
        consumer.subscribe(self.topics)
        try:
            while not self._over.is_set():
                self._read(consumer)
        finally:
            consumer.close()

    def _read(self, consumer: Consumer) -> None:
        read = [each for each in consumer.consume(100, 0.2) if self._taken(each)]
        for message in read:
            self.values.append(message.value() or b"")
            consumer.store_offsets(message)
        if read:
            consumer.commit(asynchronous=False)
            self.committed.update((str(each.topic()), each.partition() or 0) for each in read)

    @staticmethod
    def _taken(message: Message) -> bool:
        error = message.error()
        if error is not None and not error.retriable():
            raise RuntimeError(str(error))
        return error is None

    def wait_for(self, count: int) -> None:
        """Wait until it has read so many records."""

        def has_read() -> bool:
            self.check()
            return len(self.values) >= count

        wait_until(has_read, f"{self} has read {count} records", 3 * PATIENCE)

    def wait_for_all(self, partitions: int) -> None:
        """Wait until it has an offset in so many partitions, so that it may begin elsewhere."""

        def has_committed() -> bool:
            self.check()
            return len(self.committed) >= partitions

        wait_until(has_committed, f"{self} has committed {partitions} partitions", 3 * PATIENCE)


@dataclass
class JavaApplication:
    """A Streams application or a consumer of Java, a process of its own on each cluster.

    Attributes:
        kind: `streams`, `share` or `consume`.
        name: Its application id, or its group.
        source: The topic that it reads.
        output: The topic that it writes, if any.
        configs: Configs of its own.
        version: The version of Kafka Streams.
        instance: Which of several instances of a Streams application it is.
    """

    folder: Path
    kind: str
    name: str
    source: str
    output: str = "-"
    configs: Mapping[str, str] = field(default_factory=dict)
    version: str = distribution.NEWEST
    instance: str = ""
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        """What it printed, on all clusters."""
        files = (self._at(n, ".out") for n in range(1, self.starts + 1))
        return "".join(file.read_text(errors="replace") for file in files)

    def start(self, at: Configs) -> None:
        """Begin on a cluster, without any state of before on this machine."""
        self.starts += 1
        state = {"state.dir": str(self._at(self.starts, ".state"))}
        configs = {**at, **self.configs, **(state if self.kind == "streams" else {})}
        jars = distribution.fetch_for_benchmarks(
            f"streams-{self.version}",
            [("org.apache.kafka", "kafka-streams", self.version), distribution.LOG4J],
        )
        words = [f"{name}={value}" for name, value in configs.items()]
        out, err = self._at(self.starts, ".out"), self._at(self.starts, ".err")
        program = "StreamsApplication" if self.kind == "streams" else "Application"
        with out.open("wb") as said, err.open("wb") as errors:
            self._process = subprocess.Popen(
                [
                    str(java.find()), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-cp", f"{jars}/*", str(_PROGRAMS / f"{program}.java"),
                    self.kind, self.name, self.source, self.output, *words,
                ],
                stdin=subprocess.PIPE, stdout=said, stderr=errors,
            )  # fmt: skip
        self.check()

    def _at(self, start: int, suffix: str) -> Path:
        return self.folder / f"{self.name}-{self.instance}{start}{suffix}"

    def stop(self) -> None:
        """Let it end in good order."""
        self.check()
        assert self._process is not None
        self._process.communicate(timeout=3 * PATIENCE)
        assert "ENDED" in self.said.splitlines()[-2:], self.said[-2000:]
        self._process = None

    def check(self) -> None:
        """Fail where it failed."""
        assert self._process is not None
        assert self._process.poll() is None, f"{self.name} ended: {self.said[-2000:]}"
        assert "FAILED" not in self.said, self.said[-2000:]

    def kill(self) -> None:
        """Leave nothing of it behind."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    @property
    def read(self) -> list[bytes]:
        """The values that a consumer has read, and accepted or committed behind."""
        lines = self.said.splitlines()
        return [line[5:].encode() for line in lines if line.startswith("READ ")]

    @property
    def epoch(self) -> int:
        """The highest leader epoch that a consumer has seen, -1 for none."""
        lines = self.said.splitlines()
        return max((int(line[6:]) for line in lines if line.startswith("EPOCH ")), default=-1)


def set_group_config(bootstrap: str, group: str, key: str, value: str) -> None:
    """Give a group a config, whether or not it exists yet."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE)
