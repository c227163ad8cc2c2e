"""Mapped partitions on brokers: who takes over fences, and who ends leaves a fence behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.clients.records import numbered
from tests.support.clients.views import compared
from tests.support.copying.chaos import Copiers, copy_without_receipts, endless
from tests.support.kafka import consume, end_offsets, produce, wait_until
from tests.support.logs.batches import batch
from tests.support.logs.batches import numbered as placed
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.cluster.codes import CLUSTER_AUTHORIZATION_FAILED
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Answers
from towpath.dev.broker import LocalCluster
from towpath.ledger import producers
from towpath.ledger.keys import new_name
from towpath.ledger.producers import of_generation
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side
from towpath.records.copy import copy
from towpath.records.trouble import FENCED
from towpath.wire import batch as wire
from towpath.wire.plain import Record as Plain

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
OLD = 1_000_000_000_000
"""A time in ms that every target forgets."""


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("generations"), records={"offsets": "mapped"})
    made.create()
    return made


def write(mirror: Mirror, first: int, end: int, *, old: bool = True) -> None:
    records = [replace(each, timestamp=OLD if old else 0) for each in numbered(first, end)]
    produce(mirror.source.bootstrap, mirror.topic, records, {"batch.num.messages": 3})


def take_over(mirror: Mirror) -> str:
    """Catch up as a run does whose predecessor said no goodbye; return what went wrong."""
    [work] = mirror.slices(run_id=new_name())
    [done] = copy(replace(work, settled=False))
    return done.error


def generation(mirror: Mirror) -> int:
    return mirror.books().generation


def assert_same(mirror: Mirror, count: int) -> None:
    there = [record.value for record in consume(mirror.target.bootstrap, mirror.topic)]
    assert there == [record.value for record in numbered(0, count)]
    found = compared(mirror)
    assert (found.equal, found.doubled.records, found.counts.foreign) == (True, 0, 0)


@pytest.fixture
def client(mirror: Mirror) -> Iterator[Client]:
    config = mirror.config.target
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as made:
        yield made


def late(mirror: Mirror, client: Client, number: int) -> int:
    """Let a batch of a generation arrive now; return the error code."""
    opened = mirror.books().opened
    assert opened is not None
    buffer = np.frombuffer(batch(placed([Plain(b"k", b"late", (), OLD)])), np.uint8)
    producer = of_generation(opened.producer_id, number)
    wire.stamp(buffer, wire.scan(buffer, 0, len(buffer)), producer, 5)
    try:
        client.produce(opened.target, buffer.data)
    except RefusedError as error:
        return error.error
    return 0


def test_who_takes_over_fences_and_goes_on_at_once(
    mirror: Mirror, copiers: Copiers, client: Client
) -> None:
    write(mirror, 0, 50)
    copy_without_receipts(mirror, copiers, 50)
    mirror.timeout = "120s"
    write(mirror, 50, 60)
    began = time.monotonic()
    assert take_over(mirror) == ""
    assert time.monotonic() - began < 60, "it waited for what may still arrive"
    assert generation(mirror) == 1
    assert late(mirror, client, 0) == FENCED
    assert_same(mirror, 60)


def test_who_has_caught_up_with_old_records_leaves_a_fence(mirror: Mirror, client: Client) -> None:
    write(mirror, 0, 10)
    mirror.catch_up()
    receipt = mirror.books().receipt
    assert receipt is not None
    assert (receipt.generation, receipt.target_end) == (0, 11)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 11)
    assert late(mirror, client, 0) == FENCED
    write(mirror, 10, 20, old=False)
    mirror.catch_up()
    assert generation(mirror) == 1
    assert late(mirror, client, 0) == FENCED
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 21), "these are remembered"
    write(mirror, 20, 30, old=False)
    mirror.catch_up()
    assert generation(mirror) == 1
    assert_same(mirror, 30)


def test_a_copier_that_was_fenced_finds_out_where_it_stands(
    mirror: Mirror, copiers: Copiers
) -> None:
    write(mirror, 0, 10)
    [work] = mirror.slices()
    copiers.start(endless(work))
    await_end(mirror, 10)
    assert take_over(mirror) == ""
    write(mirror, 10, 20)
    await_end(mirror, 22)
    copiers.kill_all()
    assert generation(mirror) == 2
    assert take_over(mirror) == ""
    assert_same(mirror, 20)


def test_a_frozen_copier_that_wakes_doubles_nothing(mirror: Mirror, copiers: Copiers) -> None:
    write(mirror, 0, 3000)
    [work] = mirror.slices()
    process = copiers.start(replace(endless(work), receipts=3600.0))
    wait_until(lambda: end_offsets(mirror.target.bootstrap, mirror.topic)[1] > 0, "it copies")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    assert take_over(mirror) == ""
    os.kill(process.pid, signal.SIGCONT)
    write(mirror, 3000, 3100)
    wait_until(lambda: copied(mirror) == 3100, "it goes on behind what the other one copied")
    copiers.kill_all()
    assert take_over(mirror) == ""
    assert_same(mirror, 3100)


def test_without_the_right_a_run_waits_as_before(
    mirror: Mirror, copiers: Copiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mirror, 0, 10)
    copy_without_receipts(mirror, copiers, 10)
    mirror.timeout = "3s"
    refused = RefusedError("target", "writing", CLUSTER_AUTHORIZATION_FAILED, "FORBIDDEN")
    monkeypatch.setattr(
        ProducerAdmin,
        "write_markers",
        lambda _, markers, **__: Answers({}, dict.fromkeys(markers, refused)),
    )
    began = time.monotonic()
    assert take_over(mirror) == ""
    assert time.monotonic() - began >= 3
    assert generation(mirror) == 0
    assert_same(mirror, 10)


def test_where_all_generations_are_remembered_a_run_waits_as_before(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producers, "GENERATIONS", 3)
    mirror.timeout = "3s"
    for number in range(3):
        write(mirror, 10 * number, 10 * number + 10)
        assert take_over(mirror) == ""
    write(mirror, 30, 40)
    began = time.monotonic()
    assert take_over(mirror) == ""
    assert time.monotonic() - began >= 3
    assert generation(mirror) == 2
    assert_same(mirror, 40)


def copied(mirror: Mirror) -> int:
    return len(consume(mirror.target.bootstrap, mirror.topic))


def await_end(mirror: Mirror, end: int) -> None:
    wait_until(
        lambda: end_offsets(mirror.target.bootstrap, mirror.topic)[1] >= end, f"it ends at {end}"
    )
