"""The gates, each with what it would lose. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    CLUSTER,
    FLAG,
    UNEQUAL,
    at_stage,
    codes_of,
    end,
    kraft_config,
    migration_znode,
    reasons,
    start_of,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.gates import (
    gate_both_written,
    gate_finalize,
    gate_restart,
    gate_to_kraft,
    gate_to_migration,
)
from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import BrokerMode, Goal, NodeId, Stage
from towpath.kraft.facts.seen import (
    ClusterSeen,
    Health,
    Observation,
    Oddity,
    OddZnode,
    Proven,
    Unseen,
)
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.stop_controllers import StopControllers

_CONFIG = kraft_config()
_C = tuple(NodeId(each) for each in (3000, 3001, 3002))


def test_g1_lets_no_broker_leave_zookeeper_without_ready_controllers() -> None:
    seen = at_stage(_CONFIG, Stage.PROVISIONED)
    assert gate_to_migration(Facts.of(_CONFIG, seen)) == ()
    silent = with_controller(seen, 3001, flag=None)
    assert codes_of(gate_to_migration(Facts.of(_CONFIG, silent))) == {FindingCode.FLAG_NOT_TOLD}
    taken = with_zookeeper(seen, migration=migration_znode(5))
    assert codes_of(gate_to_migration(Facts.of(_CONFIG, taken))) == {FindingCode.ANCHOR_TAKEN}
    assert reasons(_CONFIG, silent, Goal.DUAL_WRITE) == {FindingCode.FLAG_NOT_TOLD}
    assert seen.quorum is not None
    fewer = replace(seen, quorum=replace(seen.quorum, voters=_C[:2]))
    assert codes_of(gate_to_migration(Facts.of(_CONFIG, fewer))) == {FindingCode.VOTERS_DIFFER}
    leaderless = replace(seen, quorum=None)
    assert codes_of(gate_to_migration(Facts.of(_CONFIG, leaderless))) == {FindingCode.QUORUM_UNSEEN}
    theirs = tuple(replace(each, cluster_id="OTHER") for each in seen.controllers[_C[0]].meta)
    foreign = with_controller(seen, 3000, meta=theirs)
    assert codes_of(gate_to_migration(Facts.of(_CONFIG, foreign))) == {FindingCode.CLUSTER_ID}


def test_g2_lets_no_broker_go_to_kraft_before_both_are_proven_equal() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    assert next_step(_CONFIG, seen, Goal.DUAL_WRITE) == Compare()
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, seen))) == {FindingCode.NOT_PROBED}
    assert seen.quorum is not None
    proven = replace(seen, proven=Proven(probed=seen.quorum.epoch))
    assert gate_to_kraft(Facts.of(_CONFIG, proven)) == ()
    unequal = replace(proven, comparison=UNEQUAL)
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, unequal))) == {FindingCode.UNEQUAL}
    flagless = with_controller(proven, 3001, flag=False)
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, flagless))) == {FindingCode.FLAG_NOT_TOLD}
    assert next_step(_CONFIG, unequal, Goal.DUAL_WRITE) == Compare()
    # Another leader writes to ZooKeeper by its own connection.
    elected = replace(proven, quorum=replace(seen.quorum, epoch=seen.quorum.epoch + 1))
    assert next_step(_CONFIG, elected, Goal.DUAL_WRITE) == Compare()


def test_g3_restarts_nothing_while_a_broker_or_a_replica_is_away() -> None:
    seen = at_stage(_CONFIG, Stage.REGISTERING)
    thin = replace(seen, health=Health(under_replicated=("t-0",)))
    assert FindingCode.NOT_IN_SYNC in codes_of(gate_restart(Facts.of(_CONFIG, thin)))
    assert next_step(_CONFIG, thin, Goal.DUAL_WRITE) == AwaitHealthy()
    blind = replace(seen, health=None)
    assert FindingCode.HEALTH_UNSEEN in codes_of(gate_restart(Facts.of(_CONFIG, blind)))
    assert reasons(_CONFIG, blind, Goal.DUAL_WRITE) == {FindingCode.HEALTH_UNSEEN}
    down = end(at_stage(_CONFIG, Stage.MIXED), seen.brokers[NodeId(2)])
    started = next_step(_CONFIG, down, Goal.DUAL_WRITE)
    assert isinstance(started, RollBroker)
    assert started.node == 2


def _away(seen: Observation, node: int) -> Observation:
    """Return a cluster with a broker that runs, and that the controllers have fenced."""
    assert seen.log is not None
    fenced = replace(seen.log.brokers[NodeId(node)], fenced=True)
    return with_log(seen, brokers={**seen.log.brokers, fenced.id: fenced})


def test_each_gate_between_restarts_waits_for_brokers_that_do_not_serve() -> None:
    away = {FindingCode.BROKERS_NOT_SERVING}
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    assert hybrid.quorum is not None
    proven = replace(hybrid, proven=Proven(probed=hybrid.quorum.epoch))
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, _away(proven, 2)))) == away
    assert codes_of(gate_restart(Facts.of(_CONFIG, _away(proven, 2)))) == away
    kraft = at_stage(_CONFIG, Stage.DUAL_WRITE)
    assert codes_of(gate_finalize(Facts.of(_CONFIG, _away(kraft, 2)))) == away
    # The broker whose restart was cut off is the one that goes on; it need not serve before.
    cut_off = with_broker(_away(proven, 2), 2, stale=True)
    assert gate_to_kraft(Facts.of(_CONFIG, cut_off), NodeId(2)) == ()
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, cut_off), NodeId(1))) == away
    assert codes_of(gate_to_kraft(Facts.of(_CONFIG, _away(proven, 2)), NodeId(2))) == away


def test_g4_a_controller_without_the_flag_is_mended_before_anything_else() -> None:
    seen = at_stage(_CONFIG, Stage.MIXED)
    flagless = with_controller(seen, 3001, flag=False)
    assert codes_of(gate_both_written(Facts.of(_CONFIG, flagless))) == {FindingCode.FLAG_NOT_TOLD}
    for goal in Goal:
        assert next_step(_CONFIG, flagless, goal) == RestartController(NodeId(3001), flag=True)
    leads = with_controller(seen, 3000, flag=False)
    assert reasons(_CONFIG, leads, Goal.DUAL_WRITE) == {FindingCode.FLAGLESS_LEADER}
    # It would start without the flag, and might be elected.
    file = {"process.roles": "controller", FLAG: "false"}
    stopped = with_controller(seen, 3001, running=False, flag=None, properties=file)
    assert next_step(_CONFIG, stopped, Goal.DUAL_WRITE) == RestartController(
        NodeId(3001), flag=True
    )


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
@pytest.mark.parametrize("stage", [Stage.DUAL_WRITE, Stage.FINALIZING])
def test_g5_finalizes_nothing_that_is_not_whole(
    stage: Stage, code: FindingCode, change: object
) -> None:
    """Also where somebody has restarted a controller without the flag by hand."""
    seen = at_stage(_CONFIG, stage)
    assert gate_finalize(Facts.of(_CONFIG, seen)) == ()
    assert callable(change)
    bad = change(seen)
    assert code in codes_of(gate_finalize(Facts.of(_CONFIG, bad)))
    step = next_step(_CONFIG, bad, Goal.FINAL)
    assert not (isinstance(step, RestartController) and not step.flag)


def test_g5_waits_for_the_soak() -> None:
    config = kraft_config(soak="1h")
    seen = at_stage(_CONFIG, Stage.DUAL_WRITE)
    assert seen.proven.equal_since is not None
    step = next_step(config, seen, Goal.FINAL)
    assert isinstance(step, Refused)
    assert str(step.reasons[0]).startswith("both stores have been written and equal for 0 s")
    later = replace(seen, at=seen.proven.equal_since + 3_600_000)
    assert isinstance(next_step(config, later, Goal.FINAL), RestartController)


def test_a_finalize_that_began_behind_the_soak_waits_for_no_other() -> None:
    """Both stores may differ for a moment meanwhile, and any election may finalize."""
    config = kraft_config(soak="1h")
    seen = at_stage(_CONFIG, Stage.FINALIZING)
    for ours in False, True:
        step = next_step(config, replace(seen, proven=replace(seen.proven, finalizing=ours)),
                         Goal.FINAL)  # fmt: skip
        assert isinstance(step, RestartController if ours else Refused)
    assert FindingCode.SOAKING in reasons(
        config, replace(seen, proven=replace(seen.proven, finalizing=False)), Goal.FINAL
    )


def test_nothing_is_planned_without_seeing_what_it_touches() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    others = {node: each for node, each in seen.brokers.items() if node}
    assert reasons(_CONFIG, replace(seen, brokers=others), Goal.DUAL_WRITE) == {
        FindingCode.NODES_UNSEEN
    }
    away = (Unseen("node 0", "node 0: its host refused"),)
    refused = next_step(_CONFIG, replace(seen, brokers=others, unseen=away), Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "node 0: its host refused" in str(refused.reasons[0])
    refused = next_step(_CONFIG, with_broker(seen, 1, properties={}), Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "/b1 of broker 1 is missing or empty" in str(refused.reasons[0])
    why = (Unseen("ZooKeeper", "it does not answer"),)
    blind = replace(seen, zookeeper=None, unseen=why)
    refused = next_step(_CONFIG, blind, Goal.DUAL_WRITE)
    assert isinstance(refused, Refused)
    assert "ZooKeeper: it does not answer" in str(refused.reasons[0])
    assert reasons(_CONFIG, replace(seen, log=None), Goal.DUAL_WRITE) == {FindingCode.QUORUM_UNSEEN}
    elsewhere = with_controller(seen, 3000, running=False)
    assert reasons(_CONFIG, elsewhere, Goal.ZOOKEEPER) == {FindingCode.CONTROLLERS_ELSEWHERE}


@pytest.mark.parametrize("goal", [Goal.DUAL_WRITE, Goal.ZOOKEEPER])
def test_nothing_is_done_to_nodes_that_answer_and_whose_processes_are_not_found(goal: Goal) -> None:
    """Else a wrong folder or unit in the file would have a broker's file written under it."""
    for seen in start_of(_CONFIG), at_stage(_CONFIG, Stage.HYBRID):
        lost = with_broker(seen, 1, running=False, mode=None, elsewhere=True)
        assert reasons(_CONFIG, lost, goal) == {FindingCode.NODES_ELSEWHERE}
    idle = with_controller(start_of(_CONFIG), 3001, elsewhere=True)
    assert reasons(_CONFIG, idle, goal) == {FindingCode.NODES_ELSEWHERE}


