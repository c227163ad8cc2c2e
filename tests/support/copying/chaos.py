"""Writers, copiers in processes of their own that can be killed, and the comparison afterwards."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from towpath.mirror.gap_archive import feeding
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.records.copy import copy
from towpath.records.work import CopySlice, Slice, Summary

PARTITIONS = 2
PLAIN, TRANSACTIONAL, COMPACTED = "plain", "transactional", "compacted"
KEYS = 50
_FILL_BYTES = 400
_COMPACTING = {
    "cleanup.policy": "compact",
    "segment.ms": "1500",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "100",
}


def soak_rounds() -> int:
    """Return how many rounds `scripts/soak` asks for, 0 when it asks for none."""
    return int(os.environ.get("TOWPATH_SOAK_ROUNDS") or 0)


def parts(short: int, per_part: int, seconds: int) -> Iterator[int]:
    """Yield how many rounds to play on one set of topics, until enough were played.

    Args:
        short: Rounds of the short form.
        per_part: Most rounds on one set of topics.
        seconds: How long the long form lasts, unless `TOWPATH_SOAK_ROUNDS` says how many.
    """
    wanted = soak_rounds()
    end = time.monotonic() + seconds
    done = 0
    while done < (wanted or short) or (not wanted and time.monotonic() < end):
        count = min(per_part, (wanted or short) - done)
        yield count if count > 0 else per_part
        done += max(count, 1)


class Copiers:
    """Copiers of slices, each in a process of its own."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["towpath.records.copy"])
        self.alive: list[BaseProcess] = []
        self._numbers = itertools.count(1)

    def start(self, work: Slice, copy_all: Callable[[Any], None] | None = None) -> BaseProcess:
        """Copy a slice until it is killed or ends by itself.

        Each start counts as a slice of its own. An earlier one would give way to it otherwise,
        as another attempt of Spark at the same slice, and no two copiers would ever race.
        """
        return self.attempt(replace(work, number=next(self._numbers)), copy_all)

    def attempt(self, work: Slice, copy_all: Callable[[Any], None] | None = None) -> BaseProcess:
        """Copy a slice as an attempt of Spark would, perhaps after another one at the same."""
        process = self._context.Process(target=copy_all or drain, args=(work,), daemon=True)
        process.start()
        self.alive.append(process)
        return process

    def kill(self, process: BaseProcess) -> None:
        """Kill one as a power cut would."""
        process.kill()
        process.join(10)
        self.alive.remove(process)
        assert process.exitcode in {0, -9}, f"a copier ended with {process.exitcode}"

    def kill_all(self) -> None:
        """Kill all that are left."""
        for process in list(self.alive):
            self.kill(process)


def endless(work: CopySlice) -> CopySlice:
    """Return the same slice without an end."""
    assignments = tuple(replace(each, end=None) for each in work.assignments)
    return replace(work, seconds=60.0, assignments=assignments)


def drain(work: CopySlice) -> None:
    """Copy a slice; what it tells is not needed."""
    for _ in copy(work, feeding=feeding(work)):
        pass


def catch_up(mirror: Mirror) -> None:
    """Copy what the source has now.

    A slice without a driver ends after half a minute (`ORPHANED`), which a busy machine may need.
    """
    catch_up_with(mirror.slices, copy)


def catch_up_with(
    slices: Callable[[], list[CopySlice]], copied: Callable[[CopySlice], Iterable[Summary]]
) -> list[Summary]:
    """Copy slices until all of them have reached their ends; see `catch_up`.

    Args:
        slices: Plans one round.
        copied: Copies a slice.

    Returns:
        What the last round did.
    """
    summaries: list[Summary] = []
    for _ in range(5):
        works = slices()
        ends = {each.source: each.end for work in works for each in work.assignments}
        summaries = [done for work in works for done in copied(work)]
        for done in summaries:
            assert not done.error, f"{done.tp}: {done.error}"
        if all(done.source_end >= (ends[done.tp] or 0) for done in summaries):
            return summaries
    raise AssertionError(f"copying does not come to an end: {summaries}")


def copy_without_receipts(
    mirror: Mirror, copiers: Copiers, reached: int, receipts: float = 3600.0
) -> None:
    """Copy until the target ends at `reached`, then die before anything stands in the ledger.

    Gaps come into the ledger with receipts, the first after so many seconds.
    """
    [work] = mirror.slices()
    copiers.start(replace(endless(work), receipts=receipts))
    wait_until(
        lambda: end_offsets(mirror.target.bootstrap, mirror.topic)[1] >= reached, "it is copied"
    )
    copiers.kill_all()


