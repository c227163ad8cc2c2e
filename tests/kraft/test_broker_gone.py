"""A broker whose host is lost for good: nothing is done blindly, and there is a way without it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.ensembles import zookeeper
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments
from tests.support.kraft.secured_labs import in_file
from towpath.cluster.admin import Admin
from towpath.dev import distribution
from towpath.dev.process import command
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.model.nouns import TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(2400)]
_GONE = 3


def lose(lab: ZooKeeperCluster) -> None:
    """Lose a broker with all its files."""
    lab.process(_GONE).send(signal.SIGKILL)
    lab.process(_GONE).stop(Deadline.after(30))
    lab.files.properties(_GONE).unlink()


def move_away(lab: ZooKeeperCluster) -> None:
    """Assign the replicas of the lost broker to the others, as an administrator does."""
    with zookeeper(load_kraft(lab.config).zookeeper) as session:
        image = session.read(Deadline.after(60)).image
    left = [each for each in lab.brokers if each != _GONE]
    wanted = {
        TopicPartition(TopicName(name), index): [*(b for b in each.replicas if b != _GONE)] or left
        for name, topic in image.topics.items()
        for index, each in topic.partitions.items()
        if _GONE in each.replicas
    }
    with Admin(ClusterConfig(bootstrap=tuple(lab.back_door.split(","))), "cluster") as admin:
        told = admin.replicas.assign(wanted)
    assert not told.failed


def unregister(lab: ZooKeeperCluster) -> None:
    words = ["unregister", "--bootstrap-server", lab.back_door, "--id", str(_GONE)]
    jars = distribution.fetch_tools()
    line = command(jars, "org.apache.kafka.tools.ClusterTool", words, heap="128m", work=lab.home)
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_lost_broker_is_left_out_and_the_rest_goes_back_and_on(
    tmp_path: Path, here: Here
) -> None:
    with ZooKeeperCluster(3, 1, home=tmp_path) as lab:
        seed(lab)
        assert here(*arguments(lab, "run")).code == 0
        lose(lab)
        for each in "run", "rollback", "finalize":
            refused = here(*arguments(lab, each), "--output", "json")
            assert refused.code == 3, refused.said
            assert {one["code"] for one in refused.json["refusals"]} == {"NODES_UNSEEN"}
        in_file(lab, lambda told: told["brokers"].pop())
        refused = here(*arguments(lab, "run"), "--output", "json")
        [found] = refused.json["refusals"]
        assert found["code"] == "BROKERS_NOT_IN_FILE"
        assert "unregister" in found["advice"], "it says what to do with one that is gone"
        move_away(lab)
        unregister(lab)
        wait_until(lambda: here("kraft", "status", str(lab.config)).code == 0, "all is well", 120)
        for each in "rollback", "run", "finalize":
            ended = here(*arguments(lab, each))
            assert ended.code == 0, ended.said
