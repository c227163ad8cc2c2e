"""Which stage, which name of KIP-866 and which alarms an observation shows. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.kraft.worlds import (
    EQUAL,
    FLAG,
    UNEQUAL,
    at_stage,
    kraft_config,
    migration_znode,
    start_of,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.facts.nouns import Alarm, BrokerMode, KipState, LogState, NodeId, Stage
from towpath.kraft.facts.seen import ControllerZnode, CopiedRange, Observation
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.standing.alarms import holds_everything
from towpath.kraft.standing.stages import Final, Stranded
from towpath.kraft.standing.states import stage_of

_CONFIG = kraft_config()
_OTHER = 4


@pytest.mark.parametrize(
    ("stage", "kip", "metric"),
    [
        (Stage.ZOOKEEPER, None, _OTHER),
        (Stage.PROVISIONED, KipState.MIGRATION_INELIGIBLE, 2),
        (Stage.REGISTERING, KipState.MIGRATION_INELIGIBLE, 2),
        (Stage.HYBRID, KipState.DUAL_WRITE_METADATA, 1),
        (Stage.MIXED, KipState.DUAL_WRITE_METADATA, 1),
        (Stage.DUAL_WRITE, KipState.DUAL_WRITE_METADATA, 1),
        (Stage.FINALIZING, KipState.DUAL_WRITE_METADATA, 1),
        (Stage.FINAL, KipState.MIGRATION_FINALIZED, 3),
    ],
)
def test_each_stage_has_a_name_of_the_kip_and_a_number_of_kafkas_metric(
    stage: Stage, kip: KipState | None, metric: int
) -> None:
    standing = stage_of(at_stage(_CONFIG, stage))
    assert (standing.stage, standing.kip, standing.metric) == (stage, kip, metric)
    alarms = [each.alarm for each in standing.alarms]
    assert alarms == ([Alarm.FLAG_MISSING] if stage is Stage.FINALIZING else [])
    assert not standing.doubts


def test_the_copy_is_seen_by_its_open_transaction_by_its_claim_and_right_behind_it() -> None:
    registering = at_stage(_CONFIG, Stage.REGISTERING)
    assert stage_of(with_log(registering, copying=True)).kip is KipState.MIGRATING_ZK_DATA
    claim = ControllerZnode(id=NodeId(3000), kraft_epoch=1, ephemeral=False, version=0)
    claimed = with_zookeeper(registering, controller=claim)
    assert stage_of(claimed).stage is Stage.COPYING
    hybrid = with_zookeeper(at_stage(_CONFIG, Stage.HYBRID), migration=migration_znode(-1))
    assert hybrid.log is not None
    copied = CopiedRange(begin=3, state=8, end=hybrid.log.end - 1)
    assert stage_of(with_log(hybrid, copied=copied)).stage is Stage.COPYING


def _alarms(seen: Observation) -> list[Alarm]:
    return [each.alarm for each in stage_of(seen).alarms]


def test_a_log_of_a_cluster_made_in_kraft_mode_can_never_be_migrated() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.PROVISIONED), state=LogState.NONE)
    standing = stage_of(seen)
    assert (standing.kip, standing.metric) == (KipState.NONE, 0)
    assert _alarms(seen) == [Alarm.NEVER_MIGRATABLE]
    born = with_broker(seen, 0, mode=BrokerMode.KRAFT, properties={"process.roles": "broker"})
    assert stage_of(born).stage is Stage.UNKNOWN
    assert [each.code for each in stage_of(born).doubts] == [FindingCode.BORN_IN_KRAFT]


def test_fresh_controllers_before_an_old_anchor_would_wipe_zookeeper() -> None:
    old = migration_znode(137)
    for stage in (Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING):
        seen = with_zookeeper(at_stage(_CONFIG, stage), migration=old)
        assert _alarms(seen) == [Alarm.WIPE_AHEAD]
        assert "137" in str(stage_of(seen).alarms[0])
    fresh = with_zookeeper(at_stage(_CONFIG, Stage.PROVISIONED), migration=migration_znode(-1))
    assert _alarms(fresh) == []


def test_an_anchor_is_old_where_those_that_claimed_the_cluster_never_led_so_far() -> None:
    """Nobody tells the log of controllers that are stopped, so epochs tell them apart."""
    hybrid = replace(at_stage(_CONFIG, Stage.HYBRID), quorum=None, log=None, comparison=None)
    assert hybrid.zookeeper is not None
    assert hybrid.zookeeper.controller is not None
    epoch = hybrid.zookeeper.controller.kraft_epoch
    for of_anchor, alarms in ((epoch, []), (epoch + 1, [Alarm.WIPE_AHEAD])):
        anchor = replace(migration_znode(137), controller_epoch=of_anchor)
        seen = with_zookeeper(hybrid, migration=anchor)
        assert stage_of(seen).stage is Stage.HEADLESS
        assert _alarms(seen) == alarms


def test_a_migration_without_its_anchor_is_lost() -> None:
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    assert _alarms(with_zookeeper(hybrid, migration=None)) == [Alarm.LOST_ANCHOR]
    assert hybrid.log is not None
    copied = CopiedRange(begin=3, state=8, end=9)
    long_ago = with_log(hybrid, copied=copied, end=500)
    lost = with_zookeeper(long_ago, migration=migration_znode(-1, claimed=False))
    assert _alarms(lost) == [Alarm.LOST_ANCHOR]
    assert stage_of(lost).stage is Stage.HYBRID


def test_brokers_that_were_not_in_kraft_mode_are_stranded_by_a_finalize() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.MIXED), state=LogState.POST_MIGRATION)
    standing = stage_of(seen)
    assert standing.stage is Stage.FINAL
    assert standing.kip is KipState.MIGRATION_FINALIZED
    assert _alarms(seen) == [Alarm.STRANDED]
    assert dict(standing.alarms[0].finding.values)["brokers"] == ("1", "2")
    assert standing.typed == Stranded()
    assert stage_of(at_stage(_CONFIG, Stage.FINAL)).typed == Final()


def test_a_controller_without_the_flag_is_an_alarm_while_both_are_written() -> None:
    for stage in (Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE):
        seen = at_stage(_CONFIG, stage)
        assert _alarms(with_controller(seen, 3001, flag=False)) == [Alarm.FLAG_MISSING]
        # The file counts, too: the next restart would read it.
        file = {"process.roles": "controller", FLAG: "false"}
        cut_off = with_controller(seen, 3001, properties=file, stale=True)
        assert _alarms(cut_off) == [Alarm.FLAG_MISSING]
        assert stage_of(cut_off).stage is stage
    silent = with_controller(at_stage(_CONFIG, Stage.DUAL_WRITE), 3001, flag=None)
    registered = with_log(silent, ready={NodeId(3001): False})
    assert stage_of(registered).stage is Stage.FINALIZING


def test_contents_that_differ_are_an_alarm_while_both_are_written() -> None:
    seen = at_stage(_CONFIG, Stage.HYBRID)
    unequal = replace(seen, comparison=UNEQUAL)
    assert _alarms(unequal) == [Alarm.UNEQUAL]
    assert "acls a/b" in str(stage_of(unequal).alarms[0])
    assert _alarms(replace(seen, comparison=EQUAL)) == []
    assert _alarms(replace(start_of(_CONFIG), comparison=UNEQUAL)) == []


def test_what_zookeeper_cannot_hold_is_an_alarm_while_both_are_written() -> None:
    for stage in (Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE):
        seen = at_stage(_CONFIG, stage)
        assert _alarms(with_log(seen, unwritable=("a/b",))) == [Alarm.UNWRITABLE]
        assert _alarms(with_log(seen, kraft_only=("group g",))) == [Alarm.KRAFT_ONLY]
        assert _alarms(with_log(seen, deleted_users=("bob",))) == [Alarm.USERS_DELETED]
    final = with_log(at_stage(_CONFIG, Stage.FINAL), unwritable=("a/b",), kraft_only=("group g",))
    assert _alarms(final) == []


def test_without_the_log_a_kraft_controller_in_zookeeper_leaves_no_head() -> None:
    seen = replace(at_stage(_CONFIG, Stage.DUAL_WRITE), log=None, quorum=None)
    standing = stage_of(seen)
    assert (standing.stage, standing.kip, standing.metric) == (Stage.HEADLESS, None, None)


def test_contradictions_are_unknown_and_say_what_would_be_safe() -> None:
    start = start_of(_CONFIG)
    kraft = with_broker(start, 0, mode=BrokerMode.KRAFT, properties={"process.roles": "broker"})
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    assert start.zookeeper is not None
    for seen, code in (
        (replace(start, zookeeper=None), FindingCode.NOTHING_SEEN),
        (kraft, FindingCode.KRAFT_WITHOUT_CONTROLLERS),
        (with_log(hybrid, brokers={}), FindingCode.NOBODY_REGISTERED),
        (with_zookeeper(hybrid, controller=start.zookeeper.controller), FindingCode.TWO_HEADS),
        (with_zookeeper(hybrid, controller=None), FindingCode.TWO_HEADS),
    ):
        standing = stage_of(seen)
        assert (standing.stage, standing.kip) == (Stage.UNKNOWN, None)
        assert [each.code for each in standing.doubts] == [code]
        assert standing.doubts[0].advice


def test_without_zookeeper_the_log_tells_the_stage() -> None:
    for stage in (Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE, Stage.FINAL):
        assert stage_of(replace(at_stage(_CONFIG, stage), zookeeper=None)).stage is stage


def test_controllers_may_be_stopped_where_zookeeper_is_known_to_hold_everything() -> None:
    hybrid = at_stage(_CONFIG, Stage.HYBRID)
    assert holds_everything(at_stage(_CONFIG, Stage.REGISTERING)), "nothing was copied yet"
    assert holds_everything(replace(hybrid, comparison=EQUAL))
    for unknown in (
        replace(hybrid, comparison=UNEQUAL),
        replace(hybrid, comparison=None),
        replace(hybrid, quorum=None, log=None, comparison=None),
    ):
        assert not holds_everything(unknown)
