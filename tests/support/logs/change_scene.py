"""A link whose topics have a change each, with writers, and copiers that are killed and race."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from unittest.mock import patch

from confluent_kafka import Producer

from tests.support.clusters.forgetful import Run, faster
from tests.support.copying.chaos import Copiers, catch_up_with, endless
from tests.support.kafka import Record, consume, create_topic
from tests.support.logs.changed import (
    AGES_MS,
    CHANGES,
    ConstantIds,
    StandInQuarantine,
    expected,
    varied,
)
from tests.support.mirror import Mirror
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Entry
from towpath.ledger.ledger import FACTS, Ledger
from towpath.model.changes import RecordChange, RecordOrigin
from towpath.model.errors import ClusterError
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.records.change_services import ChangeServices
from towpath.records.copy import copy
from towpath.records.work import CopySlice, Summary
from towpath.wire import plain

PARTITIONS = 2


def outside(work: CopySlice) -> ChangeServices:
    """Return what the lanes of a slice need: ids that are all known, and a quarantine."""
    return ChangeServices.of(work, ConstantIds(), StandInQuarantine())


def drain(work: CopySlice) -> None:
    """Copy a slice; what it tells is not needed."""
    for _ in copy(work, outside=outside):
        pass


def drain_faster(work: CopySlice) -> None:
    """Copy a slice of a `ChangedRun`; it may find no cluster at all when it starts."""
    with faster(), suppress(ClusterError):
        drain(work)


def drain_until(number: int, work: CopySlice, *, before: bool) -> None:
    """Copy a slice, and die as by `kill -9` before or behind an append to the ledger."""
    append, appended = Ledger.append, count(1)

    def counted(self: Ledger, entries: Iterable[Entry], tp: TopicPartition = FACTS) -> None:
        last = next(appended) == number
        if not (last and before):
            append(self, entries, tp)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    with patch.object(Ledger, "append", counted):
        drain(work)


@dataclass
class ChangeScene:
    """One link over a topic for each of some changes.

    Attributes:
        mirror: The link; its topic is the beginning of all names.
        names: The changes that a topic may have, by its last name. The first of them holds first.
        ages: How old the written records are.
    """

    mirror: Mirror
    rng: random.Random
    names: Mapping[str, list[str]]
    ages: tuple[int, ...] = AGES_MS
    copiers: Copiers = field(default_factory=Copiers)

    def __post_init__(self) -> None:
        self._prefix = self.mirror.topic
        self.mirror = replace(self.mirror, topic=f"{self._prefix}[.].*", link=self._prefix)
        self._now = {name: CHANGES[changes[0]] for name, changes in self.names.items()}
        self._stop = threading.Event()
        self._writer = threading.Thread(target=self._write, name="writer")
        self._failed: list[BaseException] = []
        self.clusters = ("", "")

    def topic(self, name: str) -> str:
        return f"{self._prefix}.{name}"

    def begin(self) -> None:
        """Create the topics on both sides and begin to write."""
        for cluster in (self.mirror.source, self.mirror.target):
            for name in self.names:
                config = {"retention.ms": "-1"}
                create_topic(cluster.bootstrap, self.topic(name), PARTITIONS, config)
        [work, *_] = self.mirror.slices()
        self.clusters = work.source_cluster, work.target_cluster
        self._writer.start()

    def _write(self) -> None:
        try:
            self._write_all()
        except BaseException as error:  # noqa: BLE001  # told by `stop`
            self._failed.append(error)

    def _write_all(self) -> None:
        configs = {"bootstrap.servers": self.mirror.source.bootstrap, "enable.idempotence": True}
        codec = {"compression.type": self.rng.choice(("none", "lz4", "zstd"))}
        producer = Producer({**configs, **codec, "linger.ms": 2, "batch.num.messages": 50})
        rng, number = random.Random(self.rng.random()), 0
        while not self._stop.wait(0.02):
            some = rng.choice((1, 5, 60))
            for record in varied(rng, some, number, home=self.clusters[1], ages=self.ages):
                headers: list[tuple[str, str | bytes | None]] = [
                    (name.decode(), value) for name, value in record.headers
                ]
                producer.produce(
                    self.topic(rng.choice([*self.names])),
                    record.value,
                    record.key,
                    partition=rng.randrange(PARTITIONS),
                    timestamp=record.timestamp,
                    headers=headers,
                )
            number += some
            producer.poll(0)
        assert producer.flush(60) == 0

    def edit(self) -> None:
        """Let each topic have any of its changes from now on."""
        self._now = {n: CHANGES[self.rng.choice(each)] for n, each in self.names.items()}

    def play(self, most: int = 2, longest: float = 1.6) -> None:
        """Start copiers, up to `most` for each slice, and kill them one after the other."""
        for work in self.slices(self.rng.choice((1, 2))):
            for _ in range(self.rng.randrange(1, most + 1)):
                self.copiers.start(endless(work), drain)
        time.sleep(self.rng.uniform(0.2, longest))
        for process in self.rng.sample(self.copiers.alive, len(self.copiers.alive)):
            self.copiers.kill(process)
            time.sleep(self.rng.uniform(0.0, 0.3))

    def die_at(self, number: int, *, before: bool, longest: float) -> None:
        """Start a copier that dies around an append to the ledger, or is killed after a while."""
        [work] = self.slices()
        dies = partial(drain_until, number, before=before)
        self.copiers.start(endless(work), dies).join(longest)
        self.copiers.kill_all()

    def slices(self, parallelism: int = 1) -> list[CopySlice]:
        """Plan one round under the changes of now."""
        return [self.under_changes(work) for work in self.mirror.slices(parallelism)]

    def under_changes(self, work: CopySlice) -> CopySlice:
        """Return a slice under the changes of now."""
        assignments = [
            replace(a, change=self._now[a.source.topic.removeprefix(f"{self._prefix}.")])
            for a in work.assignments
        ]
        return replace(work, assignments=tuple(assignments))

    def stop(self) -> None:
        """Stop to write."""
        self._stop.set()
        if self._writer.is_alive():
            self._writer.join(90)
        assert not self._writer.is_alive()
        if self._failed:
            raise self._failed[0]

    def close(self) -> None:
        """Leave nothing behind, whatever failed."""
        self.copiers.kill_all()
        self.stop()

    def finish(self) -> None:
        """Stop writers and copiers, then copy what is left."""
        self.close()
        self.catch_up()

    def catch_up(self) -> list[Summary]:
        """Copy everything that the source has now."""
        return catch_up_with(self.slices, lambda work: copy(work, outside=outside))

    def run(self) -> ChangedRun:
        """Return a run with a session of its own, which takes over from the one before."""
        return ChangedRun(self)

    def compare(self) -> int:
        """Compare both sides, topic by topic; return how many records the target has."""
        return sum(self._compare(name, n) for name in self.names for n in range(PARTITIONS))

    def _compare(self, name: str, partition: int) -> int:
        topic = self.topic(name)
        books = replace(self.mirror, topic=topic).books(partition)
        wanted = self._expected(name, partition, books)
        found = [_plain(r) for r in consume(self.mirror.target.bootstrap, topic, (partition,))]
        assert books.receipt is not None
        if books.receipt.mode is Mode.MAPPED:
            offsets = books.offsets()
            there = [offsets.to_target(SourceOffset(record.offset)).offset for record in wanted]
            wanted = [replace(r, offset=int(o)) for r, o in zip(wanted, there, strict=True)]
        _same(wanted, found, f"{topic}-{partition} ({books.receipt.mode})")
        assert books.receipt.records == len(found)
        return len(found)

    def _expected(self, name: str, partition: int, books: PartitionBooks) -> list[plain.Record]:
        assert books.opened is not None
        history = [(0, books.opened.change)]
        history += [(source, digest) for source, _, digest in books.changed]
        topic = self.topic(name)
        records = [_plain(r) for r in consume(self.mirror.source.bootstrap, topic, (partition,))]
        origin = RecordOrigin(
            link=LinkName(self.mirror.link),
            topic=TopicName(topic),
            partition=partition,
            source_cluster=ClusterId(self.clusters[0]),
            target_cluster=ClusterId(self.clusters[1]),
        )
        return expected(records, history, origin, self._known(name))

    def _known(self, name: str) -> list[RecordChange]:
        return [CHANGES[each] for each in self.names[name]]


class ChangedRun(Run):
    """A run of the link of a scene, under the changes of the moment when slices are planned."""

    def __init__(self, scene: ChangeScene) -> None:
        super().__init__(scene.mirror, scene.copiers)
        self._scene = scene

    def begin(self) -> None:
        self.processes = [
            self._copiers.start(work, drain_faster) for work in self._slices(once=False)
        ]

    def catch_up(self) -> None:
        for work in self._slices(once=True):
            for done in copy(work, outside=outside):
                assert not done.error, f"{done.tp}: {done.error}"
        self._fall_silent()

    def _slices(self, *, once: bool) -> list[CopySlice]:
        return [self._scene.under_changes(work) for work in super()._slices(once=once)]


def _plain(record: Record) -> plain.Record:
    headers = tuple((name.encode(), value) for name, value in record.headers)
    return plain.Record(record.key, record.value, headers, record.timestamp, record.offset)


def _same(wanted: list[plain.Record], found: list[plain.Record], what: str) -> None:
    pairs = enumerate(zip(wanted, found, strict=False))
    first = next(((at, *pair) for at, pair in pairs if pair[0] != pair[1]), None)
    counts = f"{what}: {len(found)} records instead of {len(wanted)}, first difference: {first}"
    assert (first, len(found)) == (None, len(wanted)), counts
