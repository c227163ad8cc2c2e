"""A controller that is restarted without the flag by hand opens no way round a finalize's gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, run_whole, steps
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.facts.seen import FLAG
from towpath.kraft.metadata.log import read_quorum
from towpath.runtime.deadline import Deadline

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]


def restart_without_flag(lab: ZooKeeperCluster) -> None:
    """Restart a controller that does not lead without the flag, as a person would."""
    leader = read_quorum(load_kraft(lab.config), Deadline.after(60)).leader
    node = next(each for each in lab.controllers if each != leader)
    file = lab.files.properties(node)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(each for each in lines if not each.startswith(FLAG)))
    lab.process(node).stop(Deadline.after(60))
    lab.process(node).start(lab.command(node))


def test_a_finalize_holds_its_gate_behind_a_controller_without_the_flag(
    tmp_path: Path, here: Here
) -> None:
    def stage() -> str:
        return str(here("kraft", "status", str(lab.config), "--output", "json").json["stage"])

    with ZooKeeperCluster(2, 3, home=tmp_path) as lab:
        seed(lab)
        done = run_whole(lab, "run")
        assert done.wait() == 0, done.said
        before = len(steps(lab))
        restart_without_flag(lab)
        wait_until(lambda: stage() == "finalizing", "the controller tells that it lacks the flag")
        agreed, config = lab.config.read_text(), lab.config
        config.write_text(agreed.replace('"pause": "0s"', '"pause": "0s", "soak": "1h"'))
        refused = here(*arguments(lab, "finalize"))
        assert refused.code == 3, refused.said
        assert "both stores have been written and equal for" in refused.said
        assert stage() == "finalizing"
        assert len(steps(lab)) == before
        config.write_text(agreed)
        ended = here(*arguments(lab, "finalize"))
        assert ended.code == 0, ended.said
        assert stage() == "final"
