"""The run of an archive while records come in and something goes wrong, and what is right after it.

Whatever happens, the archive holds in the end what consumers see: each record once. The run goes on
by itself, is the same process all the time, and its memory does not grow with the trouble.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import KafkaException, Producer

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import PATIENCE, consume, create_topic, end_offsets, wait_until
from tests.support.pages.scrape import Scrape
from tests.support.program import Program
from tests.support.session.selection import soak_seconds
from towpath.dev import ports
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.clock import now_ms

OLD = 40 * 24 * 3600 * 1000
_SHORT, _LONG = 15.0, 600.0
_MIB = 1 << 20
_GROWTH = 400 * _MIB
"""Most memory that all processes of a run may have more at the end of a trouble than before it."""


def trouble_seconds() -> float:
    """Return how long a trouble lasts: ten minutes in a soak of an hour, else a moment."""
    return min(_LONG, max(_SHORT, soak_seconds() / 6))


class Scene:
    """An archive of one topic, to which records are written all the time.

    Args:
        folder: Where its files are.
        source: Where its run reads.
        name: The name of the archive, and of its topic.
        rng: Chooses records.
        partitions: Partitions of the topic.
        replication: Its replicas, by default as many as the source makes.
        more: Further sections of the file.
    """

    def __init__(
        self,
        folder: Path,
        source: SharedCluster,
        name: str,
        rng: random.Random,
        partitions: int = 2,
        replication: int = -1,
        **more: Any,
    ) -> None:
        (self.port,) = ports.reserve(1)
        told = {
            "segments": {"max_messages": 300, "max_age": "1s"},
            "metrics": {"listen": f"127.0.0.1:{self.port}"},
            **more,
        }
        self.archive = Archive(folder, source, name, **told)
        self.topic = f"{name}.topic"
        self.partitions = range(partitions)
        # Records are written past whatever stands between the run and the source.
        self.bootstrap = source.back_door
        keeps = {"retention.ms": "-1"}
        create_topic(self.bootstrap, self.topic, partitions, keeps, replication)
        self._rng = rng
        self._over = threading.Event()
        self.largest = 0
        self._notes: list[str] = []
        self.run: Program | None = None

    @contextmanager
    def running(self) -> Iterator[Program]:
        """Write records and archive them; stop both in the end, and compare."""
        writer = threading.Thread(target=self._write)
        writer.start()
        self.run = run = self.archive.start()
        try:
            self.reach()
            yield run
            self.reach()
            self._over.set()
            writer.join()
            assert self.run.stop() in (0, 3), self.run.said
        finally:
            self._over.set()
            writer.join()
            run.close()
            self.run.close()

    def reach(self, seconds: float = 180) -> None:
        """Wait until all is archived that the source has now."""
        ends = {n: self._end(n) + 1 for n in self.partitions}

        def is_there() -> bool:
            assert self.run is not None
            assert self.run.running, self.run.said
            return all(self.archived_to(n) >= end for n, end in ends.items())

        try:
            wait_until(is_there, f"{self.topic} is archived up to {ends}", seconds)
        except AssertionError as error:
            said = self.run.said if self.run else ""
            raise AssertionError(f"{error}: {said[-6000:]}") from None

    def archived_to(self, partition: int) -> int:
        return self.archive.archived_to(TopicPartition(TopicName(self.topic), partition))

    def _end(self, partition: int) -> int:
        """Return where a partition ends now; its leader may have just changed."""
        found: list[int] = []

        def is_told() -> bool:
            with suppress(KafkaException):
                found.append(end_offsets(self.bootstrap, self.topic, partition)[1])
            return bool(found)

        wait_until(is_told, f"{self.topic}-{partition} has an end")
        return found[0]

    def wait_for(self, text: str, seconds: float = 90) -> None:
        """Wait until the run has said something."""
        assert self.run is not None
        said = self.run
        try:
            wait_until(lambda: text in said.said, f"the run says {text}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: {said.said[-6000:]}") from None

    def last(self, seconds: float | None = None) -> None:
        """Let a trouble last; the run lives, and its memory does not grow."""
        assert self.run is not None
        before = self.memory()
        end = time.monotonic() + (trouble_seconds() if seconds is None else seconds)
        while time.monotonic() < end:
            assert self.run.running, self.run.said
            self.largest = max(self.largest, self.memory())
            time.sleep(1)
        self._notes.append(f"{before // _MIB} MiB, then at most {self.largest // _MIB} MiB")
        assert self.largest < before + _GROWTH

    def memory(self) -> int:
        """Return the bytes of all processes of the run, but those of Spark's JVM."""
        assert self.run is not None
        found = 0
        with suppress(psutil.Error):
            jvms = {each.pid for each in self.run.jvms()}
            for each in [psutil.Process(self.run.pid), *self.run.children()]:
                if each.pid not in jvms:
                    with suppress(psutil.Error):
                        found += each.memory_full_info().uss
        return found

    def metric(self, name: str, **labels: str) -> float | None:
        """Return what the run tells Prometheus."""
        return Scrape(f"127.0.0.1:{self.port}").get(name, **labels)

    def compare(self, here: Here) -> int:
        """Archive the rest, and compare all with the source; return how many records there are."""
        ended = here.on_spark("archive", "run", str(self.archive.file), "--until-caught-up")
        assert ended.code == 0, ended.said
        count = 0
        for partition in self.partitions:
            seen = consume(self.bootstrap, self.topic, (partition,))
            assert self.archive.records(self.topic, partition) == seen
            assert self.archive.segments(self.topic, partition)[0].start == 0
            count += len(seen)
        words = ("archive", "verify", str(self.archive.file), "--deep", "--output", "json")
        verified = here.on_spark(*words)
        assert verified.code == 0, verified.said
        assert verified.json["problems"] == []
        told = (f"{count} records, no difference", *self._notes)
        sys.stderr.write(f"{self.topic}: {'; '.join(told)}\n")
        return count

    def _write(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 20})
        number = 0
        while not self._over.wait(0.1):
            for partition in self.partitions:
                for _ in range(10):
                    number += 1
                    with suppress(BufferError):  # a broker that is frozen takes nothing
                        producer.produce(
                            self.topic, partition=partition, **self._record(number, partition)
                        )
            producer.poll(0)
        assert not producer.flush(PATIENCE)

    def _record(self, number: int, partition: int) -> Mapping[str, Any]:
        return {
            "key": self._rng.choice([None, b"", b"k%d" % (number % 97)]),
            "value": self._rng.choice([None, b"", self._rng.randbytes(number % 1500)]),
            "headers": self._rng.choice([[], [("h", None), ("h", b"%d" % number)]]),
            # Old and new ones in turns would let the broker begin a file for each of them.
            "timestamp": now_ms() - (OLD if partition % 2 else 0),
        }
