"""Which checks speak in which stage, and that no advice would destroy what is there. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.kraft.worlds import (
    at_stage,
    codes_of,
    kraft_config,
    migration_znode,
    reasons,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from tests.support.session.examples import examples
from towpath.kraft.decide.preflight import preflight
from towpath.kraft.facts.nouns import BrokerMode, Goal, LogState, NodeId, Stage
from towpath.kraft.facts.seen import Observation, Oddity, OddZnode, Proven
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.texts import TEXTS
from towpath.kraft.standing.states import stage_of
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource

_CONFIG = kraft_config()
_STAGES = (
    Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING, Stage.HYBRID, Stage.MIXED,
    Stage.DUAL_WRITE, Stage.FINALIZING, Stage.FINAL,
)  # fmt: skip
_SLASHED = Acl(
    resource=Resource.TOPIC,
    name="a/b",
    pattern=Pattern.LITERAL,
    principal="User:a",
    host="*",
    operation=Operation.READ,
    permission=Permission.ALLOW,
)


def _later_level(seen: Observation) -> Observation:
    return seen if seen.log is None else with_log(seen, features={"metadata.version": 27})


def _other_file(seen: Observation) -> Observation:
    """Somebody has cleaned up a broker's file behind the end, or changed it before."""
    kept = {
        key: value
        for key, value in seen.brokers[NodeId(1)].properties.items()
        if not key.startswith("towpath.kept.")
    }
    return with_broker(seen, 1, properties={**kept, "super.users": "User:x", "log.dirs": "/other"})


def _slashed(seen: Observation) -> Observation:
    assert seen.zookeeper is not None
    seen = with_zookeeper(seen, image=replace(seen.zookeeper.image, acls=frozenset({_SLASHED})))
    if seen.log is None:
        return seen
    return with_log(
        seen, image=replace(seen.log.image, acls=frozenset({_SLASHED})), unwritable=("a/b",)
    )


_TURNS: dict[str, Callable[[Observation], Observation]] = {
    "metadata.version is raised": _later_level,
    "a file is cleaned up": _other_file,
    "an ACL has a slash": _slashed,
    "a broker is upgraded": lambda seen: with_broker(seen, 1, software="4.3", build="4.3.1"),
    "a controller is upgraded": lambda seen: with_controller(seen, 3001, software="4.3"),
    "ZooKeeper lacks topics": lambda seen: with_zookeeper(seen, deleting=("t",)),
    "ZooKeeper moves replicas": lambda seen: with_zookeeper(seen, reassigning=("t-0",)),
    "a znode is odd": lambda seen: with_zookeeper(
        seen, odd=(OddZnode("/a", Oddity.UNKNOWN_FORM, "so"),)
    ),
    "a znode is forbidden": lambda seen: with_zookeeper(
        seen, odd=(OddZnode("/a", Oddity.FORBIDDEN, "so"),)
    ),
    "the anchor is empty": lambda seen: with_zookeeper(
        seen, migration=replace(migration_znode(-1), is_null=True)
    ),
    "the epoch is low": lambda seen: with_zookeeper(seen, controller_epoch=(1, 1)),
    "folders lack logs": lambda seen: with_controller(seen, 3001, epochs=()),
    "the command line overrides": lambda seen: with_broker(
        seen, 1, arguments=("/b1", "--override", "broker.id=1")
    ),
}
"""What people and time change around a cluster, in any stage."""

_BEHIND_TURNS = set(_TURNS) - {"metadata.version is raised"}

_LASTING = {
    FindingCode.KEPT_KEYS, FindingCode.LOG_DIRS_MISSING, FindingCode.DISK_LOW,
    FindingCode.PORTS_EPHEMERAL, FindingCode.CONTROLLERS_NUMBER, FindingCode.DATA_PASSING,
    FindingCode.FOLDER_TAKEN,
}  # fmt: skip
"""What is still worth a word behind the end."""
_DESTROYS_BEHIND_THE_END = {
    code
    for code, text in TEXTS.items()
    if any(word in text.advice for word in ("roll back", "rollback", "wipe", "stop all", "delete"))
} - {FindingCode.STRANDED, FindingCode.FINAL_FOR_GOOD}
"""Advice to go back, to wipe, or to delete what KRaft mode may have."""


