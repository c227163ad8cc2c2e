"""Znodes at which brokers that start with ZooKeeper end: told, and nothing is stopped. Pure."""

from __future__ import annotations

import pytest

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import at_stage, end, kraft_config, start_of, walk, with_zookeeper
from towpath.kraft.decide.moves import Reached
from towpath.kraft.decide.preflight.preflight import preflight
from towpath.kraft.facts.nouns import Alarm, BrokerMode, Goal, NodeId, Stage
from towpath.kraft.facts.seen import Observation, Oddity, OddZnode
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.standing.states import stage_of
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.zookeeper.at_start import AT_START, ends_at
from towpath.kraft.zookeeper.forms import DEFAULT

_CONFIG = kraft_config()
_PATH = "/config/ips/2001%3Adb8%3A%3A1"
_BACK = [
    Stage.PROVISIONED, Stage.REGISTERING, Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE
]  # fmt: skip


def with_one(seen: Observation) -> Observation:
    return with_zookeeper(seen, odd=(OddZnode(_PATH, Oddity.ENDS_BROKERS, "so"),))


def free(seen: Observation) -> Observation:
    return with_zookeeper(seen, odd=())


def free_step(seen: Observation) -> KraftStep:
    """Return the next step of a rollback that nothing hinders."""
    step = next_step(_CONFIG, free(seen), Goal.ZOOKEEPER)
    assert not isinstance(step, Reached | Refused), step
    return step


@pytest.mark.parametrize(
    ("name", "oddity"),
    [
        ("%3A%3A1", Oddity.ENDS_BROKERS),
        ("2001%3Adb8%3A%3A1", Oddity.ENDS_BROKERS),
        ("host.example", Oddity.MAY_END_BROKERS),
        ("localhost", Oddity.MAY_END_BROKERS),
        ("10.0.0.1", None),
        ("127.1", None),
        (DEFAULT, None),
    ],
)
def test_each_name_of_a_connection_quota_is_told_as_what_it_does(
    name: str, oddity: Oddity | None
) -> None:
    found = ends_at("/config/ips", name, {})
    assert (found.oddity if found else None) is oddity
    assert ends_at("/config/clients", name, {}) is None, "names of others are encoded, and decoded"


@pytest.mark.parametrize(
    ("configs", "ends"),
    [
        ({"remote.log.copy.disable": "true"}, True),
        ({"remote.log.delete.on.disable": " TRUE "}, True),
        ({"remote.log.delete.on.disable": "false", "retention.ms": "1"}, False),
        ({"remote.storage.enable": "true"}, False),
        ({}, False),
    ],
)
def test_topic_configs_that_kraft_alone_knows_are_told(
    configs: dict[str, str], *, ends: bool
) -> None:
    assert (ends_at("/config/topics", "t", configs) is not None) is ends


def test_each_kind_of_the_table_is_told_before_a_migration_and_while_it_goes_on() -> None:
    for each in AT_START:
        odd = (OddZnode(f"{each.root}/x", each.oddity, each.why),)
        seen = with_zookeeper(start_of(_CONFIG), odd=odd)
        codes = {found.code for found in preflight(_CONFIG, seen)}
        assert codes & {FindingCode.ENDS_BROKERS, FindingCode.MAY_END_BROKERS}


@pytest.mark.parametrize("stage", _BACK)
def test_a_rollback_stops_nothing_and_names_it(stage: Stage) -> None:
    seen = with_one(at_stage(_CONFIG, stage))
    assert Alarm.ENDS_BROKERS in {each.alarm for each in stage_of(seen).alarms}
    refused = next_step(_CONFIG, seen, Goal.ZOOKEEPER)
    assert isinstance(refused, Refused)
    assert [each.code for each in refused.reasons] == [FindingCode.ENDS_BROKERS]
    assert _PATH in str(refused.reasons[0])


def test_a_cluster_without_controllers_gets_a_broker_as_controller_and_no_restart() -> None:
    seen = with_one(at_stage(_CONFIG, Stage.DUAL_WRITE))
    while not isinstance(free_step(seen), ReleaseZooKeeper):
        seen = free_step(seen).after(_CONFIG, free(seen))
    assert stage_of(seen).stage is Stage.HEADLESS
    assert isinstance(next_step(_CONFIG, with_one(seen), Goal.ZOOKEEPER), ReleaseZooKeeper)
    released = free_step(seen).after(_CONFIG, free(seen))
    assert stage_of(released).stage is Stage.ZOOKEEPER
    assert isinstance(next_step(_CONFIG, with_one(released), Goal.ZOOKEEPER), Refused)


@pytest.mark.parametrize("stage", [Stage.HYBRID, Stage.MIXED, Stage.DUAL_WRITE])
def test_the_way_on_is_free_and_brings_a_broker_that_ended_to_kraft_mode(stage: Stage) -> None:
    seen = with_one(at_stage(_CONFIG, stage))
    down = end(seen, seen.brokers[NodeId(1)])
    assert next_step(_CONFIG, down, Goal.DUAL_WRITE) == RollBroker(NodeId(1), BrokerMode.KRAFT)
    done, ended = walk(_CONFIG, down, Goal.FINAL)
    assert stage_of(ended).stage is Stage.FINAL
    rolled = [step.mode for step, _ in done if isinstance(step, RollBroker)]
    assert set(rolled) == {BrokerMode.KRAFT}


def test_before_the_copy_no_broker_is_restarted() -> None:
    for stage in (Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING):
        seen = with_one(start_of(_CONFIG) if stage is Stage.ZOOKEEPER else at_stage(_CONFIG, stage))
        refused = next_step(_CONFIG, seen, Goal.DUAL_WRITE)
        assert isinstance(refused, Refused)
        assert FindingCode.ENDS_BROKERS in {each.code for each in refused.reasons}


def test_behind_the_end_nobody_is_told_of_it() -> None:
    assert not stage_of(with_one(at_stage(_CONFIG, Stage.FINAL))).alarms