@dataclass
class Writer:
    """Writes to one topic from a thread until it is stopped; every value comes once.

    Values are `number|padding`. A transactional topic gets a few transactions at a time, some of
    them aborted, and plain records between them.
    """

    bootstrap: str
    topic: str
    kind: str
    rng: random.Random
    pause: float = 0.01

    def __post_init__(self) -> None:
        self.number = 0
        self._stop = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._write, name=f"writer-{self.topic}")
        self._thread.start()

    def stop(self) -> None:
        """End open transactions, deliver what is under way, and end."""
        self._stop.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), f"the writer of {self.topic} did not end"
        if self._failed:
            raise self._failed[0]

    def _write(self) -> None:
        try:
            self._transactions() if self.kind == TRANSACTIONAL else self._plain()
        except BaseException as error:  # noqa: BLE001  # told by `stop`
            self._failed.append(error)

    def _plain(self) -> None:
        producer = self._producer()
        while not self._stop.wait(self.pause):
            for _ in range(self.rng.choice((1, 1, 5, 200))):
                self._send(producer)
            producer.poll(0)
        assert producer.flush(60) == 0

    def _transactions(self) -> None:
        names = [f"{self.topic}-{i}" for i in range(2)]
        writers = [self._transactional(name) for name in names]
        is_open = [False, False]
        plain = self._producer()
        while not self._stop.wait(self.pause):
            i = self.rng.randrange(3)
            if i == 2:
                self._send(plain)
                plain.flush(60)
                continue
            try:
                is_open[i] = self._step(writers[i], is_open=is_open[i])
            except KafkaException:
                # The broker or the transaction is gone: a new producer aborts what is open.
                writers[i], is_open[i] = self._transactional(names[i]), False
        for i in range(2):
            if is_open[i]:
                writers[i].abort_transaction(60)
        assert plain.flush(60) == 0

    def _step(self, writer: Producer, *, is_open: bool) -> bool:
        if not is_open:
            writer.begin_transaction()
        for _ in range(self.rng.randrange(1, 40)):
            self._send(writer)
        writer.flush(60)
        if self.rng.random() < 0.4:
            commit = self.rng.random() < 0.6
            (writer.commit_transaction if commit else writer.abort_transaction)(60)
            return False
        return True

    def _send(self, producer: Producer) -> None:
        self.number += 1
        value = b"%d|" % self.number + b"x" * self.rng.randrange(_FILL_BYTES)
        headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % self.number), ("null", None)]
        producer.produce(
            self.topic,
            value,
            b"%d" % self.rng.randrange(KEYS),
            partition=self.rng.randrange(PARTITIONS),
            headers=headers,
        )

    def _producer(self) -> Producer:
        configs = {"linger.ms": 5, "compression.type": self.rng.choice(("none", "lz4", "zstd"))}
        return Producer({"bootstrap.servers": self.bootstrap, **configs} | _IDEMPOTENT)

    def _transactional(self, name: str) -> Producer:
        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": name})
        producer.init_transactions(60)
        return producer


_OTHERS = Record(None, b"of others")
_IDEMPOTENT = {"enable.idempotence": True, "message.timeout.ms": 120_000}


