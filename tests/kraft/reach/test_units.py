"""What systemd tells of a unit, as the driver for ssh takes it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from towpath.kraft.config import SshDriver
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.ssh import SshNode

PREPARES = {"ActiveState": "activating", "SubState": "start-pre", "MainPID": "0"}
RUNS = {"ActiveState": "active", "SubState": "running", "MainPID": "41"}
WAITS = {"ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"}
ENDED = {"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}
TIMES = {
    "Now": "1000.0",
    "Uptime": "100.0",
    "ExecMainStartTimestampMonotonic": "70000000",
}


class Unit(SshNode):
    """A node whose host tells this of its unit."""

    def __init__(self, **shown: str) -> None:
        config = SshDriver.model_validate({"via": "ssh", "format": "true"})
        super().__init__(config, NodeId(7), Role.BROKER, "host")
        self.shown = {**TIMES, **shown}

    def _shown(self) -> Mapping[str, str]:
        return self.shown


def test_a_unit_that_still_prepares_its_start_runs_in_the_same_incarnation() -> None:
    before, then = Unit(**PREPARES, InvocationID="a"), Unit(**RUNS, InvocationID="a")
    assert before.incarnation() == then.incarnation() == "a"
    assert (before.started(), then.started()) == (1_000_000, 970_000)
    assert before.process() is None
    assert Unit(**RUNS, InvocationID="b").incarnation() == "b", "it was started again"


@pytest.mark.parametrize("shown", [WAITS, ENDED])
def test_a_unit_that_ended_or_waits_for_its_next_start_does_not_run(shown: dict[str, str]) -> None:
    unit = Unit(**shown, InvocationID="a")
    assert unit.incarnation() is None
    assert unit.started() is None


def test_a_systemd_without_invocations_tells_the_process() -> None:
    assert Unit(**RUNS).incarnation() == "41"
    assert Unit(**PREPARES).incarnation() is None
