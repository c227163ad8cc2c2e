"""A round that hands over to the next, which begins beside it."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from tests.support.chaos import PARTITIONS, PLAIN, TRANSACTIONAL, Writer
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import load
from towpath.ledger.entries import ReadEntry, Released, Session
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.nouns import Side, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]


def test_partitions_are_handed_over_from_round_to_round(link: Link, rng: random.Random) -> None:
    topics = {kind: f"{link.name}.{kind}" for kind in (PLAIN, TRANSACTIONAL)}
    link.run = "{round: 3s, discover: 500ms}"
    for topic in topics.values():
        create_topic(link.source.bootstrap, topic, PARTITIONS)
    writers = [
        Writer(link.source.bootstrap, topic, kind, random.Random(rng.random()), 0.05)
        for kind, topic in topics.items()
    ]
    run = link.start("run", "--master", "local[2]")
    heard = Heard(link)
    try:
        wait_until(lambda: heard.left() >= 3, "three rounds have handed over", 120)
    finally:
        for writer in writers:
            writer.stop()
    for topic in topics.values():
        for partition in range(PARTITIONS):
            link.wait_for(run, topic, partition)
    assert run.stop() == 0, run.said
    for topic in topics.values():
        assert link.assert_same(topic, PARTITIONS) > 0
    for number in (2, 3):
        assert len(heard.released[number]) == 2 * PARTITIONS, "a partition was not handed over"


class Heard:
    """What the slices of a link tell each other."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._entries: list[ReadEntry] = []
        self.released: defaultdict[int, set[TopicPartition]] = defaultdict(set)

    def left(self) -> int:
        """Return the last round of which no slice runs any more."""
        config = load(self._link.file)
        left = 0
        with (
            Admin(config.target, Side.TARGET) as admin,
            Client(config.target, Side.TARGET, admin) as client,
        ):
            ledger = Ledger(admin, client)
            if not ledger.usable():
                return 0
            for entry in ledger.read(SESSIONS):
                if entry.link == config.link and isinstance(entry, Released):
                    self.released[entry.round] |= {*entry.tps}
                if entry.link == config.link and isinstance(entry, Session):
                    left = entry.left_round
        return left
