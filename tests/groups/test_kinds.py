"""Groups of every kind, and groups that are deleted, renamed or set back, on real brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as Standing
from confluent_kafka.admin import AdminClient

from tests.support.clients.groups import commit_with, member, rest, standing
from tests.support.copying.chaos import delete_topic
from tests.support.kafka import Record, commit, create_topic, produce
from tests.support.messages import beat, closed_streams, share_group, streams_group
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.groups.model import Expiry, GroupPosition, PositionOutcome, SyncReport
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.groups.sync_summaries import preview_of
from towpath.ledger.link import open_link
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import GroupsConfig

UNKNOWN_MEMBER_ID = 25
pytestmark = pytest.mark.broker
Make = Callable[..., Mirror]


@pytest.fixture
def mirrored(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Mirror:
    """Return a mirror of one topic with 20 records."""
    mirror = Mirror(tmp_path, source, target, new_name("kinds"))
    mirror.create()
    records = [Record(b"k", str(n).encode()) for n in range(20)]
    produce(source.bootstrap, mirror.topic, records)
    mirror.catch_up()
    return mirror


@contextmanager
def syncing(mirror: Mirror, **options: object) -> Iterator[GroupSync]:
    only = {"include": [f"{mirror.topic}-(.*)"], **options}
    with open_link(mirror.config) as link:
        yield GroupSync(link, GroupsConfig.model_validate(only))


def outcomes(report: SyncReport) -> dict[str, str]:
    """Return what became of each group's position in the only partition."""
    return {each.group.name: _told(each) for each in report.positions}


def _told(position: GroupPosition) -> str:
    return str(position.reason.code if position.reason else position.outcome)


def test_groups_of_every_kind_go_on(mirrored: Mirror) -> None:
    name, source, target = TopicName(mirrored.topic), mirrored.source, mirrored.target
    shared, streams, newer = (f"{name}-{kind}" for kind in ("shared", "streams", "newer"))
    with Admin(mirrored.config.source, Side.SOURCE) as admin:
        share_group(admin, shared, name, 3)
        streams_group(admin, streams, name)
    commit(source.bootstrap, streams, name, 0, 4)
    with member(source, newer, name, protocol="consumer") as active:
        active.commit(offsets=[Standing(name, 0, 5, metadata="mine")], asynchronous=False)
        with syncing(mirrored) as sync:
            report = sync.once()
            kinds = {each.group.name: each.group.kind for each in report.groups}
            assert kinds == {
                shared: GroupKind.SHARE,
                streams: GroupKind.STREAMS,
                newer: GroupKind.CONSUMER,
            }
            whys = [str(each.reason) for each in report.positions]
            assert outcomes(report) == dict.fromkeys(kinds, "CONFIRMED"), whys
            marks = {each.group.name: [why.code for why in each.remarks] for each in report.groups}
            assert marks == {shared: [], streams: [ReasonCode.GROUP_ARRIVES_CLASSIC], newer: []}
            states = {each.group.name: each.source_state for each in report.groups}
            assert states == {shared: "Empty", streams: "Empty", newer: "Stable"}
        with syncing(mirrored, states="empty") as sync:
            commit(source.bootstrap, streams, name, 0, 6)
            active.commit(offsets=[Standing(name, 0, 7)], asynchronous=False)
            told = outcomes(sync.once())
            assert (told[newer], told[streams]) == (ReasonCode.GROUP_NOT_EMPTY, "CONFIRMED")
    with Admin(mirrored.config.target, Side.TARGET) as admin:
        assert admin.groups.listed().groups[newer].type == "consumer", "of its own kind"
    assert standing(target, newer, name) == (5, "mine")
    assert rest(target, newer, name) == [str(n).encode() for n in range(5, 20)]
    with Admin(mirrored.config.target, Side.TARGET) as admin:
        group, place = ClientGroup(shared, GroupKind.SHARE), TopicPartition(name, 0)
        assert admin.groups.offsets([group])[group] == {place: Commit(3)}
        share_group(admin, shared, name, 3)  # a member comes and goes: the group is usable


def test_what_stands_still_and_what_was_tried_is_committed_anew(mirrored: Mirror) -> None:
    name, source, target = TopicName(mirrored.topic), mirrored.source, mirrored.target
    idle, tried, more, lost = (f"{name}-{each}" for each in ("idle", "tried", "more", "lost"))
    other = create_topic(target.bootstrap, f"{name}-other")
    for group in (idle, tried, more, lost):
        commit(source.bootstrap, group, name, 0, 7)
    with syncing(mirrored) as sync, Admin(mirrored.config.target, Side.TARGET) as admin:
        first = {each.group.name: each for each in sync.once().groups}
        assert first[idle].expires is Expiry.BY_COMMIT
        assert first[idle].committed > 0
        for group in (tried, more):
            with member(target, group, name):
                pass
        commit(target.bootstrap, more, other, 0, 0)
        admin.groups.delete([ClientGroup(lost)])

        found = {each.group.name: each for each in sync.once().groups}
        assert found[idle].positions[0].outcome is PositionOutcome.UNCHANGED
        assert found[idle].committed == first[idle].committed
        assert found[lost].positions[0].gone == 7
        assert found[lost].outcomes == {PositionOutcome.CONFIRMED: 1}, "what went is written again"
        assert found[tried].expires is Expiry.SINCE_EMPTY
        assert [why.code for why in found[tried].remarks] == [ReasonCode.GROUP_MAY_EXPIRE]

        anew = {each.group.name: each for each in sync.once(renew=True).groups}
        assert {each.all_committed for each in anew.values()} == {True}
        assert anew[idle].committed > first[idle].committed
        assert (anew[tried].expires, anew[tried].remarks) == (Expiry.BY_COMMIT, ())
        assert [why.code for why in anew[more].remarks] == [ReasonCode.GROUP_NOT_RENEWED]
        now = admin.groups.listed().groups
        assert [now[each].was_joined for each in (idle, tried, more)] == [False, False, True]
    assert [standing(target, each, name) for each in (idle, tried, more)] == [(7, "")] * 3
    assert standing(target, more, other) == (0, ""), "what the sync does not write stays"


