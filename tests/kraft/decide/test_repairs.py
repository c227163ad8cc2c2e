"""Repairs that come before a step, and the ways back: each with what it would lose. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    CLUSTER,
    FLAG,
    UNEQUAL,
    at_stage,
    end,
    kraft_config,
    migration_znode,
    reasons,
    start_of,
    walk,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.moves import Facts, Reached
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import BrokerMode, Goal, LogState, NodeId, Stage
from towpath.kraft.facts.seen import Health, MetaProperties, Observation, Proven
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.mend_meta_properties import MendMetaProperties
from towpath.kraft.steps.raise_controller_epoch import RaiseControllerEpoch
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.kraft.steps.wipe_controller import WipeController

_CONFIG = kraft_config()
_ALL = (0, 1, 2)
_C = tuple(NodeId(each) for each in (3000, 3001, 3002))


def test_without_a_leader_no_controller_is_started_beside_one_that_lacks_the_flag() -> None:
    seen = replace(at_stage(_CONFIG, Stage.MIXED), quorum=None, log=None, comparison=None)
    for node in _C[1:]:
        seen = with_controller(seen, node, running=False, flag=None)
    flagless = with_controller(seen, 3000, flag=False)
    assert next_step(_CONFIG, seen, Goal.DUAL_WRITE) == StartControllers(_C[1:])
    assert next_step(_CONFIG, flagless, Goal.DUAL_WRITE) == RestartController(
        NodeId(3000), flag=True
    )


def test_controllers_that_a_rollback_left_unwiped_are_no_migration() -> None:
    hybrid, start = at_stage(_CONFIG, Stage.HYBRID), start_of(_CONFIG)
    left = replace(hybrid, zookeeper=start.zookeeper, brokers=start.brokers)
    assert Facts.of(_CONFIG, left).standing.stage is Stage.ZOOKEEPER
    assert FindingCode.LOST_ANCHOR in reasons(_CONFIG, left, Goal.DUAL_WRITE)
    assert isinstance(next_step(_CONFIG, left, Goal.ZOOKEEPER), StopControllers)


def test_a_broker_that_ends_while_finalizing_is_started_and_the_rest_follows() -> None:
    seen = at_stage(_CONFIG, Stage.FINALIZING)
    down = end(seen, seen.brokers[NodeId(1)])
    assert next_step(_CONFIG, down, Goal.FINAL) == RollBroker(NodeId(1), BrokerMode.KRAFT)


def test_stranded_brokers_are_rolled_on_and_never_back() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.MIXED), state=LogState.POST_MIGRATION)
    assert reasons(_CONFIG, seen, Goal.ZOOKEEPER) == {FindingCode.FINAL_FOR_GOOD}
    done, after = walk(_CONFIG, seen, Goal.FINAL)
    rolled = [step for step, _stage in done if isinstance(step, RollBroker)]
    assert {step.mode for step in rolled} == {BrokerMode.KRAFT}
    assert Facts.of(_CONFIG, after).standing.alarms == ()


def test_a_stale_anchor_is_released_and_no_controller_is_started_before_that() -> None:
    old = with_zookeeper(start_of(_CONFIG), migration=migration_znode(137))
    assert FindingCode.WIPE_AHEAD in reasons(_CONFIG, old, Goal.DUAL_WRITE)
    assert next_step(_CONFIG, old, Goal.ZOOKEEPER) == ReleaseZooKeeper(None, 0)
    running = with_zookeeper(at_stage(_CONFIG, Stage.PROVISIONED), migration=migration_znode(137))
    assert FindingCode.WIPE_AHEAD in reasons(_CONFIG, running, Goal.DUAL_WRITE)
    done, _seen = walk(_CONFIG, running, Goal.ZOOKEEPER)
    steps = [step for step, _stage in done]
    assert isinstance(steps[0], StopControllers)
    assert steps[1] == ReleaseZooKeeper(None, 0)
    assert not [step for step in steps if isinstance(step, StartControllers)]


def test_a_rollback_that_forgot_what_it_proved_starts_the_controllers_again() -> None:
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    stop = next_step(_CONFIG, hybrid, Goal.ZOOKEEPER)
    assert isinstance(stop, StopControllers)
    stopped = hybrid
    for node in stop.nodes:
        stopped = end(stopped, stopped.controllers[node])
    assert next_step(_CONFIG, stopped, Goal.ZOOKEEPER) == StartControllers(_C)
    assert stopped.zookeeper is not None
    assert stopped.zookeeper.controller is not None
    proven = Proven(stopped=stopped.zookeeper.controller.kraft_epoch)
    assert isinstance(
        next_step(_CONFIG, replace(stopped, proven=proven), Goal.ZOOKEEPER), ReleaseZooKeeper
    )


def test_a_replaced_broker_is_mended_before_zookeeper_mode() -> None:
    seen = at_stage(_CONFIG, Stage.DUAL_WRITE)
    meta = tuple(replace(each, version=1) for each in seen.brokers[NodeId(1)].meta)
    done, _seen = walk(_CONFIG, with_broker(seen, 1, meta=meta), Goal.ZOOKEEPER)
    steps = [step for step, _stage in done]
    mended = steps.index(MendMetaProperties(NodeId(1), "/data/b1"))
    assert steps[mended + 1] == RollBroker(NodeId(1), BrokerMode.ZOOKEEPER)


@pytest.mark.parametrize("stage", [Stage.MIXED, Stage.DUAL_WRITE])
def test_no_broker_goes_back_to_a_zookeeper_that_is_not_written(stage: Stage) -> None:
    seen = at_stage(_CONFIG, stage)
    assert isinstance(next_step(_CONFIG, seen, Goal.ZOOKEEPER), RollBroker)
    assert next_step(_CONFIG, replace(seen, comparison=UNEQUAL), Goal.ZOOKEEPER) == Compare()
    elected = replace(seen, proven=replace(seen.proven, probed=None))
    assert next_step(_CONFIG, elected, Goal.ZOOKEEPER) == Compare()
    down = with_broker(replace(seen, comparison=UNEQUAL), 1, running=False, mode=None)
    assert isinstance(next_step(_CONFIG, down, Goal.ZOOKEEPER), RollBroker), (
        "one that is down is started"
    )


def test_controllers_are_stopped_only_once_all_replicas_are_in_sync() -> None:
    """ZooKeeper's controller refuses a leader that still goes by the versions of the log."""
    seen = at_stage(_CONFIG, Stage.HYBRID)
    node = min(seen.brokers)
    away = with_broker(seen, node, running=False, mode=None)
    assert next_step(_CONFIG, away, Goal.ZOOKEEPER) == RollBroker(node, BrokerMode.MIGRATION)
    behind = replace(seen, health=Health(under_replicated=("t-0",)))
    assert next_step(_CONFIG, behind, Goal.ZOOKEEPER) == AwaitHealthy()
    assert isinstance(next_step(_CONFIG, seen, Goal.ZOOKEEPER), StopControllers)


