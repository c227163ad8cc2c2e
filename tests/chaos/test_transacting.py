"""Copiers that write in transactions and are killed, or race: nothing is lost, nothing doubled."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Producer

from tests.support.clients.records import numbered
from tests.support.clients.views import assert_same_by_map, compared
from tests.support.copying.chaos import (
    PARTITIONS,
    PLAIN,
    TRANSACTIONAL,
    Copiers,
    Scene,
    endless,
    parts,
)
from tests.support.kafka import consume, produce, wait_until
from tests.support.ledger.reasons import RETENTION
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refusal, Refused
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import TransactionalProducer
from towpath.ledger.ledger import Ledger
from towpath.model.nouns import ProducerId, Side
from towpath.records.target import fencing

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> Mirror:
    made = Refused(tmp_path, source, refusing_target, new_name("killed"))
    made.create()
    return made


def test_killed_around_the_commit(
    mirror: Mirror, refusal: Refusal, copiers: Copiers, rng: random.Random
) -> None:
    """The copier dies when a transaction is about to be ended, or just was; no receipt tells."""
    produced = 0
    for each in range(4):
        when, seen = ("before", "after")[each % 2], Event()
        number = rng.randrange(1, 4)

        def strike(moment: str, when: str = when, seen: Event = seen) -> None:
            nonlocal number
            number -= moment == when
            if moment == when and number == 0:
                _cut(copiers, seen)

        [work] = mirror.slices()
        refusal.on_end = strike
        copiers.start(replace(endless(work), receipts=rng.choice((0.05, 3600.0))))
        while not seen.is_set():
            produce(mirror.source.bootstrap, mirror.topic, numbered(produced, produced + 30))
            produced += 30
        copiers.kill_all()
    refusal.on_end = lambda _: None
    [done] = mirror.catch_up()
    assert done.error == ""
    assert assert_same_by_map(mirror) == produced
    found = compared(mirror)
    assert (found.equal, found.counts.foreign) == (True, 0), found.difference


def test_a_target_that_forgot_the_transactional_id(
    mirror: Mirror, refusal: Refusal, copiers: Copiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives another producer id then; who wrote without a receipt is known all the same."""
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 100))
    [work] = mirror.slices()
    copiers.start(replace(endless(work), receipts=3600.0))
    wait_until(lambda: len(consume(mirror.target.bootstrap, mirror.topic)) == 100, "it is copied")
    copiers.kill_all()
    monkeypatch.setattr(fencing, "transactional_id", lambda *_: f"another.{mirror.topic}")
    produce(mirror.source.bootstrap, mirror.topic, numbered(100, 200))
    [done] = mirror.catch_up()
    assert (done.records, done.error) == (200, "")
    assert len(mirror.books().writers) == 2
    assert refusal.refused == 1
    assert assert_same_by_map(mirror) == 200
    found = compared(mirror)
    assert (found.equal, found.counts.equal, found.counts.foreign) == (True, 200, 0)


def test_verify_beside_an_open_transaction(
    mirror: Mirror, refusal: Refusal, copiers: Copiers
) -> None:
    """Consumers of the target stand still; what of ours lies behind is told by its markers."""
    other = Producer(
        {"bootstrap.servers": mirror.target.bootstrap, "transactional.id": mirror.topic}
    )
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(mirror.topic, b"foreign", partition=0)
    other.flush(30)
    for part in range(3):
        cut = Event()
        refusal.on_end = lambda _, cut=cut: _cut(copiers, cut)  # type: ignore[misc]
        produce(mirror.source.bootstrap, mirror.topic, numbered(100 * part, 100 * part + 100))
        copiers.start(endless(mirror.slices()[0]))
        wait_until(cut.is_set, "a copier died before its transaction was ended")
        copiers.kill_all()
        refusal.on_end = lambda _: None
        mirror.catch_up()
    found = compared(mirror)
    assert (found.equal, found.counts.equal) == (True, 300), found.difference
    other.abort_transaction(30)
    assert assert_same_by_map(mirror) == 300


def _cut(copiers: Copiers, cut: Event) -> None:
    for process in list(copiers.alive):
        process.kill()
    cut.set()
    raise ConnectionError("the copier is dead, so what it asked for does not arrive")


def test_two_copiers_take_turns(mirror: Mirror, copiers: Copiers) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 500), {"batch.num.messages": 5})
    [work] = mirror.slices()
    for _ in range(3):
        copiers.start(work)
    for process in list(copiers.alive):
        process.join(60)
    copiers.kill_all()
    [done] = mirror.catch_up()
    assert done.error == ""
    assert assert_same_by_map(mirror) == 500


def test_both_advance_while_they_race(mirror: Mirror, copiers: Copiers) -> None:
    [work] = mirror.slices()
    for _ in range(2):
        copiers.start(endless(work))
    produced = 0
    for _ in range(4):
        produce(mirror.source.bootstrap, mirror.topic, numbered(produced, produced + 100))
        produced += 100
        wait_until(lambda: told(mirror) >= produced, "the ledger tells of them")  # noqa: B023
    copiers.kill_all()
    mirror.catch_up()
    assert assert_same_by_map(mirror) == produced


def told(mirror: Mirror) -> int:
    receipt = mirror.books().receipt
    return receipt.source_end if receipt else 0


@pytest.mark.chaos
def test_brokers_that_die_and_come_back(
    tmp_path: Path,
    source: LocalCluster,
    three: LocalCluster,
    new_name: NewName,
    rng: random.Random,
) -> None:
    """The target refuses nothing, but the ledger says that it once did."""
    mirror = Mirror(tmp_path, source, three, new_name("refused-brokers"))
    scene = Scene(mirror, rng, (PLAIN, TRANSACTIONAL), mapped=True)
    try:
        scene.begin(pause=0.05)
        scene.mirror.catch_up()
        refuse(scene.mirror, [scene.topic(kind) for kind in scene.kinds])
        for work in scene.slices(1):
            scene.copiers.start(work)
        for _ in range(2):
            broker = rng.randrange(1, 4)
            three.kill9(broker)
            time.sleep(rng.uniform(0.0, 4.0))
            three.restart(broker)
        scene.finish()
        assert scene.compare() > 0
    finally:
        scene.close()


def refuse(mirror: Mirror, topics: Sequence[str]) -> None:
    """Write to the ledger that the target refuses our producer ids."""
    config, entries = mirror.config, list[TransactionalProducer]()
    for topic, partition in product(topics, range(PARTITIONS)):
        opened = replace(mirror, topic=topic).books(partition).opened
        assert opened is not None
        entries.append(
            TransactionalProducer(
                link=config.link,
                topic=opened.topic,
                partition=partition,
                producer_id=opened.producer_id,
                writer=ProducerId(1 << 39),
                transactional_id="none",
                why=RETENTION,
                target_start=opened.target_start,
                at=0,
            )
        )
    with ExitStack() as stack:
        admin = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, admin))
        Ledger(admin, client).append(entries)


@pytest.mark.chaos
def test_killed_and_racing_copiers(
    tmp_path: Path,
    source: LocalCluster,
    refusal: Refusal,
    new_name: NewName,
    rng: random.Random,
    soak_seconds: int,
) -> None:
    played = 0
    for rounds in parts(4, 10, soak_seconds):
        mirror = Refused(tmp_path, source, refusal.cluster, new_name("refused-kill"))
        scene = Scene(mirror, rng, (PLAIN, TRANSACTIONAL), mapped=True)
        records = scene.play_all(rounds)
        played += rounds
        sys.stderr.write(f"{played} rounds (transactions), {records} records, no difference\n")
