"""One slice has all that is written while the other one rests: they share it then."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, create_topic, produce, wait_until
from tests.support.links import Link, end
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.program import Program
from towpath.dev.broker import LocalCluster

pytestmark = [
    pytest.mark.broker, pytest.mark.soak, pytest.mark.spark(own=True), pytest.mark.timeout(300)
]  # fmt: skip
PARTITIONS = 8
HOT = range(0, PARTITIONS, 2)
"""The partitions of the first slice: while all are empty, the slices get them in turn."""
SLOW = 250
"""KB per second that the source sends through each connection."""
LARGE = 50_000


@pytest.fixture
def slow_link(
    tmp_path: Path, source: SharedCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    """Return a link whose source is behind toxiproxy."""
    made = Link(tmp_path, source.through("PROXIED"), target, new_name("uneven"))
    made.run = "{discover: 500ms, memory: 8MiB, balance: 2s}"
    yield made
    for each in made.programs:
        each.close()


def test_two_slices_share_what_one_of_them_was_to_copy(
    slow_link: Link, source: SharedCluster, toxiproxy: Toxiproxy, rng: random.Random
) -> None:
    link, boot, topic = slow_link, source.bootstrap, slow_link.name
    create_topic(boot, topic, PARTITIONS)
    run = link.start("run", "--master", "local[2]")

    def write(partitions: Sequence[int], count: int) -> None:
        values = [(p, rng.randbytes(LARGE)) for _ in range(count) for p in partitions]
        produce(boot, topic, [Record(b"k", value, partition=p) for p, value in values])

    def copied() -> None:
        for partition in range(PARTITIONS):
            link.wait_for(run, topic, partition, 120)

    write(range(PARTITIONS), 1)
    copied()
    toxiproxy.add(source, "bandwidth", rate=SLOW)
    write(HOT, 100)
    wait_until(lambda: "event=round.uneven" in run.said, "the other slice is to help", 120)
    wait_until(lambda: "event=round.ended" in run.said, "the round has handed over", 120)
    toxiproxy.reset()
    copied()
    wait_until(lambda: len(copiers(run, link.source)) == 2, "the slices of one round are left")
    for frozen in copiers(run, link.source):
        frozen.suspend()
        write(HOT, 1)
        wait_until(lambda: sum(is_copied(link, topic, p) for p in HOT) >= 2, "the other copies two")
        frozen.resume()
        copied()
    assert run.said.count("event=round.uneven") == 1
    assert run.stop() == 0, run.said
    assert link.assert_same(topic, PARTITIONS) == PARTITIONS + 102 * len(HOT)


def copiers(run: Program, source: LocalCluster) -> list[psutil.Process]:
    """Return the processes that run slices now: those that are connected to the source."""
    ports = {int(address.rpartition(":")[2]) for address in source.addresses}
    return [
        each
        for each in run.workers()
        if any(c.raddr and c.raddr.port in ports for c in each.net_connections("tcp"))
    ]


def is_copied(link: Link, topic: str, partition: int) -> bool:
    """Whether a partition ends on the target where it ends at the source."""
    return end(link.source, topic, partition) == end(link.target, topic, partition)
