"""Partitions whose state Kafka 3.9 never makes in ZooKeeper: told, made, and led on. Pure."""

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
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.outline import outline
from towpath.kraft.errors import StepLateError, StepRefusedError
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import Alarm, Goal, NodeId, Stage
from towpath.kraft.facts.seen import Observation, Oddity, OddZnode
from towpath.kraft.facts.states import not_made, to_make
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.standing.alarms import behind
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps import compare
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.elections import EQUAL
from towpath.kraft.steps.restart_controller import RestartController
from towpath.model.nouns import TopicName, TopicPartition

_CONFIG = kraft_config()
_BOTH = [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE]
_STATE = PartitionImage(replicas=(1,), isr=(1,), leader=1, leader_epoch=3, partition_epoch=4)
_LOST = OddZnode("/brokers/topics/grown/partitions/1/state", Oddity.NO_STATE, "it has no state")
_GROWN = TopicPartition(TopicName("grown"), 1)


def image(partitions: int, topic_id: str = "id") -> ClusterImage:
    return ClusterImage(
        topics={"grown": TopicImage(topic_id, dict.fromkeys(range(partitions), _STATE))}
    )


def lost(stage: Stage, *, equal: bool = False) -> Observation:
    """Return what is seen where a partition was added as the leader ended."""
    seen = with_log(at_stage(_CONFIG, stage), image=image(2))
    seen = with_zookeeper(seen, image=image(2), odd=(_LOST,))
    return replace(seen, comparison=EQUAL if equal else UNEQUAL)


def test_what_is_assigned_without_a_state_is_not_made() -> None:
    zookeeper = lost(Stage.DUAL_WRITE).zookeeper
    assert zookeeper is not None
    assert not_made(zookeeper, image(2)) == {_GROWN: _STATE}
    assert not not_made(zookeeper, image(1)), "it is not in the log"
    assert not not_made(zookeeper, image(2, "other")), "the topic was made anew"
    assert not not_made(replace(zookeeper, odd=()), image(3))


def test_what_is_not_assigned_yet_stops_the_next_leader_as_well() -> None:
    zookeeper = lost(Stage.DUAL_WRITE).zookeeper
    assert zookeeper is not None
    third = TopicPartition(TopicName("grown"), 2)
    assert set(to_make(zookeeper, image(3))) == {_GROWN, third}
    whole = ClusterImage(topics={"new": TopicImage("new", {0: _STATE})})
    assert not to_make(zookeeper, whole), "a topic as a whole is made rightly"


@pytest.mark.parametrize("equal", [True, False])
def test_it_is_an_alarm_while_both_are_written(equal: bool) -> None:
    for stage in _BOTH:
        standing = stage_of(lost(stage, equal=equal))
        assert standing.has(Alarm.STATES_NOT_MADE)
        said = " ".join(map(str, standing.alarms))
        assert "grown-1" in said
    registering = with_zookeeper(at_stage(_CONFIG, Stage.REGISTERING), odd=(_LOST,))
    assert not stage_of(registering).has(Alarm.STATES_NOT_MADE), "it is not copied yet"


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("stage", _BOTH)
@pytest.mark.parametrize("goal", list(Goal))
def test_the_leader_is_restarted_once_and_the_way_goes_on(
    stage: Stage, goal: Goal, equal: bool
) -> None:
    seen = lost(stage, equal=equal)
    leader = seen.quorum.leader if seen.quorum else NodeId(0)
    step = RestartController(leader, flag=True, rewrite=True)
    assert next_step(_CONFIG, seen, goal) == step
    done, _ = walk(_CONFIG, seen, goal)
    assert [each for each, _ in done if getattr(each, "rewrite", False)] == [step]
    assert outline(_CONFIG, seen, goal).steps[0].sentence == step.sentence


def test_no_leader_is_elected_where_that_would_forget_users() -> None:
    forgets = with_log(lost(Stage.DUAL_WRITE), deleted_users=("bob (SCRAM-SHA-256)",))
    found = reasons(_CONFIG, forgets, Goal.ZOOKEEPER)
    assert found == {FindingCode.STATES_NOT_MADE, FindingCode.USERS_DELETED}


def test_a_wait_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_LOST", 0.2)
    with pytest.raises(StepRefusedError, match=r"no state of 1 partitions.*grown-1"):
        compare._await_equal(tools(_CONFIG, lost(Stage.DUAL_WRITE), copy="1m"))


def at_offset(stage: Stage, records: int, *, begun: bool) -> Observation:
    """Return what is seen where `/migration` is behind the log."""
    seen = at_stage(_CONFIG, stage)
    assert seen.zookeeper is not None
    assert seen.zookeeper.migration is not None
    assert seen.quorum is not None
    epoch = seen.quorum.epoch if begun else seen.quorum.epoch - 1
    znode = replace(seen.zookeeper.migration, offset_epoch=epoch)
    seen = with_log(seen, end=znode.offset + records)
    return replace(with_zookeeper(seen, migration=znode), comparison=EQUAL)


@pytest.mark.parametrize("stage", _BOTH)
def test_stores_that_are_equal_prove_nothing_under_a_leader_that_does_not_write(
    stage: Stage,
) -> None:
    assert not behind(at_offset(stage, 50, begun=False)), "it was elected just now"
    assert not behind(at_offset(stage, 500, begun=True)), "it is busy"
    said = "Encountered ZooKeeper error during event zk: no"
    for seen in (at_offset(stage, 101, begun=False), at_offset(stage, 1_001, begun=True)):
        assert [each.alarm for each in stage_of(seen).alarms] == [Alarm.ZOOKEEPER_BEHIND]
        assert next_step(_CONFIG, seen, Goal.ZOOKEEPER) == Compare()
        with pytest.raises(StepLateError, match=r"has written nothing since.*zk: no"):
            compare._await_equal(tools(_CONFIG, seen, said))
    final = at_offset(Stage.FINALIZING, 5_000, begun=True)
    assert Alarm.ZOOKEEPER_BEHIND in {each.alarm for each in stage_of(final).alarms}
