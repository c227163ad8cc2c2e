"""Rights that are missing on some topics: those are left out by name, the others are mirrored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.rights import CLUSTER, MIRROR, READ, TOPIC, WRITE, allow, withdraw
from tests.support.clusters.secured import SecuredLink
from tests.support.here import Ended, Here
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    end_offsets,
    grow,
    produce,
    wait_until,
)
from tests.support.program import Program
from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.verdict import Verdict
from towpath.mirror.verify.verify import verify
from towpath.model.nouns import Side, TopicName
from towpath.records import arrivals
from towpath.records import copy as copying
from towpath.runtime.backoff import BackOff
from towpath.settings import LinkConfig, load

pytestmark = pytest.mark.broker
SEE = (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
ON_COPY = (AclOperation.CREATE, READ, WRITE, AclOperation.DELETE, *SEE)


def grant(cluster: LocalCluster, topic: str, *operations: Any, user: str = MIRROR) -> None:
    allow(cluster, TOPIC, topic, operations, user)


def write(cluster: LocalCluster, topic: str, count: int = 10) -> None:
    produce(cluster.back_door, topic, [Record(b"k", b"%d" % i) for i in range(count)])


def add(
    secured: SecuredLink, kind: str, on_source: Any = (READ, *SEE), on_copy: Any = ON_COPY
) -> str:
    """Make a topic with records on the source, and give these rights on it."""
    topic = f"{secured.name}.{kind}"
    create_topic(secured.source.back_door, topic)
    write(secured.source, topic)
    grant(secured.source, topic, *on_source)
    grant(secured.target, topic, *on_copy, user=secured.user["target"])
    return topic


def create_copy(secured: SecuredLink, topic: str) -> str:
    return create_topic(secured.target.back_door, topic)


def is_same(secured: SecuredLink, topic: str) -> bool:
    source, target = (
        consume(cluster.back_door, topic) for cluster in (secured.source, secured.target)
    )
    return bool(target) and target == source


def on_target(secured: SecuredLink) -> set[str]:
    admin = AdminClient({"bootstrap.servers": secured.target.back_door})
    return {name for name in admin.list_topics(timeout=10).topics if name.startswith(secured.name)}


@pytest.mark.spark
def test_topics_without_rights_are_left_out_and_the_others_mirrored(
    secured: SecuredLink, tmp_path: Path, here: Here
) -> None:
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    good = add(secured, "good")
    unread = add(secured, "unread", on_source=SEE)
    unmade = add(secured, "unmade", on_copy=())
    hidden = create_copy(secured, add(secured, "hidden", on_copy=(AclOperation.CREATE,)))
    unwritten = create_copy(secured, add(secured, "unwritten", on_copy=(READ, *SEE)))
    report = tmp_path / "report.json"
    sentences = [
        f"{unread}: source: the login lacks the ACL Read on topic {unread}; add it there",
        f"{unwritten}: target: the login lacks the ACL Write and Delete on topic {unwritten};"
        " add it there",
    ]
    refusals = {
        unmade: f"Create on topic {unmade} or on the",
        hidden: f"Describe on topic {hidden}",
    }
    plan = here("plan", str(secured.file), "--output", "json")
    assert plan.code == 3, plan.said
    assert list(plan.json["topics"]) == [good]
    assert {each["cause"] for each in plan.json["problems"]} == {"rights"}
    planned = [f"{each['about']}: {each['text']}" for each in plan.json["problems"]]
    run = here.run(str(secured.file), "--until-caught-up", "--report", str(report))
    assert run.code == 3, run.said
    told = json.loads(report.read_text())
    assert (told["complete"], len(told["left_out"])) == (False, 4)
    for said in (planned, told["left_out"]):
        assert [each for each in said if "the login lacks" in each] == sentences
        for topic, acl in refusals.items():
            named = f"the login needs the ACL {acl}"
            assert [
                each for each in said if each.startswith(f"{topic}: target: ") and named in each
            ]
    for sentence in told["left_out"]:
        assert f'event=topics.left_out link={secured.name} why="{sentence}"' in run.err
        assert sentence in " ".join(run.out.split())
    assert is_same(secured, good)
    assert on_target(secured) == {good, hidden, unwritten}
    assert not consume(secured.target.back_door, unwritten)


@pytest.mark.soak
@pytest.mark.spark
def test_rights_that_come_and_go_while_a_run_goes_on(secured: SecuredLink, here: Here) -> None:
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    good = add(secured, "good")
    unread = add(secured, "unread", on_source=SEE)
    unmade = add(secured, "unmade", on_copy=())
    run = secured.start("run", "--master", "local[2]")
    has(secured, run, good)
    assert on_target(secured) == {good}
    grant(secured.source, unread, READ)
    grant(secured.target, unmade, *ON_COPY)
    has(secured, run, unread)
    has(secured, run, unmade)

    withdraw(secured.source, TOPIC, good, READ)
    withdraw(secured.target, TOPIC, unmade, WRITE)
    for topic in (good, unread, unmade):
        write(secured.source, topic)
    has(secured, run, unread)
    named = (f"needs the ACL Read on topic {good}", f"needs the ACL Write on topic {unmade}")
    wait_until(
        lambda: all(each in standing(secured, here).said for each in named),
        "status tells of both", 60,
    )  # fmt: skip
    grant(secured.source, good, READ)
    grant(secured.target, unmade, WRITE)
    has(secured, run, good)
    has(secured, run, unmade)
    wait_until(lambda: standing(secured, here).code == 0, "status tells of no trouble", 60)
    assert run.stop() == 0, run.said
    assert "event=topics.left_out_over" in run.said
    assert all(is_same(secured, topic) for topic in (good, unread, unmade))


def has(secured: SecuredLink, run: Program, topic: str) -> None:
    """Wait until the mirror topic of a topic ends where the topic does."""

    def ends() -> list[int]:
        return [end_offsets(c.back_door, topic)[1] for c in (secured.source, secured.target)]

    def is_there() -> bool:
        assert run.running, run.said
        try:
            return len(set(ends())) == 1
        except KafkaException:
            return False

    wait_until(is_there, f"{topic} is copied", 90)


def standing(secured: SecuredLink, here: Here) -> Ended:
    return here("status", str(secured.file), "--output", "json")


@pytest.mark.spark
def test_no_topic_with_all_rights_is_a_refusal(secured: SecuredLink, here: Here) -> None:
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    unread, unmade = add(secured, "unread", on_source=SEE), add(secured, "unmade", on_copy=())
    for refused in (here("plan", str(secured.file)), here.run(str(secured.file))):
        assert refused.code == 4, refused.said
        said = " ".join(refused.said.split())
        assert f"source: the login lacks the ACL Read on topic {unread}; add it there" in said
        assert f"the login needs the ACL Create on topic {unmade} or on the cluster" in said
    assert on_target(secured) == set()


def test_a_copy_that_may_not_grow_is_mirrored_as_far_as_it_goes(secured: SecuredLink) -> None:
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    topic = create_copy(secured, add(secured, "grown"))
    grow(secured.source.back_door, topic, 2)
    config = load(secured.file)
    wait_until(lambda: build(config).problems != (), "the partition is known everywhere")
    plan = build(config)
    assert (plan.exit_code, list(plan.topics), plan.steps) == (3, [topic], ())
    [problem] = plan.problems
    assert f"target: growing topic {topic} to 2 partitions: TOPIC_AUTH" in problem.text
    assert f"the login needs the ACL Alter on topic {topic}" in problem.text
    assert errors(config) == {topic: ""}
    assert is_same(secured, topic)


@pytest.mark.parametrize(
    ("user", "right"),
    [(MIRROR, None), ("first", AclOperation.ALTER), ("second", AclOperation.CLUSTER_ACTION)],
)
def test_gaps_take_markers_where_the_login_may_write_them(
    secured: SecuredLink, user: str, right: Any
) -> None:
    secured.user["target"] = user
    grant(secured.target, "__towpath_ledger", AclOperation.ALL, user=user)
    allow(secured.target, ResourceType.TRANSACTIONAL_ID, f"towpath.{secured.name}.", user=user)
    topic = create_copy(secured, add(secured, "gaps"))
    abort(secured.source, topic)
    allow(secured.target, ResourceType.BROKER, CLUSTER, [right] if right else [], user)
    config = load(secured.file)
    told = [note.text for note in build(config).notes if "read_uncommitted" in note.text]
    assert [text[:66] for text in told] == (
        [] if right else ["the login lacks the ACL Alter (or ClusterAction) on the cluster; a"]
    )
    assert errors(config) == {topic: ""}
    assert is_same(secured, topic)
    seen = consume(secured.target.back_door, topic, isolation="read_uncommitted")
    assert len(seen) == (10 if right else 12)


def abort(cluster: LocalCluster, topic: str) -> None:
    """Write two records that nobody shall see, and their marker."""
    writer = Producer({"bootstrap.servers": cluster.back_door, "transactional.id": topic})
    writer.init_transactions(30)
    writer.begin_transaction()
    for value in (b"a", b"b"):
        writer.produce(topic, value, partition=0)
    writer.flush()
    writer.abort_transaction(30)


@pytest.mark.spark
def test_a_copy_whose_configs_are_hidden_may_be_compacted(secured: SecuredLink) -> None:
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    blind = (READ, WRITE, AclOperation.DELETE, AclOperation.DESCRIBE)
    topic = create_copy(secured, add(secured, "hidden", on_copy=blind))
    config = load(secured.file)
    assert errors(config) == {topic: ""}
    [row] = verify(config, Scope(master="local[2]"), lambda *_: None)
    assert row.verdict is Verdict.EQUAL
    [note] = row.notes
    assert f"DescribeConfigs on topic {topic}" in note
    assert note.startswith("it is not known whether the target keeps less than the source: ")


@pytest.mark.parametrize(
    ("side", "right", "sentence"),
    [
        (
            "source", READ,
            "source: fetching {0}-0: TOPIC_AUTHORIZATION_FAILED (29);"
            " the login needs the ACL Read on topic {0}",
        ),
        pytest.param(
            "target", WRITE,
            "target: producing to {0}-0: TOPIC_AUTHORIZATION_FAILED (29);"
            " the login needs the ACL Write on topic {0}",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "target", READ,
            "target: asking for the producers of {0}-0: TOPIC_AUTHORIZATION_FAILED (29);"
            " the login needs the ACL Read on topic {0}",
            marks=pytest.mark.soak,
        ),
    ],
)  # fmt: skip
def test_a_round_with_an_end_ends_without_the_topic_that_lost_a_right(
    secured: SecuredLink, monkeypatch: pytest.MonkeyPatch, side: str, right: Any, sentence: str
) -> None:
    # Nobody will grant it again meanwhile.
    monkeypatch.setattr(BackOff, "after", lambda *_: 0.01)
    monkeypatch.setattr(arrivals, "_AGAIN", 0.05)
    grant(secured.target, "__towpath_ledger", AclOperation.ALL)
    bad, good = (create_copy(secured, add(secured, kind)) for kind in ("bad", "good"))
    config = load(secured.file)
    assert errors(config) == {bad: "", good: ""}
    assert is_same(secured, bad)
    for topic in (bad, good):
        write(secured.source, topic)
    cluster = getattr(secured, side)
    told = sentence.format(bad)

    def lose() -> None:
        withdraw(cluster, TOPIC, bad, right)
        with Admin(getattr(config, side), Side(side)) as admin:
            needed = {TopicName(bad): (Right(right.value),)}
            wait_until(
                lambda: bool(admin.topics.lacking(needed)), "the broker knows that it is gone"
            )

    assert errors(config, lose) == {bad: told, good: ""}
    assert (is_same(secured, bad), is_same(secured, good)) == (False, True)
    if right is not READ or side == "source":
        assert [(row.state, row.error) for row in rows(config)] == [
            (State.STOPPED, told), (State.CAUGHT_UP, "")
        ]  # fmt: skip
    assert errors(config) == {good: ""}, "a round begins without what the login may not do"
    grant(cluster, bad, right)
    wait_until(lambda: errors(config) == {bad: "", good: ""}, "the right is known everywhere")
    assert is_same(secured, bad)
    assert {row.state for row in rows(config)} == {State.CAUGHT_UP}


def errors(config: LinkConfig, then: Any = lambda: None) -> dict[str, str]:
    """Copy everything in one round; return the error of each topic in it."""
    with (
        Admin(config.target, Side.TARGET) as target,
        Client(config.target, Side.TARGET, target) as c,
    ):
        Ledger(target, c).create()
    slices = plan_round(RoundPlan(config, new_name(), 1, once=True), 1)
    then()
    return {str(done.tp.topic): done.error for work in slices for done in copying.copy(work)}


def rows(config: LinkConfig) -> tuple[PartitionStatus, ...]:
    books = LinkBooks(config.link)
    with (
        Admin(config.source, Side.SOURCE) as source,
        Admin(config.target, Side.TARGET) as target,
        Client(config.target, Side.TARGET, target) as client,
    ):
        for entry in Ledger(target, client).read():
            books.take(entry)
        return status(config, books, source, target)
