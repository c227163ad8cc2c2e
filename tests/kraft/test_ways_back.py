"""Ways back from where few migrations ever are: nothing is lost on them, on real brokers."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import PartitionMetadata

from tests.support.kafka import wait_until
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import entries, run_until, run_whole, said_by_brokers, steps, tell
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.journal import KraftEvent, KraftJournal
from towpath.kraft.metadata.log import read_quorum
from towpath.kraft.reach.commands import filled
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.run.migration import Migration
from towpath.kraft.standing.partition_versions import lower_versions
from towpath.kraft.zookeeper.client import ZooKeeper
from towpath.runtime.deadline import Deadline
from towpath.settings.java_properties import read_properties

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]
_ELECTIONS = 5
"""Leaders of a quorum before the copy: ZooKeeper's controllers have had fewer by then."""


def whole(lab: ZooKeeperCluster, command: str, name: str = "") -> None:
    """Run a command to its end, which must be its goal."""
    done = run_whole(lab, command, name or command)
    assert done.wait() == 0, f"{done.said}\n{said_by_brokers(lab)}"


def meta(lab: ZooKeeperCluster, node: int) -> dict[str, str]:
    """Return what the first log directory of a node belongs to."""
    return dict(read_properties((lab.files.data(node)[0] / "meta.properties").read_bytes()))


def one_has_no_flag(entry: dict[str, Any]) -> bool:
    return (entry["event"], entry.get("step")) == ("step_done", "RestartController")


def partitions(lab: ZooKeeperCluster) -> Iterator[PartitionMetadata]:
    """Yield the partitions of all topics."""
    topics = AdminClient({"bootstrap.servers": lab.back_door}).list_topics(timeout=30).topics
    for topic in topics.values():
        yield from topic.partitions.values()


def in_sync(lab: ZooKeeperCluster) -> bool:
    """Whether each partition has all of its replicas."""
    return all(len(each.isrs) == len(each.replicas) for each in partitions(lab))


def led(lab: ZooKeeperCluster, broker: int) -> bool:
    """Whether a broker leads all partitions."""
    return {each.leader for each in partitions(lab)} == {broker}


def make_versions_differ(lab: ZooKeeperCluster) -> None:
    """Migrate, and let the only controller take over twice.

    Brokers in KRaft mode name the log directories of replicas, which ZooKeeper has no place for. So
    a controller that takes over finds each partition state changed and writes it to ZooKeeper,
    which raises the version of the znode and not the partition epoch in the metadata log.
    """
    [controller] = lab.controllers
    whole(lab, "run")
    for number in range(2):
        lab.process(controller).kill()
        lab.process(controller).start(lab.command(controller))
        whole(lab, "run", f"on-{number}")


def go_back_to_hybrid(lab: ZooKeeperCluster) -> None:
    """Roll back until all brokers are in migration mode; the controller leads behind it."""
    [controller] = lab.controllers
    run_until(lab, "rollback", lambda entry: entry.get("stage") == "hybrid")
    # The rollback may have begun to stop it.
    lab.process(controller).stop(Deadline.after(60))
    lab.process(controller).start(lab.command(controller))
    read_quorum(load_kraft(lab.config), Deadline.after(60))


def make_zookeeper_fall_behind(lab: ZooKeeperCluster, restarts: int = 3) -> None:
    """Restart a broker in KRaft mode while ZooKeeper is frozen, and let a controller take over.

    What the controller that is killed could not write becomes one write of the next one. So the
    versions of partition states rise by one, and their partition epochs by two for each restart.
    """
    [controller] = lab.controllers
    whole(lab, "run")
    lab.zookeeper.send(signal.SIGSTOP)
    try:
        for _ in range(restarts):
            lab.process(2).stop(Deadline.after(60))
            wait_until(partial(led, lab, 1), "the other broker leads", 60)
            lab.process(2).start(lab.command(2))
            lab.wait(2)
            wait_until(partial(in_sync, lab), "all replicas are in sync", 60)
        lab.process(controller).kill()
    finally:
        lab.zookeeper.send(signal.SIGCONT)
    lab.process(controller).start(lab.command(controller))
    whole(lab, "run", "on")


def gaps(lab: ZooKeeperCluster) -> list[int]:
    """Return by how much versions of partition states are lower in ZooKeeper, for those lower."""
    with Migration(load_kraft(lab.config)) as migration:
        seen = migration.look().seen
    assert seen.zookeeper is not None
    assert seen.comparison is not None
    topics = seen.zookeeper.image.topics
    return [
        epoch - topics[tp.topic].partitions[tp.partition].partition_epoch
        for tp, epoch in lower_versions(seen).items()
    ]


def kill_follower(lab: ZooKeeperCluster) -> None:
    """Kill broker 2, and wait until broker 1 leads all partitions alone."""
    lab.process(2).kill()
    wait_until(lambda: not in_sync(lab), "its replicas are out of sync", 60)
    wait_until(partial(led, lab, 1), "the other broker leads", 60)


def stop_as_a_rollback_does(lab: ZooKeeperCluster) -> None:
    """Stop the only controller and write down that both stores were equal, whatever brokers do."""
    with ZooKeeper(load_kraft(lab.config).zookeeper) as zookeeper:
        holder = zookeeper.read(Deadline.after(30)).controller
    assert holder is not None
    lab.process(lab.controllers[0]).stop(Deadline.after(60))
    KraftJournal(lab.home / "journal").add(KraftEvent.STOPPED, epoch=holder.kraft_epoch)


