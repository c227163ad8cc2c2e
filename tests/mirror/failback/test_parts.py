"""The way back where topics went over at different times and in different ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import MASTER, Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    produce,
    set_config,
    topic_config,
    wait_until,
)
from tests.support.links import Link
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def some(word: str, number: int) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n), partition=0) for n in range(number)]


def values(cluster: LocalCluster, topic: str) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic)]


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Link:
    """Return a link of two topics that are copied, with a group."""
    name = new_name("parts")
    made = Link(tmp_path, source, target, name, groups=f"{{include: ['{name}-group']}}")
    for topic in topics(made):
        create_topic(source.bootstrap, topic)
        produce(source.bootstrap, topic, some("both", 20))
        commit(source.bootstrap, f"{name}-group", topic, 0, 20)
    return made


def topics(link: Link) -> tuple[str, str]:
    return f"{link.name}.one", f"{link.name}.two"


def one_goes_first(link: Link, here: Here) -> None:
    one, _ = topics(link)
    ran = here.run(str(link.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    done = here("failover", str(link.file), "--topics", one, "--yes", "-o", "json")
    assert (done.json["done"], done.json["after"]["lost"]) == (True, 0), done.said
    produce(link.target.bootstrap, one, some("new", 5))


def turned_round(link: Link, here: Here, records: int) -> Any:
    done = here.on_spark("failback", str(link.file), "--yes", "-o", "json")
    assert done.code == 0, done.said
    assert (done.json["reversed"], done.json["caught_up"]) == (True, True), done.said
    assert done.json["records"] == records
    assert done.json["salvaged"] == []
    return done.json


def are_equal(link: Link) -> None:
    for topic in topics(link):
        assert values(link.source, topic) == values(link.target, topic), topic


def test_the_rest_is_cut_over_and_all_of_it_comes_back(link: Link, here: Here) -> None:
    one, two = topics(link)
    one_goes_first(link, here)
    produce(link.source.bootstrap, two, some("more", 10))
    cut = here.on_spark("cutover", str(link.file), "--quiet", "0", "-o", "json")
    assert cut.code in {0, 3}, cut.said
    assert len(values(link.target, two)) == 30
    produce(link.target.bootstrap, two, some("new", 7))
    turned_round(link, here, 12)
    are_equal(link)
    assert [len(values(link.source, topic)) for topic in (one, two)] == [25, 37]
    assert here("verify", str(link.file.with_name(f"{link.name}-back.yaml")), *MASTER).code == 0


def test_one_comes_back_and_goes_on_while_the_rest_follows_later(link: Link, here: Here) -> None:
    one, two = topics(link)
    one_goes_first(link, here)
    turned_round(link, here, 5)
    assert values(link.source, one) == values(link.target, one)
    assert here("failover", str(link.file), "--yes").code == 0
    produce(link.target.bootstrap, one, some("later", 3))
    produce(link.target.bootstrap, two, some("new", 7))
    link.file.with_name(f"{link.name}-back.yaml").unlink()
    turned_round(link, here, 15)
    are_equal(link)
    assert [len(values(link.source, topic)) for topic in (one, two)] == [28, 27]


def shown(cluster: LocalCluster, topic: str, value: str) -> None:
    """Wait until brokers show what they acknowledged."""
    wait_until(
        lambda: topic_config(cluster.bootstrap, topic, "max.message.bytes") == value, "it shows"
    )


def set_and_shown(cluster: LocalCluster, topic: str, value: str) -> None:
    set_config(cluster.bootstrap, topic, "max.message.bytes", value)
    shown(cluster, topic, value)


def test_a_plan_of_before_is_refused_behind_a_failover(link: Link, here: Here) -> None:
    saved = str(link.folder / "saved.plan")
    ran = here.run(str(link.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    for topic in topics(link):
        set_and_shown(link.source, topic, "2000000")
    planned = here("plan", str(link.file), "--save", saved)
    assert planned.code in {0, 3}, planned.said
    one, two = topics(link)
    assert here("failover", str(link.file), "--topics", one, "--yes").code == 0
    refused = here("apply", saved, "--yes")
    assert refused.code == 3, refused.said
    said = " ".join(refused.said.split())
    assert f"topic {one} changed since this was planned" in said
    assert "has the state failed over, since" in said
    assert f"done: set topic {two}" in said
    assert topic_config(link.target.bootstrap, one, "max.message.bytes") != "2000000"
    shown(link.target, two, "2000000")
    set_and_shown(link.source, two, "3000000")
    assert here("plan", str(link.file), "--save", saved).code in {0, 3}
    assert here("failover", str(link.file), "--yes").code == 0
    refused = here("apply", saved, "--yes")
    assert refused.code == 4, refused.said
    assert "is failed over" in refused.said
