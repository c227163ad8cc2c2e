"""The consumer groups of a soak, which read the source and commit."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench.soaking.kinds import KINDS

COMMIT = 2.0
"""Seconds between two commits."""
GROUPS = {
    "soak-ids": ("framed", "transactions"),
    "soak-headers": ("headers", "dropping"),
    "soak-slow": ("plain",),
}
"""Kinds of topics by group; the slow one reads a part of what comes."""
SLOW = "soak-slow"
_CALM = 1.0
"""Seconds for which the slow group rests between two reads."""


class Readers:
    """One member for each group, until they are stopped.

    Args:
        bootstrap: Of the source.
        topics: All topics.

    Attributes:
        read: Number of records by group.
    """

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self.read: Counter[str] = Counter()
        self._bootstrap = bootstrap
        self._topics = {
            group: [each for each in topics if each.split("-")[1] in kinds]
            for group, kinds in GROUPS.items()
        }
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Let a member join each group that has topics."""
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=(group,), name=f"{group}-reader")
            for group, topics in self._topics.items()
            if topics
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let all members commit and leave."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def committed(self, bootstrap: str, partitions: int) -> dict[str, dict[tuple[str, int], int]]:
        """Return where each group stands on a cluster; partitions without commit are left out."""
        found = {}
        for group, topics in self._topics.items():
            consumer = _consumer(bootstrap, group)
            places = [TopicPartition(t, n) for t in topics for n in range(partitions)]
            try:
                stands = consumer.committed(places, 60) if places else []
            finally:
                consumer.close()
            found[group] = {(at.topic, at.partition): at.offset for at in stands if at.offset >= 0}
        return found

    def _read(self, group: str) -> None:
        consumer = _consumer(self._bootstrap, group)
        consumer.subscribe(self._topics[group])
        committed = time.monotonic()
        while not self._over.is_set():
            messages = consumer.consume(100 if group == SLOW else 2000, 0.5)
            self.read[group] += sum(1 for each in messages if each.error() is None)
            if time.monotonic() > committed + COMMIT:
                _commit(consumer)
                committed = time.monotonic()
            if group == SLOW:
                self._over.wait(_CALM)
        _commit(consumer)
        consumer.close()


def _commit(consumer: Consumer) -> None:
    # A coordinator that is away, or a member that was thrown out: the next commit says it.
    with suppress(KafkaException):
        consumer.commit(asynchronous=False)


def _consumer(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )


assert {kind for kinds in GROUPS.values() for kind in kinds} == {k.name for k in KINDS}  # noqa: S101
