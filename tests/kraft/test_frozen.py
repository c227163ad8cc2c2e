"""An orchestrator that is frozen in the middle of a step, while another one goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.kafka import wait_until
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import arguments, entries, run_whole
from tests.support.kraft.traffic import Traffic
from tests.support.program import Program
from towpath.dev.zookeeper import ZooKeeperCluster

pytestmark = [pytest.mark.soak, pytest.mark.broker]

IN_KRAFT = "restart broker 2 in KRaft mode"


def test_who_was_frozen_leaves_the_cluster_to_who_took_over(tmp_path: Path) -> None:
    with ZooKeeperCluster(2, 1, home=tmp_path) as lab:
        seed(lab)
        with Traffic(lab) as traffic:
            frozen = Program(lab.home, *arguments(lab, "run"), name="frozen")
            try:
                _freeze_while_broker_is_down(lab, frozen)
                after = run_whole(lab, "run", "other")
                assert after.wait() == 0, after.said
                pid, told = lab.process(2).pid, len(entries(lab))
                frozen.send(signal.SIGCONT)
                assert frozen.wait(120) == 4, frozen.said
            finally:
                if frozen.running:
                    frozen.send(signal.SIGKILL)
            assert "KRAFT_LOCK_LOST" in frozen.said
            assert lab.process(2).pid == pid, "its broker was left alone"
            traffic.flowing()
        assert [each["event"] for each in entries(lab)[told:]] == ["step_failed"]
    assert traffic.result().lost == traffic.result().doubled == 0


def _freeze_while_broker_is_down(lab: ZooKeeperCluster, program: Program) -> None:
    def begun() -> bool:
        assert program.running, program.said
        return any(IN_KRAFT in str(each.get("what")) for each in entries(lab))

    wait_until(begun, "broker 2 is being restarted", 300)
    wait_until(lambda: not lab.process(2).running, "broker 2 has ended", 60)
    program.send(signal.SIGSTOP)
