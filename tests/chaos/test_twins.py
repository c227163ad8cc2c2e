"""Two links in opposite directions whose copiers are killed while clients write on both sides."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.copying.chaos import (
    PARTITIONS,
    PLAIN,
    TRANSACTIONAL,
    Copiers,
    Writer,
    catch_up,
    endless,
    parts,
)
from tests.support.kafka import consume, create_topic
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.verdict import Verdict
from towpath.mirror.verify.verify import verify

pytestmark = [pytest.mark.broker, pytest.mark.chaos, pytest.mark.soak]
KINDS = (PLAIN, TRANSACTIONAL)


@dataclass
class SideWriter(Writer):
    """Writes values that begin with the name of its side."""

    side: str = ""

    def _send(self, producer: Producer) -> None:
        self.number += 1
        value = b"%s%d|" % (self.side.encode(), self.number) + b"x" * self.rng.randrange(400)
        partition = self.rng.randrange(PARTITIONS)
        producer.produce(self.topic, value, b"%d" % partition, partition=partition)


class TwoWays:
    """Two links that name each other, with writers on both sides."""

    def __init__(
        self, folder: Path, sides: tuple[LocalCluster, LocalCluster], name: str, rng: random.Random
    ) -> None:
        self.name, self.sides, self.rng = name, sides, rng
        names, pattern, (a, b) = (f"{name}-there", f"{name}-back"), f"{name}[.].*", sides
        self.links = (
            Mirror(folder, a, b, pattern, names[0], more=f"  twin: {names[1]}\n"),
            Mirror(folder, b, a, pattern, names[1], more=f"  twin: {names[0]}\n"),
        )
        self.topics = [f"{name}.{kind}" for kind in KINDS]
        for cluster, topic in itertools.product(sides, self.topics):
            create_topic(cluster.bootstrap, topic, PARTITIONS)
        for mirror in self.links:
            with open_link(mirror.config) as link:
                link.prepare()
        self.writers = [
            SideWriter(cluster.bootstrap, topic, kind, random.Random(rng.random()), 0.03, side=side)
            for side, cluster in zip("ab", sides, strict=True)
            for topic, kind in zip(self.topics, KINDS, strict=True)
        ]

    def play(self, copiers: Copiers) -> None:
        """Start copiers of both links, and kill some."""
        for work in [work for mirror in self.links for work in mirror.slices(2)]:
            copiers.start(endless(work))
        time.sleep(self.rng.uniform(0.3, 2.0))
        while len(copiers.alive) > self.rng.randrange(4):
            copiers.kill(self.rng.choice(copiers.alive))

    def finish(self, copiers: Copiers) -> int:
        """Stop all, copy the rest, and compare; return how many records each side has."""
        for writer in self.writers:
            writer.stop()
        copiers.kill_all()
        for mirror in self.links * 2:
            catch_up(mirror)
        for mirror in self.links:
            for found in verify(mirror.config, Scope(parallelism=1), lambda *_: None):
                assert found.verdict is Verdict.EQUAL, found.why
        return sum(same(self.sides, topic) for topic in self.topics)


def test_each_record_is_once_on_each_side_whatever_is_killed(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    rng: random.Random,
    copiers: Copiers,
    soak_seconds: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played, total = 0, 0
    for rounds in parts(3, 20, soak_seconds):
        both = TwoWays(tmp_path, (source, target), new_name("two"), rng)
        for _ in range(rounds):
            both.play(copiers)
        played, total = played + rounds, total + both.finish(copiers)
    assert total
    with capsys.disabled():
        sys.stdout.write(f"\n{played} rounds, {total:,} records on each side\n")


def same(clusters: Sequence[LocalCluster], topic: str) -> int:
    """Return how many records both sides have, each of them once."""
    sides = []
    for cluster in clusters:
        found = consume(cluster.bootstrap, topic, range(PARTITIONS))
        values = Counter((record.partition, record.value or b"") for record in found)
        assert [value for value, number in values.items() if number > 1] == []
        sides.append(values)
    assert sides[0] == sides[1]
    assert {value[:1] for _, value in sides[0]} == {b"a", b"b"}
    return len(sides[0])
