"""Members that keep their partitions while they join give them back before their group moves."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from kafka.protocol.consumer import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from tests.support.clients.promoted_routes import AT_SOURCE
from tests.support.clients.steered import places, step
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.routes import Routes

GENERATION = 7
STICKY = "cooperative-sticky"


def routes_of(*, heard: bool = True) -> Routes:
    """Return routes of a group that is gathered, whose member was heard of before."""
    routes = Routes()
    if heard:
        beat = HeartbeatRequest(
            group_id="g", generation_id=GENERATION, member_id="m", group_instance_id=None
        )
        step(routes, beat, 4)
    routes.gathering = HeldMembers(frozenset({"g"}))
    return routes


def join(
    owned: Sequence[int],
    assignor: str = STICKY,
    metadata: bytes | None = None,
    user_data: bytes | None = None,
) -> Any:
    kind = ConsumerProtocolSubscription.TopicPartition
    said = ConsumerProtocolSubscription(
        topics=["t"],
        user_data=user_data,
        owned_partitions=[kind(topic="t", partitions=[*owned])] if owned else [],
        generation_id=GENERATION,
        version=2,
    )
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        member_id="m",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[
            protocol(name=assignor, metadata=said.encode() if metadata is None else metadata)
        ],
        reason=None,
    )


def sync() -> Any:
    return SyncGroupRequest(
        group_id="g",
        generation_id=GENERATION,
        member_id="m",
        group_instance_id=None,
        protocol_type="consumer",
        protocol_name=STICKY,
        assignments=[],
    )


def said_of(kind: Any, own: bytes | None, version: int) -> Any:
    assert own is not None
    return kind.decode(memoryview(own)[4:], version=version, header=True)


@pytest.mark.parametrize(("of_join", "of_sync"), [(2, 1), (5, 3), (9, 5)])
def test_a_member_that_keeps_partitions_is_told_that_it_has_none(
    of_join: int, of_sync: int
) -> None:
    routes = routes_of()
    gathering = routes.gathering
    assert gathering is not None
    found = step(routes, join([0, 1]), of_join)
    assert found is not None
    told = said_of(JoinGroupResponse, found.own, of_join)
    assert (told.error_code, told.generation_id, told.member_id) == (0, GENERATION, "m")
    assert (told.protocol_name, told.members) == (STICKY, [])
    assert told.leader != "m", "it assigns nothing"
    assert gathering.missing({"g": ["m"]}) == {"g": ["m"]}, "it has something to commit"
    found = step(routes, sync(), of_sync)
    assert found is not None
    told = said_of(SyncGroupResponse, found.own, of_sync)
    assert told.error_code == 0
    assert ConsumerProtocolAssignment.decode(bytes(told.assignment)).assigned_partitions == []
    assert step(routes, join([]), of_join) is None, "it is held"
    assert gathering.missing({"g": ["m"]}) == {}


NO_TASKS = {
    1: "000000010000000000000000",
    3: "0000000300000003000000000000000000000000",
    6: "0000000600000006000000000000000000000000000000000000000000000000",
    11: "0000000b0000000b0000000000000000000000000000000000000000000000007fffffffffffffff",
}
"""`AssignmentInfo` of Kafka Streams 4.4.0 for no tasks, by its version."""


@pytest.mark.parametrize("form", NO_TASKS)
def test_an_application_of_kafka_streams_is_told_that_it_has_no_tasks(form: int) -> None:
    routes, said = routes_of(), struct.pack(">ii", form, 11)
    found = step(routes, join([0, 1], "stream", user_data=said), 9)
    assert found is not None
    assert said_of(JoinGroupResponse, found.own, 9).protocol_name == "stream"
    found = step(routes, sync(), 5)
    assert found is not None
    told = said_of(SyncGroupResponse, found.own, 5)
    assert told.protocol_name == "stream"
    given = ConsumerProtocolAssignment.decode(bytes(told.assignment))
    assert given.assigned_partitions == []
    assert bytes(given.user_data).hex() == NO_TASKS[form]
    assert step(routes, join([], "stream", user_data=said), 9) is None, "it is held"


@pytest.mark.parametrize("said", [None, b"", b"\0\0", struct.pack(">i", 12), struct.pack(">i", 0)])
def test_an_application_of_an_unknown_form_is_held_at_once(said: bytes | None) -> None:
    assert step(routes_of(), join([0], "stream", user_data=said), 9) is None


def test_a_member_that_gives_nothing_back_is_held_like_others() -> None:
    routes = routes_of()
    assert step(routes, join([0]), 9) is not None
    found = step(routes, sync(), 5)
    assert found is not None
    assert step(routes, join([0]), 9) is None, "it is not asked for ever"
    found = step(routes, sync(), 5)
    assert found is not None
    assert said_of(SyncGroupResponse, found.own, 5).error_code == 27


def test_other_members_are_held_at_once() -> None:
    for message in (join([]), join([0], "range"), join([0], metadata=b"\0\2cut")):
        assert step(routes_of(), message, 9) is None
    assert step(routes_of(heard=False), join([0]), 9) is None, "its generation is unknown"
    closed = routes_of()
    assert closed.gathering is not None
    closed.gathering.closed = True
    assert step(closed, join([0]), 9) is None, "its commits would be held"


def test_what_was_begun_goes_on_at_the_source_where_it_is_undone() -> None:
    routes = routes_of()
    assert step(routes, join([0]), 9) is not None
    routes.undo()
    assert places(step(routes, sync(), 5)) == [AT_SOURCE]
