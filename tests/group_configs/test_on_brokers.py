"""Configs of groups and of client metrics on real brokers, old ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka import Record, commit, create_topic, produce, wait_for, wait_until
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.admin.holders import own
from towpath.cluster.connect.connection import Connected
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.exchange import Address
from towpath.dev.broker import LocalCluster
from towpath.group_configs.apply import apply_all, checked
from towpath.group_configs.steps import SetHolderConfig
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.plan.link_plan import detailed
from towpath.mirror.run.reconcile import Reconciled, reconcile
from towpath.model.errors import StepOutdatedError
from towpath.model.holders import ConfigHolder
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
GROUP, METRICS = ConfigHolder.GROUP, ConfigHolder.CLIENT_METRICS
LIST_RESOURCES = 74
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
SECTION = "groups: {{include: ['{0}-.*'], rename: 'eu.{{group}}'{1}}}\n"


class Sides:
    """A link of one topic, with a group that reads it, and both control planes."""

    def __init__(self, folder: Path, source: LocalCluster, target: LocalCluster, name: str) -> None:
        self.name, self.group = name, f"{name}-reader"
        self.mirror = Mirror(folder, source, target, name)
        self.mirror.sections = SECTION.format(name, "")
        self.source = Admin(ClusterConfig(bootstrap=source.addresses), "source")
        self.target = Admin(ClusterConfig(bootstrap=target.addresses), "target")
        for cluster in (source, target):
            create_topic(cluster.bootstrap, name)
        produce(source.bootstrap, name, [Record(b"k", b"v")])
        commit(source.bootstrap, self.group, name, 0, 1)

    def set(self, admin: Admin, name: str, holder: ConfigHolder = GROUP, **configs: Any) -> None:
        changes = {key.replace("_", "."): value for key, value in configs.items()}
        admin.holders.change_all(holder, {name: changes}).sure(name)

    def has(self, name: str, holder: ConfigHolder = GROUP) -> Mapping[str, str]:
        return own(holder, self.target.holders.describe(holder, [name])[name])

    @contextmanager
    def link(self) -> Iterator[OpenLink]:
        with open_link(self.mirror.config) as link:
            link.prepare()
            yield link

    def reconcile(self) -> Reconciled:
        with self.link() as link:
            return reconcile(link)


@pytest.fixture
def sides(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName
) -> Iterator[Sides]:
    made = Sides(tmp_path, source, target, new_name("held"))
    with made.source, made.target:
        yield made


def test_configs_go_over_and_what_others_set_stays(sides: Sides) -> None:
    mirror = f"eu.{sides.group}"
    sides.set(sides.source, sides.group, consumer_session_timeout_ms="50000")
    sides.set(sides.source, f"{sides.name}-gone", consumer_session_timeout_ms="55000")
    apart = f"{sides.name}-apart"
    other = create_topic(sides.mirror.source.bootstrap, f"{sides.name}_other")
    commit(sides.mirror.source.bootstrap, apart, other, 0, 0)
    sides.set(sides.source, apart, consumer_session_timeout_ms="55000")
    plan = detailed(sides.mirror.config)
    steps = [f"{s.subject} {s.about}" for s in plan.steps]
    assert steps == [f"group-configs {mirror} {SESSION}"], "the other group reads no such topic"
    (absent,) = (n.text for n in plan.notes if f"{sides.name}-gone" in n.text)
    assert absent.startswith("groups that do not exist have configs at the source")

    sides.reconcile()
    wait_for(lambda: sides.has(mirror), {SESSION: "50000"}, "its config")
    assert not sides.has(f"eu.{sides.name}-gone")
    assert not sides.reconcile().outcome.done, "a second look finds nothing"

    sides.set(sides.target, mirror, consumer_heartbeat_interval_ms="6000")  # somebody else
    sides.set(sides.source, sides.group, consumer_session_timeout_ms=None)
    kept = sides.reconcile()
    assert sides.has(mirror)[SESSION] == "50000"
    said = [str(each) for each in kept.notes if mirror in str(each)]
    assert any("`prune: true` resets it" in each for each in said)
    assert any("consumer.heartbeat.interval.ms=6000" in each for each in said)
    sides.mirror.sections += "prune: true\n"
    sides.reconcile()
    left = {"consumer.heartbeat.interval.ms": "6000"}
    wait_for(lambda: sides.has(mirror), left, "its configs")


def test_subscriptions_to_client_metrics_go_over(
    tmp_path: Path, lone: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    """Other tests use `target` as a target alone, and would bring them over from `source`."""
    sides = Sides(tmp_path, lone, target, new_name("held"))
    name = f"{sides.name}-sub"
    with sides.source, sides.target:
        sides.set(sides.source, name, METRICS, interval_ms="10000", match="client_id=x")
        wait_until(lambda: name in (sides.source.holders.names(METRICS) or ()), "it is there")
        done = sides.reconcile().outcome.done
        assert {step.about for step in done} == {f"{name} interval.ms", f"{name} match"}
        expected = {"interval.ms": "10000", "match": "client_id=x"}
        wait_for(lambda: sides.has(name, METRICS), expected, "the subscription")
        assert not sides.reconcile().outcome.done
        for admin in (sides.source, sides.target):
            sides.set(admin, name, METRICS, interval_ms=None, match=None)


def test_a_target_that_refuses_or_changed(sides: Sides) -> None:
    good, low, strange = (
        SetHolderConfig(GROUP, sides.group, key, value, None, sides.group)
        for key, value in ((SESSION, "50000"), (HEARTBEAT, "1"), ("nonsense", "1"))
    )
    found = checked([good, low, strange], sides.target)
    assert found.steps == (good,)
    assert len(found.problems) == 2
    assert f"{HEARTBEAT}=1 is not copied: the target refuses it: INVALID_CONFIG" in str(
        found.problems
    )
    sides.set(sides.target, sides.group, consumer_session_timeout_ms="51000")
    with pytest.raises(StepOutdatedError) as caught:
        apply_all([good], sides.target).sure(good.about)
    assert "no value of its own" in str(caught.value)
    assert "51000" in str(caught.value)


def test_a_source_that_knows_no_configs_of_groups(
    tmp_path: Path, oldest: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(tmp_path, oldest, target, new_name("held"))
    with sides.source, sides.target:
        assert sides.source.holders.names(GROUP) is None
        told = sides.reconcile()
        assert not told.problems
        assert not [each for each in told.notes if "configs" in str(each)]


def test_brokers_that_do_not_list_which_groups_have_configs(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of Kafka 4.0: groups that exist are asked, others cannot be seen."""
    sides.set(sides.source, sides.group, consumer_session_timeout_ms="50000")
    sides.set(sides.source, f"{sides.name}-gone", consumer_session_timeout_ms="55000")
    connect = Control._connect

    def older(control: Control, address: Address, deadline: Deadline) -> Connected:
        made = connect(control, address, deadline)
        return replace(made, api_versions={**made.api_versions, LIST_RESOURCES: (0, 0)})

    monkeypatch.setattr(Control, "_connect", older)
    plan = detailed(sides.mirror.config)
    assert [step.about for step in plan.steps] == [f"eu.{sides.group} {SESSION}"]
    said = [note.text for note in plan.notes if note.about == "groups.configs"]
    assert said == [
        "the brokers of the source do not list which groups have configs (Kafka 4.1 and newer do),"
        " so those of groups that do not exist are not seen"
    ]


def test_a_target_that_knows_no_configs_of_groups(
    tmp_path: Path, source: LocalCluster, oldest: LocalCluster, new_name: NewName
) -> None:
    sides = Sides(tmp_path, source, oldest, new_name("held"))
    with sides.source, sides.target:
        sides.set(sides.source, sides.group, consumer_session_timeout_ms="50000")
        told = sides.reconcile()
        (problem,) = told.problems
        assert f"configs of 1 group ({sides.group}) are not copied" in str(problem)
