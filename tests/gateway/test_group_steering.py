"""Where requests of groups go while topics are held and once they are promoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kafka.protocol.consumer import (
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
)

from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    LEADER,
    finding,
    promoted,
)
from tests.support.clients.steered import TargetClient, changed, places, step
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import TARGET, Routes


def test_members_that_an_interrupted_move_emptied_join_anew_once() -> None:
    """A gateway told them that they have nothing, and was killed; the source does not know."""

    def beats(member: str, epoch: int) -> RequestStep | None:
        message = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=member, member_epoch=epoch, topic_partitions=None,
            instance_id=None, rack_id=None, rebalance_timeout_ms=-1, server_assignor=None,
            subscribed_topic_names=None, subscribed_topic_regex=None,
        )  # fmt: skip
        return step(routes, message, 0)

    routes = Routes(is_interrupted=True)
    refused = beats("a", 3)
    assert refused is not None
    assert refused.own is not None
    assert ConsumerGroupHeartbeatResponse.decode(
        memoryview(refused.own)[4:], version=0, header=True
    ).error_code == 110  # fmt: skip
    assert places(beats("a", 0))[0].cluster is AT_SOURCE.cluster
    assert places(beats("a", 4))[0].cluster is AT_SOURCE.cluster
    routes = Routes()
    assert places(beats("b", 3))[0].cluster is AT_SOURCE.cluster


def whole() -> Routes:
    """Return routes of a link whose topics are all promoted, and of a topic that it lacks."""
    routes = promoted()
    routes.is_whole, routes.outside = True, lambda topic: topic == "other"
    return routes


def asked(routes: Routes, group: str, *topics: str) -> list[int | None]:
    """Return what members of both kinds are told on the target, `None` where they are relayed."""
    codes: list[int | None] = []
    for message, version, kind in (
        (join(group, topics), 9, JoinGroupResponse),
        (beat(0, group=group, topics=topics), 0, ConsumerGroupHeartbeatResponse),
    ):
        found = step(routes, message, version, TargetClient())
        assert found is not None
        if found.own is None:
            assert places(found) == [LEADER]
            codes.append(None)
        else:
            said: Any = kind.decode(memoryview(found.own)[4:], version=version, header=True)
            codes.append(said.error_code)
    return codes


def test_new_groups_begin_where_the_topics_are_that_they_read() -> None:
    for topics in ([], ["moved"], ["moved", "other"]):
        assert asked(whole(), "new", *topics) == [None, None]
    assert asked(whole(), "g", "other") == [None, None], "it was promoted"
    narrower = whole()
    narrower.outside = lambda _: True
    assert asked(narrower, "new", "moved") == [None, None], "a file may lack what was promoted"
    known = whole()
    assert asked(known, "new", "moved") == [None, None]
    assert asked(known, "new", "other") == [None, None], "its offsets are on the target"
    for message, version in ((join("new", ["other"]), 9), (beat(0, None, "new", ["other"]), 0)):
        routes = whole()
        found = step(routes, message, version, TargetClient())
        assert found is not None
        assert found.own is not None, "it is told to look for another coordinator"
        assert places(step(routes, finding("new"), 4)) == [AT_SOURCE]


def heartbeat() -> Any:
    return HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id=None)


def commit() -> Any:
    return OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=1,
        member_id="m",
        group_instance_id=None,
        topics=[],
    )


def join(group: str = "g", topics: Sequence[str] = ()) -> Any:
    said = ConsumerProtocolSubscription(topics=[*topics], user_data=None, version=0).encode()
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=said)
    return JoinGroupRequest(
        group_id=group, session_timeout_ms=1, rebalance_timeout_ms=1, member_id="m",
        group_instance_id=None, protocol_type="consumer", protocols=[protocol], reason=None,
    )  # fmt: skip


def test_a_classic_member_commits_and_its_join_is_held() -> None:
    gathering = HeldMembers(frozenset({"g"}))
    routes = Routes(gathering=gathering)
    found = step(routes, heartbeat(), 4)
    assert places(found) == [AT_SOURCE], "else it would be no member any more before it commits"
    for told, wanted in ((0, 27), (25, 25)):
        answer = HeartbeatResponse(throttle_time_ms=0, error_code=told)
        assert changed(found, answer, 4).error_code == wanted
    assert places(step(routes, commit(), 8)) == [AT_SOURCE]
    assert step(routes, join(), 9) is None
    assert gathering.come == {"g": {"m"}}
    gathering.closed = True
    assert step(routes, commit(), 8) is None
    routes.undo()
    assert places(step(routes, join(), 9)) == [AT_SOURCE]


def test_a_promoted_group_is_served_by_the_target() -> None:
    for message, version in ((heartbeat(), 4), (commit(), 8), (join(), 9)):
        assert places(step(promoted(), message, version)) == [TARGET]


def beat(
    epoch: int,
    owned: Sequence[Any] | None = None,
    group: str = "g",
    topics: Sequence[str] | None = None,
) -> Any:
    return ConsumerGroupHeartbeatRequest(
        group_id=group, member_id="m", member_epoch=epoch, instance_id=None, rack_id=None,
        rebalance_timeout_ms=-1, subscribed_topic_names=topics, server_assignor=None,
        topic_partitions=owned,
    )  # fmt: skip


def said_of(found: RequestStep | None) -> Any:
    assert found is not None
    assert found.own is not None
    return ConsumerGroupHeartbeatResponse.decode(memoryview(found.own)[4:], version=0, header=True)


def beaten(code: int, epoch: int, *partitions: int) -> Any:
    """Return what a coordinator answers to a heartbeat."""
    kind = ConsumerGroupHeartbeatResponse.Assignment
    topic = kind.TopicPartitions(topic_id=UUID(int=1), partitions=[*partitions])
    given = kind(topic_partitions=[topic]) if partitions else None
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=code, error_message=None, member_id="m", member_epoch=epoch,
        heartbeat_interval_ms=5000, assignment=given,
    )  # fmt: skip


def test_a_member_of_kip_848_gives_back_what_it_has() -> None:
    gathering = HeldMembers(frozenset({"g"}))
    routes = Routes(gathering=gathering)
    found = step(routes, beat(4), 0)
    assert places(found) == [AT_SOURCE], "else it would be no member any more before it commits"
    for told in (beaten(0, 5), beaten(0, 5, 1)):
        answer = changed(found, told, 0)
        assert (answer.error_code, answer.member_epoch) == (0, 5), "it commits with that epoch"
        assert [*answer.assignment.topic_partitions] == []
    answer = changed(found, beaten(110, 0), 0)
    assert (answer.error_code, answer.assignment) == (110, None)
    assert gathering.missing({"g": ["m"]}) == {"g": ["m"]}
    step(routes, beat(4, []), 0)
    assert gathering.come == {"g": {"m"}}
    routes.undo()
    assert said_of(step(routes, beat(4), 0)).error_code == 110, "it has nothing, and joins anew"
    assert places(step(routes, beat(0), 0)) == [AT_SOURCE]


def test_a_member_that_gave_up_waiting_for_an_answer_is_told_again_to_join_anew() -> None:
    """While a gateway may send nothing, requests wait here whose clients wait no more."""
    gathering = HeldMembers(frozenset({"g"}))
    routes = Routes(gathering=gathering)
    step(routes, beat(4, []), 0)
    routes.undo()
    for _ in range(7):
        assert said_of(step(routes, beat(4), 0)).error_code == 110, "nobody may have heard it yet"
    assert places(step(routes, beat(0), 0)) == [AT_SOURCE]
    assert places(step(routes, beat(5), 0)) == [AT_SOURCE], "it has joined anew"
    assert not routes.moving


def test_a_member_that_leaves_need_not_join_anew() -> None:
    routes = Routes(rejoining={("g", "m")})
    assert places(step(routes, beat(-1), 0)) == [AT_SOURCE]
    assert not routes.moving


def test_a_member_of_kip_848_that_joins_anew_meanwhile_has_nothing_and_waits() -> None:
    """Its coordinator fenced it, but still counts it among the members."""
    gathering = HeldMembers(frozenset({"g"}))
    routes = Routes(gathering=gathering)
    assert said_of(step(routes, beat(0), 0)).error_code == 14
    assert gathering.missing({"g": ["m"]}) == {}
    routes.undo()
    assert places(step(routes, beat(0), 0)) == [AT_SOURCE]


def test_members_of_topics_that_go_back_are_kept_alive_on_the_target() -> None:
    routes = promoted()
    routes.gathering = HeldMembers(frozenset({"g"}), back=True)
    for message, version in ((heartbeat(), 4), (beat(4), 0)):
        assert places(step(routes, message, version)) == [TARGET]


def test_a_member_that_was_gathered_in_vain_on_the_target_joins_anew_there() -> None:
    routes = promoted()
    routes.gathering = HeldMembers(frozenset({"g"}))
    step(routes, beat(4, []), 0)
    routes.undo()
    assert said_of(step(routes, beat(4), 0)).error_code == 110
    assert places(step(routes, beat(0), 0)) == [TARGET]
