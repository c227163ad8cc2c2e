"""Answers that are lost while the target forgets who wrote: its records are 40 days old."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.forgetful import DAY_MS, Proxied
from tests.support.copying.chaos import Copiers, endless
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from tests.support.network.toxiproxy import Toxiproxy
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@dataclass
class OldRecords:
    """Links of one partition each, whose records are 40 days old."""

    mirrors: Sequence[Proxied]
    number: int = 0

    def produce(self, count: int) -> None:
        """Produce so many more records to each topic, ten to a batch."""
        at = now_ms() - 40 * DAY_MS
        fresh = range(self.number, self.number + count)
        self.number += count
        records = [Record(b"k", b"%d" % n, (), at) for n in fresh]
        for mirror in self.mirrors:
            produce(mirror.source.bootstrap, mirror.topic, records, {"batch.num.messages": 10})

    def await_copied(self) -> None:
        """Wait until the logs of the target hold everything."""
        for mirror in self.mirrors:
            wait_until(
                lambda m=mirror: end_offsets(m.target.bootstrap, m.topic)[1] >= self.number,  # type: ignore[misc]
                "it is copied",
            )

    def await_forgotten(self) -> None:
        """Wait until the target remembers no producer of the topics."""
        tps = [TopicPartition(TopicName(mirror.topic), 0) for mirror in self.mirrors]
        config = ClusterConfig(bootstrap=self.mirrors[0].target.bootstrap)
        with Admin(config, Side.TARGET) as admin:
            wait_until(lambda: not any(admin.producers.sequences(tps).values()), "we are forgotten")


def test_what_was_appended_without_an_answer_is_not_sent_again(
    tmp_path: Path,
    source: LocalCluster,
    lone: SharedCluster,
    toxiproxy: Toxiproxy,
    new_name: NewName,
    copiers: Copiers,
) -> None:
    modes = {"auto": "identical", "mapped": "mapped"}
    mirrors = [
        Proxied(tmp_path, source, lone, new_name(mode), "", {"offsets": mode}, "4s")
        for mode in modes
    ]
    for mirror in mirrors:
        mirror.create(1, {"retention.ms": "-1"})
    old = OldRecords(mirrors)
    old.produce(10)
    for mirror in mirrors:
        copiers.start(endless(mirror.slices()[0]))
    old.await_copied()
    old.await_forgotten()
    toxiproxy.add(lone, "timeout", timeout=0)  # no answer comes through
    old.produce(30)
    old.await_copied()
    old.await_forgotten()
    toxiproxy.cut(lone)
    time.sleep(0.5)  # of the outage
    toxiproxy.reset()
    old.produce(5)
    for mirror, mode in zip(mirrors, modes.values(), strict=True):
        wait_until(lambda m=mirror: reached(m, 45), "the rest is copied")  # type: ignore[misc]
        there = [int(r.value or b"") for r in consume(mirror.target.bootstrap, mirror.topic)]
        assert there == list(range(45))
        receipt = mirror.books().receipt
        assert receipt is not None
        assert (receipt.mode, receipt.error) == (mode, "")


def reached(mirror: Proxied, end: int) -> bool:
    receipt = mirror.books().receipt
    return receipt is not None and receipt.source_end == end
