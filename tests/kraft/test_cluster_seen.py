"""What brokers tell of their cluster: its id, and the log directories that they have lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka import create_topic
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.kraft.facts.nouns import BrokerMode, NodeId, Role
from towpath.kraft.facts.seen import ClusterSeen, NodeSeen
from towpath.kraft.look.cluster import ClusterReader
from towpath.runtime.deadline import Deadline
from towpath.settings.sections.clusters import ClusterConfig

pytestmark = pytest.mark.broker


def test_a_broker_that_goes_on_without_a_disk_tells_it(tmp_path: Path) -> None:
    dirs = tmp_path / "cluster" / "broker-1" / "data", tmp_path / "two"
    more = {"log.dirs": ",".join(map(str, dirs))}
    with LocalCluster(brokers=1, home=tmp_path / "cluster", properties=more) as cluster:
        config = ClusterConfig(bootstrap=(cluster.bootstrap,))
        reader = ClusterReader(config)
        fine = ClusterSeen(id=cluster.cluster_id)
        assert reader.look([broker()]) == fine
        shutil.rmtree(dirs[1])
        dirs[1].touch()
        # One of these belongs into the directory that is gone, so the broker notices.
        create_topic(cluster.bootstrap, "spread", 6)
        with Admin(config, "cluster") as admin:
            patience = Deadline.after(30.0)
            while not (lost := admin.disks.offline(patience)):
                assert not patience.over
        assert lost == {1: (str(dirs[1]),)}
        assert reader.look([broker()]) == fine  # told a moment ago
        assert reader.look([broker(), broker(mode=None)]) is None
        assert reader.look([broker()]) == replace(fine, lost_dirs={NodeId(1): (str(dirs[1]),)})


def test_brokers_that_do_not_tell_are_no_brokers_without_a_fault() -> None:
    told = ClusterReader(ClusterConfig(bootstrap=("127.0.0.1:1",))).look([broker()])
    assert told is not None
    assert told.lost_dirs == {}
    assert "127.0.0.1:1" in told.why


def broker(**changes: Any) -> NodeSeen:
    """Return a broker that answers."""
    seen: dict[str, Any] = {
        "id": NodeId(1), "role": Role.BROKER, "running": True, "mode": BrokerMode.ZOOKEEPER,
        "flag": False, "properties": {},
    }  # fmt: skip
    return NodeSeen(**seen | changes)
