"""A failover where the disaster is a topic that somebody deleted, on either side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.groups import rest
from tests.support.copying.chaos import delete_topic
from tests.support.copying.quarantine import begin
from tests.support.here import Here
from tests.support.kafka import Record, commit, create_topic, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.reasons import ReasonCode

pytestmark = pytest.mark.broker


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=0) for i in range(first, first + count)]


@pytest.fixture
def mirror(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> Mirror:
    """Return a link that has copied 20 records, with a group that has read 12 of them."""
    made = Mirror(tmp_path, source, target, new_name("lost"), sections="groups: {}\n")
    made.create()
    produce(source.bootstrap, made.topic, some(0, 20))
    commit(source.bootstrap, f"{made.topic}-group", made.topic, 0, 12)
    begin(made)
    assert here("groups", "sync", file_of(made)).code in {0, 3}
    return made


def file_of(mirror: Mirror) -> str:
    return str(mirror.folder / f"{mirror.config.link}.yaml")


def failover(mirror: Mirror, here: Here, *options: str) -> Any:
    ended = here("failover", file_of(mirror), *options, "-o", "json")
    assert ended.code == 3, ended.said
    return ended.json


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made again"])
def test_a_topic_that_the_source_lost_goes_on_on_the_target(
    mirror: Mirror, here: Here, again: bool
) -> None:
    """Offsets of groups go with a topic; the ledger has them, and the mirror topic the records."""
    topic, group = mirror.topic, f"{mirror.topic}-group"
    delete_topic(mirror.source.bootstrap, topic)
    why = ReasonCode.SOURCE_TOPIC_RECREATED if again else ReasonCode.SOURCE_TOPIC_DELETED
    if again:
        create_topic(mirror.source.bootstrap, topic)
        produce(mirror.source.bootstrap, topic, some(700, 3))
        commit(mirror.source.bootstrap, group, topic, 0, 2)
    plan = failover(mirror, here, "--dry-run")["plan"]
    assert (plan["source_gone"], plan["unknown"], plan["again_at_most"]) == (None, 1, 8)
    assert [each["silent"]["code"] for each in plan["partitions"]] == [why]
    assert [*plan["remembered"]] == [group]
    [stands] = plan["positions"]
    assert (stands["target"], stands["exactness"], stands["writes"]) == (12, "exact", True)
    done = failover(mirror, here, "--yes")
    assert (done["done"], done["state"][0]["state"]) == (True, "failed_over")
    produce(mirror.target.bootstrap, topic, some(900, 2))
    read = rest(mirror.target, group, topic)
    assert read == [each.value for each in [*some(12, 8), *some(900, 2)]]
    if again:
        back = here("failback", file_of(mirror), "--dry-run", "-o", "json")
        assert "was deleted and created again" in back.said


@pytest.mark.soak
def test_a_topic_that_the_target_lost_keeps_nothing_else_from_failing_over(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    """It is named with what to do; left out of the file, the rest fails over."""
    name = new_name("lost")
    mirror = Mirror(tmp_path, source, target, f"{name}[.].*", name)
    topics = [f"{name}.kept", f"{name}.gone"]
    for topic in topics:
        for cluster in (source, target):
            create_topic(cluster.bootstrap, topic)
        produce(source.bootstrap, topic, some(0, 5))
    begin(mirror)
    delete_topic(target.bootstrap, topics[1])
    first = failover(mirror, here, "--yes")
    assert (first["done"], first["state"][0]["state"]) == (True, "sealed")
    [trouble] = [each for each in first["missing"] if topics[1] in each]
    assert "topics.exclude" in trouble, "there is a way out"
    without = Mirror(
        tmp_path, source, target, mirror.topic, name, more=f"  exclude: [{topics[1]}]\n"
    )
    ended = here("failover", file_of(without), "--yes", "-o", "json")
    assert (ended.code, ended.json["state"][0]["state"]) == (0, "failed_over"), ended.said
