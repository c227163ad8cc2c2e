"""What happens on the target between a failover and the way back: nothing of it is lost unsaid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.clients.groups import rest, standing
from tests.support.here import MASTER, Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    delete_before,
    grow,
    produce,
    set_config,
    topic_config,
)
from tests.support.links import Link
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def some(word: str, number: int, partition: int = 0) -> list[Record]:
    return [Record(b"k", b"%s %d" % (word.encode(), n), partition=partition) for n in range(number)]


def values(cluster: LocalCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic, (partition,))]


def said(word: str, number: int) -> list[bytes | None]:
    return [each.value for each in some(word, number)]


@pytest.fixture
def link(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> Link:
    """Return a link of one topic with two partitions that failed over with nothing lost."""
    name = new_name("changed")
    made = Link(tmp_path, source, target, name, groups=f"{{include: ['{name}.*']}}")
    topic = create_topic(source.bootstrap, topic_of(made), 2)
    for partition in (0, 1):
        produce(source.bootstrap, topic, some("both", 20, partition))
        commit(source.bootstrap, f"{name}-group", topic, partition, 20)
    ran = here.run(str(made.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    over = here("failover", str(made.file), "--yes", "-o", "json")
    assert over.json["after"]["lost"] == 0, over.said
    return made


def topic_of(link: Link) -> str:
    return f"{link.name}.one"


def turned_round(link: Link, here: Here, code: int = 0) -> Any:
    done = here.on_spark("failback", str(link.file), "--yes", "-o", "json")
    assert done.code == code, done.said
    return done.json


def test_partitions_configs_and_groups_that_are_new_there_come_back(link: Link, here: Here) -> None:
    source, target, topic = link.source, link.target, topic_of(link)
    produce(target.bootstrap, topic, some("new", 5))
    grow(target.bootstrap, topic, 3)
    produce(target.bootstrap, topic, some("more", 4, 2))
    set_config(target.bootstrap, topic, "retention.ms", "86400000")
    commit(target.bootstrap, f"{link.name}-later", topic, 0, 23)
    commit(target.bootstrap, f"{link.name}-later", topic, 2, 1)
    told = turned_round(link, here)
    assert (told["reversed"], told["caught_up"], told["salvaged"]) == (True, True, [])
    assert values(source, topic, 0) == values(target, topic, 0)
    assert values(source, topic, 2) == said("more", 4)
    assert topic_config(source.bootstrap, topic, "retention.ms") == "86400000"
    assert standing(source, f"{link.name}-later", topic, 0) == (23, "")
    assert standing(source, f"{link.name}-later", topic, 2) == (1, "")
    back = str(link.file.with_name(f"{link.name}-back.yaml"))
    assert here("verify", back, *MASTER).code == 0


def test_old_records_that_the_target_deleted_are_at_the_source_still(
    link: Link, here: Here
) -> None:
    source, target, topic = link.source, link.target, topic_of(link)
    produce(target.bootstrap, topic, some("new", 10))
    delete_before(target.bootstrap, topic, 15)
    told = turned_round(link, here)
    assert (told["reversed"], told["caught_up"]) == (True, True)
    assert values(source, topic, 0) == [*said("both", 20), *said("new", 10)]


def test_new_records_that_the_target_deleted_are_told_before_and_stop_the_link_back(
    link: Link, here: Here
) -> None:
    """They were nowhere else, so somebody has to say that the rest may go on without them."""
    source, target, topic = link.source, link.target, topic_of(link)
    produce(target.bootstrap, topic, some("new", 10))
    delete_before(target.bootstrap, topic, 21 + 4)  # the fence takes offset 20
    looked = here("failback", str(link.file), "--dry-run", *MASTER)
    words = " ".join(looked.said.split())
    assert "up to 6 (offsets 25 to 30), 4 offsets deleted since" in words
    assert f"4 offsets of {topic}-0 were deleted on the target since clients wrote them" in words
    assert turned_round(link, here, code=3)["caught_up"] is False
    back = link.file.with_name(f"{link.name}-back.yaml")
    back.write_text(f"{back.read_text()}records: {{on_gap: record}}\n")
    assert turned_round(link, here, code=3)["records"] == 6
    assert values(source, topic, 0) == [*said("both", 20), *said("new", 10)[4:]]


def test_what_retention_took_at_the_source_is_no_loss(link: Link, here: Here) -> None:
    source, target, topic = link.source, link.target, topic_of(link)
    produce(target.bootstrap, topic, some("new", 10))
    delete_before(source.bootstrap, topic, 20)
    told = turned_round(link, here)
    assert (told["reversed"], told["caught_up"]) == (True, True)
    assert values(source, topic, 0) == said("new", 10)
    produce(target.bootstrap, topic, some("later", 2))
    turned_round(link, here)
    assert rest(source, f"{link.name}-group", topic, 2) == [*said("new", 10), *said("later", 2)]


def test_a_transaction_that_is_open_on_the_target_comes_back_once_it_ends(
    link: Link, here: Here
) -> None:
    source, target, topic = link.source, link.target, topic_of(link)
    produce(target.bootstrap, topic, some("new", 5))
    producer = Producer(
        {"bootstrap.servers": target.bootstrap, "transactional.id": f"{topic}-writer"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)
    told = turned_round(link, here)
    assert (told["reversed"], told["caught_up"]) == (True, True)
    assert values(source, topic, 0) == [*said("both", 20), *said("new", 5)]
    producer.commit_transaction(30)
    turned_round(link, here)
    assert values(source, topic, 0) == values(target, topic, 0)
    assert values(source, topic, 0)[-1] == b"open"


def test_a_transaction_that_is_open_at_the_source_is_waited_for(link: Link, here: Here) -> None:
    """Its producer lived through the loss of the cluster, and may still commit its records."""
    source, target, topic = link.source, link.target, topic_of(link)
    producer = Producer(
        {"bootstrap.servers": source.bootstrap, "transactional.id": f"{topic}-writer"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush(30)
    produce(target.bootstrap, topic, some("new", 5))
    refused = here("failback", str(link.file), "--yes", *MASTER)
    assert refused.code == 3, refused.said
    assert "a transaction is open on the source" in " ".join(refused.said.split())
    producer.commit_transaction(30)
    undecided = here("failback", str(link.file), "--yes", *MASTER, "-o", "json")
    assert (undecided.code, undecided.json["undecided"]) == (3, 1), undecided.said
    done = here.on_spark("failback", str(link.file), "--wins", "target", "--yes", "-o", "json")
    assert done.code == 0, done.said
    assert values(target, f"{topic}.salvage") == [b"open"]
    assert values(source, topic, 0) == [*said("both", 20), b"open", *said("new", 5)]
