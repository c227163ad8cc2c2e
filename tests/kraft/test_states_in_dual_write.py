"""Partitions are added as the leading controller ends: Kafka's next leader writes nothing more."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.kraft.runs import entries, run_whole
from tests.support.kraft.sessions import znodes_of
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.zookeeper.reading import state_path

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]
_LATER = "/config/topics/later"
"""What a leader that begins writes behind all topics."""


def grow_as_the_leader_ends(lab: ZooKeeperCluster, topic: str, partitions: int) -> None:
    """Add partitions that the leader cannot write to ZooKeeper any more, and start it again."""
    node = lab.process(lab.controllers[0])
    admin = AdminClient({"bootstrap.servers": lab.back_door})
    lab.zookeeper.send(signal.SIGSTOP)
    try:
        admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
        node.kill()
    finally:
        lab.zookeeper.send(signal.SIGCONT)
    node.start(lab.command(lab.controllers[0]))


def test_added_partitions_are_told_and_made_and_a_new_leader_goes_on(
    tmp_path: Path, here: Here
) -> None:
    def status() -> dict[str, dict[str, object]]:
        found = here("kraft", "status", str(lab.config), "--output", "json").json
        return {each["code"]: each["values"] for each in found["alarms"]}

    def log() -> str:
        return lab.process(NodeId(lab.controllers[0])).log.read_text(errors="replace")

    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        done = run_whole(lab, "run")
        assert done.wait() == 0, done.said
        create_topic(lab.back_door, "grown")
        wait_until(lambda: not status(), "the topic is in both stores", 60)
        grow_as_the_leader_ends(lab, "grown", 3)
        wait_until(lambda: "STATES_NOT_MADE" in status(), "states are not made", 120)
        assert status()["STATES_NOT_MADE"]["partitions"] == ["grown-1", "grown-2"]
        assert "Encountered ZooKeeper error during event SyncKRaftMetadataEvent" in log()
        create_topic(lab.back_door, "later", config={"retention.ms": "12345678"})
        wait_until(lambda: "ZOOKEEPER_BEHIND" in status(), "nothing is written", 180)
        with znodes_of(lab) as znodes:
            assert b"12345678" not in znodes.get(_LATER)[0], "its sync has passed"
        again = run_whole(lab, "run", "again")
        assert again.wait() == 0, again.said
        assert "making the missing states of partitions grown-1, grown-2" in again.said
        assert not status()
        with znodes_of(lab) as znodes:
            assert all(znodes.exists(state_path("grown", each)) for each in range(3))
            assert b"12345678" in znodes.get(_LATER)[0]
        rewrites = [each for each in entries(lab) if "next leader writes" in str(each.get("what"))]
        assert [each["event"] for each in rewrites] == ["step_began", "step_done"]
        back = run_whole(lab, "rollback", "rollback")
        assert back.wait() == 0, back.said
        found = AdminClient({"bootstrap.servers": lab.back_door}).list_topics(timeout=60).topics
        assert len(found["grown"].partitions) == 3