def test_a_lost_anchor_leads_back_only_where_both_are_equal() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), migration=None)
    assert reasons(_CONFIG, seen, Goal.DUAL_WRITE) == {FindingCode.LOST_ANCHOR}
    assert isinstance(next_step(_CONFIG, seen, Goal.ZOOKEEPER), StopControllers)
    unequal = replace(seen, comparison=UNEQUAL)
    assert reasons(_CONFIG, unequal, Goal.ZOOKEEPER) == {FindingCode.LOST_ANCHOR}


def test_a_controller_whose_folder_is_lost_is_never_formatted_in_a_migration() -> None:
    lost = with_controller(at_stage(_CONFIG, Stage.MIXED), 3002, meta=(), running=False, flag=None)
    assert reasons(_CONFIG, lost, Goal.DUAL_WRITE) == {FindingCode.CONTROLLERS_LOST}
    early = at_stage(_CONFIG, Stage.PROVISIONED)
    fresh = with_controller(early, 3002, meta=(), running=False, flag=None)
    assert next_step(_CONFIG, fresh, Goal.DUAL_WRITE) == FormatController(NodeId(3002))


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_broker_whose_file_was_written_and_that_was_not_stopped_is_rolled(brokers: int) -> None:
    config = kraft_config(brokers=brokers)
    seen = at_stage(config, Stage.HYBRID)
    while isinstance(step := next_step(config, seen, Goal.DUAL_WRITE), Compare):
        seen = step.after(config, seen)
    assert isinstance(step, RollBroker)
    written = next(iter(step.effects(config, seen)))
    assert written.brokers[step.node].stale
    assert next_step(config, written, Goal.DUAL_WRITE) == step


