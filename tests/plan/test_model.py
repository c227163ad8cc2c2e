"""What a plan says before anything is touched, without any cluster."""

from __future__ import annotations

import pytest

from tests.support.links import link
from towpath.access.steps import CreateAcl, SetUser
from towpath.mirror.subjects import SUBJECTS
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.model.scram import Credential, Mechanism
from towpath.plan.explain import clusters, groups, remarks, summary
from towpath.plan.model import ClusterFacts, Plan, TopicsTakenError, refuse
from towpath.plan.old_target import old_target
from towpath.topics.advice import unmatched_expressions
from towpath.topics.observed import ObservedTopics
from towpath.topics.steps import AddPartitions, CreateTopic, SetConfigs

ONE = ClusterFacts(("a:1",), ClusterId("id-1"), "4.1", 1)
READ = Acl(
    resource=Resource.TOPIC,
    name="eu.a",
    pattern=Pattern.LITERAL,
    principal="User:ann",
    host="*",
    operation=Operation.READ,
    permission=Permission.ALLOW,
)
OTHER = ClusterFacts(("b:1", "c:1"), ClusterId("id-2"), "3.9", 3)


def test_an_expression_without_topics_is_noted_with_near_names() -> None:
    names = tuple(map(TopicName, ("order", "orderz", "payments")))
    observed = ObservedTopics(
        source=(), names={}, target={}, brokers=1, known=frozenset(), unmatched=names
    )
    spoken = [note.text for note in unmatched_expressions(observed, link("a:1", "b:1", "orders"))]
    assert spoken == [
        "'orders' matches no topic that the login may describe; the nearest names are order,"
        " orderz; a run mirrors such a topic as soon as it exists"
    ]
    far = [note.text for note in unmatched_expressions(observed, link("a:1", "b:1", "xyz"))]
    assert far == [
        "'xyz' matches no topic that the login may describe; a run mirrors such a topic as soon as"
        " it exists"
    ]


def test_a_topic_that_cannot_be_mirrored_was_matched_all_the_same() -> None:
    refused = Problem("orders", "no", Cause.TOPIC)
    observed = ObservedTopics(
        source=(), names={}, target={}, brokers=1, known=frozenset(), problems=(refused,)
    )
    assert not list(unmatched_expressions(observed, link("a:1", "b:1", "orders")))


def test_old_targets_are_told_apart() -> None:
    assert list(old_target({0: (3, 12), 61: (0, 0)})) == []
    problems = list(old_target({0: (0, 6)}))
    assert [(each.cause, each.text) for each in problems] == [
        (
            Cause.CLUSTER,
            "the brokers take Produce requests up to version 6, and zstd batches need 7; upgrade"
            " the target to Kafka 2.8 or newer",
        ),
        (
            Cause.CLUSTER,
            "the brokers do not tell the state of producers (DescribeProducers), from which a run"
            " knows where it stands; upgrade the target to Kafka 2.8 or newer",
        ),
    ]


@pytest.mark.parametrize(
    ("causes", "code"),
    [
        ((), 0),
        ((Cause.TOPIC,), 3),
        ((Cause.RIGHTS,), 3),
        ((Cause.RIGHTS, Cause.TOPIC), 3),
        ((Cause.RIGHTS, Cause.FILE), 2),
        ((Cause.TOPIC, Cause.FILE), 2),
        ((Cause.TOPIC, Cause.FILE, Cause.CLUSTER), 4),
        ((Cause.TOPIC, Cause.FILE, Cause.AWAY), 4),
    ],
)
def test_the_worst_cause_decides_the_exit_code(causes: tuple[Cause, ...], code: int) -> None:
    problems = tuple(Problem("a", "b", cause) for cause in causes)
    topics = {TopicName("b"): TopicName("b")}
    assert (
        Plan(
            link=LinkName("l"), source=ONE, target=OTHER, topics=topics, problems=problems
        ).exit_code
        == code
    )


