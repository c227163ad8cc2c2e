"""A failover of a partition that is written in transactions: its ids are fenced, and end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from tests.support.clients.records import numbered
from tests.support.copying.chaos import Copiers, endless
from tests.support.here import Here
from tests.support.kafka import consume, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refusal, Refused
from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.broker


@pytest.fixture
def mirror(
    tmp_path: Path,
    source: LocalCluster,
    refusing_target: LocalCluster,
    new_name: Callable[[str], str],
) -> Mirror:
    made = Refused(tmp_path, source, refusing_target, new_name("fenced"))
    made.create()
    return made


def test_an_open_transaction_of_a_mirror_that_died_is_ended_and_its_id_is_fenced(
    mirror: Mirror, refusal: Refusal, copiers: Copiers, here: Here
) -> None:
    source, target, topic = mirror.source.bootstrap, mirror.target.bootstrap, mirror.topic
    file = str(mirror.folder / f"{mirror.config.link}.yaml")
    produce(source, topic, numbered(0, 100))
    assert here("apply", file, "--yes").code == 0
    mirror.catch_up()
    produce(source, topic, numbered(100, 130))
    open_now = Event()

    def strike(_: str) -> None:
        for process in list(copiers.alive):
            process.kill()
        open_now.set()
        raise ConnectionError("the copier is dead, so what it asked for does not arrive")

    refusal.on_end = strike
    copiers.start(endless(mirror.slices()[0]))
    wait_until(open_now.is_set, "a copier died with a transaction open")
    copiers.kill_all()
    refusal.on_end = lambda _: None
    rehearsed = here("failover", file, "--dry-run", "-o", "json").json
    assert rehearsed["plan"]["unfenceable"] == {}
    [writer] = mirror.books().writers.values()

    done = here("failover", file, "--yes", "-o", "json").json
    assert (done["done"], done["not_fenced"]) == (True, {})
    assert (rehearsed["plan"]["lost"], done["after"]["lost"]) == (30, 30)
    assert [each.value for each in consume(target, topic)] == [
        each.value for each in numbered(0, 100)
    ]
    old = ProducerEpoch(writer.writer, 0)
    place = TopicPartition(TopicName(topic), 0)
    with Admin(mirror.config.target, Side.TARGET) as admin:
        late = admin.producers.transactions(writer.transactional_id)
        with pytest.raises(RefusedError, match="INVALID_PRODUCER_EPOCH"):
            late.add(old, [place], Deadline.after(10))
    produce(target, topic, numbered(500, 505))
    assert len(consume(target, topic)) == 105, "readers of committed records go on"
