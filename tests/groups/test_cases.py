"""The cases that other tools skip or guess, on real brokers, one link for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from tests.support.clients.groups import member
from tests.support.kafka import (
    Record,
    commit,
    create_topic,
    delete_before,
    end_offsets,
    grow,
    produce,
    set_config,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.groups.model import GroupPosition, PositionOutcome, SyncReport
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.ledger.offsets import Exactness
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import GroupsConfig

pytestmark = pytest.mark.broker
STAMPED = {"message.timestamp.type": "LogAppendTime"}


class Cases:
    """A link of several topics: of 10 records, with times of the brokers, cut short, and empty."""

    def __init__(self, folder: Path, source: LocalCluster, target: LocalCluster, name: str) -> None:
        self.source, self.target, self.name = source, target, name
        self.mirror = Mirror(folder, source, target, f"{name}[.].*", link=name)

    def topic(self, which: str) -> str:
        return f"{self.name}.{which}"

    def group(self, which: str) -> str:
        return f"{self.name}-{which}"

    def create(self) -> None:
        for which in ("plain", "stamped", "cut", "empty"):
            stamped = STAMPED if which == "stamped" else {}
            create_topic(self.source.bootstrap, self.topic(which), 1, stamped)
            create_topic(self.target.bootstrap, self.topic(which))
        for which in ("plain", "stamped", "cut"):
            self.write(which, 10)
        delete_before(self.source.bootstrap, self.topic("cut"), 6)
        create_topic(self.source.bootstrap, f"{self.name}_beside")
        produce(self.source.bootstrap, f"{self.name}_beside", [Record(b"k", b"v")])

    def write(self, which: str, count: int, partition: int = 0) -> None:
        records = [Record(b"k", b"%d" % number, partition=partition) for number in range(count)]
        produce(self.source.bootstrap, self.topic(which), records)

    def stand(self, group: str, which: str, offset: int, partition: int = 0) -> None:
        commit(self.source.bootstrap, self.group(group), self.topic(which), partition, offset)

    @contextmanager
    def syncing(self, **options: object) -> Iterator[GroupSync]:
        only = GroupsConfig.model_validate({"include": [f"{self.name}-.*"], **options})
        with open_link(self.mirror.config) as link:
            yield GroupSync(link, only)

    def by_place(self, report: SyncReport) -> Mapping[tuple[str, str, int], GroupPosition]:
        return {
            (
                each.group.name.removeprefix(f"{self.name}-"),
                each.tp.topic.removeprefix(f"{self.name}."),
                each.tp.partition,
            ): each
            for each in report.positions
        }


@pytest.fixture
def cases(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Cases:
    made = Cases(tmp_path, source, target, new_name("cases"))
    made.create()
    return made


def exact(position: GroupPosition, offset: int) -> bool:
    """Whether a position was written, exactly, at this target offset."""
    answer = position.answer
    assert answer is not None
    there = position.outcome in {PositionOutcome.CONFIRMED, PositionOutcome.UNCHANGED}
    return there and (answer.offset, answer.exactness) == (offset, Exactness.EXACT)


def test_what_other_tools_skip(cases: Cases) -> None:
    for number in range(11):
        cases.stand(f"at-{number}", "plain", number)
    cases.stand("stamped", "stamped", 4)
    cases.stand("empty", "empty", 0)
    cases.stand("expired", "cut", 3)
    cases.stand("at-6", "cut", 6)
    cases.stand("beyond", "plain", 12)
    cases.stand("at-5", "plain", 5)
    commit(cases.source.bootstrap, cases.group("at-5"), f"{cases.name}_beside", 0, 1)
    commit(cases.source.bootstrap, cases.group("elsewhere"), f"{cases.name}_beside", 0, 1)
    assert [done.error for done in cases.mirror.catch_up()] == [""] * 4
    with (
        member(cases.source, cases.group("at-7"), TopicName(cases.topic("plain"))),
        cases.syncing() as sync,
    ):
        found = cases.by_place(settle(sync))
        for number in range(11):
            assert exact(found[f"at-{number}", "plain", 0], number), number
        assert exact(found["stamped", "stamped", 0], 4)
        assert exact(found["empty", "empty", 0], 0)
        assert exact(found["at-6", "cut", 0], 6)
        early = found["expired", "cut", 0]
        assert (early.answer and early.answer.exactness) is Exactness.BEFORE_START
        assert (early.answer and early.answer.offset) == 6
        beside = found["at-5", f"{cases.name}_beside", 0]
        assert (beside.reason and beside.reason.code) is ReasonCode.TOPIC_NOT_MIRRORED
        assert not [place for place in found if place[0] == "elsewhere"]
        waiting = found["beyond", "plain", 0]
        assert (waiting.reason and waiting.reason.code) is ReasonCode.POSITION_AHEAD
        cases.write("plain", 3)
        still = cases.by_place(settle(sync, patience=0))["beyond", "plain", 0]
        assert (still.reason and still.reason.code) is ReasonCode.POSITION_AHEAD
        cases.mirror.catch_up()
        assert exact(cases.by_place(settle(sync))["beyond", "plain", 0], 12), "it waited"


def test_a_topic_that_grows_between_two_syncs(cases: Cases) -> None:
    cases.stand("reader", "plain", 4)
    cases.mirror.catch_up()
    with cases.syncing() as sync:
        assert exact(cases.by_place(settle(sync))["reader", "plain", 0], 4)
        for cluster in (cases.source, cases.target):
            grow(cluster.bootstrap, cases.topic("plain"), 2)
        cases.write("plain", 5, partition=1)
        cases.stand("reader", "plain", 2, partition=1)
        early = cases.by_place(settle(sync, patience=0))["reader", "plain", 1]
        assert (early.reason and early.reason.code) is ReasonCode.NOT_MIRRORED_YET
        cases.mirror.catch_up()
        found = cases.by_place(settle(sync))
        assert exact(found["reader", "plain", 1], 2)
        assert exact(found["reader", "plain", 0], 4)


def test_a_group_before_a_front_of_markers(cases: Cases) -> None:
    """A compacted log cannot be cut, so its front holds markers of the link, and no record."""
    for cluster in (cases.source, cases.target):
        create_topic(cluster.bootstrap, cases.topic("front"))
    cases.write("front", 10)
    delete_before(cases.source.bootstrap, cases.topic("front"), 6)
    for cluster in (cases.source, cases.target):
        set_config(cluster.bootstrap, cases.topic("front"), "cleanup.policy", "compact")
    cases.stand("before", "front", 3)
    cases.mirror.catch_up()
    assert end_offsets(cases.target.bootstrap, cases.topic("front")) == (0, 10)
    with cases.syncing() as sync:
        found = cases.by_place(settle(sync))["before", "front", 0]
        assert found.answer is not None
        assert (found.answer.offset, found.answer.exactness) == (6, Exactness.BEFORE_START)
        assert found.outcome is PositionOutcome.CONFIRMED
        again = cases.by_place(sync.once())["before", "front", 0]
        assert again.outcome is PositionOutcome.UNCHANGED


def test_a_group_before_a_front_of_records_of_others(cases: Cases) -> None:
    for cluster in (cases.source, cases.target):
        create_topic(cluster.bootstrap, cases.topic("others"), 1, {"cleanup.policy": "compact"})
    cases.write("others", 10)
    produce(cases.target.bootstrap, cases.topic("others"), [Record(b"theirs", b"v")])
    set_config(cases.source.bootstrap, cases.topic("others"), "cleanup.policy", "delete")
    delete_before(cases.source.bootstrap, cases.topic("others"), 6)
    set_config(cases.source.bootstrap, cases.topic("others"), "cleanup.policy", "compact")
    cases.stand("before", "others", 3)
    cases.mirror.catch_up()
    with cases.syncing() as sync:
        found = cases.by_place(settle(sync))["before", "others", 0]
    assert (found.reason and found.reason.code) is ReasonCode.POSITION_BEFORE_MIRROR


def test_a_target_that_deleted_further_than_the_source(cases: Cases) -> None:
    cases.stand("behind", "plain", 3)
    cases.stand("ahead", "plain", 8)
    cases.mirror.catch_up()
    delete_before(cases.target.bootstrap, cases.topic("plain"), 6)
    with cases.syncing() as sync:
        found = cases.by_place(settle(sync))
    lost = found["behind", "plain", 0]
    assert lost.answer is not None
    assert (lost.answer.offset, lost.answer.exactness) == (6, Exactness.LOST)
    assert lost.answer.why == "the target has deleted offsets 3 to 5"
    assert lost.outcome is PositionOutcome.CONFIRMED
    assert exact(found["ahead", "plain", 0], 8)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"app-a", "app-b", "job-a"}),
        ({"include": ["app-.*"]}, {"app-a", "app-b"}),
        ({"include": ["app-.*"], "exclude": [".*-b"]}, {"app-a"}),
        ({"exclude": ["app-.*"]}, {"job-a"}),
        ({"include": ["nothing"]}, set[str]()),
    ],
)
def test_include_and_exclude_choose_groups_by_whole_names(
    options: Mapping[str, list[str]], names: set[str]
) -> None:
    asked = GroupsConfig.model_validate(options)
    assert {each for each in ("app-a", "app-b", "job-a") if asked.matches(each)} == names


def test_an_open_transaction_on_a_topic_that_is_not_mirrored_holds_no_group(cases: Cases) -> None:
    address, beside = cases.source.bootstrap, f"{cases.name}_beside"
    cases.mirror.catch_up()
    cases.stand("both", "plain", 5)
    commit(address, cases.group("both"), beside, 0, 0)
    reader = Consumer({"bootstrap.servers": address, "group.id": cases.group("both")})
    writer = Producer({"bootstrap.servers": address, "transactional.id": cases.name})
    writer.init_transactions(30)
    writer.begin_transaction()
    whose = reader.consumer_group_metadata()
    writer.send_offsets_to_transaction([Place(beside, 0, 1)], whose, 30)
    with cases.syncing() as sync:
        report = settle(sync, patience=0)
        assert not report.failed
        assert exact(cases.by_place(report)["both", "plain", 0], 5)
        assert [why for each in report.groups for why in each.remarks] == []
        writer.send_offsets_to_transaction([Place(cases.topic("plain"), 0, 6)], whose, 30)
        assert [each.name for each in settle(sync, patience=0).failed] == [cases.group("both")]
    writer.abort_transaction(30)
    reader.close()


def test_a_group_that_was_deleted_is_not_there(cases: Cases) -> None:
    cases.stand("kept", "plain", 1)
    cases.stand("deleted", "plain", 1)
    cases.mirror.catch_up()
    admin = AdminClient({"bootstrap.servers": cases.source.bootstrap})
    gone = cases.group("deleted")
    admin.delete_consumer_groups([gone])[gone].result(60)
    with cases.syncing() as sync:
        wait_until(
            lambda: {each.group.name for each in settle(sync).groups} == {cases.group("kept")},
            "the source lists it no more",
        )


def test_what_a_move_leaves_is_named(cases: Cases) -> None:
    """Topics of a Streams application that the file leaves out, and a group that went since."""
    address, app, went = cases.source.bootstrap, cases.group("app"), cases.group("went")
    inner = create_topic(address, f"{app}-sum-changelog")
    cases.mirror.catch_up()
    for which in ("app", "went"):
        cases.stand(which, "plain", 5)
    with cases.syncing() as sync:
        assert [why for each in sync.once(last=True).groups for why in each.remarks] == []
        admin = AdminClient({"bootstrap.servers": address})
        admin.delete_consumer_groups([went])[went].result(30)
        for report in (sync.once(write=False), settle(sync, patience=0)):
            told = {each.group.name: each.remarks for each in report.groups}
            assert told.keys() == {app, went}
            assert [each.code for each in told[app]] == [ReasonCode.STREAMS_TOPICS_LEFT_OUT]
            assert inner in str(told[app][0])
            assert [each.code for each in told[went]] == [ReasonCode.GROUP_GONE_AT_SOURCE]
            assert f"({cases.topic('plain')}-0: 5)" in str(told[went][0])


def test_every_offset_of_a_log_can_be_read_back(cases: Cases) -> None:
    """What stands where nothing is, is the record before; what does not exist is refused."""
    from towpath.cluster.admin import Admin
    from towpath.cluster.data.client import Client
    from towpath.groups.reading import Log
    from towpath.model.errors import ClusterError
    from towpath.model.nouns import Side
    from towpath.settings import ClusterConfig

    config = ClusterConfig(bootstrap=cases.source.addresses, request_timeout="2s")
    with Admin(config, Side.SOURCE) as admin, Client(config, Side.SOURCE, admin) as client:
        log = Log(admin, client, TopicPartition(TopicName(cases.topic("cut")), 0))
        assert (log.start, log.end) == (6, end_offsets(cases.source.bootstrap, log.tp.topic)[1])
        last = [log.last_before(offset, log.start) for offset in range(6, 11)]
        assert [each and each.offset for each in last] == [None, 6, 7, 8, 9]
        for topic, partition in ((cases.topic("cut"), 9), ("nowhere", 0)):
            with pytest.raises(ClusterError):
                Log(admin, client, TopicPartition(TopicName(topic), partition)).start  # noqa: B018
