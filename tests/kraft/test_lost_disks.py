"""Controllers whose disks are lost while others lead: formatted anew when asked, or left. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.laws import broken
from tests.support.kraft.worlds import (
    at_stage,
    codes_of,
    end,
    kraft_config,
    migration_znode,
    reasons,
    start_of,
    walk,
    with_controller,
    with_zookeeper,
)
from towpath.kraft.decide.moves import Reached
from towpath.kraft.decide.outline import outline
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.facts.nouns import Goal, NodeId, Stage
from towpath.kraft.facts.seen import Observation, Proven
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.standing.disks import holders, unproven
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.elections import elected
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers

_CONFIG = kraft_config()
_FIVE = kraft_config(controllers=5)
_LED = [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINALIZING, Stage.FINAL]
_BACK = [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE]
_LOST = NodeId(3002)
_SAID = frozenset({_LOST})


def _at(stage: Stage) -> Observation:
    if stage is Stage.FINAL:  # all of them run
        return walk(_CONFIG, start_of(_CONFIG), Goal.FINAL)[1]
    return at_stage(_CONFIG, stage)


def _lose(seen: Observation, node: NodeId = _LOST) -> Observation:
    """Return a cluster in which the disk of a controller is lost, and the others lead."""
    seen = end(seen, seen.controllers[node])
    return elected(with_controller(seen, node, meta=(), epochs=None))


def _walk(
    seen: Observation, goal: Goal, lost: frozenset[NodeId]
) -> tuple[list[KraftStep], Reached | Refused]:
    steps = list[KraftStep]()
    for _ in range(60):
        step = next_step(_CONFIG, seen, goal, lost)
        if isinstance(step, Reached | Refused):
            return steps, step
        assert not broken(seen, step), (broken(seen, step), step)
        steps.append(step)
        seen = step.after(_CONFIG, seen)
    raise AssertionError(f"no end: {steps}")


@pytest.mark.parametrize("stage", _LED)
def test_check_names_a_lost_disk_and_nothing_goes_on_before_somebody_asks(stage: Stage) -> None:
    seen = _lose(_at(stage))
    assert stage_of(seen).stage is stage
    is_over = stage is Stage.FINAL
    code = FindingCode.CONTROLLERS_LOST_FINAL if is_over else FindingCode.CONTROLLERS_LOST
    assert code in codes_of(preflight(_CONFIG, seen))
    assert reasons(_CONFIG, seen, Goal.FINAL) == {code}


@pytest.mark.parametrize("stage", _LED)
def test_when_asked_it_is_formatted_while_the_others_lead_and_all_goes_on(stage: Stage) -> None:
    seen = _lose(_at(stage))
    steps, ended = _walk(seen, Goal.FINAL, _SAID)
    assert ended == Reached(Stage.FINAL)
    assert steps[0] == FormatController(_LOST, flag=stage is not Stage.FINAL, anew=True)
    assert any(_LOST in each.nodes for each in steps if isinstance(each, StartControllers)) or (
        stage is Stage.FINALIZING
    )
    planned = outline(_CONFIG, seen, Goal.FINAL, _SAID)
    assert "disk is lost" in planned.steps[0].sentence


@pytest.mark.parametrize("stage", _BACK)
def test_it_goes_on_from_wherever_it_was_killed_without_being_told_again(stage: Stage) -> None:
    seen = _lose(_at(stage))
    first = next_step(_CONFIG, seen, Goal.DUAL_WRITE, _SAID)
    assert isinstance(first, FormatController)
    formatted = first.after(_CONFIG, seen)
    start = next_step(_CONFIG, formatted, Goal.DUAL_WRITE)
    assert start == StartControllers((_LOST,))
    for cut in start.effects(_CONFIG, formatted):
        steps, ended = _walk(cut, Goal.DUAL_WRITE, frozenset())
        assert ended == Reached(Stage.DUAL_WRITE)
        assert not any(isinstance(each, FormatController) for each in steps)


def test_one_that_runs_and_has_not_got_the_log_yet_is_waited_for() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.DUAL_WRITE), migration=migration_znode(5))
    assert seen.quorum is not None
    ends = {NodeId(3000): seen.quorum.high_watermark}
    seen = replace(seen, quorum=replace(seen.quorum, ends=ends))
    seen = with_controller(seen, _LOST, epochs=())
    assert next_step(_CONFIG, seen, Goal.DUAL_WRITE) == StartControllers((_LOST,))


def test_the_file_of_a_lost_controller_decides_nothing() -> None:
    """Its disk is lost in the middle of a finalize, behind its restart without the flag."""
    seen = at_stage(_CONFIG, Stage.FINALIZING)
    (node,) = (each.id for each in seen.controllers.values() if each.flag is False)
    lost = _lose(seen, node)
    for goal, asked in ((Goal.DUAL_WRITE, frozenset({node})), (Goal.ZOOKEEPER, frozenset())):
        steps, ended = _walk(lost, goal, asked)
        assert isinstance(ended, Reached)
        assert not any(isinstance(each, RestartController) for each in steps)


def test_no_other_controller_is_restarted_before_the_lost_one_is_back() -> None:
    seen = at_stage(_CONFIG, Stage.FINALIZING)
    (node,) = (each.id for each in seen.controllers.values() if each.flag is False)
    other = next(each for each in seen.controllers if each not in {node, 3000})
    for goal in (Goal.DUAL_WRITE, Goal.FINAL):
        first = next_step(_CONFIG, _lose(seen, other), goal, frozenset({other}))
        assert first == FormatController(other, anew=True)


@pytest.mark.parametrize("stage", _BACK)
def test_a_rollback_goes_on_without_it(stage: Stage) -> None:
    steps, ended = _walk(_lose(_at(stage)), Goal.ZOOKEEPER, frozenset())
    assert ended == Reached(Stage.ZOOKEEPER)
    assert not any(isinstance(each, FormatController) for each in steps)


def _behind(seen: Observation, node: int) -> Observation:
    assert seen.quorum is not None
    ends = {**seen.quorum.ends, NodeId(node): seen.quorum.high_watermark - 1}
    return replace(seen, quorum=replace(seen.quorum, ends=ends))


def _silent(seen: Observation, node: int) -> Observation:
    assert seen.quorum is not None
    ends = {each: end for each, end in seen.quorum.ends.items() if each != node}
    return replace(seen, quorum=replace(seen.quorum, ends=ends))


def _of_another_epoch(seen: Observation, node: int) -> Observation:
    return with_controller(seen, node, epochs=((99, 0),))


@pytest.mark.parametrize("bad", [_behind, _silent, _of_another_epoch])
@pytest.mark.parametrize("stage", _LED)
def test_it_is_refused_while_the_others_are_not_seen_to_hold_all(
    stage: Stage, bad: Callable[[Observation, int], Observation]
) -> None:
    seen = bad(_lose(_at(stage)), 3001)
    refused = next_step(_CONFIG, seen, Goal.FINAL, _SAID)
    assert isinstance(refused, Refused)
    assert codes_of(refused.reasons) == {FindingCode.LOG_UNPROVEN}
    assert "controllers 3000 alone" in str(refused.reasons[0])


def test_with_five_a_majority_of_the_others_must_hold_all() -> None:
    seen = _lose(at_stage(_FIVE, Stage.DUAL_WRITE))
    assert holders(seen, _LOST) == (3000, 3001, 3003, 3004)
    assert unproven(_behind(seen, 3001), _LOST) is None
    assert unproven(_behind(_behind(seen, 3001), 3003), _LOST) is not None
    two = _lose(seen, NodeId(3001))
    both = _SAID | {NodeId(3001)}
    step = next_step(_FIVE, two, Goal.DUAL_WRITE, both)
    assert step == FormatController(NodeId(3001), anew=True)
    behind = step.after(_FIVE, two)
    assert next_step(_FIVE, behind, Goal.DUAL_WRITE, both) == StartControllers((NodeId(3001),))


def _leaderless(seen: Observation) -> Observation:
    for node in sorted(seen.controllers):
        seen = end(seen, seen.controllers[node])
    return replace(seen, quorum=None, log=None, comparison=None)


def test_the_others_lead_first_where_nobody_does() -> None:
    seen = _leaderless(_lose(at_stage(_CONFIG, Stage.DUAL_WRITE)))
    others = (NodeId(3000), NodeId(3001))
    assert next_step(_CONFIG, seen, Goal.DUAL_WRITE, _SAID) == StartControllers(others)
    assert next_step(_CONFIG, seen, Goal.ZOOKEEPER) == StartControllers(others)


def test_without_a_leader_one_that_was_formatted_anew_votes_for_nobody() -> None:
    """It would vote for one that lacks what the third had confirmed together with it."""
    seen = with_zookeeper(at_stage(_CONFIG, Stage.DUAL_WRITE), migration=migration_znode(5))
    seen = with_controller(_leaderless(seen), _LOST, epochs=())
    others = (NodeId(3000), NodeId(3001))
    assert next_step(_CONFIG, seen, Goal.DUAL_WRITE) == StartControllers(others)
    astray = with_controller(seen, _LOST, running=True, flag=True)
    stop = next_step(_CONFIG, astray, Goal.DUAL_WRITE)
    assert stop == StopControllers((_LOST,))
    behind = StartControllers(others).after(_CONFIG, seen)
    assert next_step(_CONFIG, behind, Goal.DUAL_WRITE) == StartControllers((_LOST,))
    refused = next_step(_CONFIG, _behind(behind, 3001), Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert codes_of(refused.reasons) == {FindingCode.LOG_UNPROVEN}


@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.FINAL])
@pytest.mark.parametrize("empty", [False, True])
def test_where_the_rest_elects_nobody_none_is_formatted(goal: Goal, *, empty: bool) -> None:
    seen = _leaderless(at_stage(_CONFIG, Stage.DUAL_WRITE))
    seen = with_zookeeper(seen, migration=migration_znode(5))
    seen = with_controller(seen, _LOST, meta=())
    seen = with_controller(seen, 3001, **({"epochs": ()} if empty else {"meta": ()}))
    for lost in (frozenset[NodeId](), _SAID | {NodeId(3001)}):
        refused = next_step(_CONFIG, seen, goal, lost)
        assert isinstance(refused, Refused)
        assert codes_of(refused.reasons) == {FindingCode.CONTROLLERS_LOST}


def test_a_rollback_releases_zookeeper_where_no_log_is_left() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    for node in sorted(seen.controllers):
        seen = with_controller(end(seen, seen.controllers[node]), node, meta=())
    seen = replace(seen, quorum=None, log=None, comparison=None)
    refused = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert isinstance(refused, Refused)
    assert codes_of(refused.reasons) == {FindingCode.CONTROLLERS_LOST}
    for _ in range(20):
        proven = replace(seen, proven=Proven(equal_since=1))
        step = next_step(_CONFIG, proven, Goal.ZOOKEEPER)
        if isinstance(step, Reached):
            break
        assert not isinstance(step, Refused | StartControllers | FormatController), step
        seen = step.after(_CONFIG, proven)
    assert stage_of(seen).stage is Stage.ZOOKEEPER
