"""Plans of real clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import LITERAL, TOPIC, allow
from tests.support.kafka import create_topic, wait_until
from tests.support.links import link
from towpath.cluster.admin import Admin
from towpath.cluster.admin.configs import ConfigAdmin
from towpath.cluster.admin.topics import TopicAdmin
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers, ConfigEntry, TopicInfo
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.ledger.link import open_link
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.reconcile import reconcile
from towpath.mirror.subjects import SUBJECTS
from towpath.model.findings import Cause
from towpath.model.nouns import Side, TopicName
from towpath.plan.differences import differences
from towpath.plan.model import Plan
from towpath.settings import ClusterConfig
from towpath.topics.observe import observe
from towpath.topics.steps import AddPartitions, CreateTopic, SetConfigs

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
QUICK = {"request_timeout": "1s"}


def problems(plan: Plan) -> list[str]:
    return [f"{problem.about}: {problem.text}" for problem in plan.problems]


def test_a_plan_tells_clusters_and_steps(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(
        create_topic(source.bootstrap, new_name("planned"), 2, {"segment.ms": "60000"})
    )
    plan = build(link(source.bootstrap, target.bootstrap, name, rename="eu.{topic}"))
    assert plan.source
    assert plan.target
    assert (plan.source.id, plan.target.id) == (source.cluster_id, target.cluster_id)
    assert (plan.source.brokers, plan.source.bootstrap) == (1, source.addresses)
    assert plan.source.version.startswith("4.")
    assert plan.steps == (
        CreateTopic(
            source=name,
            target=TopicName(f"eu.{name}"),
            partitions=2,
            replication_factor=1,
            configs={"segment.ms": "60000"},
        ),
    )
    assert plan.topics == {name: f"eu.{name}"}
    assert (problems(plan), plan.exit_code) == ([], 0)


def test_a_plan_touches_nothing(
    source: LocalCluster, lone: LocalCluster, new_name: NewName
) -> None:
    """Nobody else creates topics on the target meanwhile."""
    name = create_topic(source.bootstrap, new_name("untouched"))

    def everything() -> tuple[object, ...]:
        admin = AdminClient({"bootstrap.servers": lone.bootstrap})
        topics = admin.list_topics(timeout=30).topics
        return tuple(sorted((each, len(found.partitions)) for each, found in topics.items()))

    before = everything()
    assert build(link(source.bootstrap, lone.bootstrap, name)).steps
    assert everything() == before


def test_both_clusters_are_tried() -> None:
    first, second = ports.reserve(2)
    config = link(f"127.0.0.1:{first}", f"127.0.0.1:{second}", ".*", security=QUICK)
    plan = build(config)
    assert (plan.source, plan.target, plan.exit_code) == (None, None, 4)
    away, gone = problems(plan)
    assert away.startswith(f"source: source: connecting to 127.0.0.1:{first}")
    assert gone.startswith(f"target: target: connecting to 127.0.0.1:{second}")


def test_one_cluster_on_both_sides(source: LocalCluster, new_name: NewName) -> None:
    name = create_topic(source.bootstrap, new_name("itself"))
    port = source.bootstrap.rpartition(":")[2]
    plan = build(link(source.bootstrap, f"localhost:{port}", name))
    assert plan.exit_code == 2
    assert "source and target are the same cluster" in problems(plan)[0]
    plan = build(link(source.bootstrap, source.bootstrap, name, rename="copy.{topic}"))
    assert (problems(plan), plan.exit_code) == ([], 0)


def test_a_topic_that_comes_later_is_not_copied_in_a_circle(
    source: LocalCluster, new_name: NewName
) -> None:
    name = create_topic(source.bootstrap, new_name("circle"))
    where = source.bootstrap
    config = link(where, where, f"{name}.*", rename=f"{name}.copy.{{topic}}").model_copy(
        update={"link": name}
    )
    with open_link(config) as opened:
        meter = LinkMeter()
        opened.prepare()
        made = reconcile(opened, meter=meter)
        [said] = made.left_out
        assert said.startswith("topics.include: source and target are the same cluster (")
        assert f"the mirror topics match `topics.include` again ({name}.copy.{name})" in said
        assert {cause: n for cause, n in meter.read().left_out.items() if n} == {"file": 1}
        assert list(opened.target.topics.describe([TopicName(f"{name}.copy.{name}")])) == []


def test_a_name_that_is_too_long_is_left_out(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = create_topic(source.bootstrap, new_name("long"))
    other = create_topic(source.bootstrap, "l" * 249)
    plan = build(link(source.bootstrap, target.bootstrap, name, other, rename="eu.{topic}"))
    assert list(plan.topics) == [name]
    assert plan.exit_code == 3
    assert problems(plan) == [
        f"{other}: topics.rename: topic {other} would be named eu.{other} on the target, a name"
        " that is longer than 249 characters"
    ]


def test_a_topic_that_the_target_refuses_is_left_out(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    prefix = new_name("dots")
    name = create_topic(source.bootstrap, f"{prefix}.a")
    good = create_topic(source.bootstrap, f"{prefix}-b")
    create_topic(target.bootstrap, f"{prefix}_a")
    plan = build(link(source.bootstrap, target.bootstrap, name, good))
    assert [step.about for step in plan.steps] == [good]
    assert list(plan.topics) == [good]
    assert plan.exit_code == 3
    (problem,) = plan.problems
    assert (problem.about, problem.cause) == (name, Cause.TOPIC)
    assert "INVALID_TOPIC_EXCEPTION (17)" in problem.text
    assert [note.about for note in plan.notes if "only by '.' and '_'" in note.text] == [name]


def test_a_config_that_the_target_refuses_stops_nothing_else(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    prefix = new_name("refusing")
    grown = TopicName(create_topic(source.bootstrap, f"{prefix}.a", 3))
    new = TopicName(create_topic(source.bootstrap, f"{prefix}.b", 1, {"segment.ms": "60000"}))
    create_topic(target.bootstrap, grown)
    config = link(
        source.bootstrap, target.bootstrap, f"{prefix}.*", configs={"override": {"flush.ms": -5}}
    ).model_copy(update={"link": prefix})
    plan = build(config)
    assert plan.steps == (
        CreateTopic(
            source=new,
            target=new,
            partitions=1,
            replication_factor=1,
            configs={"segment.ms": "60000"},
        ),
        AddPartitions(grown, grown, 1, 3),
    )
    assert (set(plan.topics), plan.exit_code) == ({new, grown}, 3)
    refused = "the target refuses flush.ms=-5, so that is left out: INVALID_CONFIG (40); "
    assert [o.about for o in plan.problems if o.text.startswith(refused)] == [grown, new]
    with open_link(config) as opened:
        opened.prepare()
        made = reconcile(opened)
        assert (made.outcome.done, made.outcome.failed) == (plan.steps, {})
        assert made.left_out == tuple(map(str, plan.problems))
    again = build(config)
    assert (again.steps, [o.about for o in again.problems]) == ((), [grown, new])


def test_no_copy_is_made_whose_final_configs_the_target_refuses(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(create_topic(source.bootstrap, new_name("typo")))
    config = link(
        source.bootstrap, target.bootstrap, name, configs={"override": {"retention.ms": "abc"}}
    ).model_copy(update={"link": name})
    plan = build(config)
    assert (plan.steps, plan.topics) == ((), {})
    [problem] = [each for each in plan.problems if each.about == name]
    assert " with retention.ms=abc, which it gets once it is filled: INVALID" in problem.text
    with open_link(config) as opened:
        opened.prepare()
        assert list(reconcile(opened).outcome.failed) == [name]
        assert not opened.target.topics.describe([name])


def test_where_copies_stand_is_asked_while_something_waits_for_it(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = TopicName(create_topic(source.bootstrap, new_name("waiting"), 1, {"retention.ms": "9"}))
    config = link(source.bootstrap, target.bootstrap, name).model_copy(update={"link": name})
    asked: list[str] = []

    def caught_up() -> list[TopicName]:
        asked.append("caught up")
        return [name]

    with open_link(config) as opened, Counting(config.target, Side.TARGET) as two:
        opened.prepare()
        assert not reconcile(opened).outcome.failed
        counted = replace(opened, target=two)
        with SUBJECTS.open(counted) as clients:
            [release] = differences(clients, caught_up).steps
        assert isinstance(release, SetConfigs)
        assert (release.set, release.owned) == ({"retention.ms": "9"}, ("retention.ms",))
        assert (asked, two.asked) == (["caught up"], {"all topics": 1, "configs": 1})
        opened.target.configs.change(name, {"retention.ms": "9"})
        with SUBJECTS.open(counted) as clients:
            assert not differences(clients, caught_up).steps
        assert asked == ["caught up"]


def test_an_expression_without_topics_is_noted(
    source: LocalCluster, target: LocalCluster, new_name: NewName
) -> None:
    name = create_topic(source.bootstrap, new_name("nearly"))
    plan = build(link(source.bootstrap, target.bootstrap, f"{name}x"))
    assert (plan.topics, plan.exit_code) == ({}, 0)
    (note,) = (each for each in plan.notes if each.about != "groups.configs")  # of other tests
    assert (
        f"matches no topic that the login may describe; the nearest names are {name}" in note.text
    )


class Guarded:
    """A cluster with ACLs, and the login `stranger`, which may do what it is allowed here."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.address = cluster.bootstrap
        self._cluster = cluster

    def topic(self, name: str, *allowed: AclOperation) -> str:
        create_topic(self._cluster.back_door, name)
        self.allow(name, *allowed)
        return name

    def allow(self, name: str, *operations: AclOperation) -> None:
        allow(self._cluster, TOPIC, name, operations, "stranger", LITERAL)


