"""Five controllers, of which two may be away."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, entries
from tests.support.kraft.traffic import Traffic
from towpath.dev.zookeeper import ZooKeeperCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(2400)]


def test_five_controllers_of_which_two_are_killed_between_commands(
    tmp_path: Path, here: Here
) -> None:
    with ZooKeeperCluster(1, 5, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            for each in "run", "rollback", "run", "finalize":
                ended = here(*arguments(lab, each))
                assert ended.code == 0, ended.said
                traffic.flowing()
                if each == "run":
                    for controller in lab.controllers[:2]:
                        lab.process(controller).send(signal.SIGKILL)
        told = here("kraft", "status", str(lab.config), "--output", "json").json
        assert told["stage"] == "final"
        controllers = [each for each in told["nodes"] if each["role"] == "controller"]
        assert [each["running"] for each in controllers] == [True] * 5
    assert traffic.result().whole, traffic.result()
    assert all(each["equal"] for each in entries(lab) if each["event"] == "compared")