@pytest.mark.parametrize("goal", Goal)
def test_nothing_is_done_where_brokers_are_another_cluster(goal: Goal) -> None:
    """A probe topic would be made there, and the restarts of brokers be judged by it."""
    seen = replace(at_stage(_CONFIG, Stage.DUAL_WRITE), cluster=ClusterSeen(id="other"))
    refused = next_step(_CONFIG, seen, goal)
    assert isinstance(refused, Refused)
    assert [each.code for each in refused.reasons] == [FindingCode.CLUSTER_ELSEWHERE]
    for fine in ClusterSeen(id=CLUSTER), ClusterSeen(why="nobody answers"):
        assert not isinstance(next_step(_CONFIG, replace(seen, cluster=fine), goal), Refused)


def test_a_leader_that_has_not_taken_over_is_waited_for() -> None:
    seen = at_stage(_CONFIG, Stage.MIXED)
    assert seen.quorum is not None
    moved = replace(seen, quorum=replace(seen.quorum, leader=NodeId(3001)))
    for goal in Goal:
        assert reasons(_CONFIG, moved, goal) == {FindingCode.TAKEOVER_PENDING}
    assert codes_of(gate_restart(Facts.of(_CONFIG, moved))) == {FindingCode.TAKEOVER_PENDING}
    nobody = with_zookeeper(moved, controller=None)
    assert gate_restart(Facts.of(_CONFIG, nobody)) == (), (
        "who decides is then a doubt, not a takeover"
    )


