"""`towpath verify` of links whose records go through a query, on real brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.kafka import (
    Record,
    create_topic,
    delete_before,
    produce,
    set_config,
    topic_config,
)
from tests.support.transformed_link import QUERY, T0, TransformedLink
from towpath.dev.broker import LocalCluster
from towpath.ledger.transformed import transactional_id
from towpath.model.nouns import LinkName, TopicName, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> TransformedLink:
    made = TransformedLink(source, target, new_name("proven"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2)
    return made


def verified(here: Here, file: Path, code: int, *more: str) -> list[dict[str, Any]]:
    ended = here.on_spark("verify", str(file), *more, "--output", "json")
    assert ended.code == code, ended.said
    assert ended.json["equal"] is (code == 0)
    rows: list[dict[str, Any]] = ended.json["partitions"]
    return rows


def test_what_the_query_made_is_proven_and_what_others_wrote_or_the_source_deleted_is_told(
    link: TransformedLink, here: Here
) -> None:
    set_config(link.source.bootstrap, link.topic, "max.message.bytes", "500000")
    file = link.write({"sql": QUERY, "max_offsets": 30})
    link.produced(range(100))
    assert here.run(str(file), "--until-caught-up").code == 0
    # What the target would have refused while it was filled is as on the source by now.
    assert topic_config(link.target.bootstrap, link.clean, "max.message.bytes") == "500000"
    assert here("plan", str(file), "--output", "json").json["steps"] == []
    rows = verified(here, file, 0)
    assert [(r["verdict"], r["equal"], r["end"], r["changes"]) for r in rows] == [
        ("equal", 50, 50, {"dropped:transform": 0, "read": 50}),
        ("equal", 40, 50, {"dropped:transform": 10, "read": 50}),
    ]
    assert all(r["source_digest"] == r["target_digest"] for r in rows)
    # The source deletes what was read: the rest is compared, the front is counted.
    delete_before(link.source.bootstrap, link.topic, 20)
    rows = verified(here, file, 0)
    assert (rows[0]["verdict"], rows[0]["equal"], rows[0]["first"]) == ("equal", 30, 20)
    assert "20 records were made of source offsets that are not compared" in rows[0]["notes"][0]
    # The target deletes what the source still has.
    delete_before(link.target.bootstrap, link.clean, 25)
    rows = verified(here, file, 3)
    assert (rows[0]["verdict"], rows[0]["deleted"]) == (
        "deleted",
        0 if rows[0]["equal"] == 30 else 5,
    )
    assert verified(here, file, 0, "--may-delete")[0]["verdict"] == "equal"
    # Somebody else writes to the mirror topic, once under a transactional id of the link.
    alien = [Record(b"k", b"alien", (), T0, partition=1)]
    own_id = transactional_id(LinkName(link.topic), TopicPartition(TopicName(link.topic), 1))
    produce(link.target.bootstrap, link.clean, alien)
    produce(link.target.bootstrap, link.clean, alien, {"transactional.id": own_id})
    rows = verified(here, file, 3)
    assert rows[0]["verdict"] == "different"
    assert f"2 records of other producers in {link.clean}-1" in rows[0]["why"]


def test_values_that_no_query_can_make_again_are_not_said_to_be_equal(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": "select key, uuid() as value, partition from records"})
    link.produced(range(20))
    assert here.run(str(file), "--until-caught-up").code == 0
    rows = verified(here, file, 3)
    assert [(r["verdict"], r["equal"]) for r in rows] == [("left out", 0)] * 2
    assert "positions compared, values not: the query has functions that are not" in rows[0]["why"]
    link.write({"sql": QUERY})  # from here on
    link.produced(range(20, 40))
    assert here.run(str(file), "--until-caught-up").code == 0
    rows = verified(here, file, 3)
    assert [(r["verdict"], r["equal"], r["expired"]) for r in rows] == [
        ("left out", 10, 10),
        ("left out", 8, 10),
    ]
    assert "source offsets before 10 went through another query" in rows[0]["why"]
    assert [r["verdict"] for r in verified(here, file, 0, "--from", "10")] == ["equal"] * 2
