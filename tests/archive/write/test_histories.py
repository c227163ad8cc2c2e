"""Logs that are cut at the source below what is archived: what follows is another history."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.clusters import Clusters
from tests.support.clusters.losses import WIPED, lose
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(600),
]
NewName = Callable[[str], str]


@pytest.fixture(scope="module")
def cut(clusters: Clusters) -> SharedCluster:
    """Return a broker of its own, which loses what it had."""
    return clusters.get("cut")


def numbered(first: int, end: int, tag: str = "") -> list[Record]:
    return [Record(b"k%d" % n, b"%d%s" % (n, tag.encode())) for n in range(first, end)]


def write(source: SharedCluster, topic: str, first: int, end: int, tag: str = "") -> None:
    """Write records in batches of ten."""
    for at in range(first, end, 10):
        produce(source.bootstrap, topic, numbered(at, min(end, at + 10), tag))


def log_end(source: SharedCluster, topic: str) -> int:
    """Return the log end offset, -1 while nobody tells."""
    tp = TopicPartition(TopicName(topic), 0)
    with Admin(ClusterConfig(bootstrap=source.addresses), Side.SOURCE) as admin:
        return admin.offsets.log_ends([tp], patience=5.0).get(tp, -1)


def archive_now(here: Here, archive: Archive) -> str:
    ran = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    return ran.said


def assert_followed(archive: Archive, topic: str, old: list[Record], history: int = 1) -> int:
    """Compare what is archived with the source, and with what was archived before.

    Returns:
        Where the history begins.
    """
    state = archive.state
    pid = archive.partition_id(topic)
    assert pid.history == history
    assert archive.present(topic) == consume(archive.source.bootstrap, topic)
    assert archive.present(topic, history=history - 1) == old
    fork = state.partitions[pid].fork
    assert fork is not None
    return fork


def assert_told(here: Here, archive: Archive, fork: int) -> None:
    """Look at what commands tell people, and compare with the source."""
    told = here("archive", "status", str(archive.file), "--output", "json").json
    states = {each["history"]: each["state"] for each in told["partitions"]}
    assert states == {0: "earlier", 1: "caught up"}
    assert any(f"from offset {fork} on; history 1 has them" in each for each in told["notes"])
    events = here("archive", "events", str(archive.file)).out
    assert f"other records from offset {fork} on: history 1 begins" in " ".join(events.split())
    words = ("archive", "verify", str(archive.file), "--output", "json", "--against", "source")
    verified = here.on_spark(*words)
    assert verified.code == 0, verified.said


@pytest.mark.parametrize("kind", ["parquet", "batches"])
def test_a_log_that_was_cut_and_regrew_between_two_looks(
    cut: SharedCluster, tmp_path: Path, new_name: NewName, here: Here, kind: str
) -> None:
    name = new_name("regrown")
    topic = create_topic(cut.bootstrap, f"{name}.a")
    write(cut, topic, 0, 100)
    archive = Archive(tmp_path, cut, name, format=kind, segments={"max_messages": 30})
    archive_now(here, archive)
    old = archive.present(topic)
    assert len(old) == 100
    lose(cut, {f"{topic}-0": 0.5})
    wait_until(lambda: log_end(cut, topic) >= 0, "it leads again")
    end = log_end(cut, topic)
    assert 0 < end < 100
    write(cut, topic, 500, 700)
    said = archive_now(here, archive)
    fork = assert_followed(archive, topic, old)
    assert fork == end
    assert "was cut" in " ".join(said.split())
    assert_told(here, archive, fork)
    asked = here.on_spark(
        "archive", "query", str(archive.file), "select count(*) as n from records",
        "--output", "json",
    )  # fmt: skip
    assert asked.json["rows"] == [{"n": end + 200}], asked.said
    before = here.on_spark(
        "archive", "query", str(archive.file), "select count(*) as n from records",
        "--history", "0", "--output", "json",
    )  # fmt: skip
    assert before.json["rows"] == [{"n": 100}], before.said


def test_a_log_that_is_shorter_and_grows_under_a_run(
    cut: SharedCluster, tmp_path: Path, new_name: NewName
) -> None:
    name = new_name("shorter")
    topic = create_topic(cut.bootstrap, f"{name}.a")
    write(cut, topic, 0, 100)
    archive = Archive(tmp_path, cut, name, segments={"max_messages": 30, "max_age": "1s"})
    run = archive.start()
    archive.wait_for(run, topic, 100)
    old = archive.present(topic)
    lose(cut, {f"{topic}-0": 0.5})
    wait_until(lambda: archive.partition_id(topic).history == 1, "a history begins", 120)
    write(cut, topic, 500, 520)
    wait_until(lambda: archive.present(topic) == consume(cut.bootstrap, topic), "all is there", 60)
    write(cut, topic, 520, 700)
    wait_until(lambda: archive.present(topic) == consume(cut.bootstrap, topic), "all is there", 60)
    assert_followed(archive, topic, old)
    run.close()


def test_a_partition_whose_disk_was_lost(
    cut: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("wiped")
    topic = create_topic(cut.bootstrap, f"{name}.a")
    write(cut, topic, 0, 100)
    archive = Archive(tmp_path, cut, name, segments={"max_messages": 30})
    archive_now(here, archive)
    old = archive.present(topic)
    for history, end in ((1, 150), (2, 40)):
        lose(cut, {f"{topic}-0": WIPED})
        wait_until(lambda: log_end(cut, topic) == 0, "it is empty")
        write(cut, topic, 0, end, f"-{history}")
        archive_now(here, archive)
        assert assert_followed(archive, topic, old, history) == 0
        old = archive.present(topic)


def test_a_broker_that_was_set_back_counts_its_epochs_again(
    cut: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    """The epochs of both logs are the same, so only the last archived batch tells."""
    name = new_name("back")
    topic = create_topic(cut.bootstrap, f"{name}.a")
    write(cut, topic, 0, 50)
    home, saved = cut.home / "broker-1", tmp_path / "saved"
    cut.kill9(1)
    shutil.copytree(home, saved)
    cut.restart(1)
    wait_until(lambda: log_end(cut, topic) == 50, "it leads again")
    write(cut, topic, 50, 100)
    archive = Archive(tmp_path, cut, name, segments={"max_messages": 30})
    archive_now(here, archive)
    old = archive.present(topic)
    cut.kill9(1)
    shutil.rmtree(home)
    shutil.copytree(saved, home)
    cut.restart(1)
    wait_until(lambda: log_end(cut, topic) == 50, "it leads again")
    write(cut, topic, 300, 400)
    archive_now(here, archive)
    assert assert_followed(archive, topic, old) == 50
    tail = archive.state.partitions[archive.partition_id(topic)].tail
    before = archive.state.partitions[archive.partition_id(topic).source].tail
    assert tail is not None
    assert before is not None
    assert tail.epoch == before.epoch, "else the epochs would have told"


def test_restores_choose_a_history(
    cut: SharedCluster, target: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("chosen")
    topic = create_topic(cut.bootstrap, f"{name}.a", config={"retention.ms": "-1"})
    write(cut, topic, 0, 100)
    archive = Archive(
        tmp_path,
        cut,
        name,
        segments={"max_messages": 30},
        target={"bootstrap": target.bootstrap},
        restore={"topics": {"include": [".*"], "replication_factor": "broker_default"}},
    )
    archive_now(here, archive)
    old = archive.present(topic)
    lose(cut, {f"{topic}-0": 0.5})
    wait_until(lambda: log_end(cut, topic) >= 0, "it leads again")
    write(cut, topic, 500, 700)
    archive_now(here, archive)
    assert_followed(archive, topic, old)
    restored = here.on_spark("restore", "run", str(archive.file))
    assert restored.code == 0, restored.said
    assert consume(target.bootstrap, topic) == archive.present(topic)
    archive.write(
        restore={
            "name": f"restore.{name}.old",
            "topics": {
                "include": [".*"],
                "rename": "{topic}.old",
                "replication_factor": "broker_default",
            },
        }
    )
    restored = here.on_spark("restore", "run", str(archive.file), "--history", "0")
    assert restored.code == 0, restored.said
    assert consume(target.bootstrap, f"{topic}.old") == old