@dataclass
class Scene:
    """One link over a topic of each kind, with a writer for each of them.

    Attributes:
        racing: Whether two copiers may work on one slice, and outlive a round.
        mapped: Whether the two sides are joined by the offset map, not by equal offsets.
        ahead: Whether the target has records of others already; then it is mapped.
    """

    mirror: Mirror
    rng: random.Random
    kinds: Sequence[str] = (PLAIN, TRANSACTIONAL)
    replication: int = -1
    racing: bool = True
    mapped: bool = False
    ahead: bool = False

    def __post_init__(self) -> None:
        self.name = self.mirror.topic
        self.mirror = replace(self.mirror, topic=f"{self.name}[.].*", link=self.name)
        self.copiers = Copiers()
        self.writers: list[Writer] = []

    def topic(self, kind: str) -> str:
        """Return the name of the topic of a kind."""
        return f"{self.name}.{kind}"

    def begin(self, pause: float = 0.01) -> None:
        """Create the topics on both sides and begin to write."""
        for kind in self.kinds:
            for cluster in (self.mirror.source, self.mirror.target):
                config = {"cleanup.policy": "compact"} if kind == COMPACTED else {}
                if cluster is self.mirror.source and kind == COMPACTED:
                    config = _COMPACTING
                create_topic(
                    cluster.bootstrap, self.topic(kind), PARTITIONS, config, self.replication
                )
            if self.ahead:
                produce(self.mirror.target.bootstrap, self.topic(kind), [_OTHERS] * 3)
            seed = random.Random(self.rng.random())
            boot = self.mirror.source.bootstrap
            self.writers.append(Writer(boot, self.topic(kind), kind, seed, pause))

    def play(self) -> None:
        """Play one round: start copiers, two of a slice at times, and kill one at random."""
        for work in self.slices(self.rng.choice((1, 2))):
            for _ in range(self.rng.choice((1, 1, 2)) if self.racing else 1):
                self.copiers.start(work)
        time.sleep(self.rng.uniform(0.2, 1.6))
        victims = self.copiers.alive
        self.copiers.kill(self.rng.choice(victims))
        while len(victims) > (self.rng.randrange(4) if self.racing else 0):
            self.copiers.kill(self.rng.choice(victims))

    def play_all(self, rounds: int) -> int:
        """Play so many rounds, compare, and leave nothing behind; return how many records came."""
        try:
            self.begin()
            for _ in range(rounds):
                self.play()
            self.finish()
            return self.compare()
        finally:
            self.close()

    def slices(self, parallelism: int) -> list[CopySlice]:
        """Plan slices that go on until they are killed."""
        slices = self.mirror.slices(parallelism)
        return [endless(work) for work in slices]

    def finish(self) -> None:
        """Stop writers and copiers, then copy what is left."""
        self.copiers.kill_all()
        while self.writers:
            self.writers.pop().stop()
        catch_up(self.mirror)

    def close(self) -> None:
        """Leave nothing behind, whatever failed."""
        self.copiers.kill_all()
        while self.writers:
            self.writers.pop().stop()

    def compare(self) -> int:
        """Compare the two sides record by record; return how many records there are."""
        return sum(self._compare(kind) for kind in self.kinds)

    def _compare(self, kind: str) -> int:
        topic = self.topic(kind)
        source, target = (
            consume(cluster.bootstrap, topic, range(PARTITIONS))
            for cluster in (self.mirror.source, self.mirror.target)
        )
        target = [record for record in target if record.value != _OTHERS.value]
        if kind == COMPACTED:
            same_state(source, target, topic)
        elif self.mapped or self.mirror.records.get("offsets") == "mapped":
            same_by_map(replace(self.mirror, topic=topic), source, target)
        else:
            self._stayed_identical(topic)
            same_records(source, target, topic)
            seen = consume(
                self.mirror.target.bootstrap, topic, range(PARTITIONS), isolation="read_uncommitted"
            )
            same_records(target, seen, f"{topic}, read_uncommitted")
        return len(target)

    def _stayed_identical(self, topic: str) -> None:
        """No gap took more offsets than it has."""
        mirror = replace(self.mirror, topic=topic)
        receipts = [mirror.books(partition).receipt for partition in range(PARTITIONS)]
        assert [receipt.reason for receipt in receipts if receipt and receipt.reason] == []


def same_records(source: list[Record], target: list[Record], what: str) -> None:
    """Both sides hold the same records at the same offsets."""
    differing = sum(a != b for a, b in zip(source, target, strict=False))
    first = next((pair for pair in zip(source, target, strict=False) if pair[0] != pair[1]), None)
    sizes = len(source), len(target)
    assert (differing, first, sizes[1]) == (0, None, sizes[0]), f"{what}: {sizes} records"


def same_by_map(mirror: Mirror, source: list[Record], target: list[Record]) -> None:
    """Both sides hold the same records, at offsets that the ledger joins."""
    same_records([_placeless(r) for r in source], [_placeless(r) for r in target], mirror.topic)
    maps = [mirror.books(partition).offsets() for partition in range(PARTITIONS)]
    for there, here in zip(source, target, strict=True):
        offsets = maps[there.partition]
        forth, back = (
            offsets.to_target(SourceOffset(there.offset)),
            offsets.to_source(TargetOffset(here.offset)),
        )
        assert (forth.offset, back.offset) == (here.offset, there.offset), mirror.topic


def same_state(source: list[Record], target: list[Record], what: str) -> None:
    """The last record of every key is the same, and no record came twice or out of order."""
    last = [{(r.partition, r.key): _placeless(r) for r in side} for side in (source, target)]
    assert last[1] == last[0], f"{what}: the last records of keys differ"
    for partition in range(PARTITIONS):
        numbers = [number(r) for r in target if r.partition == partition]
        assert numbers == sorted(set(numbers)), f"{what}-{partition}: doubled or out of order"


def number(record: Record) -> int:
    """Return the number that the writer gave to a record."""
    assert record.value is not None
    return int(record.value.split(b"|")[0])


def _placeless(record: Record) -> Record:
    return replace(record, offset=-1)


def delete_topic(bootstrap: str, topic: str) -> None:
    """Delete a topic and wait until it is gone."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    gone = f"{topic} is gone"
    wait_until(lambda: topic not in admin.list_topics(timeout=30).topics, gone)
