"""What is shown as Kafka's own metric, beside what Kafka's own metric says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kraft.runs import arguments, run_until
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.engine import java

pytestmark = [pytest.mark.soak, pytest.mark.broker]
_PROGRAM = Path(__file__).parents[1] / "support" / "java" / "Jmx.java"
_BEAN = "kafka.controller:type=KafkaController,name=ZkMigrationState"


def metric(lab: ZooKeeperCluster, node: int) -> int:
    """Return what a node's own metric says (JMX)."""
    command = [str(java.find()), str(_PROGRAM), str(lab.process(node).pid), _BEAN, "Value"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_the_metric_is_told_as_kafka_tells_it(tmp_path: Path, here: Here) -> None:
    def shown() -> tuple[str, int | None]:
        told = here("kraft", "status", str(lab.config), "--output", "json").json
        return told["stage"], told["metric"]

    with ZooKeeperCluster(1, 1, home=tmp_path) as lab:
        [broker], [controller] = lab.brokers, lab.controllers
        assert shown() == ("zookeeper", metric(lab, broker))
        for stage in "provisioned", "hybrid", "dual_write":
            run_until(lab, "run", lambda entry: entry.get("stage") == stage)  # noqa: B023
            assert shown() == (stage, metric(lab, controller))
            assert stage != "hybrid" or metric(lab, broker) == 4
        ended = here(*arguments(lab, "finalize"))
        assert ended.code == 0, ended.said
        assert shown() == ("final", metric(lab, controller))
