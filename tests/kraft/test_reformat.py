"""Controllers lose their disks while others lead: formatted anew, killed anywhere, or left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.kafka import create_topic
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import entries, run_until, run_whole
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.kraft.config import load_kraft
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.facts.nouns import NodeId, Stage
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.run.migration import Migration

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(1800)]


def _look(lab: ZooKeeperCluster) -> Facts:
    with Migration(load_kraft(lab.config)) as migration:
        return migration.look()


def _leader(lab: ZooKeeperCluster) -> NodeId:
    leader = _look(lab).leader
    assert leader is not None
    return leader


def _lose(lab: ZooKeeperCluster, node: NodeId) -> None:
    """Lose a controller with its disk."""
    lab.process(node).kill()
    for folder in lab.files.data(node):
        shutil.rmtree(folder)


def _killed(lab: ZooKeeperCluster, event: str, step: str, *more: str) -> None:
    """Kill a run as a step begins or ends, if it comes to that."""

    def holds(entry: dict[str, Any]) -> bool:
        return (entry["event"], entry.get("step")) == (event, step)

    run_until(lab, "run", holds, *more)


def _whole(lab: ZooKeeperCluster, command: str, name: str, *more: str) -> None:
    done = run_whole(lab, command, name, *more)
    assert done.wait() == 0, done.said


def _require_all_there(lab: ZooKeeperCluster, stage: Stage, *topics: str) -> None:
    facts = _look(lab)
    assert facts.standing.stage is stage
    if stage is Stage.DUAL_WRITE:
        assert facts.seen.quorum is not None
        assert set(facts.seen.quorum.ends) == set(lab.controllers)
        assert facts.seen.comparison is not None
        assert facts.seen.comparison.equal
    listed = AdminClient({"bootstrap.servers": lab.back_door}).list_topics(timeout=60).topics
    assert set(topics) <= set(listed)


def test_lost_disks_are_formatted_anew_while_others_lead_and_a_rollback_goes_on_without(
    tmp_path: Path,
) -> None:
    """The leader loses its disk, too: whoever was formatted anew before holds all by then."""
    with ZooKeeperCluster(1, 3, home=tmp_path) as lab:
        seed(lab)
        _whole(lab, "run", "run")
        first = next(NodeId(each) for each in lab.controllers if each != _leader(lab))
        _lose(lab, first)
        create_topic(lab.back_door, "while-two-lead")
        facts = _look(lab)
        assert FindingCode.CONTROLLERS_LOST in {
            each.code for each in preflight(facts.config, facts.seen)
        }
        refused = run_whole(lab, "run", "refused")
        assert refused.wait() == 3, refused.said
        assert "--reformat ID" in refused.said
        for event in ("step_began", "step_done"):
            _killed(lab, event, "FormatController", "--reformat", str(first))
            _killed(lab, event, "StartControllers")
        _whole(lab, "run", "again", "--reformat", str(first))
        _require_all_there(lab, Stage.DUAL_WRITE, "while-two-lead")
        second = _leader(lab)
        _lose(lab, second)
        create_topic(lab.back_door, "without-the-leader")
        _whole(lab, "run", "second", "--reformat", str(second))
        _require_all_there(lab, Stage.DUAL_WRITE, "while-two-lead", "without-the-leader")
        _lose(lab, next(NodeId(each) for each in lab.controllers if each != _leader(lab)))
        _whole(lab, "rollback", "rollback")
        _require_all_there(lab, Stage.ZOOKEEPER, "while-two-lead", "without-the-leader")
        formatted = [
            each for each in entries(lab)
            if each["event"] == "step_done" and each.get("step") == "FormatController"
        ]  # fmt: skip
        assert len(formatted) >= len(lab.controllers) + 2
