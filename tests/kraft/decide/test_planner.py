"""The straight way, and the way back, step by step on a model of a cluster. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    at_stage,
    broker_properties,
    kraft_config,
    start_of,
    walk,
    with_broker,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.moves import Reached
from towpath.kraft.facts.nouns import BrokerMode, Goal, NodeId, Stage
from towpath.kraft.facts.seen import Health
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.await_copy import AwaitCopy
from towpath.kraft.steps.await_final import AwaitFinal
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.raise_controller_epoch import RaiseControllerEpoch
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.kraft.steps.wipe_controller import WipeController

_C = tuple(NodeId(each) for each in (3000, 3001, 3002))


def _rolls(mode: BrokerMode, *nodes: int) -> list[KraftStep]:
    return [RollBroker(NodeId(node), mode) for node in nodes]


def _steps(done: list[tuple[KraftStep, Stage]]) -> list[KraftStep]:
    return [step for step, _stage in done]


def test_the_straight_way_has_each_step_once_and_in_order() -> None:
    config = kraft_config()
    done, seen = walk(config, start_of(config), Goal.DUAL_WRITE)
    # Broker 0 is ZooKeeper's controller, so it is the last one that leaves.
    assert done == [
        (FormatController(_C[0]), Stage.ZOOKEEPER),
        (FormatController(_C[1]), Stage.ZOOKEEPER),
        (FormatController(_C[2]), Stage.ZOOKEEPER),
        (StartControllers(_C), Stage.PROVISIONED),
        (RollBroker(NodeId(1), BrokerMode.MIGRATION), Stage.REGISTERING),
        (RollBroker(NodeId(2), BrokerMode.MIGRATION), Stage.REGISTERING),
        (RollBroker(NodeId(0), BrokerMode.MIGRATION), Stage.HYBRID),
        (Compare(), Stage.HYBRID),
        (RollBroker(NodeId(0), BrokerMode.KRAFT), Stage.MIXED),
        (RollBroker(NodeId(1), BrokerMode.KRAFT), Stage.MIXED),
        (RollBroker(NodeId(2), BrokerMode.KRAFT), Stage.DUAL_WRITE),
    ]
    finalizing, seen = walk(config, seen, Goal.FINAL)
    # Followers first, the leader last; another leader is elected without the flag, and finalizes.
    assert finalizing == [
        (RestartController(_C[1], flag=False), Stage.FINALIZING),
        (RestartController(_C[2], flag=False), Stage.FINALIZING),
        (RestartController(_C[0], flag=False), Stage.FINAL),
    ]
    assert next_step(config, seen, Goal.FINAL) == Reached(Stage.FINAL)
    assert next_step(config, seen, Goal.DUAL_WRITE) == Reached(Stage.FINAL)
    assert isinstance(next_step(config, seen, Goal.ZOOKEEPER), Refused)


def test_the_way_back_from_dual_write() -> None:
    config = kraft_config(brokers=2)
    _done, seen = walk(config, start_of(config, epoch=0), Goal.DUAL_WRITE)
    done, seen = walk(config, seen, Goal.ZOOKEEPER)
    assert seen.zookeeper is not None
    steps = _steps(done)
    assert steps[:3] == [*_rolls(BrokerMode.MIGRATION, 0, 1), StopControllers((*_C[1:], _C[0]))]
    assert isinstance(steps[3], ReleaseZooKeeper)
    assert steps[4:] == [
        *_rolls(BrokerMode.ZOOKEEPER, 1, 0),
        Compare(),
        *map(WipeController, _C),
    ]
    assert seen.zookeeper.migration is None
    assert stage_of(seen).stage is Stage.ZOOKEEPER


def test_the_epoch_is_raised_behind_the_stop_and_before_the_release() -> None:
    config = kraft_config(brokers=1, controllers=1)
    _done, seen = walk(config, start_of(config, epoch=0), Goal.DUAL_WRITE)
    seen = with_zookeeper(seen, controller_epoch=(1, 1))
    assert seen.zookeeper is not None
    assert seen.zookeeper.controller is not None
    epoch = seen.zookeeper.controller.kraft_epoch
    assert epoch == 1
    steps = _steps(walk(config, seen, Goal.ZOOKEEPER)[0])
    raised = steps.index(RaiseControllerEpoch(epoch + 1, 1))
    assert isinstance(steps[raised - 1], StopControllers)
    assert isinstance(steps[raised + 1], ReleaseZooKeeper)


@pytest.mark.parametrize("brokers", [1, 2, 5])
@pytest.mark.parametrize("controllers", [1, 3, 5])
def test_a_second_migration_goes_like_the_first_one(brokers: int, controllers: int) -> None:
    config = kraft_config(brokers, controllers)
    start = start_of(config)
    first, seen = walk(config, start, Goal.DUAL_WRITE)
    _back, seen = walk(config, seen, Goal.ZOOKEEPER)
    second, seen = walk(config, seen, Goal.DUAL_WRITE)
    assert len(first) == len(second)
    final, _seen = walk(config, seen, Goal.FINAL)
    assert sum(isinstance(step, RestartController) for step, _stage in final) == controllers


def test_steps_that_need_nothing_are_left_out() -> None:
    """The copy and the final record come by themselves, mostly before anybody waits for them."""
    config = kraft_config()
    done, _seen = walk(config, start_of(config), Goal.FINAL)
    assert not [step for step, _ in done if isinstance(step, AwaitCopy | AwaitFinal)]


@pytest.mark.parametrize("stage", [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE])
def test_where_users_were_deleted_the_only_way_is_back(stage: Stage) -> None:
    config = kraft_config()
    seen = with_log(at_stage(config, stage), deleted_users=("bob (SCRAM-SHA-256)",))
    refused = next_step(config, seen, Goal.FINAL)
    assert isinstance(refused, Refused)
    assert [each.code for each in refused.reasons] == [FindingCode.USERS_DELETED]
    assert not isinstance(next_step(config, seen, Goal.ZOOKEEPER), Refused)


@pytest.mark.parametrize(
    ("stage", "mode"),
    [
        (Stage.HYBRID, BrokerMode.MIGRATION),
        (Stage.MIXED, BrokerMode.MIGRATION),
        (Stage.DUAL_WRITE, BrokerMode.KRAFT),
    ],
)
def test_a_broker_that_was_put_back_by_hand_comes_before_any_wait(
    stage: Stage, mode: BrokerMode
) -> None:
    config = kraft_config()
    seen = with_broker(
        at_stage(config, stage), 1, properties=broker_properties(1), mode=BrokerMode.ZOOKEEPER
    )
    seen = replace(seen, health=Health(under_replicated=("orders-0",)))
    assert next_step(config, seen, Goal.FINAL) == RollBroker(NodeId(1), mode)
