"""Controllers that were formatted anew while `/migration` has an offset: none may lead. Pure.

They would take the copy as done, and delete everything from ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.laws import broken
from tests.support.kraft.worlds import (
    at_stage,
    codes_of,
    kraft_config,
    reasons,
    with_controller,
    with_zookeeper,
)
from towpath.kraft.decide.moves import Reached
from towpath.kraft.decide.outline import outline
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.facts.nouns import Alarm, Goal, LogState, NodeId, Stage
from towpath.kraft.facts.seen import MigrationZnode, Observation, Proven
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.journal import KraftJournal
from towpath.kraft.run.loop import KraftRun
from towpath.kraft.standing.alarms import may_lead_empty, without_log
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.runtime.deadline import Deadline

_CONFIG = kraft_config()
_BEHIND_COPY = [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE]
_ANCHOR = MigrationZnode(controller=3000, controller_epoch=4, offset=500, offset_epoch=4, version=7)
_WHOLE = ((1, 0), (4, 300))
_REFUSED = {FindingCode.WIPE_AHEAD, FindingCode.LOGS_LOST}


def _lost(
    stage: Stage, *epochs: tuple[tuple[int, int], ...] | None, running: bool = False
) -> Observation:
    """Return a cluster whose controllers have no leader, with what their folders hold."""
    seen = at_stage(_CONFIG, stage)
    assert seen.zookeeper is not None
    assert seen.zookeeper.controller is not None
    claim = replace(seen.zookeeper.controller, kraft_epoch=4)
    seen = with_zookeeper(seen, migration=_ANCHOR, controller=claim)
    flag = True if running else None
    for node, held in zip(sorted(seen.controllers), epochs, strict=True):
        seen = with_controller(seen, node, epochs=held, running=running, flag=flag)
    return replace(seen, quorum=None, log=None, comparison=None)


@pytest.mark.parametrize(
    ("epochs", "holds"),
    [
        (None, True),  # nobody tells
        ((), False),
        (_WHOLE, True),
        (((1, 0), (4, 300), (6, 800)), True),
        (((6, 900),), True),  # cut behind a snapshot
        (((1, 0), (3, 300)), False),
        (((1, 0), (7, 20)), False),  # new controllers that elected each other often
        (((1, 0), (3, 20), (4, 600)), False),
    ],
)
def test_a_log_is_the_one_of_the_anchor_by_the_epoch_at_its_offset(
    epochs: tuple[tuple[int, int], ...] | None, holds: bool
) -> None:
    seen = _lost(Stage.HYBRID, epochs, _WHOLE, _WHOLE)
    assert without_log(seen) == (() if holds else (NodeId(3000),))


@pytest.mark.parametrize("stage", _BEHIND_COPY)
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("third", [(), _WHOLE])
def test_nothing_empty_is_started_and_check_plan_and_status_name_it(
    stage: Stage, running: bool, third: tuple[tuple[int, int], ...]
) -> None:
    """With two of three formatted anew either of them may be elected by the other one."""
    seen = _lost(stage, (), (), third, running=running)
    assert stage_of(seen).stage is Stage.HEADLESS
    assert stage_of(seen).has(Alarm.WIPE_AHEAD)
    assert FindingCode.WIPE_AHEAD in codes_of(preflight(_CONFIG, seen))
    assert FindingCode.LOGS_LOST in codes_of(preflight(_CONFIG, seen))
    assert reasons(_CONFIG, seen, Goal.DUAL_WRITE) >= _REFUSED
    planned = outline(_CONFIG, seen, Goal.DUAL_WRITE)
    assert (planned.steps, codes_of(planned.refusals)) == ((), _REFUSED)


@pytest.mark.parametrize(
    "stage",
    [Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, *_BEHIND_COPY, Stage.FINALIZING],
)
def test_in_no_stage_are_controllers_started_that_may_lead_empty(stage: Stage) -> None:
    seen = with_zookeeper(at_stage(_CONFIG, stage), migration=_ANCHOR)
    meta = at_stage(_CONFIG, Stage.HYBRID).controllers[NodeId(3000)].meta
    for node in seen.controllers:
        seen = with_controller(seen, node, epochs=(), meta=meta, running=False, flag=None)
    seen = replace(seen, quorum=None, log=None, comparison=None)
    assert stage_of(seen).has(Alarm.WIPE_AHEAD), stage
    for goal in Goal:
        step = next_step(_CONFIG, seen, goal)
        assert not isinstance(step, StartControllers), (stage, goal)


def test_one_that_was_formatted_anew_cannot_be_elected_and_is_started_with_the_others() -> None:
    seen = _lost(Stage.DUAL_WRITE, (), _WHOLE, _WHOLE)
    assert not may_lead_empty(seen)
    assert isinstance(next_step(_CONFIG, seen, Goal.DUAL_WRITE), StartControllers)


def test_controllers_that_are_led_by_the_log_get_it_from_there() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), migration=_ANCHOR)
    for node in (3001, 3002):
        seen = with_controller(seen, node, epochs=())
    assert without_log(seen) == ()


def test_behind_the_end_an_old_anchor_tells_nothing() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.FINAL), migration=_ANCHOR)
    for node in seen.controllers:
        seen = with_controller(seen, node, epochs=())
    assert not stage_of(seen).has(Alarm.WIPE_AHEAD)
    assert not codes_of(preflight(_CONFIG, seen)) & _REFUSED


def _walk_back(seen: Observation) -> tuple[list[KraftStep], Refused | Reached]:
    steps = list[KraftStep]()
    for _ in range(40):
        step = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
        if isinstance(step, Refused | Reached):
            return steps, step
        laws = set(broken(seen, step)) - {"ZooKeeper is released without being proven equal"}
        assert not laws
        steps.append(step)
        seen = step.after(_CONFIG, seen)
    raise AssertionError(f"no end: {steps}")


@pytest.mark.parametrize("running", [False, True])
def test_a_rollback_releases_zookeeper_that_was_equal_at_each_look(running: bool) -> None:
    seen = _lost(Stage.HYBRID, (), (), (), running=running)
    proven = replace(seen, proven=Proven(equal_since=1))
    steps, end = _walk_back(proven)
    assert end == Reached(Stage.ZOOKEEPER)
    assert any(isinstance(each, ReleaseZooKeeper) for each in steps)
    assert not any(isinstance(each, StartControllers) for each in steps)
    for not_so in (seen, _without_flag(proven)):
        steps, end = _walk_back(not_so)
        assert [type(each) for each in steps] == [StopControllers] * running
        assert isinstance(end, Refused)
        assert codes_of(end.reasons) >= _REFUSED


def _without_flag(seen: Observation) -> Observation:
    node = NodeId(3001)
    file = {"process.roles": "controller"}
    return with_controller(seen, node, properties=file)


@pytest.mark.parametrize("stage", [Stage.MIXED, Stage.DUAL_WRITE])
def test_a_rollback_with_brokers_in_kraft_mode_is_refused_with_a_way_out(stage: Stage) -> None:
    """What runs of them is stopped before that: the next election may empty ZooKeeper."""
    seen = replace(_lost(stage, (), (), (), running=True), proven=Proven(equal_since=1))
    step = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert isinstance(step, StopControllers)
    steps, end = _walk_back(step.after(_CONFIG, seen))
    assert steps == []
    assert isinstance(end, Refused)
    assert codes_of(end.reasons) == _REFUSED
    assert any("bring back folders" in str(each) for each in end.reasons)


def _empty_start(seen: Observation, step: KraftStep) -> Observation:
    """Return what is seen behind a start of empty controllers, whose folders told nothing."""
    behind = step.after(_CONFIG, seen)
    if not isinstance(step, StartControllers) or behind.log is None:
        return behind
    log = replace(behind.log, state=LogState.PRE_MIGRATION, image=behind.log.image)
    return replace(behind, log=log, comparison=None, zookeeper=seen.zookeeper)


class _World:
    """A cluster whose controllers come up empty: eyes and hands of a run."""

    def __init__(self, seen: Observation, journal: KraftJournal) -> None:
        self.seen, self.journal, self.done = seen, journal, list[KraftStep]()

    def look(self, _: Deadline) -> Observation:
        return replace(self.seen, proven=self.journal.proven)

    def do(self, step: KraftStep, _: Callable[[str], None], __: Event) -> Mapping[str, object]:
        self.done.append(step)
        self.seen = _empty_start(self.seen, step)
        return {}

    def run(self) -> KraftRun:
        return KraftRun(_CONFIG, self, self, self.journal, lambda _facts, _text: None)


@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.ZOOKEEPER])
@pytest.mark.parametrize("stage", _BEHIND_COPY)
def test_what_a_run_started_it_stops_at_the_alarm_and_starts_it_no_second_time(
    tmp_path: Path, goal: Goal, stage: Stage
) -> None:
    seen = _lost(stage, None, None, None)
    world = _World(seen, KraftJournal(tmp_path / "journal"))
    end = world.run().bring_to(goal, Event())
    assert codes_of(end.refused) == {FindingCode.WIPE_AHEAD}
    assert [type(each) for each in world.done] == [StartControllers, StopControllers]
    assert not any(each.running for each in world.seen.controllers.values())