@examples(1.2)
@given(st.sets(st.sampled_from(sorted(_TURNS))))
def test_behind_the_end_nothing_speaks_of_the_way_that_lies_behind(turns: set[str]) -> None:
    seen = at_stage(_CONFIG, Stage.FINAL)
    for turn in sorted(turns):
        seen = _TURNS[turn](seen)
    assert stage_of(seen).stage is Stage.FINAL
    found = codes_of(preflight(_CONFIG, seen))
    assert found <= _LASTING
    assert not found & _DESTROYS_BEHIND_THE_END


def _quorum_lost(seen: Observation) -> Observation:
    """Behind the end the disks of two of three controllers are lost."""
    for node in (3000, 3001):
        seen = with_controller(seen, node, meta=(), running=False, flag=None)
    return replace(seen, quorum=None, log=None, comparison=None, proven=Proven(final=True))


def _formatted_anew(seen: Observation, state: LogState = LogState.NONE) -> Observation:
    """These two were formatted anew, by somebody's automation, and have elected each other."""
    return replace(with_log(seen, state=state, brokers={}), proven=Proven(final=True))


_LOST_BEHIND_THE_END: dict[str, tuple[FindingCode, Callable[[Observation], Observation]]] = {
    "ZooKeeper is still there": (FindingCode.FINAL_UNSEEN, _quorum_lost),
    "ZooKeeper is gone": (
        FindingCode.FINAL_UNSEEN, lambda seen: replace(_quorum_lost(seen), zookeeper=None)
    ),
    "ZooKeeper has a broker as controller": (
        FindingCode.FINAL_UNSEEN, lambda seen: with_zookeeper(_quorum_lost(seen), controller=None)
    ),
    "without the flag": (FindingCode.METADATA_LOST, _formatted_anew),
    "with the flag": (
        FindingCode.METADATA_LOST, lambda seen: _formatted_anew(seen, LogState.PRE_MIGRATION)
    ),
}  # fmt: skip
"""Logs that are lost behind the end, and what is said of it."""


@examples(1.2)
@given(
    st.sampled_from(sorted(_LOST_BEHIND_THE_END)), st.sets(st.sampled_from(sorted(_BEHIND_TURNS)))
)
def test_nothing_is_done_nor_told_that_destroys_where_the_logs_are_lost_behind_the_end(
    how: str, turns: set[str]
) -> None:
    code, lose = _LOST_BEHIND_THE_END[how]
    seen = lose(with_zookeeper(at_stage(_CONFIG, Stage.FINAL), migration=migration_znode(137)))
    for turn in sorted(turns):
        seen = _TURNS[turn](seen) if seen.zookeeper is not None else seen
    standing = stage_of(seen)
    assert (standing.stage, standing.alarms) == (Stage.UNKNOWN, ())
    found = codes_of(preflight(_CONFIG, seen))
    assert code in found
    assert not found & _DESTROYS_BEHIND_THE_END
    for goal in Goal:
        assert reasons(_CONFIG, seen, goal) == {code}


def test_zookeeper_tells_of_the_end_where_the_journal_is_lost_too() -> None:
    seen = with_zookeeper(at_stage(_CONFIG, Stage.FINAL), migration=migration_znode(137))
    seen = replace(_formatted_anew(seen), proven=Proven())
    for goal in Goal:
        assert reasons(_CONFIG, seen, goal) == {FindingCode.METADATA_LOST}


@pytest.mark.parametrize("turn", sorted(_TURNS))
@pytest.mark.parametrize("stage", _STAGES)
def test_no_finding_tells_to_go_back_where_nothing_leads_back(stage: Stage, turn: str) -> None:
    seen = _TURNS[turn](at_stage(_CONFIG, stage))
    standing = stage_of(seen)
    found = codes_of(preflight(_CONFIG, seen))
    if standing.stage is Stage.FINAL:
        assert not found & _DESTROYS_BEHIND_THE_END
    elif standing.stage is Stage.UNKNOWN:
        assert standing.doubts


def test_nobody_is_told_to_wipe_the_controllers_of_a_cluster_that_was_made_in_kraft_mode() -> None:
    seen = with_log(at_stage(_CONFIG, Stage.PROVISIONED), state=LogState.NONE)
    assert FindingCode.NEVER_MIGRATABLE in codes_of(preflight(_CONFIG, seen))
    file = {"process.roles": "broker", "node.id": "0"}
    born = with_broker(seen, 0, mode=BrokerMode.KRAFT, properties=file)
    found = codes_of(preflight(_CONFIG, born))
    assert FindingCode.BORN_IN_KRAFT in found
    assert FindingCode.NEVER_MIGRATABLE not in found
