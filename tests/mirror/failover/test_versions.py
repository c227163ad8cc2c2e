"""A failover and the way back between releases of Kafka, from end to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import rest
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.inside import RunInside
from tests.support.copying.quarantine import begin
from tests.support.failback_victim import back_of, replay, turn_round
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    commit,
    consume,
    create_topic,
    end_offsets,
    produce,
    wait_until,
)
from tests.support.links import Link
from tests.support.mirror import Mirror
from towpath.dev.distribution import NEWEST
from towpath.model.nouns import Side

pytestmark = [pytest.mark.broker, pytest.mark.soak]
PAIRS = [("3.9.2", NEWEST), ("4.1.2", NEWEST), (NEWEST, NEWEST), (NEWEST, "3.9.2")]


def some(word: str, number: int, partition: int = 0) -> list[Record]:
    return [
        Record(b"k", b"%s %d" % (word.encode(), n), timestamp=1000 + n, partition=partition)
        for n in range(number)
    ]


def values(cluster: SharedCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic, (partition,))]


def said(word: str, number: int) -> list[bytes | None]:
    return [each.value for each in some(word, number)]


@pytest.mark.parametrize(("source_of", "target_of"), PAIRS)
def test_clients_go_to_the_target_and_back(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    old: Callable[[str], SharedCluster],
    new_name: Callable[[str], str],
    here: Here,
    source_of: str,
    target_of: str,
) -> None:
    """Partition 0 is written on both sides, 1 on the target alone; 1 holds transactions."""
    source = source if source_of == NEWEST else old(source_of)
    target = target if target_of == NEWEST else old(target_of)
    topic = new_name("versions")
    mirror = Mirror(tmp_path, source, target, topic, sections="groups: {}\n")
    mirror.create(2)
    produce(source.bootstrap, topic, some("both", 20))
    for number in range(3):
        config = {"transactional.id": f"{topic}-{number}"}
        produce(source.bootstrap, topic, some(f"in {number}", 10, 1), config)
    for partition, offset in ((0, 12), (1, 22)):
        commit(source.bootstrap, f"{topic}-group", topic, partition, offset)
    begin(mirror)
    _ = mirror.config  # writes the file
    file = tmp_path / f"{topic}.yaml"
    assert here("groups", "sync", str(file)).code == 0
    produce(source.bootstrap, topic, some("tail", 4))

    done = here("failover", str(file), "--yes", "-o", "json")
    assert done.json["done"], done.said
    assert (done.json["fenced"], done.json["after"]["lost"]) == (2, 4)
    for partition in (0, 1):
        before = consume(source.bootstrap, topic, (partition,))
        copied = consume(target.bootstrap, topic, (partition,))
        assert copied == before[: len(copied)], "records, offsets and timestamps"
        raw = consume(target.bootstrap, topic, (partition,), isolation="read_uncommitted")
        assert raw == copied, "nothing but what was committed"
    # A transaction takes a marker behind its records, on the target as at the source.
    cut = mirror.books(1).cut
    assert cut is not None
    assert cut.target_end == end_offsets(source.bootstrap, topic, 1)[1]
    produce(target.bootstrap, topic, [*some("new", 5), *some("new", 5, 1)])
    read = sorted(each for each in rest(target, f"{topic}-group", topic, 2) if each is not None)
    wanted = [*said("both", 20)[12:], *said("in 2", 10), *said("new", 5), *said("new", 5)]
    assert read == sorted(each for each in wanted if each is not None)

    assert turn_round(file, Side.TARGET)
    back = Mirror(tmp_path, target, source, topic, back_of(file).stem, more="  shared: true\n")
    assert [each.error for each in back.catch_up()] == ["", ""]
    assert values(source, topic, 0) == [*said("both", 20), *said("tail", 4), *said("new", 5)]
    assert consume(source.bootstrap, topic, (1,)) == consume(target.bootstrap, topic, (1,))
    assert values(target, f"{topic}.salvage") == said("tail", 4)
    assert replay(file)
    assert values(target, topic)[-4:] == said("tail", 4)


@pytest.mark.spark
@pytest.mark.parametrize(("source_of", "target_of"), [("3.9.2", NEWEST), (NEWEST, "3.9.2")])
def test_a_pause_holds_between_releases_and_through_a_failover(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    old: Callable[[str], SharedCluster],
    new_name: Callable[[str], str],
    here: Here,
    source_of: str,
    target_of: str,
) -> None:
    """What is paused is not copied, goes on where it stood, and fails over as it stands."""
    source = source if source_of == NEWEST else old(source_of)
    target = target if target_of == NEWEST else old(target_of)
    link = Link(tmp_path, source, target, new_name("paused"), timeout="10s")
    topic = create_topic(source.bootstrap, f"{link.name}.one")
    file = str(link.file)
    produce(source.bootstrap, topic, some("first", 20))
    run = link.run_inside()
    try:
        link.wait_for(run, topic)
        assert here("pause", file, "--topics", topic).code == 0
        rests(run, here, file)
        produce(source.bootstrap, topic, some("second", 5))
        refused = here("failover", file, "--wait", "--dry-run")
        assert (refused.code, "1 topic paused" in refused.said) == (4, True), refused.said
        assert end_offsets(target.bootstrap, topic)[1] == 20
        assert here("resume", file).code == 0
        link.wait_for(run, topic)
        wait_until(lambda: not run.progress.paused, "the run has read that")
        assert here("pause", file).code == 0
        rests(run, here, file)
        produce(source.bootstrap, topic, some("third", 7))
        done = here("failover", file, "--yes", "-o", "json")
        assert done.json["done"], done.said
        assert (done.json["plan"]["paused"], done.json["after"]["lost"]) == ([topic], 7)
        wait_until(lambda: not run.running, "the run has noticed the seal")
    finally:
        run.close()
    assert here("resume", file).code == 0
    assert here.run(file, "--until-caught-up").code == 4, "no resume opens a link that failed over"
    produce(target.bootstrap, topic, some("new", 3))
    assert values(target, topic) == [*said("first", 20), *said("second", 5), *said("new", 3)]
    assert turn_round(link.file, Side.TARGET)
    assert values(target, f"{topic}.salvage") == said("third", 7)
    assert values(source, topic) == [*said("first", 20), *said("second", 5), *said("third", 7)]


def rests(run: RunInside, here: Here, file: str) -> None:
    """Wait until a run has read of a pause, and its slices have let go of all partitions."""
    wait_until(lambda: bool(run.progress.paused), "the run has read of the pause")
    wait_until(lambda: {row.state for row in run.progress.rows} == {"paused"}, "it rests")
    rows = here("status", file, "-o", "json").json["partitions"]
    assert {row["state"] for row in rows} == {"paused"}
