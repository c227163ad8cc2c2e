"""Share groups and Streams groups through a gateway."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.clients.applications import JavaApplication, Writer, set_group_config
from tests.support.clients.gateways import served
from tests.support.clients.promoted_routes import AT_SOURCE, promoted
from tests.support.clients.steered import changed, places, step
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link
from towpath.cluster.messages import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api, relayed
from towpath.gateway.frames import Head
from towpath.gateway.heartbeat_forms import FORMS as FORMS_OF_ANSWERS
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import TARGET, Routes
from towpath.model.nouns import ClusterId

LOADING, NOT_COORDINATOR, UNKNOWN_MEMBER, NO_GROUP, FENCED_EPOCH = 14, 16, 25, 69, 110
FORMS = [("share", 1), ("streams", 0)]


def beat(kind: str, epoch: int, *topics: str, group: str = "new", tasks: Any = None) -> Any:
    who = {"group_id": group, "member_id": "m", "member_epoch": epoch}
    if kind == "share":
        return ShareGroupHeartbeatRequest(**who, subscribed_topic_names=[*topics])
    topology = StreamsGroupHeartbeatRequest.Topology
    part = topology.Subtopology(
        subtopology_id="0",
        source_topics=[*topics],
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    return StreamsGroupHeartbeatRequest(
        **who,
        endpoint_information_epoch=4,
        rebalance_timeout_ms=1,
        topology=topology(epoch=0, subtopologies=[part]) if topics else None,
        active_tasks=tasks,
        standby_tasks=tasks,
        warmup_tasks=tasks,
        process_id="p",
    )


def answer_of(kind: str, found: RequestStep | None, version: int) -> Any:
    assert found is not None
    assert found.own is not None
    said = ShareGroupHeartbeatResponse if kind == "share" else StreamsGroupHeartbeatResponse
    return said.decode(memoryview(found.own)[4:], version=version, header=True)


@pytest.mark.parametrize(("kind", "version"), FORMS)
def test_a_new_group_waits_while_topics_move(kind: str, version: int) -> None:
    routes = Routes()
    routes.gathering = HeldMembers(frozenset({"g"}))
    found = step(routes, beat(kind, 0, "t"), version)
    assert answer_of(kind, found, version).error_code == LOADING, "it asks again"
    assert places(step(routes, beat(kind, 3), version)) == [AT_SOURCE], "it is no new one"
    routes.undo()
    assert places(step(routes, beat(kind, 0, "t"), version)) == [AT_SOURCE]


@pytest.mark.parametrize(("kind", "version"), FORMS)
def test_a_new_group_begins_where_its_topics_are(kind: str, version: int) -> None:
    routes = promoted()
    routes.is_whole, routes.outside = True, lambda name: name != "moved"
    found = step(routes, beat(kind, 0, "other"), version)
    code = answer_of(kind, found, version).error_code
    assert code == NOT_COORDINATOR, "the source has its topics"
    assert places(step(routes, beat(kind, 0, "other"), version)) == [AT_SOURCE]
    routes = promoted()
    routes.is_whole, routes.outside = True, lambda name: name != "moved"
    assert places(step(routes, beat(kind, 0, "moved"), version)) == [TARGET]


def test_a_member_of_a_streams_group_gives_its_tasks_back_and_joins_anew() -> None:
    routes, task = Routes(), StreamsGroupHeartbeatRequest.ActiveTask
    gathering = routes.gathering = HeldMembers(frozenset({"g"}))
    assert (
        answer_of("streams", step(routes, beat("streams", 0, group="g"), 0), 0).error_code
        == LOADING
    )
    gathering.come.clear()
    for tasks in (None, [task(subtopology_id="0", partitions=[1])]):
        found = step(routes, beat("streams", 3, group="g", tasks=tasks), 0)
        assert places(found) == [AT_SOURCE], "it stays a member until it has committed"
        given = [task(subtopology_id="0", partitions=[1])]
        told = changed(found, streams_beaten(given), 0)
        assert (told.error_code, told.member_epoch, told.endpoint_information_epoch) == (0, 3, 4)
        assert told.active_tasks == told.standby_tasks == told.warmup_tasks == []
        assert gathering.missing({"g": ["m"]}) == {"g": ["m"]}, "it commits first"
    step(routes, beat("streams", 3, group="g", tasks=[]), 0)
    assert gathering.missing({"g": ["m"]}) == {}
    routes.undo()
    told = answer_of("streams", step(routes, beat("streams", 3, group="g"), 0), 0)
    assert told.error_code == FENCED_EPOCH, "it thinks that it has nothing"
    assert places(step(routes, beat("streams", 0, group="g"), 0)) == [AT_SOURCE]


def streams_beaten(active: list[Any]) -> Any:
    """Return what a coordinator answers to the heartbeat of a Streams application."""
    return StreamsGroupHeartbeatResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        member_id="m",
        member_epoch=3,
        heartbeat_interval_ms=5000,
        acceptable_recovery_lag=10_000,
        task_offset_interval_ms=60_000,
        status=None,
        active_tasks=active,
        standby_tasks=None,
        warmup_tasks=None,
        endpoint_information_epoch=4,
        partitions_by_user_endpoint=None,
    )


@pytest.mark.parametrize(("kind", "version"), FORMS)
def test_a_member_joins_anew_where_its_group_is_not_known(kind: str, version: int) -> None:
    said = ShareGroupHeartbeatResponse if kind == "share" else StreamsGroupHeartbeatResponse
    key = Api.SHARE_GROUP_HEARTBEAT if kind == "share" else Api.STREAMS_GROUP_HEARTBEAT
    answers = AnswerChanges(RelayedNodes("h", 1, {}, lambda *_: None), ClusterId("c"))
    change = answers.change_of(key)
    assert change is not None
    refusal = bytes(
        FORMS_OF_ANSWERS[key].refused(beat(kind, 3), Head(key, version, 1, 0), NO_GROUP)
    )
    told = said.decode(
        memoryview(bytes(change(bytearray(refusal), version)))[4:], version=version, header=True
    )
    assert told.error_code == UNKNOWN_MEMBER


def test_early_forms_of_share_groups_are_not_relayed() -> None:
    assert relayed(dict.fromkeys((76, 77, 78, 79), (0, 0))) == {}
    assert relayed({78: (0, 3)}) == {78: (1, 2)}


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_share_group_reads_and_accepts_through_a_gateway(gateway_link: Link) -> None:
    link, bootstrap = gateway_link, gateway_link.gateway.split("'")[1]
    topic = create_topic(link.source.bootstrap, f"{link.name}.shared", 2)
    group = f"{link.name}-share"
    served(link)
    set_group_config(bootstrap, group, "share.auto.offset.reset", "earliest")
    values = [b"%d" % n for n in range(60)]
    members = [
        JavaApplication(link.folder, "share", group, topic, instance=each) for each in ("a", "b")
    ]
    try:
        produce(
            link.source.bootstrap,
            topic,
            [Record(b"k", each, partition=n % 2) for n, each in enumerate(values)],
        )
        members[0].start({"bootstrap.servers": bootstrap})
        wait_until(
            lambda: len(members[0].read) == 60, lambda: f"all are read: {members[0].said}", 60
        )
        members[0].stop()
        produce(link.source.bootstrap, topic, [Record(b"k", b"last")])
        members[1].start({"bootstrap.servers": bootstrap})
        wait_until(lambda: "READ" in members[1].said, lambda: f"it goes on: {members[1].said}", 60)
        members[1].stop()
    finally:
        for each in members:
            each.kill()
    assert Counter(members[0].read) == Counter(values)
    assert b"last" in members[1].said.encode(), "what was accepted does not come again"
    assert members[1].said.count("READ") == 1


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_a_streams_application_counts_through_a_gateway(gateway_link: Link, protocol: str) -> None:
    link, bootstrap = gateway_link, gateway_link.gateway.split("'")[1]
    topic = create_topic(link.source.bootstrap, f"{link.name}.words", 2)
    counts = create_topic(link.source.bootstrap, f"{link.name}.counts", 2)
    served(link)
    configs = {"group.protocol": protocol, "auto.offset.reset": "earliest"}
    application = JavaApplication(
        link.folder, "streams", f"{link.name}-{protocol}", topic, counts, configs
    )
    writer = Writer(topic, 2)
    try:
        writer.start({"bootstrap.servers": bootstrap})
        application.start({"bootstrap.servers": bootstrap})

        def counted() -> int:
            application.check()
            return len([*consume(link.source.bootstrap, counts, range(2))])

        wait_until(lambda: counted() > 50, lambda: f"it counts: {application.said}", 120)
        writer.stop()
        wait_until(lambda: counted() >= len(writer.delivered), "it counts all", 60)
        application.stop()
    finally:
        application.kill()
    last = {
        each.key: int(each.value or 0) for each in consume(link.source.bootstrap, counts, range(2))
    }
    wanted = Counter(value.split(b":")[0] for value in writer.delivered)
    assert last == wanted
