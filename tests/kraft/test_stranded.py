"""Brokers that were not in KRaft mode when a migration was finalized: no metadata reaches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, run_until, run_whole, tell
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.runtime.deadline import Deadline
from towpath.settings.java_properties import change_properties

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1200)]


def finalize_by_mistake(lab: ZooKeeperCluster, here: Here) -> None:
    """Restart the only controller without the flag while brokers are in migration mode."""
    [controller] = lab.controllers
    file = lab.files.properties(controller)
    gone = {"zookeeper.metadata.migration.enable": None, "zookeeper.connect": None}
    lab.process(controller).stop(Deadline.after(60))
    file.write_bytes(change_properties(file.read_bytes(), gone))
    lab.process(controller).start(lab.command(controller))

    said: list[str] = []

    def final() -> bool:
        told = here("kraft", "status", str(lab.config), "--output", "json")
        said.append(told.said)
        return bool(told.json.get("stage") == "final")

    wait_until(final, "the migration is finalized", 120)


@pytest.mark.parametrize("zookeeper", ["there", "gone"])
@pytest.mark.parametrize("stage", ["hybrid", "mixed"])
def test_stranded_brokers_are_brought_to_kraft_mode(
    tmp_path: Path, here: Here, stage: str, zookeeper: str
) -> None:
    with ZooKeeperCluster(3, 1, home=tmp_path) as lab:
        seed(lab)
        run_until(lab, "run", lambda entry: entry.get("stage") == stage)
        finalize_by_mistake(lab, here)
        if zookeeper == "gone":
            lab.zookeeper.kill()
        said = here("kraft", "status", str(lab.config))
        assert "were not in KRaft mode" in said.said, said.said
        done = run_whole(lab, "run")
        assert done.wait() == 0, done.said
        after = here("kraft", "status", str(lab.config))
        assert after.code == 0, after.said
        with Traffic(lab) as traffic:
            traffic.flowing()
        assert here(*arguments(lab, "finalize")).code == 0
    tell(lab, traffic.result())
    assert traffic.result().whole