def test_missing_rights_count_as_a_refusal_where_no_topic_is_left() -> None:
    lacking, odd = (Problem(c, "text", c) for c in (Cause.RIGHTS, Cause.TOPIC))
    assert Plan(link=LinkName("l"), source=ONE, target=OTHER, problems=(lacking,)).exit_code == 4
    both = Plan(link=LinkName("l"), source=ONE, target=OTHER, problems=(lacking, odd))
    assert (both.exit_code, both.refusals) == (4, (lacking,))
    assert Plan(link=LinkName("l"), source=ONE, target=OTHER, problems=(odd,)).exit_code == 3


def test_a_restart_does_not_help_where_other_links_write_all_mirror_topics() -> None:
    taken, lacking = (Problem(c, "text", c) for c in (Cause.OTHER_LINK, Cause.RIGHTS))
    alone = Plan(link=LinkName("l"), source=ONE, target=OTHER, problems=(taken,))
    both = Plan(link=LinkName("l"), source=ONE, target=OTHER, problems=(lacking, taken))
    assert (alone.exit_code, both.exit_code) == (2, 4)
    with pytest.raises(TopicsTakenError) as told:
        refuse(alone)
    assert (told.value.code, told.value.passing) == ("TOPICS_TAKEN", False)


def test_a_missing_right_is_told_from_other_refusals() -> None:
    lacking = RefusedError("target", "creating a", 29, "TOPIC_AUTHORIZATION_FAILED")
    policy = RefusedError("target", "creating a", 44, "POLICY_VIOLATION")
    away = UnreachableError("target", "asking", "no answer")
    causes = [Problem.of(error, "a").cause for error in (lacking, policy, away)]
    assert causes == [Cause.RIGHTS, Cause.TOPIC, Cause.CLUSTER]


def test_a_plan_in_words() -> None:
    names = {TopicName(name): TopicName(f"eu.{name}") for name in ("a", "b", "c")}
    a, b, _ = names
    plan = Plan(
        link=LinkName("to-eu"),
        source=ONE,
        target=None,
        topics=names,
        steps=(
            CreateTopic(
                source=a,
                target=names[a],
                partitions=2,
                replication_factor=-1,
                configs={"retention.ms": "-1", "cleanup.policy": "delete"},
                held={"retention.ms": None},
            ),
            AddPartitions(b, names[b], 1, 4),
            SetConfigs(
                source=b,
                target=names[b],
                set={"x": "1"},
                remove=("y",),
                before={"x": None, "y": "2"},
            ),
            SetUser(Credential("ann", Mechanism.SHA_256), 4096, None),
            CreateAcl(READ, f"{READ} of old"),
        ),
        notes=(*(Note(f"t{number}", "same") for number in range(7)), Note("c", "other")),
        problems=(Problem("target", "is down", Cause.CLUSTER),),
    )
    assert clusters(plan) == [
        "link    to-eu",
        "source  a:1: cluster id-1, Kafka 4.1, 1 broker",
        "target  did not answer",
    ]
    assert [(group.title, *group.rows) for group in groups(plan, SUBJECTS)] == [
        (
            "topics: 1 to create, 1 to grow, 1 to set",
            ("create", "a", "eu.a", "2", "default",
             "cleanup.policy=delete retention.ms=-1 (then default)"),
            ("grow", "b", "eu.b", "1 to 4", "", ""),
            ("set", "b", "eu.b", "", "", "x=1 (now default) y=default (now 2)"),
        ),
        ("users: 1 to set", ("set", "ann (SCRAM-SHA-256)", "", "4096 iterations", "")),
        ("acls: 1 to create", ("create", str(READ), "", "", f"of the source: {READ} of old")),
    ]  # fmt: skip
    assert remarks(plan) == [
        "note: t0, t1, t2, t3, t4 and 2 more: same",
        "note: c: other",
        "problem: target: is down",
    ]
    assert summary(plan, SUBJECTS) == (
        "3 topics to mirror: 1 to create, 1 to grow, 1 there already; topics: 1 to set; users: 1 to"
        " set; acls: 1 to create; 1 problem"
    )
