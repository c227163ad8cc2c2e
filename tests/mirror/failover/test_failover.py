"""A failover with real brokers: the source is dead, and everything goes on from the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import rest
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    end_offsets,
    produce,
    raw_batches,
    topic_config,
)
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import STATES_LEVEL, Cut
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.records.receipts import Receipts
from towpath.records.target.fences import EPOCH
from towpath.wire.header import split

pytestmark = pytest.mark.broker
GROUPS = "groups: {}\n"


def some(first: int, count: int, partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=partition) for i in range(first, first + count)]


@dataclass
class Link:
    """A link with a group that stands in its topic, and both clusters."""

    mirror: Mirror
    here: Here

    @property
    def topic(self) -> str:
        return self.mirror.topic

    @property
    def group(self) -> str:
        return f"{self.topic}-group"

    @property
    def file(self) -> str:
        return str(self.mirror.folder / f"{self.mirror.config.link}.yaml")

    def stand(self, partition: int, offset: int) -> None:
        commit(self.mirror.source.bootstrap, self.group, self.topic, partition, offset)

    def sync(self) -> None:
        assert self.here("groups", "sync", self.file).code in {0, 3}

    def failover(self, *options: str, code: int) -> Any:
        ended = self.here("failover", self.file, *options, "-o", "json")
        assert ended.code == code, ended.said
        return ended.json

    def cut(self, partition: int = 0) -> Cut:
        cut = self.mirror.books(partition).cut
        assert cut is not None
        return cut


@contextmanager
def killed(cluster: LocalCluster) -> Iterator[None]:
    cluster.kill9(1)
    try:
        yield
    finally:
        cluster.restart(1)


@pytest.fixture
def link(
    tmp_path: Path,
    lone: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> Link:
    mirror = Mirror(tmp_path, lone, target, new_name("failover"), sections=GROUPS, timeout="5s")
    for cluster in (lone, target):
        create_topic(cluster.bootstrap, mirror.topic, 2)
    produce(lone.bootstrap, mirror.topic, [*some(0, 100), *some(0, 50, 1)])
    made = Link(mirror, here)
    made.stand(0, 60)
    made.stand(1, 50)
    mirror.catch_up()
    made.sync()
    return made


def test_configs_that_were_held_back_are_set_by_a_failover(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str],
    here: Here,
) -> None:  # fmt: skip
    mirror = Mirror(tmp_path, source, target, new_name("held"), timeout="5s")
    create_topic(source.bootstrap, mirror.topic, 1, {"retention.ms": "86400000"})
    produce(source.bootstrap, mirror.topic, some(0, 10))
    link = Link(mirror, here)
    _ = mirror.config  # which writes the file
    applied = here("apply", link.file, "--yes")
    assert applied.code == 0, applied.said
    mirror.catch_up()
    kept = partial(topic_config, target.bootstrap, mirror.topic, "retention.ms")
    assert kept() == "-1", "nothing is deleted while the topic is filled"
    told = link.failover("--dry-run", code=0)
    assert (told["plan"]["held"], kept()) == ([mirror.topic], "-1")
    done = link.failover("--yes", code=0)
    assert (done["missing"], done["after"]["held"], kept()) == ([], [], "86400000")


def test_with_the_source_killed_the_target_alone_has_all_of_it(link: Link) -> None:
    source, target = link.mirror.source.bootstrap, link.mirror.target.bootstrap
    produce(source, link.topic, some(100, 7))
    link.stand(0, 103)
    link.sync()
    before = end_offsets(target, link.topic)
    with killed(link.mirror.source):
        told = link.failover("--dry-run", code=3)
        assert end_offsets(target, link.topic) == before, "a rehearsal touches nothing"
        plan = told["plan"]
        assert (plan["lost"], plan["unknown"], plan["again"]) == (3, 2, 0)
        assert plan["source_gone"]
        stands = {each["partition"]: each for each in plan["positions"]}
        assert [(stands[n]["target"], stands[n]["ahead"]) for n in (0, 1)] == [(100, 3), (50, 0)]
        assert not link.mirror.link_books().states

        done = link.failover("--yes", code=3)
        assert (done["done"], done["state"][0]["state"]) == (True, "failed_over")
        assert done["fenced"] == 2
        assert (done["missing"], done["after"]["lost"], done["state"][0]["lost"]) == ([], 3, None)
        _holds(link, target)
        _is_sealed(link)
        _late_writes_are_refused(link, target)

        produce(target, link.topic, some(1000, 5))
        read = rest(link.mirror.target, link.group, link.topic, 2)
        assert read == [each.value for each in some(1000, 5)]
        cuts = [link.cut(n) for n in (0, 1)]
        again = link.failover("--yes", code=3)
        assert again["state"][0]["attempt"] == 1
        assert [link.cut(n) for n in (0, 1)] == cuts, "clients have written behind it"


def _holds(link: Link, target: str) -> None:
    """The cut begins at the fence, which no consumer sees."""
    assert (link.cut().source_end, link.cut().target_end, link.cut().fences) == (100, 100, 1)
    assert end_offsets(target, link.topic)[1] == 101
    assert len(consume(target, link.topic, (0, 1))) == 150
    identity = link.mirror.link_books().identity
    assert identity is not None
    assert identity.level == STATES_LEVEL


def _is_sealed(link: Link) -> None:
    refused = link.here("groups", "sync", link.file)
    assert refused.code == 4, refused.said
    assert "is failed over" in refused.said
    assert "towpath failback" in refused.said


def _late_writes_are_refused(link: Link, target: str) -> None:
    """A mirror that was frozen sends what it had on its way."""
    tp = TopicPartition(TopicName(link.topic), 0)
    late = next(iter(split(memoryview(raw_batches(target, link.topic)))))
    config = link.mirror.config
    with ExitStack() as stack:
        admin = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, admin))
        states = admin.producers.states([tp])[tp]
        assert EPOCH in {each.epoch for each in states}
        with pytest.raises(RefusedError, match="INVALID_PRODUCER_EPOCH"):
            client.produce(tp, bytes(late))
    assert end_offsets(target, link.topic)[1] == 101


def test_before_the_first_receipt_a_group_goes_on_at_the_next_record(
    tmp_path: Path,
    lone: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The source and the run are lost within the first second of a partition."""
    mirror = Mirror(tmp_path, lone, target, new_name("early"), sections=GROUPS, timeout="5s")
    mirror.create()
    link = Link(mirror, here)
    produce(lone.bootstrap, mirror.topic, some(0, 50))
    link.stand(0, 40)
    monkeypatch.setattr(Receipts, "_append", lambda *_: None)
    mirror.catch_up()
    assert mirror.books().receipt is None
    link.sync()
    with killed(lone):
        done = link.failover("--yes", code=3)
        [stands] = done["after"]["positions"]
        assert (stands["target"], stands["exactness"], stands["again"]) == (40, "exact", 0)
        read = rest(target, link.group, link.topic, 1)
        assert read == [each.value for each in some(40, 10)]


def test_a_failover_is_taken_back_until_something_is_written(link: Link) -> None:
    refused = link.here("failover", link.file, "--undo")
    assert refused.code == 4
    assert "no failover to take back" in refused.said
    rehearsed = link.here("failover", link.file, "--dry-run", "--wait")
    assert rehearsed.code == 4, "what would be refused is told by the rehearsal"
    assert "no run of it lives" in rehearsed.said
    assert not link.mirror.link_books().states
