"""The gates, and the repairs that come before a step: each with what it would lose. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft_worlds import (
    CLUSTER,
    FLAG,
    UNEQUAL,
    at_stage,
    kraft_config,
    migration_znode,
    start_of,
    walk,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.model import BrokerMode, Goal, LogState, NodeId, Stage
from towpath.kraft.observing.seen import (
    DisksSeen,
    Health,
    Observation,
    Oddity,
    OddZnode,
    Proven,
    Unseen,
)
from towpath.kraft.planning.effects import after, along, end
from towpath.kraft.planning.gates import g1, g2, g3, g4, g5
from towpath.kraft.planning.moves import Facts, Reached, Refused
from towpath.kraft.planning.planner import next_step
from towpath.kraft.steps import (
    AwaitHealthy,
    Compare,
    FormatController,
    MendMetaProperties,
    ReleaseZooKeeper,
    RestartController,
    RollBroker,
    StartControllers,
    Step,
    StopControllers,
)

_CONFIG = kraft_config()
_C = tuple(NodeId(each) for each in (3000, 3001, 3002))


def _codes(found: object) -> set[FindingCode]:
    assert isinstance(found, tuple)
    return {each.code for each in found}


def _next(seen: Observation, goal: Goal) -> Step | Reached | Refused:
    return next_step(_CONFIG, seen, goal)


def _reasons(seen: Observation, goal: Goal) -> set[FindingCode]:
    step = _next(seen, goal)
    assert isinstance(step, Refused), step
    return _codes(step.reasons)


def test_g1_lets_no_broker_leave_zookeeper_without_ready_controllers() -> None:
    seen = at_stage(_CONFIG, Stage.PROVISIONED)
    assert g1(Facts.of(_CONFIG, seen)) == ()
    silent = with_controller(seen, 3001, flag=None)
    assert _codes(g1(Facts.of(_CONFIG, silent))) == {FindingCode.FLAG_NOT_TOLD}
    taken = with_zookeeper(seen, migration=migration_znode(5))
    assert _codes(g1(Facts.of(_CONFIG, taken))) == {FindingCode.ANCHOR_TAKEN}
    assert _reasons(silent, Goal.DUAL_WRITE) == {FindingCode.FLAG_NOT_TOLD}


def test_g2_lets_no_broker_go_to_kraft_before_both_are_proven_equal() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    assert _next(seen, Goal.DUAL_WRITE) == Compare()
    assert _codes(g2(Facts.of(_CONFIG, seen))) == {FindingCode.NOT_PROBED}
    assert seen.quorum is not None
    proven = replace(seen, proven=Proven(probed=seen.quorum.epoch))
    assert g2(Facts.of(_CONFIG, proven)) == ()
    unequal = replace(proven, comparison=UNEQUAL)
    assert _codes(g2(Facts.of(_CONFIG, unequal))) == {FindingCode.UNEQUAL}
    assert _next(unequal, Goal.DUAL_WRITE) == Compare()
    # Another leader writes to ZooKeeper by its own connection.
    elected = replace(proven, quorum=replace(seen.quorum, epoch=seen.quorum.epoch + 1))
    assert _next(elected, Goal.DUAL_WRITE) == Compare()


def test_g3_restarts_nothing_while_a_broker_or_a_replica_is_away() -> None:
    seen = at_stage(_CONFIG, Stage.REGISTERING)
    thin = replace(seen, health=Health(under_replicated=("t-0",)))
    assert FindingCode.NOT_IN_SYNC in _codes(g3(Facts.of(_CONFIG, thin)))
    assert _next(thin, Goal.DUAL_WRITE) == AwaitHealthy()
    blind = replace(seen, health=None)
    assert _reasons(blind, Goal.DUAL_WRITE) == {FindingCode.HEALTH_UNSEEN}
    down = end(at_stage(_CONFIG, Stage.MIXED), seen.brokers[NodeId(2)])
    started = _next(down, Goal.DUAL_WRITE)
    assert isinstance(started, RollBroker)
    assert started.node == 2


def test_g4_a_controller_without_the_flag_is_mended_before_anything_else() -> None:
    seen = at_stage(_CONFIG, Stage.MIXED)
    flagless = with_controller(seen, 3001, flag=False)
    assert _codes(g4(Facts.of(_CONFIG, flagless))) == {FindingCode.FLAG_NOT_TOLD}
    for goal in Goal:
        assert _next(flagless, goal) == RestartController(NodeId(3001), flag=True)
    leads = with_controller(seen, 3000, flag=False)
    assert _reasons(leads, Goal.DUAL_WRITE) == {FindingCode.FLAGLESS_LEADER}
    # It would start without the flag, and might be elected.
    file = {"process.roles": "controller", FLAG: "false"}
    stopped = with_controller(seen, 3001, running=False, flag=None, properties=file)
    assert _next(stopped, Goal.DUAL_WRITE) == RestartController(NodeId(3001), flag=True)


def test_without_a_leader_no_controller_is_started_beside_one_that_lacks_the_flag() -> None:
    seen = replace(at_stage(_CONFIG, Stage.MIXED), quorum=None, log=None, comparison=None)
    for node in _C[1:]:
        seen = with_controller(seen, node, running=False, flag=None)
    flagless = with_controller(seen, 3000, flag=False)
    assert _next(seen, Goal.DUAL_WRITE) == StartControllers(_C[1:])
    assert _next(flagless, Goal.DUAL_WRITE) == RestartController(NodeId(3000), flag=True)


def test_controllers_that_a_rollback_left_unwiped_are_no_migration() -> None:
    hybrid, start = at_stage(_CONFIG, Stage.HYBRID), start_of(_CONFIG)
    left = replace(hybrid, zookeeper=start.zookeeper, brokers=start.brokers)
    assert Facts.of(_CONFIG, left).standing.stage is Stage.ZOOKEEPER
    assert FindingCode.LOST_ANCHOR in _reasons(left, Goal.DUAL_WRITE)
    assert isinstance(_next(left, Goal.ZOOKEEPER), StopControllers)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (FindingCode.UNEQUAL, lambda seen: replace(seen, comparison=UNEQUAL)),
        (FindingCode.NOT_COMPARED, lambda seen: replace(seen, comparison=None)),
        (FindingCode.NOT_PROBED, lambda seen: replace(seen, proven=Proven())),
        (
            FindingCode.STILL_MIGRATING,
            lambda seen: with_broker(seen, 1, mode=BrokerMode.MIGRATION),
        ),
        (FindingCode.NOT_IN_SYNC, lambda seen: replace(seen, health=Health(offline=("t-0",)))),
    ],
    ids=["unequal", "not compared", "not probed", "migrating", "offline"],
)
def test_g5_finalizes_nothing_that_is_not_whole(code: FindingCode, change: object) -> None:
    seen = at_stage(_CONFIG, Stage.DUAL_WRITE)
    assert g5(Facts.of(_CONFIG, seen)) == ()
    assert callable(change)
    bad = change(seen)
    assert code in _codes(g5(Facts.of(_CONFIG, bad)))
    step = _next(bad, Goal.FINAL)
    assert not (isinstance(step, RestartController) and not step.flag)


def test_a_broker_that_ends_while_finalizing_is_started_and_the_rest_follows() -> None:
    seen = at_stage(_CONFIG, Stage.FINALIZING)
    down = end(seen, seen.brokers[NodeId(1)])
    assert _next(down, Goal.FINAL) == RollBroker(NodeId(1), BrokerMode.KRAFT)


def test_g5_waits_for_the_soak() -> None:
    config = kraft_config(soak="1h")
    seen = at_stage(_CONFIG, Stage.DUAL_WRITE)
    assert seen.proven.equal_since is not None
    step = next_step(config, seen, Goal.FINAL)
    assert isinstance(step, Refused)
    assert str(step.reasons[0]).startswith("both stores have been written and equal for 0 s")
    later = replace(seen, at=seen.proven.equal_since + 3_600_000)
    assert isinstance(next_step(config, later, Goal.FINAL), RestartController)


def test_stranded_brokers_are_rolled_on_and_never_back() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.MIXED), state=LogState.POST_MIGRATION)
    assert _reasons(seen, Goal.ZOOKEEPER) == {FindingCode.FINAL_FOR_GOOD}
    done, after = walk(_CONFIG, seen, Goal.FINAL)
    rolled = [step for step, _stage in done if isinstance(step, RollBroker)]
    assert {step.mode for step in rolled} == {BrokerMode.KRAFT}
    assert Facts.of(_CONFIG, after).standing.alarms == ()


def test_a_stale_anchor_is_released_and_no_controller_is_started_before_that() -> None:
    old = with_zookeeper(start_of(_CONFIG), migration=migration_znode(137))
    assert FindingCode.WIPE_AHEAD in _reasons(old, Goal.DUAL_WRITE)
    assert _next(old, Goal.ZOOKEEPER) == ReleaseZooKeeper(None, 0)
    running = with_zookeeper(at_stage(_CONFIG, Stage.PROVISIONED), migration=migration_znode(137))
    assert FindingCode.WIPE_AHEAD in _reasons(running, Goal.DUAL_WRITE)
    done, _seen = walk(_CONFIG, running, Goal.ZOOKEEPER)
    steps = [step for step, _stage in done]
    assert isinstance(steps[0], StopControllers)
    assert steps[1] == ReleaseZooKeeper(None, 0)
    assert not [step for step in steps if isinstance(step, StartControllers)]


def test_a_rollback_that_forgot_what_it_proved_starts_the_controllers_again() -> None:
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    stop = _next(hybrid, Goal.ZOOKEEPER)
    assert isinstance(stop, StopControllers)
    stopped = hybrid
    for node in stop.nodes:
        stopped = end(stopped, stopped.controllers[node])
    assert _next(stopped, Goal.ZOOKEEPER) == StartControllers(_C)
    assert stopped.zookeeper is not None
    assert stopped.zookeeper.controller is not None
    proven = Proven(stopped=stopped.zookeeper.controller.kraft_epoch)
    assert isinstance(_next(replace(stopped, proven=proven), Goal.ZOOKEEPER), ReleaseZooKeeper)


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
    assert isinstance(_next(seen, Goal.ZOOKEEPER), RollBroker)
    assert _next(replace(seen, comparison=UNEQUAL), Goal.ZOOKEEPER) == Compare()
    elected = replace(seen, proven=replace(seen.proven, probed=None))
    assert _next(elected, Goal.ZOOKEEPER) == Compare()
    down = with_broker(replace(seen, comparison=UNEQUAL), 1, running=False, mode=None)
    assert isinstance(_next(down, Goal.ZOOKEEPER), RollBroker), "one that is down is started"


def test_controllers_are_stopped_only_once_all_replicas_are_in_sync() -> None:
    """ZooKeeper's controller refuses a leader that still goes by the versions of the log."""
    seen = at_stage(_CONFIG, Stage.HYBRID)
    node = min(seen.brokers)
    away = with_broker(seen, node, running=False, mode=None)
    assert _next(away, Goal.ZOOKEEPER) == RollBroker(node, BrokerMode.MIGRATION)
    behind = replace(seen, health=Health(under_replicated=("t-0",)))
    assert _next(behind, Goal.ZOOKEEPER) == AwaitHealthy()
    assert isinstance(_next(seen, Goal.ZOOKEEPER), StopControllers)