def test_nothing_is_compared_that_can_never_become_equal() -> None:
    stuck = {FindingCode.UNWRITABLE}
    seen = with_log(replace(at_stage(_CONFIG, Stage.HYBRID), comparison=UNEQUAL), unwritable=("/",))
    assert reasons(_CONFIG, seen, Goal.DUAL_WRITE) == stuck
    assert reasons(_CONFIG, seen, Goal.ZOOKEEPER) == stuck
    # Brokers in migration mode may get no metadata any more, so none is rolled back to it.
    written = with_log(at_stage(_CONFIG, Stage.DUAL_WRITE), unwritable=("a/b",))
    assert reasons(_CONFIG, written, Goal.ZOOKEEPER) == stuck
    assert reasons(_CONFIG, written, Goal.FINAL) == stuck


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
        unread = with_zookeeper(at_stage(_CONFIG, stage), odd=odd)
        assert reasons(_CONFIG, unread, goal) == {code}
        assert code in codes_of(gate_to_kraft(Facts.of(_CONFIG, unread)))
        assert code in codes_of(gate_finalize(Facts.of(_CONFIG, unread)))
    harmless = OddZnode("/config/topics/x", Oddity.ORPHAN_CONFIG, "")
    seen = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), odd=(harmless,))
    assert isinstance(next_step(_CONFIG, seen, Goal.ZOOKEEPER), StopControllers)
