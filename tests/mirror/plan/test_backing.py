"""What a plan says of the archive behind the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.mirror.plan.backing import backing
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.settings import LinkConfig

ORDERS = {TopicName("orders"): TopicId("id-orders")}


def link(url: str, region: str = REGION) -> LinkConfig:
    made = {
        "source": {"bootstrap": "a:9092"},
        "target": {"bootstrap": "b:9092"},
        "link": "l",
        "topics": {"include": [".*"]},
        "records": {"on_gap": "archive", "archive": {"store": {"url": url}, "region": region}},
    }
    return LinkConfig.model_validate(made)


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    made = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    made.put("orders", old_records(10))
    return made


def test_all_topics_are_archived(stored: StoredArchive) -> None:
    [note] = backing(link(stored.url), CLUSTER, ORDERS)
    assert isinstance(note, Note)
    assert note.text == (
        "what the source deletes before it is copied is taken from the archive of region eu"
    )


def test_topics_that_the_archive_lacks_are_named(stored: StoredArchive) -> None:
    topics = {TopicName(f"t{n}"): TopicId(f"{n}") for n in range(7)} | ORDERS
    [note] = backing(link(stored.url), CLUSTER, topics)
    assert note.text.endswith(
        "; it has nothing so far of 7 of 8 topics: t0, t1, t2, t3, t4 and others"
    )


def test_a_topic_that_was_made_again_is_another_one(stored: StoredArchive) -> None:
    [note] = backing(link(stored.url), CLUSTER, {TopicName("orders"): TopicId("again")})
    assert "nothing so far of 1 of 1 topics: orders" in note.text


def test_the_archive_of_another_cluster_is_refused(stored: StoredArchive) -> None:
    [problem] = backing(link(stored.url), ClusterId("mine"), ORDERS)
    assert isinstance(problem, Problem)
    assert problem.cause is Cause.FILE
    assert problem.text == (
        "the archive of region eu is of cluster cluster-a, and the source is mine;"
        " name the archive of this source"
    )


def test_an_archive_that_is_not_there_yet_stops_nothing(stored: StoredArchive) -> None:
    [note] = backing(link(stored.url, "us"), CLUSTER, ORDERS)
    assert isinstance(note, Note)
    assert note.text.endswith(
        "; until it can be read, partitions whose source deletes records wait for it"
    )


def test_a_link_without_an_archive_says_nothing() -> None:
    made = link("file:///none")
    plain = made.model_copy(update={"records": made.records.model_copy(update={"archive": None})})
    assert not [*backing(plain, CLUSTER, ORDERS)]