@pytest.fixture
def login(vault: Vault, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "password").write_text(USERS["stranger"].reveal())
    return {
        "tls": {"ca": str(vault.ca)},
        "sasl": {
            "mechanism": "SCRAM-SHA-256", "username": "stranger",
            "password": f"file:{tmp_path / 'password'}",
        },
    }  # fmt: skip


class Counting(Admin):
    """Counts the questions about topics and their configs."""

    def __init__(self, config: ClusterConfig, side: Side) -> None:
        super().__init__(config, side)
        self.asked: Counter[str] = Counter()
        self.topics = CountingTopics(self._control, self.asked)
        self.configs = CountingConfigs(self._control, self.asked)


class CountingTopics(TopicAdmin):
    def __init__(self, control: Control, asked: Counter[str]) -> None:
        super().__init__(control)
        self._asked = asked

    def describe(self, names: Iterable[TopicName] | None = None) -> dict[TopicName, TopicInfo]:
        self._asked["all topics" if names is None else "some topics"] += 1
        return super().describe(names)


class CountingConfigs(ConfigAdmin):
    def __init__(self, control: Control, asked: Counter[str]) -> None:
        super().__init__(control)
        self._asked = asked

    def describe(self, topics: Iterable[TopicName]) -> Answers[TopicName, dict[str, ConfigEntry]]:
        wanted = list(topics)
        self._asked["configs"] += bool(wanted)
        return super().describe(wanted)