def test_a_lost_anchor_leads_back_only_where_both_are_equal() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), migration=None)
    assert _reasons(seen, Goal.DUAL_WRITE) == {FindingCode.LOST_ANCHOR}
    assert isinstance(_next(seen, Goal.ZOOKEEPER), StopControllers)
    unequal = replace(seen, comparison=UNEQUAL)
    assert _reasons(unequal, Goal.ZOOKEEPER) == {FindingCode.LOST_ANCHOR}


def test_nothing_is_planned_without_seeing_what_it_touches() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    others = {node: each for node, each in seen.brokers.items() if node}
    assert _reasons(replace(seen, brokers=others), Goal.DUAL_WRITE) == {FindingCode.NODES_UNSEEN}
    away = (Unseen("node 0", "node 0: its host refused"),)
    refused = _next(replace(seen, brokers=others, unseen=away), Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "node 0: its host refused" in str(refused.reasons[0])
    refused = _next(with_broker(seen, 1, properties={}), Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "/b1 of broker 1 is missing or empty" in str(refused.reasons[0])
    why = (Unseen("ZooKeeper", "it does not answer"),)
    blind = replace(seen, zookeeper=None, unseen=why)
    refused = _next(blind, Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "ZooKeeper: it does not answer" in str(refused.reasons[0])
    assert _reasons(replace(seen, log=None), Goal.DUAL_WRITE) == {FindingCode.QUORUM_UNSEEN}
    elsewhere = with_controller(seen, 3000, running=False)
    assert _reasons(elsewhere, Goal.ZOOKEEPER) == {FindingCode.CONTROLLERS_ELSEWHERE}


@pytest.mark.parametrize("goal", Goal)
def test_nothing_is_done_where_brokers_are_another_cluster(goal: Goal) -> None:
    """A probe topic would be made there, and the restarts of brokers be judged by it."""
    seen = replace(at_stage(_CONFIG, Stage.DUAL_WRITE), disks=DisksSeen(cluster="other"))
    refused = next_step(_CONFIG, seen, goal)
    assert isinstance(refused, Refused)
    assert [each.code for each in refused.reasons] == [FindingCode.CLUSTER_ELSEWHERE]
    for fine in DisksSeen(cluster=CLUSTER), DisksSeen(why="nobody answers"):
        assert not isinstance(next_step(_CONFIG, replace(seen, disks=fine), goal), Refused)


def test_a_leader_that_has_not_taken_over_is_waited_for() -> None:
    seen = at_stage(_CONFIG, Stage.MIXED)
    assert seen.quorum is not None
    moved = replace(seen, quorum=replace(seen.quorum, leader=NodeId(3001)))
    for goal in Goal:
        assert _reasons(moved, goal) == {FindingCode.TAKEOVER_PENDING}


def test_a_controller_whose_folder_is_lost_is_never_formatted_in_a_migration() -> None:
    lost = with_controller(at_stage(_CONFIG, Stage.MIXED), 3002, meta=(), running=False, flag=None)
    assert _reasons(lost, Goal.DUAL_WRITE) == {FindingCode.CONTROLLERS_LOST}
    early = at_stage(_CONFIG, Stage.PROVISIONED)
    fresh = with_controller(early, 3002, meta=(), running=False, flag=None)
    assert _next(fresh, Goal.DUAL_WRITE) == FormatController(NodeId(3002))


def test_nothing_is_compared_that_can_never_become_equal() -> None:
    stuck = {FindingCode.UNWRITABLE}
    seen = with_log(replace(at_stage(_CONFIG, Stage.HYBRID), comparison=UNEQUAL), unwritable=("/",))
    assert _reasons(seen, Goal.DUAL_WRITE) == stuck
    assert _reasons(seen, Goal.ZOOKEEPER) == stuck
    # Brokers in migration mode may get no metadata any more, so none is rolled back to it.
    written = with_log(at_stage(_CONFIG, Stage.DUAL_WRITE), unwritable=("a/b",))
    assert _reasons(written, Goal.ZOOKEEPER) == stuck
    assert _reasons(written, Goal.FINAL) == stuck


@pytest.mark.parametrize(
    ("oddity", "code"),
    [
        (Oddity.FORBIDDEN, FindingCode.ZNODES_FORBIDDEN),
        (Oddity.UNKNOWN_FORM, FindingCode.ZNODES_UNKNOWN),
    ],
)
def test_stores_are_not_equal_where_znodes_were_not_read(oddity: Oddity, code: FindingCode) -> None:
    for stage, goal in ((Stage.HYBRID, Goal.ZOOKEEPER), (Stage.DUAL_WRITE, Goal.FINAL)):
        odd = (OddZnode("/config/users/x", oddity, ""),)
        assert _reasons(with_zookeeper(at_stage(_CONFIG, stage), odd=odd), goal) == {code}
    harmless = OddZnode("/config/topics/x", Oddity.ORPHAN_CONFIG, "")
    seen = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), odd=(harmless,))
    assert isinstance(_next(seen, Goal.ZOOKEEPER), StopControllers)


@pytest.mark.parametrize("brokers", [1, 3])
def test_a_broker_whose_file_was_written_and_that_was_not_stopped_is_rolled(brokers: int) -> None:
    config = kraft_config(brokers=brokers)
    seen = at_stage(config, Stage.HYBRID)
    while isinstance(step := next_step(config, seen, Goal.DUAL_WRITE), Compare):
        seen = after(config, seen, step)
    assert isinstance(step, RollBroker)
    written = next(iter(along(config, seen, step)))
    assert written.brokers[step.node].stale
    assert next_step(config, written, Goal.DUAL_WRITE) == step
