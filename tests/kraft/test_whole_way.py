"""From ZooKeeper to KRaft on real brokers, under clients that never stop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.kraft.ensembles import fill, znodes
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, entries, run_until, run_whole, steps, tell
from tests.support.kraft.traffic import Traffic
from towpath.dev import distribution
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.reach.drivers import drivers_of
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.broker

STAGES = ("provisioned", "registering", "hybrid", "mixed", "dual_write")


@pytest.mark.timeout(600)  # the first time, Kafka 3.9 is brought here
def test_a_cluster_leaves_zookeeper_under_traffic(tmp_path: Path, here: Here) -> None:
    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        seed(lab)
        fill(lab.connect, {"/other/cluster/id": b"theirs", "/other/brokers/ids/1": b"theirs"})
        theirs = znodes(lab.connect, "/other")
        checked = here("kraft", "check", str(lab.config), "--output", "json")
        assert not any(each["code"].startswith("SOFTWARE") for each in checked.json["findings"]), (
            checked.said
        )
        notes: set[str] = set()
        with Traffic(lab) as traffic:
            for command, stage in (("run", "dual_write"), ("finalize", "final")):
                ended = here(*arguments(lab, command), "--output", "json")
                assert ended.code == 0, ended.said
                assert ended.json["stage"] == stage
                notes |= {each["code"] for each in ended.json["notes"]}
            # Whoever stops ZooKeeper next has been told who else needs it, and nobody was harmed.
            next_ = {"ZOOKEEPER_UNUSED", "KEPT_KEYS", "KAFKA_4_NEXT"}
            assert notes == {"ZOOKEEPER_SHARED", *next_}
            assert znodes(lab.connect, "/other") == theirs
            lab.zookeeper.kill()
            create_topic(lab.back_door, "after")
            traffic.flowing()
        for command, code in (("run", 0), ("finalize", 0), ("rollback", 3)):
            ended = here(*arguments(lab, command))
            assert ended.code == code, ended.said
    told = traffic.result()
    assert told.whole, told
    assert steps(lab)[:2] == ["FormatController", "StartControllers"]
    written = entries(lab)
    assert all(each["equal"] for each in written if each["event"] == "compared")
    stages = {each["stage"]: at for at, each in enumerate(written) if each["event"] == "stage"}
    while_both = written[stages["hybrid"] : stages["final"]]
    decided = [each["compared"] for each in while_both if each["event"] == "step_began"]
    assert decided
    assert all(each["equal"] and each["things"] > 40 for each in decided), decided


@pytest.mark.soak
def test_three_brokers_go_on_to_the_newest_kafka(tmp_path: Path) -> None:
    with ZooKeeperCluster(3, 3, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            for command in "run", "finalize":
                done = run_whole(lab, command, command)
                assert done.wait() == 0, done.said
            lab.zookeeper.kill()
            for node in (*lab.controllers, *lab.brokers):
                process = lab.process(node)
                process.stop(Deadline.after(60))
                process.start(lab.command(node, distribution.NEWEST))
                if node in lab.brokers:
                    lab.wait(node)
                traffic.flowing()
            create_topic(lab.back_door, "after", partitions=3)
    told = traffic.result()
    tell(lab, told)
    assert told.whole, told


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_it_goes_back_from_each_stage_and_migrates_again(tmp_path: Path) -> None:
    with ZooKeeperCluster(2, 3, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            for stage in STAGES:
                run_until(lab, "run", _at_stage(stage))
                create = create_topic(lab.back_door, f"made-in-{stage}", partitions=2)
                back = run_whole(lab, "rollback", f"back-{stage}")
                assert back.wait() == 0, back.said
                assert create in _topics(lab)
                traffic.flowing()
            for command in "run", "finalize":
                done = run_whole(lab, command, f"{command}-again")
                assert done.wait() == 0, done.said
            traffic.flowing()
    told = traffic.result()
    tell(lab, told)
    assert told.whole, told


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_an_orchestrator_that_is_killed_in_each_step_goes_on(tmp_path: Path, rng: Random) -> None:
    with ZooKeeperCluster(2, 3, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            for command in "run", "rollback", "run", "finalize":
                _killed_in_each_step(lab, command, rng)
                traffic.flowing()
    told = traffic.result()
    tell(lab, told)
    assert told.whole, told


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_nodes_that_are_killed_during_steps_are_mended(tmp_path: Path, rng: Random) -> None:
    with ZooKeeperCluster(3, 3, home=tmp_path) as lab:
        seed(lab)
        drivers = drivers_of(load_kraft(lab.config))
        with Traffic(lab, kills=True) as traffic:
            for command in "run", "rollback", "run", "finalize":
                for _ in range(20):
                    victim = rng.choice((*lab.brokers, *lab.controllers, 0))
                    if not run_until(lab, command, _began(rng.randrange(4))):
                        break
                    sys.stdout.write(f"{command}: killing {victim or 'ZooKeeper'}\n")
                    process = lab.process(victim) if victim else lab.zookeeper
                    process.kill()
                    lab.start_zookeeper()
                done = run_whole(lab, command, f"{command}-end")
                assert done.wait() == 0, done.said
                assert all(drivers[NodeId(node)].started() for node in lab.brokers)
                traffic.flowing()
    told = traffic.result()
    tell(lab, told)
    assert (told.lost, told.doubled) == (0, 0), told


@pytest.mark.soak
def test_a_controller_without_the_flag_is_told_and_nothing_goes_on(
    tmp_path: Path, here: Here
) -> None:
    """Elected, it would finalize at once (KAFKA-20960)."""
    with ZooKeeperCluster(1, 3, home=tmp_path) as lab:
        run_until(lab, "run", _at_stage("hybrid"))
        config = load_kraft(lab.config)
        node = NodeId(lab.controllers[1])
        driver, path = drivers_of(config)[node], str(lab.files.properties(int(node)))
        text = driver.read(path) or b""
        driver.stop(Deadline.after(30))
        lines = [each for each in text.splitlines() if not each.startswith(b"zookeeper.")]
        driver.write(path, b"\n".join(lines) + b"\n")
        driver.start()
        wait_until(lambda: "flag_missing" in here("kraft", "status", str(lab.config),
                   "--output", "json").out.lower(), "the alarm is raised")  # fmt: skip
        done = run_whole(lab, "run", "mends")
        assert done.wait() == 0, done.said


def _at_stage(stage: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: entry["event"] == "stage" and entry["stage"] == stage


def _began(number: int) -> Callable[[dict[str, Any]], bool]:
    left = [number]

    def holds(entry: dict[str, Any]) -> bool:
        if entry["event"] == "step_began":
            left[0] -= 1
        return left[0] < 0

    return holds


def _killed_in_each_step(lab: ZooKeeperCluster, command: str, rng: Random) -> None:
    """Kill a command once in each step that it does, and once behind each, until none is left."""
    known: set[tuple[str, str]] = set()

    def new(entry: dict[str, Any]) -> bool:
        key = entry["event"], str(entry.get("what"))
        if entry["event"] not in {"step_began", "step_done"} or key in known:
            return False
        known.add(key)
        return rng.random() < 0.8

    for _ in range(80):
        if not run_until(lab, command, new):
            break
    done = run_whole(lab, command, f"{command}-last")
    assert done.wait() == 0, done.said


def _topics(lab: ZooKeeperCluster) -> set[str]:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": lab.back_door})
    return set(admin.list_topics(timeout=60).topics)
