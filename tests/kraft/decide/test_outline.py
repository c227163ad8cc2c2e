"""All foreseen steps, each with its stage, its way back, its file and whether it ends that way."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from tests.support.kraft.decisions import next_step
from tests.support.kraft.worlds import (
    at_stage,
    kraft_config,
    start_of,
    walk,
    with_broker,
    with_zookeeper,
)
from towpath.kraft.decide.moves import Facts
from towpath.kraft.decide.outline import outline
from towpath.kraft.facts.nouns import BrokerMode, Goal, NodeId, Stage
from towpath.kraft.findings.codes import FindingCode
from towpath.kraft.findings.findings import Refused
from towpath.kraft.show.data import outline_data
from towpath.kraft.show.pictures import (
    outline_markdown,
    outline_picture,
    outline_summary,
)
from towpath.kraft.steps.await_copy import AwaitCopy
from towpath.kraft.steps.await_final import AwaitFinal
from towpath.kraft.steps.await_healthy import AwaitHealthy
from towpath.kraft.steps.compare import Compare
from towpath.kraft.steps.format_controller import FormatController
from towpath.kraft.steps.mend_meta_properties import MendMetaProperties
from towpath.kraft.steps.raise_controller_epoch import RaiseControllerEpoch
from towpath.kraft.steps.raise_partition_versions import RaisePartitionVersions
from towpath.kraft.steps.release_zookeeper import ReleaseZooKeeper
from towpath.kraft.steps.restart_controller import RestartController
from towpath.kraft.steps.roll_broker import RollBroker
from towpath.kraft.steps.start_controllers import StartControllers
from towpath.kraft.steps.step import KraftStep
from towpath.kraft.steps.stop_controllers import StopControllers
from towpath.kraft.steps.wipe_controller import WipeController

_CONFIG = kraft_config(brokers=2)


def test_each_step_has_a_way_back_until_the_first_controller_loses_the_flag() -> None:
    told = outline(_CONFIG, start_of(_CONFIG), Goal.FINAL)
    assert told.refusals == ()
    assert [each.expected for each in told.steps][-4:] == [
        Stage.DUAL_WRITE,
        Stage.FINALIZING,
        Stage.FINALIZING,
        Stage.FINAL,
    ]
    last_chance = [each.step for each in told.steps if each.last_chance]
    assert last_chance == [RestartController(NodeId(3001), flag=False)]
    *before, end = told.steps
    assert end.undo == ()
    for each in before[:-2]:
        assert isinstance(each.undo[-1], WipeController)
    # From here it leads back only as long as no controller without the flag is elected.
    assert before[-1].undo[0] == RestartController(NodeId(3001), flag=True)


def test_ways_back_that_join_are_those_that_are_decided_step_by_step() -> None:
    config = kraft_config(brokers=4)
    seen = start_of(config)
    for each in outline(config, seen, Goal.FINAL).steps:
        seen = each.step.after(config, seen)
        if each.undo:
            assert list(each.undo) == [step for step, _ in walk(config, seen, Goal.ZOOKEEPER)[0]]


def test_an_outline_of_many_brokers_takes_no_time() -> None:
    config = kraft_config(brokers=30, controllers=5)
    began = time.process_time()
    assert outline(config, start_of(config), Goal.FINAL).refusals == ()
    assert time.process_time() - began < 5, "it took 0.3 s of this machine, and 1 s is too much"


def test_files_are_shown_as_they_change() -> None:
    told = outline(_CONFIG, start_of(_CONFIG), Goal.DUAL_WRITE)
    rolled = {each.step: each.file for each in told.steps}
    file = rolled[RollBroker(NodeId(0), BrokerMode.KRAFT)]
    assert file is not None
    assert (file.node, file.path) == (0, "/b0")
    lines = [line for each in file.changes for line in each.lines()]
    assert "-zookeeper.connect=127.0.0.1:16181" in lines
    assert "+process.roles=broker" in lines
    assert rolled[StartControllers(tuple(map(NodeId, (3000, 3001, 3002))))] is None


def test_an_outline_waits_for_the_soak_in_thought() -> None:
    config = kraft_config(brokers=1, controllers=1, soak="7d")
    told = outline(config, start_of(config), Goal.FINAL)
    assert told.refusals == ()
    assert told.steps[-1].expected is Stage.FINAL


def test_an_outline_ends_where_no_step_is_safe() -> None:
    properties = {**start_of(_CONFIG).brokers[NodeId(0)].properties, "broker.id": "-1"}
    bad = with_broker(start_of(_CONFIG), 0, properties=properties)
    told = outline(_CONFIG, bad, Goal.DUAL_WRITE)
    assert told.steps == ()
    assert FindingCode.BROKER_ID_UNSET in {each.code for each in told.refusals}
    final = outline(_CONFIG, at_stage(_CONFIG, Stage.FINAL), Goal.ZOOKEEPER)
    assert [each.code for each in final.refusals] == [FindingCode.FINAL_FOR_GOOD]
    lost = with_zookeeper(at_stage(_CONFIG, Stage.MIXED), migration=None)
    barred = outline(_CONFIG, lost, Goal.DUAL_WRITE)
    assert [each.code for each in barred.refusals] == [FindingCode.LOST_ANCHOR]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (FormatController(NodeId(3)), "write the properties of controller 3 and format its folder"),
        (StartControllers((NodeId(3),)), "start controllers 3 and wait for their leader"),
        (RollBroker(NodeId(1), BrokerMode.ZOOKEEPER), "restart broker 1 in ZooKeeper mode"),
        (RollBroker(NodeId(1), BrokerMode.MIGRATION), "restart broker 1 in migration mode"),
        (RollBroker(NodeId(1), BrokerMode.KRAFT), "restart broker 1 in KRaft mode"),
        (AwaitHealthy(), "wait until every broker serves and all replicas are in sync"),
        (AwaitCopy(), "wait until the controllers have copied ZooKeeper"),
        (
            Compare(),
            "compare ZooKeeper with the metadata log, and create and delete a probe topic",
        ),
        (
            RestartController(NodeId(3), flag=False),
            "restart controller 3 without the migration's flag",
        ),
        (RestartController(NodeId(3), flag=True), "restart controller 3 with the migration's flag"),
        (AwaitFinal(), "wait until the metadata log says that the migration is over"),
        (StopControllers((NodeId(3), NodeId(4))), "stop controllers 3, 4"),
        (RaiseControllerEpoch(9, 1), "raise ZooKeeper's /controller_epoch to 9"),
        (
            RaisePartitionVersions(2),
            "raise the versions of 2 partition states in ZooKeeper to those that leaders know",
        ),
        (
            ReleaseZooKeeper(2, 5),
            "delete /controller (version 2) and /migration (version 5) in ZooKeeper and wait for a"
            " broker as controller",
        ),
        (
            ReleaseZooKeeper(None, 5),
            "delete /migration (version 5) in ZooKeeper and wait for a broker as controller",
        ),
        (
            MendMetaProperties(NodeId(1), "/d"),
            "stop broker 1 and rewrite /d/meta.properties as version 0, which ZooKeeper mode can"
            " read",
        ),
        (WipeController(NodeId(3)), "remove everything that controller 3 has stored"),
    ],
)
def test_each_step_is_told(step: KraftStep, text: str) -> None:
    assert step.sentence == text


@pytest.mark.parametrize("stage", [Stage.ZOOKEEPER, Stage.PROVISIONED, Stage.REGISTERING])
def test_what_goes_on_and_must_end_first_leaves_the_steps_behind_it(stage: Stage) -> None:
    seen = start_of(_CONFIG) if stage is Stage.ZOOKEEPER else at_stage(_CONFIG, stage)
    free = outline(_CONFIG, seen, Goal.DUAL_WRITE)
    going = with_zookeeper(seen, deleting=("old",), reassigning=("orders-0",))
    told = outline(_CONFIG, going, Goal.DUAL_WRITE)
    assert {each.code for each in told.first} == {FindingCode.DELETING, FindingCode.REASSIGNING}
    assert [each.step for each in told.steps] == [each.step for each in free.steps]
    assert told.refusals == free.refusals == ()
    assert not free.first
    assert not outline(_CONFIG, going, Goal.ZOOKEEPER).first, "a way back waits for neither"
    refused = next_step(_CONFIG, going, Goal.DUAL_WRITE)
    assert isinstance(refused, Refused), "nothing is begun meanwhile"
    both = at_stage(_CONFIG, Stage.DUAL_WRITE)
    assert not outline(_CONFIG, with_zookeeper(both, deleting=("old",)), Goal.FINAL).first


def test_a_plan_says_what_must_end_first_and_a_summary_has_no_step_of_it() -> None:
    going = with_zookeeper(start_of(_CONFIG), deleting=("old",))
    facts, told = Facts.of(_CONFIG, going), outline(_CONFIG, going, Goal.DUAL_WRITE)
    assert "this must end first: topics wait for their deletion: old" in _text(
        outline_picture(facts, told)
    )
    assert "this must end first: topics wait" in outline_markdown(facts, told)
    assert outline_data(facts, told)["first"][0]["code"] == "DELETING"
    summary = _text(outline_summary(facts, told))
    assert f"{len(told.steps)} steps to do; `towpath kraft plan` shows" in summary
    assert "way back:" not in summary
    assert len(summary.splitlines()) < 5


def _text(picture: RenderableType) -> str:
    console = Console(width=300, file=StringIO())
    console.print(picture)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()
