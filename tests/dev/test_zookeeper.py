"""A cluster in ZooKeeper mode starts, is found again, and serves clients that log in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kraft.patients import seed
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft

pytestmark = [pytest.mark.broker, pytest.mark.soak]


def test_it_serves_clients_over_a_restart_and_a_kill(tmp_path: Path) -> None:
    with ZooKeeperCluster(2, home=tmp_path) as cluster:
        seed(cluster)
        with Traffic(cluster) as traffic:
            again = ZooKeeperCluster(2, home=tmp_path)
            assert again.bootstrap == cluster.bootstrap
            again.process(1).kill()
            assert cluster.start().process(1).running
            traffic.flowing()
        told = traffic.result()
    assert told.whole, told
    assert told.sent > 0
    assert not any(cluster.process(node).running for node in cluster.brokers)
    assert not cluster.zookeeper.running


def test_its_file_describes_it(tmp_path: Path) -> None:
    with ZooKeeperCluster(1, 3, home=tmp_path) as cluster:
        config = load_kraft(cluster.config)
    assert config.cluster.login == "admin"
    assert config.cluster.bootstrap == (cluster.bootstrap,)
    assert [each.id for each in config.controllers.nodes] == [3000, 3001, 3002]
    assert all(Path(each.properties).exists() for each in config.brokers)