def test_hidden_configs_of_many_topics_cost_few_questions(
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    login: dict[str, Any],
    new_name: NewName,
) -> None:
    source, target = Guarded(secured_source), Guarded(secured_target)
    prefix = new_name("secretive") + "-"
    describe = AclOperation.DESCRIBE
    hidden = [source.topic(f"{prefix}{each}", describe) for each in "abc"]
    seen = source.topic(f"{prefix}seen", describe, AclOperation.DESCRIBE_CONFIGS)
    target.allow(seen, AclOperation.CREATE)
    others = [target.topic(f"{prefix}{each}", describe) for each in "defg"]
    config = link(source.address, target.address, f"{prefix}.*", security=login)
    with Counting(config.source, Side.SOURCE) as first, Counting(config.target, Side.TARGET) as two:
        wait_until(
            lambda: {*hidden, seen} <= first.topics.describe().keys(), "all of the source is seen"
        )
        wait_until(lambda: set(others) <= two.topics.describe().keys(), "all of the target is seen")
        for admin in (first, two):
            admin.asked.clear()
        observed = observe(first, two, config)
        assert first.asked == {"all topics": 1, "configs": 1}
        assert two.asked == {"all topics": 1, "configs": 1}
    assert [topic.name for topic in observed.source] == [seen]
    for name in hidden:
        (problem,) = (each for each in observed.problems if each.about == name)
        assert "the login stranger lacks the ACL DescribeConfigs on this topic" in problem.text


def test_missing_rights_are_named(
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    login: dict[str, Any],
    new_name: NewName,
) -> None:
    source, target = Guarded(secured_source), Guarded(secured_target)
    see = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    read = AclOperation.READ
    hidden, unread, unmade, unwritten, unsettled, unseen = (new_name("guarded") for _ in range(6))
    source.topic(hidden)
    source.topic(unsettled, AclOperation.DESCRIBE, read)
    source.topic(unread, *see)
    source.topic(unmade, *see, read)
    source.topic(unwritten, *see, read)
    target.allow(unread, AclOperation.CREATE)
    target.topic(unwritten, *see, read)
    source.topic(unseen, *see, read)
    target.topic(unseen, read, AclOperation.WRITE, AclOperation.DELETE)
    config = link(source.address, target.address, "guarded-.*", security=login)

    wait_until(lambda: len(build(config).problems) == 5, "the ACLs are known everywhere")
    plan = build(config)
    told = problems(plan)
    assert plan.exit_code == 4
    assert not any(hidden in each for each in told)
    for expected in (
        "target: target: creating topic __towpath_ledger with 5 partitions and replication factor"
        " 1: TOPIC_AUTHORIZATION_FAILED (29)",
        f"{unsettled}: source: the login stranger lacks the ACL DescribeConfigs on this topic",
        f"{unmade}: target: creating topic {unmade} with 1 partition and replication factor 1:"
        f" TOPIC_AUTHORIZATION_FAILED (29)",
        f"{unread}: source: the login lacks the ACL Read on topic {unread}; add it there",
        f"{unwritten}: target: the login lacks the ACL Write and Delete on topic {unwritten};"
        " add it there",
    ):
        assert [each for each in told if each.startswith(expected)], (expected, told)
    notes = [f"{note.about}: {note.text}" for note in plan.notes]
    [limits] = [n for n in notes if n.startswith("target: target: asking for the broker config")]
    assert "log.cleanup.policy" in limits
    assert "new mirror topics get the source's limits as configs of their own" in limits
    lacks = f"{unseen}: target: the login stranger lacks the ACL DescribeConfigs on this topic"
    assert any(note.startswith(lacks) for note in notes)
    assert any("configs of all brokers" in note for note in notes), notes