def new_leader_epochs(lab: ZooKeeperCluster) -> int:
    """Return how many leaders got a new leader epoch in all steps that were done."""
    done = (each["facts"] for each in entries(lab) if each["event"] == "step_done")
    return sum(facts.get("new_leader_epochs", 0) for facts in done)


def test_a_finalize_that_was_cut_off_before_an_election_is_taken_back(tmp_path: Path) -> None:
    with ZooKeeperCluster(2, 3, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            whole(lab, "run")
            assert run_until(lab, "finalize", one_has_no_flag)
            before = len(steps(lab))
            whole(lab, "rollback")
            assert {"RestartController", "ReleaseZooKeeper"} <= set(steps(lab)[before:])
            traffic.flowing()
    tell(lab, told := traffic.result())
    assert told.whole, told


def test_controllers_that_led_often_leave_brokers_that_can_elect(tmp_path: Path) -> None:
    """Brokers refuse elections of a lower epoch than that of a quorum (KAFKA-20488)."""
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            run_until(lab, "run", lambda entry: entry.get("stage") == "provisioned")
            config, [controller] = load_kraft(lab.config), lab.controllers
            for number in range(1, _ELECTIONS + 1):
                lab.process(controller).kill()
                lab.process(controller).start(lab.command(controller))
                assert read_quorum(config, Deadline.after(60)).epoch > number
            whole(lab, "run", "on")
            whole(lab, "rollback")
            assert "RaiseControllerEpoch" in steps(lab)
            for broker in lab.brokers:
                [other] = {*lab.brokers} - {broker}
                lab.process(broker).stop(Deadline.after(60))
                wait_until(partial(led, lab, other), "the other broker leads", 60)
                lab.wait_forgotten(broker)
                lab.process(broker).start(lab.command(broker))
                lab.wait(broker)
                wait_until(partial(in_sync, lab), "all replicas are in sync", 60)
            traffic.flowing()
        for broker in lab.brokers:
            assert "StateChangeFailedException" not in lab.process(broker).log.read_text()
    tell(lab, told := traffic.result())
    assert (told.lost, told.doubled) == (0, 0), told


def test_a_broker_that_was_formatted_anew_meanwhile_goes_back_too(tmp_path: Path) -> None:
    """What the storage tool writes is nothing that ZooKeeper mode can read (KAFKA-20762)."""
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            whole(lab, "run")
            config, node = load_kraft(lab.config), NodeId(2)
            cluster = meta(lab, 2)["cluster.id"]
            lab.process(2).stop(Deadline.after(60))
            for folder in lab.files.data(2):
                shutil.rmtree(folder)
            file = str(lab.files.properties(2))
            command = filled(
                config.driver.format, node, Role.BROKER, file, cluster_id=cluster, release="3.9"
            )
            drivers_of(config)[node].run(command, Deadline.after(60))
            assert meta(lab, 2)["version"] == "1"
            lab.process(2).start(lab.command(2))
            lab.wait(2)
            whole(lab, "rollback")
            assert "MendMetaProperties" in steps(lab)
            assert (meta(lab, 2)["version"], meta(lab, 2)["broker.id"]) == ("0", "2")
            whole(lab, "run", "again")
            traffic.flowing()
    tell(lab, told := traffic.result())
    assert (told.lost, told.doubled) == (0, 0), told


def roll_back_beside_a_killed_broker(
    folder: Path, before: Callable[[ZooKeeperCluster], None] = lambda _: None
) -> bool:
    """Roll back where versions differ and a follower was killed, after something else.

    Returns:
        Whether leaders got a new leader epoch.
    """
    with ZooKeeperCluster(2, 1, home=folder) as lab:
        seed(lab)
        with Traffic(lab, kills=True) as traffic:
            make_versions_differ(lab)
            go_back_to_hybrid(lab)
            kill_follower(lab)
            before(lab)
            whole(lab, "rollback")
            assert in_sync(lab)
            renewed = new_leader_epochs(lab)
            traffic.flowing()
    tell(lab, told := traffic.result())
    assert (told.lost, told.doubled) == (0, 0), told
    return bool(renewed)


def test_a_broker_that_was_killed_is_in_sync_again_before_controllers_stop(tmp_path: Path) -> None:
    """A leader that keeps the log's version of a partition lets nobody into its ISR later."""
    assert not roll_back_beside_a_killed_broker(tmp_path)


def test_leaders_that_keep_the_versions_of_the_log_get_a_new_leader_epoch(tmp_path: Path) -> None:
    """A broker dies between the last look at replicas and the end of the controllers."""
    assert roll_back_beside_a_killed_broker(tmp_path, stop_as_a_rollback_does)


def test_no_client_waits_for_leaders_that_know_higher_versions(tmp_path: Path) -> None:
    """Such a leader skips leader epochs, and a follower that is elected skips its election."""
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        make_zookeeper_fall_behind(lab)
        assert max(gaps(lab)) >= 3
        with Traffic(lab) as traffic:
            whole(lab, "rollback")
            assert in_sync(lab)
            assert "RaisePartitionVersions" in steps(lab)
            assert new_leader_epochs(lab) == 0, "leaders let in replicas by themselves"
            traffic.flowing()
    tell(lab, told := traffic.result())
    assert told.whole, told
