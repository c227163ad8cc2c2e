"""A round that hands over to the next, which begins beside it."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.support.copying.chaos import PARTITIONS, PLAIN, TRANSACTIONAL, Writer, parts
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, Running
from tests.support.program import Program
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.entries import Attempt, Released, Session
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.nouns import Side, TopicPartition
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]
MOMENTS = ("ready", "ended", "released", "left")


@pytest.mark.spark(long=True)
def test_partitions_are_handed_over_from_round_to_round(link: Link, rng: random.Random) -> None:
    with copied(link, rng, "plain", Link.run_inside) as heard:
        wait_until(lambda: heard.now()["left"] >= 2, "two rounds have handed over", 120)
    assert len(heard.released[2]) == 2 * PARTITIONS, "a partition was not handed over"


@pytest.mark.chaos
@pytest.mark.spark(own=True)
@pytest.mark.timeout(0)
def test_slices_that_are_killed_while_a_round_hands_over(
    link: Link, rng: random.Random, soak_seconds: int
) -> None:
    """At each moment of it, those of the round that ends, or those of the next."""
    for number, kills in enumerate(parts(2, 20, soak_seconds)):
        with copied(link, rng, str(number), start) as heard:
            [*_, run] = [each for each in link.programs if isinstance(each, Program)]
            for _ in range(kills):
                moment = rng.choice(MOMENTS)
                before = heard.now()[moment]
                wait_until(lambda: heard.now(0.1)[moment] > before, moment, 120)  # noqa: B023
                kill(rng.sample(workers := run.workers(), min(len(workers), rng.choice((1, 2)))))
                sys.stderr.write(f"killed slices when a round was {moment}\n")


def kill(workers: list[psutil.Process]) -> None:
    for worker in workers:
        try:
            worker.kill()
        except psutil.NoSuchProcess:
            continue  # it has just ended


def start(link: Link) -> Program:
    """Start a run where more slices are wished than there are cores: each of them runs."""
    return link.start("run", "--master", "local[2]", "--parallelism", "3")


@contextmanager
def copied(
    link: Link, rng: random.Random, name: str, begin: Callable[[Link], Running]
) -> Iterator[Heard]:
    """Let a link with short rounds copy what is written meanwhile; at the end all is the same."""
    topics = {kind: f"{link.name}.{name}.{kind}" for kind in (PLAIN, TRANSACTIONAL)}
    boot, link.run = link.source.bootstrap, "{round: 2s, discover: 500ms}"
    for topic in topics.values():
        create_topic(boot, topic, PARTITIONS)
    run = begin(link)
    writers = [
        Writer(boot, topic, kind, random.Random(rng.random()), 0.05)
        for kind, topic in topics.items()
    ]
    try:
        with Heard(link) as heard:
            yield heard
    finally:
        for writer in writers:
            writer.stop()
    for topic in topics.values():
        for partition in range(PARTITIONS):
            link.wait_for(run, topic, partition, 120)
    assert not run.stop(), run.said
    for topic in topics.values():
        assert link.assert_same(topic, PARTITIONS) > 0


class Heard(ExitStack):
    """What the run and the slices of a link tell each other."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._config = load(link.file)
        admin = self.enter_context(Admin(self._config.target, Side.TARGET))
        self._ledger = Ledger(
            admin, self.enter_context(Client(self._config.target, Side.TARGET, admin))
        )
        self._rounds = dict.fromkeys(MOMENTS, 0)
        self.released: defaultdict[int, set[TopicPartition]] = defaultdict(set)

    def now(self, wait: float = 0.0) -> dict[str, int]:
        """Return the last round of which each was told."""
        for entry in self._ledger.read(SESSIONS, wait=wait) if self._ledger.usable() else ():
            if entry.link != self._config.link:
                continue
            if isinstance(entry, Attempt) and entry.ready:
                self._rounds["ready"] = entry.round
            elif isinstance(entry, Released):
                self._rounds["released"] = entry.round
                self.released[entry.round] |= {*entry.tps}
            elif isinstance(entry, Session):
                self._rounds |= {"ended": entry.ended_round, "left": entry.left_round}
        return dict(self._rounds)