@pytest.mark.parametrize("stage", [Stage.MIXED, Stage.DUAL_WRITE])
def test_no_broker_goes_back_where_the_anchor_is_lost(stage: Stage) -> None:
    """The controllers write nothing to ZooKeeper then, also where both are still equal."""
    seen = with_zookeeper(at_stage(_CONFIG, stage), migration=None)
    assert reasons(_CONFIG, seen, Goal.ZOOKEEPER) == {FindingCode.LOST_ANCHOR}


def test_a_controller_without_the_flag_is_mended_before_all_are_stopped() -> None:
    seen = with_controller(at_stage(_CONFIG, Stage.HYBRID), 3001, flag=False)
    step = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert step == RestartController(NodeId(3001), flag=True)


def _stopped(**znodes: object) -> Observation:
    """Return a cluster whose controllers were stopped while both stores were equal."""
    seen = at_stage(_CONFIG, Stage.HYBRID)
    step = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert isinstance(step, StopControllers)
    return with_zookeeper(step.after(_CONFIG, seen), **znodes)


def test_zookeeper_is_not_released_where_a_controller_would_start_without_the_flag() -> None:
    """Somebody may have started it so since: it would have finalized."""
    seen = _stopped()
    assert isinstance(next_step(_CONFIG, seen, Goal.ZOOKEEPER), ReleaseZooKeeper)
    file = {"process.roles": "controller", FLAG: "false"}
    seen = with_controller(seen, 3001, properties=file)
    step = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert step == RestartController(NodeId(3001), flag=True)


def test_the_epoch_is_raised_above_all_that_controllers_used() -> None:
    """Each of them may be the highest: KAFKA-20488."""
    seen = _stopped()
    assert seen.zookeeper is not None
    assert seen.zookeeper.controller is not None
    used = replace(seen.zookeeper.controller, kraft_epoch=9)
    proven = Proven(stopped=9)
    of_controller = replace(_stopped(controller=used, controller_epoch=(9, 4)), proven=proven)
    assert next_step(_CONFIG, of_controller, Goal.ZOOKEEPER) == RaiseControllerEpoch(10, 4)
    anchor = replace(migration_znode(5), controller_epoch=8)
    low = replace(used, kraft_epoch=7)
    of_anchor = _stopped(controller=low, migration=anchor, controller_epoch=(8, 4))
    of_anchor = replace(of_anchor, proven=Proven(stopped=7))
    assert next_step(_CONFIG, of_anchor, Goal.ZOOKEEPER) == RaiseControllerEpoch(9, 4)
    enough = replace(_stopped(controller=used, controller_epoch=(10, 4)), proven=proven)
    assert isinstance(next_step(_CONFIG, enough, Goal.ZOOKEEPER), ReleaseZooKeeper)


def test_no_folder_of_another_cluster_is_wiped() -> None:
    _done, seen = walk(_CONFIG, at_stage(_CONFIG, Stage.PROVISIONED), Goal.ZOOKEEPER)
    meta = MetaProperties(
        directory="/data/c0", version=1, cluster_id="OTHER", node=_C[0], directory_id=None
    )
    for theirs in meta, replace(meta, cluster_id=CLUSTER, node=NodeId(0)):
        there = with_controller(seen, 3000, meta=(theirs,))
        assert next_step(_CONFIG, there, Goal.ZOOKEEPER) == Reached(Stage.ZOOKEEPER)
    own = with_controller(seen, 3000, meta=(replace(meta, cluster_id=CLUSTER),))
    assert next_step(_CONFIG, own, Goal.ZOOKEEPER) == WipeController(_C[0])


def test_nothing_is_finalized_on_with_a_broker_that_is_still_migrating() -> None:
    seen = with_broker(at_stage(_CONFIG, Stage.FINALIZING), 1, mode=BrokerMode.MIGRATION)
    assert reasons(_CONFIG, seen, Goal.FINAL) == {FindingCode.STILL_MIGRATING}


def test_the_broker_that_leads_fewest_partitions_goes_first() -> None:
    seen = start_of(_CONFIG)
    topics = {
        f"t{number}": TopicImage(
            f"id{number}",
            {
                0: PartitionImage(
                    replicas=_ALL, isr=_ALL, leader=1, leader_epoch=0, partition_epoch=0
                )
            },
        )
        for number in range(2)
    }
    done, _seen = walk(_CONFIG, with_zookeeper(seen, image=ClusterImage(topics=topics)), Goal.FINAL)
    rolled = [step.node for step, _stage in done if isinstance(step, RollBroker)]
    assert rolled[:3] == [2, 1, 0], "ZooKeeper's controller comes last, whatever it leads"
