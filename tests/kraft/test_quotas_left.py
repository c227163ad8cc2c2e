"""Deleted quotas that Kafka 3.9 leaves in ZooKeeper: told, and mended by a new leader. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.waits import tools
from tests.support.kraft.worlds import (
    UNEQUAL,
    at_stage,
    kraft_config,
    reasons,
    walk,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.outline import outline
from towpath.kraft.errors import StepLateError, StepRefusedError
from towpath.kraft.facts.image import ClusterImage
from towpath.kraft.facts.nouns import Alarm, Goal, NodeId, Stage
from towpath.kraft.facts.quotas import left_behind
from towpath.kraft.facts.seen import Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps import compare
from towpath.kraft.steps.restart_controller import RestartController
from towpath.model.quota import Entity, EntityKind

_CONFIG = kraft_config()
_USER, _CLIENT = Entity(EntityKind.USER, "ann"), Entity(EntityKind.CLIENT_ID, "app")
_ADDRESS, _ALL = Entity(EntityKind.IP, "10.0.0.1"), Entity(EntityKind.CLIENT_ID, None)
_BOTH = [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE]


def image(*whose: tuple[Entity, ...]) -> ClusterImage:
    return ClusterImage(quotas={each: {"producer_byte_rate": 1.0} for each in whose})


def left(stage: Stage, *whose: tuple[Entity, ...]) -> Observation:
    """Return what is seen where quotas were deleted, and ZooKeeper keeps them."""
    seen = at_stage(_CONFIG, stage)
    return replace(with_zookeeper(seen, image=image(*whose)), comparison=UNEQUAL)


@pytest.mark.parametrize("whose", [(_CLIENT,), (_ALL,), (_ADDRESS,), (_USER, _CLIENT)])
def test_what_is_gone_from_the_log_alone_is_left_behind(whose: tuple[Entity, ...]) -> None:
    assert left_behind(image(whose), ClusterImage()) == (" with ".join(map(str, whose)),)
    assert not left_behind(image(whose), image(whose))
    assert not left_behind(ClusterImage(), image(whose)), "it is not written yet"


def test_a_quota_of_a_user_alone_and_one_key_of_several_are_carried_over() -> None:
    assert not left_behind(image((_USER,)), ClusterImage())
    two = ClusterImage(quotas={(_CLIENT,): {"producer_byte_rate": 1, "consumer_byte_rate": 1}})
    assert not left_behind(two, image((_CLIENT,)))


def test_it_is_an_alarm_while_both_are_written() -> None:
    for stage in _BOTH:
        standing = stage_of(left(stage, (_CLIENT,)))
        assert {each.alarm for each in standing.alarms} == {Alarm.UNEQUAL, Alarm.QUOTAS_LEFT}
        said = next(str(each) for each in standing.alarms if each.alarm is Alarm.QUOTAS_LEFT)
        assert said.startswith("the quotas of client-id app were deleted, and ZooKeeper keeps them")
        assert "'/'" not in " ".join(map(str, standing.alarms))
    registering = with_zookeeper(at_stage(_CONFIG, Stage.REGISTERING), image=image((_CLIENT,)))
    assert not stage_of(registering).has(Alarm.QUOTAS_LEFT), "it is not copied yet"


@pytest.mark.parametrize("stage", _BOTH)
@pytest.mark.parametrize("goal", list(Goal))
def test_the_leader_is_restarted_once_and_the_way_goes_on(stage: Stage, goal: Goal) -> None:
    seen = left(stage, (_CLIENT,))
    leader = seen.quorum.leader if seen.quorum else NodeId(0)
    step = RestartController(leader, flag=True, rewrite=True)
    assert next_step(_CONFIG, seen, goal) == step
    assert step.sentence.endswith("the next leader writes to ZooKeeper what differs")
    done, _ = walk(_CONFIG, seen, goal)
    assert [each for each, _ in done if getattr(each, "rewrite", False)] == [step]
    assert outline(_CONFIG, seen, goal).steps[0].sentence == step.sentence


def test_no_leader_is_elected_where_that_would_finalize_or_forget_users() -> None:
    seen = left(Stage.DUAL_WRITE, (_CLIENT,))
    forgets = with_log(seen, deleted_users=("bob (SCRAM-SHA-256)",))
    found = reasons(_CONFIG, forgets, Goal.ZOOKEEPER)
    assert found == {FindingCode.QUOTAS_LEFT, FindingCode.USERS_DELETED}
    finalizing = left(Stage.FINALIZING, (_CLIENT,))
    assert reasons(_CONFIG, finalizing, Goal.FINAL) == {FindingCode.QUOTAS_LEFT}
    file = {"process.roles": "controller"}
    flagless = with_controller(seen, 3002, flag=False, properties=file)
    step = next_step(_CONFIG, flagless, Goal.DUAL_WRITE)
    assert step == RestartController(NodeId(3002), flag=True), "the flag comes first"


def test_a_wait_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_LOST", 0.2)
    with pytest.raises(StepRefusedError, match="the quotas of client-id app were deleted"):
        compare._await_equal(tools(_CONFIG, left(Stage.DUAL_WRITE, (_CLIENT,)), copy="1m"))


def test_a_wait_that_was_too_long_tells_what_the_leader_logged() -> None:
    seen = replace(at_stage(_CONFIG, Stage.DUAL_WRITE), comparison=UNEQUAL)
    log = "INFO all is well\n[1] ERROR Encountered zk migration fault: Unhandled error\n  at x\n"
    with pytest.raises(StepLateError) as caught:
        compare._await_equal(tools(_CONFIG, seen, log))
    leader = seen.quorum.leader if seen.quorum else 0
    assert f"log of controller {leader} says: [1] ERROR Encountered zk" in str(caught.value)
    with pytest.raises(StepLateError) as silent:
        compare._await_equal(tools(_CONFIG, seen))
    assert "the log of controller" not in str(silent.value)
