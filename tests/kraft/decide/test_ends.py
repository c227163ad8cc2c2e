"""Every forecast ends, whatever is wrong at any stage. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.kraft.worlds import (
    UNEQUAL,
    at_stage,
    kraft_config,
    with_broker,
    with_controller,
    with_log,
    with_zookeeper,
)
from towpath.kraft.decide.outline import outline
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import Goal, Stage
from towpath.kraft.facts.seen import Health, Observation, Oddity, OddZnode
from towpath.kraft.steps.compare import Compare
from towpath.model.quota import Entity, EntityKind

_CONFIG = kraft_config()
_STATE = PartitionImage(replicas=(1,), isr=(1,), leader=1, leader_epoch=3, partition_epoch=4)
_GROWN = ClusterImage(topics={"grown": TopicImage("id", {0: _STATE, 1: _STATE})})
_LOST = OddZnode("/brokers/topics/grown/partitions/1/state", Oddity.NO_STATE, "it has no state")
_LEFT = ClusterImage(quotas={(Entity(EntityKind.CLIENT_ID, "app"),): {"producer_byte_rate": 1.0}})


def _with(seen: Observation, *, log: Any = None, zookeeper: Any = None) -> Observation:
    if log is not None and seen.log is not None:
        seen = with_log(seen, **log)
    if zookeeper is not None and seen.zookeeper is not None:
        seen = with_zookeeper(seen, **zookeeper)
    return seen


def _behind(seen: Observation) -> Observation:
    return _with(seen, log={"end": (seen.log.end if seen.log else 0) + 50_000})


def _older_epoch(seen: Observation) -> Observation:
    if seen.zookeeper is None or seen.zookeeper.migration is None:
        return seen
    znode = replace(seen.zookeeper.migration, offset_epoch=0)
    return with_zookeeper(seen, migration=znode)


def _unequal(seen: Observation) -> Observation:
    return replace(seen, comparison=UNEQUAL) if seen.comparison is not None else seen


def _stopped(seen: Observation) -> Observation:
    return with_controller(seen, 3001, running=False, mode=None)


_STAGES = [each for each in Stage if each not in {Stage.COPYING, Stage.HEADLESS, Stage.UNKNOWN}]


WRONG: Mapping[str, Callable[[Observation], Observation]] = {
    "behind": _behind,
    "a leader that has not written": _older_epoch,
    "unequal": _unequal,
    "quotas left": lambda seen: _unequal(_with(seen, zookeeper={"image": _LEFT})),
    "states not made": lambda seen: _with(
        seen, log={"image": _GROWN}, zookeeper={"image": _GROWN, "odd": (_LOST,)}
    ),
    "unwritable": lambda seen: _with(seen, log={"unwritable": ("a/b",)}),
    "kraft only": lambda seen: _with(seen, log={"kraft_only": ("x",)}),
    "users deleted": lambda seen: _with(seen, log={"deleted_users": ("bob",)}),
    "not in sync": lambda seen: replace(seen, health=Health(under_replicated=("t-0",))),
    "offline": lambda seen: replace(seen, health=Health(offline=("t-0",))),
    "health unseen": lambda seen: replace(seen, health=None),
    "a broker is down": lambda seen: with_broker(seen, 1, running=False, mode=None),
    "a controller is down": _stopped,
    "no log": lambda seen: replace(seen, log=None, comparison=None),
    "no ZooKeeper": lambda seen: replace(seen, zookeeper=None, comparison=None),
    "no quorum": lambda seen: replace(seen, quorum=None, log=None, comparison=None),
    "without the flag": lambda seen: with_controller(seen, 3000, flag=False),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_forecast_ends_with_one_thing_wrong(name: str) -> None:
    for stage in (Stage.HYBRID, Stage.DUAL_WRITE):
        for goal in (Goal.FINAL, Goal.ZOOKEEPER):
            outline(_CONFIG, WRONG[name](at_stage(_CONFIG, stage)), goal)


@pytest.mark.soak
@pytest.mark.parametrize("goal", list(Goal))
@pytest.mark.parametrize("stage", _STAGES)
@pytest.mark.parametrize("name", WRONG)
def test_a_forecast_ends_at_every_stage(name: str, stage: Stage, goal: Goal) -> None:
    outline(_CONFIG, WRONG[name](at_stage(_CONFIG, stage)), goal)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(_STAGES),
    st.sampled_from(list(Goal)),
    st.lists(st.sampled_from(sorted(WRONG)), min_size=2, max_size=4, unique=True),
)
def test_a_forecast_ends_with_several_things_wrong(
    stage: Stage, goal: Goal, names: list[str]
) -> None:
    seen = at_stage(_CONFIG, stage)
    for name in names:
        seen = WRONG[name](seen)
    outline(_CONFIG, seen, goal)


@pytest.mark.parametrize("goal", list(Goal))
def test_stores_under_a_leader_that_does_not_write_are_compared_first(goal: Goal) -> None:
    seen = _behind(at_stage(_CONFIG, Stage.DUAL_WRITE))
    told = [each.step for each in outline(_CONFIG, seen, goal).steps]
    assert told[0] == Compare()
    assert told[1:2] != [Compare()]
