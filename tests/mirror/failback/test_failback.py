"""`towpath failback` on real brokers: a link is turned round, and no record is destroyed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.quarantine import begin
from tests.support.failback import cut
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, commit, consume, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import LinkStage
from towpath.model.nouns import Mode, Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

NewName = Callable[[str], str]


def some(word: str, number: int, partition: int = 0) -> list[Record]:
    return [
        Record(b"k", b"%s %d" % (word.encode(), n), timestamp=1000 + n, partition=partition)
        for n in range(number)
    ]


def values(cluster: LocalCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    return [each.value for each in consume(cluster.bootstrap, topic, (partition,))]


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> Mirror:
    """Return a link with three partitions that failed over, and was written on both sides.

    Partition 0 on the target alone, 1 on both, 2 on the source alone.
    """
    name = new_name("failback")
    groups = f"groups: {{include: ['{name}-group']}}\n"
    made = Mirror(tmp_path, source, target, name, sections=groups)
    made.create(3)
    produce(source.bootstrap, made.topic, [r for n in range(3) for r in some("both", 5, n)])
    begin(made)
    produce(source.bootstrap, made.topic, some("tail", 2, 1) + some("tail", 2, 2))
    over = here("failover", str(made.folder / f"{made.topic}.yaml"), "--yes")
    assert over.code == 3, over.said
    assert made.books().cut is not None, over.said
    produce(target.bootstrap, made.topic, some("new", 4, 0) + some("new", 3, 1))
    commit(target.bootstrap, f"{name}-group", name, 0, 8)
    return made


def committed(cluster: LocalCluster, group: str, topic: str, partition: int) -> int | None:
    where = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
    place = TopicPartition(TopicName(topic), partition)
    with Admin(where, Side.SOURCE) as admin:
        return admin.groups.committed(group, [place]).get(place)


@pytest.mark.broker
@pytest.mark.spark
def test_if_the_target_wins_the_tail_of_the_source_is_salvaged(mirror: Mirror, here: Here) -> None:
    source, target, topic = mirror.source, mirror.target, mirror.topic
    _ = mirror.config  # writes the file
    file = str(mirror.folder / f"{topic}.yaml")
    refused = here("failback", file, "--yes", *MASTER, "-o", "json")
    assert refused.code == 3, refused.said
    told = refused.json
    assert (told["undecided"], told["reversed"]) == (1, False)
    [both] = [each for each in told["partitions"] if each["conflict"]]
    assert (both["source"]["records"], both["target"]["records"]) == (2, 3)
    seen = here("failback", file, "--dry-run", *MASTER)
    assert seen.code == 3
    assert "2 records the source alone has, 3 records the target alone" in seen.said
    assert not (mirror.folder / f"{topic}-back.yaml").exists()
    done = here.on_spark("failback", file, "--wins", "target", "--yes", "-o", "json")
    assert done.code == 0, done.said
    told = done.json
    assert (told["reversed"], told["caught_up"], told["records"]) == (True, True, 7)
    assert [(each["records"], each["cluster"]) for each in told["salvaged"]] == [(2, "target")]
    assert values(source, topic, 0) == values(target, topic, 0)
    tail, new = [b"tail 0", b"tail 1"], [b"new 0", b"new 1", b"new 2"]
    assert values(source, topic, 1)[5:] == [*tail, *new]
    assert values(target, topic, 1)[5:] == new
    assert values(target, f"{topic}.salvage", 1) == tail
    assert values(source, topic, 2)[5:] == tail
    assert committed(source, f"{topic}-group", topic, 0) == 8, "the next record on both sides"
    _is_reversed(mirror, here, file)
    _is_replayed(mirror, here, file, told["replay"][0])


def _is_reversed(mirror: Mirror, here: Here, file: str) -> None:
    """The link runs no more, and the link back goes on; a failback again changes nothing."""
    state = mirror.link_books().state_of()
    assert state is not None
    assert (state.state, state.back) == (LinkStage.REVERSED, f"{mirror.topic}-back")
    assert state.wins == "target"
    refused = here.run(file, "--until-caught-up")
    assert (refused.code, "LINK_SEALED" in refused.said) == (4, True), refused.said
    assert f"link {state.back} copies what clients write" in " ".join(refused.said.split())
    other = here("failback", file, "--wins", "source", "--yes", *MASTER)
    assert (other.code, "contradicts an earlier answer" in other.said) == (4, True), other.said
    again = here.on_spark("failback", file, "--yes", "-o", "json")
    assert (again.code, again.json["records"]) == (0, 7), again.said
    back = str(mirror.folder / f"{mirror.topic}-back.yaml")
    verified = here("verify", back, *MASTER)
    assert verified.code == 0, verified.said
    there = Mirror(mirror.folder, mirror.target, mirror.source, mirror.topic, state.back)
    assert [there.books(n).mode for n in range(3)] == [Mode.IDENTICAL, Mode.MAPPED, Mode.MAPPED]


def _is_replayed(mirror: Mirror, here: Here, file: str, command: str) -> None:
    """What was salvaged gets into the topic, and by the link back to the old source."""
    listed = here("salvage", "ls", file)
    assert (listed.code, "2 records not replayed" in listed.out) == (3, True), listed.said
    assert here("salvage", "replay", file).code == 2
    words = command.split()
    assert words[:4] == ["towpath", "salvage", "replay", file]
    replayed = here(*words[1:], "--yes")
    assert (replayed.code, "all were replayed" in replayed.out) == (0, True), replayed.said
    assert values(mirror.target, mirror.topic, 1)[-2:] == [b"tail 0", b"tail 1"]
    assert here("salvage", "ls", file).code == 0
    assert "2 records of salvage topics replayed" in here("history", file).out


@pytest.mark.broker
@pytest.mark.spark
def test_if_the_source_wins_what_clients_wrote_is_salvaged(mirror: Mirror, here: Here) -> None:
    source, target, topic = mirror.source, mirror.target, mirror.topic
    _ = mirror.config
    file = str(mirror.folder / f"{topic}.yaml")
    (mirror.folder / "other.yaml").write_text(
        f"source: {{bootstrap: 'elsewhere:1'}}\ntarget: {{bootstrap: '{source.bootstrap}'}}\n"
        f"link: {topic}-back\ntopics: {{include: [other]}}\nrecords: {{start: earliest}}\n"
    )
    made = here("link", "create", str(mirror.folder / "other.yaml"))
    assert made.code == 0, made.said
    done = here.on_spark("failback", file, "--wins", "source", "--yes", "-o", "json")
    assert done.code == 0, done.said
    state = mirror.link_books().state_of()
    assert state is not None
    assert state.back == f"{topic}-back-2", "another link has the name of the link back"
    assert (done.json["records"], done.json["caught_up"]) == (4, True)
    assert values(source, topic, 0) == values(target, topic, 0)
    tail, new = [b"tail 0", b"tail 1"], [b"new 0", b"new 1", b"new 2"]
    assert values(source, topic, 1)[5:] == tail
    assert values(source, f"{topic}.salvage", 1) == new
    assert here("salvage", "replay", file, "--all", "--yes").code == 0
    assert values(source, topic, 1)[5:] == [*tail, *new]
    produce(target.bootstrap, topic, [Record(b"k", b"later", partition=1)])
    again = here.on_spark("failback", file, "--yes", "-o", "json")
    assert (again.code, again.json["records"]) == (0, 5), again.said
    assert values(source, topic, 1)[5:] == [*tail, *new, b"later"]


@pytest.mark.broker
def test_a_link_that_was_not_cut_is_not_turned_round(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    made = Mirror(tmp_path, source, target, new_name("uncut"))
    made.create(2)
    produce(source.bootstrap, made.topic, some("both", 2))
    begin(made)
    file = str(made.folder / f"{made.topic}.yaml")
    refused = here("failback", file, "--yes", *MASTER)
    assert (refused.code, "neither failed over nor cut over" in refused.said) == (4, True)
    cut(made, 1)
    refused = here("failback", file, "--yes", *MASTER)
    assert (refused.code, "partition 1 was not cut" in refused.said) == (3, True), refused.said
