"""`towpath repair` on real clusters: what a target lost is there again, at the same offsets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.support.clusters.losses import WIPED, lose
from tests.support.here import MASTER, Here
from tests.support.kafka import Record, consume, end_offsets, produce, wait_until
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.mirror.repair import repair as repairing

pytestmark = pytest.mark.broker


def numbered(first: int, end: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, (), 1_000 + i) for i in range(first, end)]


def commit(cluster: LocalCluster, topic: str, group: str, offset: int) -> None:
    configs = {"bootstrap.servers": cluster.bootstrap, "group.id": group}
    consumer = Consumer(configs)
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def is_half(cluster: LocalCluster, topic: str) -> bool:
    """Whether a topic has lost some of 200 records; a broker that has just started may not lead."""
    with suppress(KafkaException):
        return 0 < end_offsets(cluster.bootstrap, topic)[1] < 200
    return False


def test_a_repair_of_nothing_or_of_what_was_never_copied_is_refused(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("unknown"))
    mirror.create()
    mirror.catch_up()
    file = str(tmp_path / f"{mirror.topic}.yaml")
    nothing = here("repair", file, "--topics", " , ")
    assert (nothing.code, "name at least one source topic" in nothing.said) == (2, True)
    unknown = here("repair", file, "--topics", f"{mirror.topic},other")
    assert (unknown.code, "never copied a topic named other" in unknown.said) == (2, True)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.alone("target")
@pytest.mark.timeout(400)
def test_what_a_disk_and_a_power_cut_took_is_copied_again(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = new_name("repair")
    cut, wiped, mapped = (f"{name}-{kind}" for kind in ("cut", "wiped", "mapped"))
    sides = {topic: Mirror(tmp_path, source, target, topic, name) for topic in (cut, wiped)}
    sides[mapped] = Mirror(tmp_path, source, target, mapped, name, {"offsets": "mapped"})
    for topic, mirror in sides.items():
        mirror.create()
        for first in range(0, 200, 50):  # each its own batch, of which a power cut takes some
            produce(source.bootstrap, topic, numbered(first, first + 50))
            mirror.catch_up()
    everything = Mirror(tmp_path, source, target, f"{name}-.*", name)
    file = everything.folder / f"{name}.yaml"
    everything.config  # noqa: B018  # writes the file
    group = new_name("group")
    commit(target, cut, group, 190)

    lose(target, {f"{cut}-0": 0.5, f"{wiped}-0": WIPED, f"{mapped}-0": 0.5})
    wait_until(lambda: is_half(target, cut), "half of it is lost")
    half = end_offsets(target.bootstrap, cut)[1]
    produce(source.bootstrap, cut, numbered(200, 210))

    told = here("status", str(file))
    assert told.code == 3
    assert f"{wiped}-0: target: the log ends at offset 0, but records up to offset 199" in told.said
    unsure = here("repair", str(file), "--topics", cut, *MASTER)
    assert (unsure.code, "add --yes" in unsure.said) == (2, True)
    assert f"consumer group {group} on the target committed offset 190" in unsure.said
    assert end_offsets(target.bootstrap, cut)[1] == half

    with monkeypatch.context() as killed:
        killed.setattr(repairing._Repair, "_copy", lambda *_: sys.exit(137))
        with pytest.raises(SystemExit):
            here("repair", str(file), "--topics", f"{cut},{wiped}", "--yes", *MASTER)
    done = here(
        "repair", str(file), "--topics", f"{cut},{wiped},{mapped}", "--yes", *MASTER, "-o", "json"
    )
    assert done.code == 3
    assert [(each["topic"], each["end"]) for each in done.json["continued"]] == [
        (cut, 200), (wiped, 200)
    ]  # fmt: skip
    [left] = done.json["left"]
    assert (left["tp"]["topic"], left["cause"]) == (mapped, "mapped")
    assert consume(target.bootstrap, wiped) == consume(source.bootstrap, wiped)
    assert end_offsets(target.bootstrap, cut)[1] >= 200
    sides[cut].catch_up()
    assert consume(target.bootstrap, cut) == consume(source.bootstrap, cut)
    [kept] = sides[cut].books().offsets().runs
    assert kept == (0, 0, 210)
    proven = here("verify", str(file), *MASTER, "-o", "json")
    verdicts = {row["topic"]: (row["verdict"], row["equal"]) for row in proven.json["partitions"]}
    assert (verdicts[cut], verdicts[wiped]) == (("equal", 210), ("equal", 200))
    assert verdicts[mapped][0] == "different"


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.alone("target")
@pytest.mark.timeout(400)
def test_changes_are_counted_once(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    """Records that were changed, lost, and changed as they were copied again."""
    changes = "changes: [{topics: ['.*'], headers: [{name: env, value: prod}]}]\n"
    mirror = Mirror(tmp_path, source, target, new_name("changed"), sections=changes)
    mirror.create()
    file = str(tmp_path / f"{mirror.topic}.yaml")

    def tally() -> dict[str, int]:
        [row] = here("status", file, "-o", "json").json["partitions"]
        return dict(row["tally"])

    def copied() -> None:
        ended = here.run(file, "--until-caught-up")
        assert ended.code == 0, ended.said

    mirror.config  # noqa: B018  # writes the file
    for first in range(0, 200, 50):
        produce(source.bootstrap, mirror.topic, numbered(first, first + 50))
        copied()
    assert tally() == {"headers": 200}
    lose(target, {f"{mirror.topic}-0": 0.5})
    wait_until(lambda: is_half(target, mirror.topic), "half of it is lost")
    produce(source.bootstrap, mirror.topic, numbered(200, 210))
    done = here("repair", file, "--topics", mirror.topic, "--yes", *MASTER)
    assert done.code == 0, done.said
    copied()
    assert len(consume(target.bootstrap, mirror.topic)) == 210
    assert tally() == {"headers": 210}
