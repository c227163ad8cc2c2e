"""`towpath cutover` of links whose records go through a query, on real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.groups import member
from tests.support.cutovers import APPEND, CLOCK, NOW, PARTS, admin_of, left_on
from tests.support.here import MASTER, Here
from tests.support.kafka import (
    Record,
    commit,
    create_topic,
    end_offsets,
    produce,
    topic_config,
)
from tests.support.program import Program
from tests.support.transformed_link import QUERY, T0, TransformedLink, through_query
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def delete_group(cluster: LocalCluster, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_consumer_groups([group])[group].result(30)


def committed(
    cluster: LocalCluster, group: str, topic: str, partitions: Iterable[int]
) -> dict[int, int]:
    """Where a group stands on the target, by partition."""
    places = [TopicPartition(TopicName(topic), n) for n in partitions]
    with admin_of(cluster, Side.TARGET) as admin:
        return {tp.partition: at for tp, at in admin.groups.committed(group, places).items()}


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> TransformedLink:
    made = TransformedLink(source, target, new_name("over"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2, {CLOCK: APPEND})
    return made


@pytest.mark.spark(long=True)
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
    reader, late = f"{link.topic}-reader", f"{link.topic}-late"
    for group, at in ((reader, (30, 30)), (late, (30, 26))):
        for partition, offset in enumerate(at):
            commit(link.source.bootstrap, group, link.topic, partition, offset)
    refused = here("cutover", str(file), *NOW)
    said = " ".join(refused.out.split())
    assert refused.code == 3
    assert "the file has no section `groups`, so they would begin anew on the target" in said
    link.write({"sql": QUERY.replace(", partition", "")}, topics={"partitions": 3},
               groups={"include": [f"{link.topic}-.*"]})  # fmt: skip
    refused = here("cutover", str(file), *NOW)
    said = " ".join(refused.out.split())
    assert refused.code == 3
    assert (
        f"group {late}: it has not read 4 records at the source ({link.topic}-1: offsets 26 to 29)"
        f"; let its clients read them first, or add --may-skip {late}"
    ) in said
    assert "nothing was touched" in said
    commit(link.source.bootstrap, late, link.topic, 1, 30)
    report = tmp_path / "report.json"
    ended = here("cutover", str(file), *NOW, "--report", str(report))
    assert ended.code == 0, ended.said
    assert "cut over: 2 of 2 partitions equal, 54 records" in ended.out
    told = json.loads(report.read_text())
    assert (told["complete"], list(told["seconds"])) == (True, PARTS)
    _go_on_at_the_end(link, {reader, late}, told)
    assert link.values(3) == through_query(range(60))
    assert topic_config(link.target.bootstrap, link.clean, CLOCK) == APPEND
    assert here("diff", str(file)).code == 0


def _go_on_at_the_end(link: TransformedLink, groups: set[str], told: Any) -> None:
    """Each group goes on at the cut of each mirror partition, of which there are three."""
    ends = {n: end_offsets(link.target.bootstrap, link.clean, n)[1] for n in range(3)}
    assert sum(ends.values()) > 54
    for group in groups:
        assert committed(link.target, group, link.clean, range(3)) == ends
    for each in told["group_positions"]:
        assert {row["partition"]: row["answer"]["offset"] for row in each["positions"]} == ends
        assert [row["source"] for row in each["positions"]] == [30, 30, None]


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
    said = " ".join(verified.out.split())
    assert f"15 records in {link.clean}-0, {link.clean}-1 behind the cutover of " in said
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


@pytest.mark.soak
def test_groups_without_a_place_end_the_cutover_and_those_left_behind_are_told(
    link: TransformedLink, here: Here
) -> None:
    file = link.write({"sql": QUERY}, groups={"include": [f"{link.topic}-.*"]})
    link.produced(range(20))
    reader, late = f"{link.topic}-reader", f"{link.topic}-late"
    assert here.run(str(file), "--until-caught-up").code == 0
    for group, at in ((reader, 10), (late, 7)):
        for partition in (0, 1):
            commit(link.source.bootstrap, group, link.topic, partition, at)
    rehearsed = here("cutover", str(file), "--dry-run", *NOW)
    assert rehearsed.code == 0, rehearsed.said
    what = f"1 group has not read everything at the source ({late}: 6 records)"
    said = " ".join(rehearsed.out.split())
    assert f"before the cutover: {what}: let the clients read the rest" in said
    with member(link.source, reader, link.topic):
        behind = here("cutover", str(file), "--dry-run", "--without-groups", *NOW)
    said = " ".join(behind.out.split())
    assert behind.code == 0, behind.said
    anew = "it begins anew on the target (--without-groups)"
    assert f"group {reader}: it has members at the source (Stable); {anew}" in said
    assert f"group {late}: it has not read 6 records at the source" in said
    commit(link.target.bootstrap, reader, link.clean, 0, 2)
    with member(link.target, late, link.clean):
        ended = here("cutover", str(file), *NOW, "--may-skip", late)
    assert ended.code == 3, ended.said
    said = " ".join(ended.out.split())
    assert f"group {reader} stands at offset 2 of {link.clean}-0 already" in said
    assert f"group {late} has members on the target (Stable)" in said
    assert committed(link.target, reader, link.clean, range(2)) == {0: 2}
    delete_group(link.target, reader)
    ended = here("cutover", str(file), *NOW, "--may-skip", late)
    assert ended.code == 0, ended.said
    assert "and goes on behind them; that is meant (--may-skip)" in " ".join(ended.out.split())
    ends = {n: end_offsets(link.target.bootstrap, link.clean, n)[1] for n in range(2)}
    for group in (reader, late):
        assert committed(link.target, group, link.clean, range(2)) == ends
    _groups_go_on_behind_the_cut(link, here, file, reader)


def _groups_go_on_behind_the_cut(
    link: TransformedLink, here: Here, file: Path, reader: str
) -> None:
    """Whose clients read on the target stays there, and no place is exact for one on both sides."""
    own = [Record(b"k", b"own%d" % n, (), T0, partition=n % 2) for n in range(6)]
    produce(link.target.bootstrap, link.clean, own)
    commit(link.target.bootstrap, reader, link.clean, 0, end_offsets(
        link.target.bootstrap, link.clean)[1])  # fmt: skip
    before = committed(link.target, reader, link.clean, range(2))
    link.produced(range(20, 24))
    again = here("cutover", str(file), *NOW)
    assert again.code == 0, again.said
    assert committed(link.target, reader, link.clean, range(2)) == before
    commit(link.source.bootstrap, reader, link.topic, 0, 12)
    commit(link.source.bootstrap, reader, link.topic, 1, 12)
    both = here("cutover", str(file), *NOW)
    assert both.code == 3, both.said
    said = " ".join(both.out.split())
    assert "also has records that clients wrote behind the cutover before" in said
    assert "it stood at offset 10 at the source when the target got its position" in said
    assert committed(link.target, reader, link.clean, range(2)) == before


@pytest.mark.soak
def test_no_place_is_exact_where_a_query_sends_records_to_another_topic(
    link: TransformedLink, here: Here
) -> None:
    rest, reader = f"{link.topic}.rest", f"{link.topic}-reader"
    create_topic(link.source.bootstrap, rest, 2)
    sql = "select key, value, partition, if(partition = 1, 'REST', topic) as topic from records"
    topics, groups = {"include": [link.topic, rest]}, {"include": [reader]}
    file = link.write({"sql": sql.replace("REST", rest)}, topics=topics, groups=groups)
    link.produced(range(20))
    assert here.run(str(file), "--until-caught-up").code == 0
    for partition in (0, 1):
        commit(link.source.bootstrap, reader, link.topic, partition, 10)
    ended = here("cutover", str(file), *NOW)
    assert ended.code == 3, ended.said
    what = "also has records of other topics, as the query may send them there"
    assert f"{link.clean} {what}" in " ".join(ended.out.split())
    assert committed(link.target, reader, link.clean, range(2)) == {}
    ended = here("cutover", str(file), *NOW, "--may-skip", reader)
    assert ended.code == 0, ended.said
    assert f"it goes on at the end of {link.clean}, which {what}" in " ".join(ended.out.split())
    ends = {n: end_offsets(link.target.bootstrap, link.clean, n)[1] for n in range(2)}
    assert committed(link.target, reader, link.clean, range(2)) == ends


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_cutover_that_is_killed_places_groups_once(
    link: TransformedLink, here: Here, tmp_path: Path
) -> None:
    file = link.write({"sql": QUERY}, groups={"include": [f"{link.topic}-.*"]})
    group = f"{link.topic}-reader"
    link.produced(range(10))
    assert here.run(str(file), "--until-caught-up").code == 0
    for step in range(1, 7):
        link.produced(range(10 * step, 10 * step + 10))
        for partition in (0, 1):
            commit(link.source.bootstrap, group, link.topic, partition, 5 * step + 5)
        module = "tests.support.cutover_victim"
        victim = Program(tmp_path, str(file), str(step), module=module, name=f"cut{step}")
        assert victim.wait(300) == -9, victim.said
        written = committed(link.target, group, link.clean, range(2))
        ended = here("cutover", str(file), *NOW)
        assert ended.code == 0, f"killed at step {step}: {ended.said}"
        ends = {n: end_offsets(link.target.bootstrap, link.clean, n)[1] for n in range(2)}
        assert committed(link.target, group, link.clean, range(2)) == ends
        assert step == 1 or written == ends, "it was written before it was killed"