def test_rewinds_deletions_and_names(mirrored: Mirror) -> None:
    name, source, target = mirrored.topic, mirrored.source, mirrored.target
    back, gone, touched, part = (f"{name}-{each}" for each in ("back", "gone", "touched", "part"))
    for group in (back, gone, touched, part):
        commit(source.bootstrap, group, name, 0, 10)
    with syncing(mirrored, rename="eu-{1}", rewinds="follow", deletions="follow") as sync:
        assert set(outcomes(sync.once()).values()) == {"CONFIRMED"}
        assert standing(target, "eu-back", name) == (10, "")

        commit(target.bootstrap, "eu-touched", name, 0, 12)
        commit(source.bootstrap, back, name, 0, 4)
        brokers = AdminClient({"bootstrap.servers": source.bootstrap})
        for future in brokers.delete_consumer_groups([gone, touched]).values():
            future.result(30)
        first = sync.once()
        assert outcomes(first)[back] == "CONFIRMED"
        assert standing(target, "eu-back", name) == (4, "")
        assert standing(target, "eu-gone", name) == (10, ""), "absent once only"

        second = sync.once()
        assert {each.group.name for each in second.groups if each.deleted} == {gone}
        assert outcomes(second)[touched] == ReasonCode.GROUP_MOVED
        assert standing(target, "eu-gone", name) is None
        assert standing(target, "eu-touched", name) == (12, "")
        again = sync.once()
        assert gone not in {each.group.name for each in again.groups}
        assert standing(target, "eu-part", name) == (10, "")

    with syncing(mirrored, rename="all") as sync:
        report = sync.once()
        assert {outcomes(report)[each] for each in (back, part)} == {"GROUP_NAME_TAKEN"}
        assert standing(target, "all", name) is None


def test_an_old_commit_is_never_applied_to_a_new_topic(mirrored: Mirror) -> None:
    name, source, target = mirrored.topic, mirrored.source, mirrored.target
    group = f"{name}-g"
    commit_with(source, group, name, 7, "before")
    with syncing(mirrored) as sync:
        assert outcomes(sync.once()) == {group: "CONFIRMED"}
        delete_topic(target.bootstrap, name)
        assert outcomes(sync.once()) == {group: ReasonCode.TARGET_REPLACED}
        delete_topic(source.bootstrap, name)
        mirrored.create()
        produce(source.bootstrap, name, [Record(b"k", b"v")] * 20)
        left = outcomes(sync.once())
        commit(source.bootstrap, group, name, 0, 3)
        assert outcomes(sync.once()) == {group: ReasonCode.SOURCE_TOPIC_RECREATED}, left
        assert outcomes(sync.once(gone=True)) == {group: ReasonCode.TARGET_REPLACED}
        assert standing(target, group, name) is None


def test_targets_that_lack_a_kind_of_group_are_named_before_and_by_a_sync(
    tmp_path: Path,
    source: LocalCluster,
    version_target: LocalCluster,
    new_name: Callable[[str], str],
) -> None:
    mirror = Mirror(tmp_path, source, version_target, new_name("lacking"))
    name, version = TopicName(mirror.topic), version_target.version
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 5)
    mirror.catch_up()
    shared, newer = f"{name}-shared", f"{name}-newer"
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        share_group(admin, shared, name, 3)
    with member(source, newer, name, protocol="consumer") as active:
        active.commit(offsets=[Standing(name, 0, 2)], asynchronous=False)
    with syncing(mirror) as sync, Admin(mirror.config.target, Side.TARGET) as admin:
        plan = " ".join(preview_of(sync.once(write=False)))
        found = {each.group.name: each for each in sync.once().groups}
        there = admin.groups.listed().groups[newer]
        refused = beat(admin, newer, epoch=7)
    lacks_share = version in {"3.9.2", "4.1.2"}
    assert ("share groups" in plan) is lacks_share
    assert _told(found[shared].positions[0]) == ("GROUP_KIND_OFF" if lacks_share else "CONFIRMED")
    assert found[newer].outcomes == {PositionOutcome.CONFIRMED: 1}
    remarks = [why.code for why in found[newer].remarks]
    if version == "3.9.2":
        assert (there.type.lower(), remarks) == ("classic", [ReasonCode.GROUP_ARRIVES_CLASSIC])
    else:
        assert (there.type.lower(), remarks) == ("consumer", [])
        assert refused == UNKNOWN_MEMBER_ID, "a member that runs while it is moved joins anew"


@pytest.mark.soak
def test_a_closed_streams_application_is_waited_for(mirrored: Mirror) -> None:
    name, target = TopicName(mirrored.topic), mirrored.target
    app = f"{name}-app"
    commit(mirrored.source.bootstrap, app, name, 0, 5)
    with Admin(mirrored.config.target, Side.TARGET) as admin:
        closed_streams(admin, app, name)
    with syncing(mirrored) as sync:
        assert outcomes(sync.once(write=False)) == {app: ReasonCode.GROUP_HELD}
        report = settle(sync)
        assert outcomes(report) == {app: "CONFIRMED"}
        assert report.groups[0].expires is Expiry.BY_COMMIT, "made anew: it was joined"
    assert standing(target, app, name) == (5, "")
