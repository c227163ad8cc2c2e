"""Sources that lose records, and topics that are not what they were: never silent."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.copying.copier import copier, going
from tests.support.kafka import Record, consume, create_topic, delete_before, produce, wait_until
from tests.support.mirror import Mirror
from towpath.cli.main import main
from towpath.cluster.data import fetch as fetching
from towpath.cluster.data.fetch import version_for
from towpath.cluster.data.fetch_bodies import DIVERGING
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode, SourceOffset, TopicName, TopicPartition
from towpath.records.copy import copy

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
LOST = (
    "DeleteRecords removed them at the source before they were copied (retention.ms=-1 and"
    " retention.bytes=-1 exclude retention), and no group has committed an offset in the partition"
)


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("trouble"))
    made.create()
    return made


def write(cluster: LocalCluster, topic: str, *numbers: int) -> None:
    produce(cluster.bootstrap, topic, [Record(None, b"%d" % number) for number in numbers])


def values(cluster: LocalCluster, topic: str) -> list[int]:
    return [int(record.value or b"-1") for record in consume(cluster.bootstrap, topic)]


def status(mirror: Mirror, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    mirror.slices()  # writes the file
    code = main(["status", str(mirror.folder / f"{mirror.topic}.yaml")])
    return code, " ".join(capsys.readouterr().out.split())


def overtaken(mirror: Mirror) -> None:
    write(mirror.source, mirror.topic, *range(10))
    mirror.catch_up()
    write(mirror.source, mirror.topic, *range(10, 20))
    delete_before(mirror.source.bootstrap, mirror.topic, 15)


def test_retention_that_overtook_us_stops_the_partition(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    overtaken(mirror)
    [done] = mirror.catch_up()
    sentence = (
        f"offsets 10 to 14 were not copied: {LOST};"
        " set `records.on_gap: record` to go on behind them"
    )
    assert done.error == sentence
    assert values(mirror.target, mirror.topic) == list(range(10))
    [gap] = mirror.books().gaps
    assert (gap.first, gap.end, gap.cause, gap.went_on) == (10, 15, LOST, False)
    code, said = status(mirror, capsys)
    assert code == 3
    assert sentence in said
    assert said.count(LOST) == 1
    assert "stopped" in said


def test_retention_that_overtook_us_is_recorded(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.records = {"on_gap": "record"}
    overtaken(mirror)
    [done] = mirror.catch_up()
    assert (done.error, done.mode) == ("", Mode.MAPPED)
    assert done.reason == f"offsets 10 to 14 are missing: {LOST}"
    assert values(mirror.target, mirror.topic) == [*range(10), *range(15, 20)]
    assert mirror.books().offsets().runs == ((0, 0, 10), (15, 10, 5))
    write(mirror.source, mirror.topic, 20)
    mirror.catch_up()
    assert values(mirror.target, mirror.topic)[-1] == 20
    code, said = status(mirror, capsys)
    assert code == 3
    assert f"gap, offsets 10 to 14: {LOST}; went on behind it" in said


@pytest.mark.parametrize("policy", ["stop", "record"])
def test_a_topic_that_was_deleted_and_created_again(
    mirror: Mirror, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror.records = {"on_gap": policy}
    write(mirror.source, mirror.topic, *range(10))
    mirror.catch_up()
    delete_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.source.bootstrap, mirror.topic)
    write(mirror.source, mirror.topic, 100, 101)
    done = mirror.catch_up()
    code, said = status(mirror, capsys)
    assert code == 3
    assert "the topic was deleted and created again at the source" in said
    if policy == "stop":
        assert done == []
        assert values(mirror.target, mirror.topic) == list(range(10))
    else:
        assert [one.mode for one in done] == [Mode.MAPPED]
        assert values(mirror.target, mirror.topic) == [*range(10), 100, 101]
        assert mirror.books().offsets().runs == ((0, 10, 2),)


@pytest.mark.parametrize("new", [2, 12], ids=["shorter", "cut by retention"])
def test_another_topic_of_the_same_name_is_no_cut_and_no_retention(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, new: int
) -> None:
    """Brokers before Kafka 3.1 are asked by name, and so answer for the topic of today."""
    versions: list[int] = []

    def by_name(newest: int, *, ids: bool) -> int:
        versions.append(min(version_for(newest, ids=ids), DIVERGING))
        return versions[-1]

    monkeypatch.setattr(fetching, "version_for", by_name)
    write(mirror.source, mirror.topic, *range(10))
    mirror.catch_up()
    assert values(mirror.target, mirror.topic) == list(range(10))
    write(mirror.source, mirror.topic, 10)
    [work] = mirror.slices()
    delete_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.source.bootstrap, mirror.topic)
    write(mirror.source, mirror.topic, *range(100, 100 + new))
    if new > 10:
        delete_before(mirror.source.bootstrap, mirror.topic, new - 1)
    [done] = copy(work)
    assert done.error == "the topic was deleted and created again at the source"
    assert values(mirror.target, mirror.topic) == list(range(10))
    assert set(versions) == {DIVERGING}


def test_a_source_topic_that_was_deleted_is_told(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    write(mirror.source, mirror.topic, 1)
    mirror.catch_up()
    delete_topic(mirror.source.bootstrap, mirror.topic)
    assert mirror.catch_up() == []
    code, said = status(mirror, capsys)
    assert (code, "source: the topic is no more at the source" in said) == (3, True)


def test_a_target_topic_that_was_deleted_is_copied_again(
    mirror: Mirror, capsys: pytest.CaptureFixture[str]
) -> None:
    write(mirror.source, mirror.topic, *range(10))
    mirror.catch_up()
    delete_topic(mirror.target.bootstrap, mirror.topic)
    code, said = status(mirror, capsys)
    assert code == 3
    assert "target: the topic is no more there; `towpath run` copies it" in said
    create_topic(mirror.target.bootstrap, mirror.topic)
    [done] = mirror.catch_up()
    assert (done.records, done.mode) == (10, Mode.IDENTICAL)
    assert values(mirror.target, mirror.topic) == list(range(10))
    assert status(mirror, capsys)[0] == 0


def test_trouble_in_the_middle_of_a_round(mirror: Mirror) -> None:
    """The topic is created again between the plan and the copying."""
    from towpath.records.copy import copy

    write(mirror.source, mirror.topic, *range(10))
    mirror.catch_up()
    write(mirror.source, mirror.topic, *range(10, 20))
    [work] = mirror.slices()
    delete_topic(mirror.source.bootstrap, mirror.topic)
    create_topic(mirror.source.bootstrap, mirror.topic)
    [done] = copy(work)
    assert "the topic was deleted and created again at the source" in done.error
    assert values(mirror.target, mirror.topic) == list(range(10))


@pytest.mark.parametrize(
    ("again", "error"),
    [
        (False, "target: .*: UNKNOWN_TOPIC_OR_PARTITION \\(3\\); look whether the topic exists"),
        (True, "target: topic {} was deleted and created again while it was written; the next"),
    ],
)
def test_a_copy_that_goes_while_it_is_written_ends_its_partition(
    mirror: Mirror, again: bool, error: str
) -> None:
    """Nothing is written to a topic that merely has its name, and the round comes to an end."""
    tp = TopicPartition(TopicName(mirror.topic), 0)
    write(mirror.source, mirror.topic, *range(10))
    [planned] = mirror.slices()
    work = replace(planned, assignments=(replace(planned.assignments[0], end=SourceOffset(20)),))
    with copier(work, work.source, work.target) as made, going(made):
        wait_until(
            lambda: (
                tp in made.landing.lanes and made.landing.lanes[tp].progress.position.source == 10
            ),
            "what was there is copied",
        )
        delete_topic(mirror.target.bootstrap, mirror.topic)
        if again:
            create_topic(mirror.target.bootstrap, mirror.topic)
        write(mirror.source, mirror.topic, *range(10, 20))
        wait_until(lambda: made.finished, "the round has come to its end")
        [done] = made.summaries()
        assert re.match(error.format(mirror.topic), done.error), done.error
    if again:
        assert values(mirror.target, mirror.topic) == []
