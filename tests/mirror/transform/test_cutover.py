"""`towpath cutover` of links whose records go through a query, on real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cutovers import APPEND, CLOCK, NOW, left_on
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, commit, create_topic, produce, topic_config
from tests.support.transformed_link import QUERY, T0, TransformedLink, through_query
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> TransformedLink:
    made = TransformedLink(source, target, new_name("over"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2, {CLOCK: APPEND})
    return made


def test_records_of_a_query_are_cut_over_and_what_clients_write_then_is_theirs(
    link: TransformedLink, here: Here, tmp_path: Path
) -> None:
    # The times of a source that sets them are those of the mirror topic; its partitions are more.
    file = link.write({"sql": QUERY.replace(", partition", "")}, topics={"partitions": 3})
    link.produced(range(40))
    assert here.run(str(file), "--until-caught-up").code == 0
    link.produced(range(40, 60))
    before = left_on(link.target, link.topic)
    rehearsed = here("cutover", str(file), "--dry-run", *NOW, "-o", "json")
    assert rehearsed.code == 0, rehearsed.said
    assert left_on(link.target, link.topic) == before, "a rehearsal touches nothing"
    assert (rehearsed.json["equal_records"], rehearsed.json["behind"]) == (36, 20)
    assert {each["why"] for each in rehearsed.json["mapped"]} == {"its records go through a query"}
    commit(link.source.bootstrap, f"{link.topic}-group", link.topic, 0, 1)
    refused = here("cutover", str(file), *NOW)
    said = " ".join(refused.out.split())
    assert refused.code == 3
    assert "their offsets mean nothing on the target, and they begin anew there" in said
    report = tmp_path / "report.json"
    ended = here("cutover", str(file), *NOW, "--without-groups", "--report", str(report))
    assert ended.code == 0, ended.said
    assert "cut over: 2 of 2 partitions equal, 54 records" in ended.out
    told = json.loads(report.read_text())
    parts = ["look", "drain", "sync", "verify", "look again", "record", "settle"]
    assert (told["complete"], list(told["seconds"])) == (True, parts)
    assert link.values(3) == through_query(range(60))
    assert topic_config(link.target.bootstrap, link.clean, CLOCK) == APPEND
    assert here("diff", str(file)).code == 0


@pytest.mark.soak
def test_what_clients_wrote_stays_theirs_in_another_cutover(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY})
    early = here("cutover", str(file), "--dry-run", *NOW)
    assert early.code == 3, early.said
    assert "mirror first, with `towpath run`" in early.out
    for numbers in (range(20), range(20, 30), range(30, 40)):  # producers went back to the source
        link.produced(numbers)
        ended = here("cutover", str(file), *NOW)
        assert ended.code == 0, ended.said
        own = [Record(b"k", b"own%d" % n, (), T0, partition=n % 2) for n in range(5)]
        produce(link.target.bootstrap, link.clean, own)
    verified = here("verify", str(file), *MASTER)
    assert verified.code == 0, verified.said
    assert "15 records behind the cutover of " in " ".join(verified.out.split())
    assert "2 partitions cut over on " in " ".join(here("status", str(file)).out.split())
    planned = here("plan", str(file))
    assert "so clients may write to the mirror topics" in " ".join(planned.out.split())


@pytest.mark.soak
def test_values_that_cannot_be_compared_end_the_cutover_unless_that_is_accepted(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": "select key, uuid() as value, partition from records"})
    link.produced(range(20))
    ended = here("cutover", str(file), *NOW)
    assert ended.code == 3, ended.said
    said = " ".join(ended.out.split())
    assert "positions compared, values not" in said
    assert "to cut over all the same, add --without-values" in said
    ended = here("cutover", str(file), *NOW, "--without-values")
    assert ended.code == 0, ended.said
    assert "that is meant (--without-values)" in " ".join(ended.out.split())
