"""A login is good for one cluster: what has moved is told to be elsewhere, and no right is lent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.consumer import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kafka.protocol.metadata import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import ProduceResponse
from kafka.protocol.sasl import SaslHandshakeRequest

from tests.support.clients.login_routes import login_steering
from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    LEADER,
    framed,
    produce,
    promoted,
)
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from towpath.gateway.client_logins import ClientLogin, LoginState
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import ClientName, FrameError, head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import BrokerPlace, Cluster, Routes

SOURCE_AS_LINK = BrokerPlace(Cluster.SOURCE, as_link=True)
TARGET_AS_LINK = BrokerPlace(Cluster.TARGET, as_link=True)


@dataclass
class Client:
    """A connection that is logged in to its broker."""

    home: BrokerPlace = AT_SOURCE
    whole_at: int = 0
    name: ClientName = ("h", "c")
    positions: Positions = field(default_factory=dict)
    login: LoginState = field(default_factory=lambda: LoginState(is_proven=True))
    proofs: list[bytes] = field(default_factory=list)

    def prove(self, frame: bytes, correlation: int) -> None:
        del correlation
        self.proofs.append(frame)


def step(routes: Routes, message: Any, version: int, client: Client) -> RequestStep | None:
    frame = framed(message, version)
    return login_steering(routes).step(frame, head(frame), client)


def done(
    routes: Routes, message: Any, version: int, home: BrokerPlace = AT_SOURCE
) -> tuple[list[BrokerPlace], RequestStep]:
    found = step(routes, message, version, Client(home))
    assert found is not None
    return [each.place for each in found.sends], found


def metadata(*names: str) -> Any:
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[topic(name=name, topic_id=UUID(int=0)) for name in names] or None,
        allow_auto_topic_creation=True,
        include_topic_authorized_operations=True,
    )


def described(*topics: tuple[str, int]) -> bytearray:
    kind = MetadataResponse.MetadataResponseTopic
    rows = [
        kind(error_code=code, name=name, topic_id=UUID(int=5), is_internal=False, partitions=[])
        for name, code in topics
    ]
    answer = MetadataResponse(
        throttle_time_ms=0, brokers=[], cluster_id="x", controller_id=1, topics=rows
    )
    return framed(answer, 12)


def topics_of(answer: bytes | bytearray) -> dict[str, int]:
    found = MetadataResponse.decode(memoryview(answer)[4:], version=12, header=True)
    return {each.name: each.error_code for each in found.topics}


def changed(found: RequestStep, answer: bytearray, version: int) -> bytes | bytearray:
    (sent,) = found.sends
    assert sent.change is not None
    return sent.change(answer, version)


def test_nothing_is_looked_at_before_the_broker_has_accepted_the_login() -> None:
    """Else strangers could tell that members of groups gave back what they had."""
    routes, client = promoted(), Client(login=LoginState())
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    for _ in range(2):
        assert step(routes, beat, 4, client) is None
    assert len(client.proofs) == 1, "it is asked once"
    asked = MetadataRequest.decode(memoryview(client.proofs[0])[4:], version=4, header=True)
    assert asked.topics == []
    assert routes.seen.unseen({"g": ["m"]}) == {"g": ["m"]}
    found = step(routes, SaslHandshakeRequest(mechanism="PLAIN"), 1, client)
    assert found is not None
    assert found.sends[0].place == AT_SOURCE
    assert routes.logins.all() == []
    client.login.is_proven = True
    assert step(routes, beat, 4, client) is not None
    assert routes.logins.all() == [ClientLogin("PLAIN")]


def test_records_of_what_has_moved_are_sent_again_elsewhere() -> None:
    places, found = done(promoted(), produce(["moved", "other"], 10), 9)
    assert places == [AT_SOURCE]
    places, found = done(promoted(), produce(["moved"], 10), 9)
    assert places == []
    assert found.own is not None
    said = ProduceResponse.decode(memoryview(found.own)[4:], version=9, header=True)
    assert said.responses[0].partition_responses[0].error_code == 6
    assert done(promoted(), produce(["moved"], 10), 9, LEADER)[0] == [LEADER]


def test_records_without_acks_for_what_has_moved_end_their_connection() -> None:
    with pytest.raises(FrameError, match="acks=0 for topic moved, which is elsewhere"):
        step(promoted(), produce(["moved"], 10, acks=0), 9, Client())


def test_the_source_tells_a_client_of_the_source_what_it_may_see() -> None:
    places, found = done(promoted(), metadata("moved"), 12)
    assert places == [AT_SOURCE]
    answer = changed(found, described(("moved", 3)), 12)
    assert topics_of(answer) == {"moved": 0}, "it was deleted at the source since"
    places, found = done(promoted(), metadata("moved"), 12)
    assert topics_of(changed(found, described(("moved", 29)), 12)) == {"moved": 29}


def test_only_from_the_target_a_client_hears_the_target_s_own_addresses() -> None:
    routes = promoted()
    routes.table.forget_all_but(("moved", 0), set())
    leaving, name = LeavingClients(routes, lambda: 0.0), ("h", "c")
    leaving.is_open = True
    leaving.began(name)
    for home, is_shown in ((AT_SOURCE, False), (LEADER, True)):
        frame = framed(metadata("moved"), 12)
        found = login_steering(routes, leaving).step(frame, head(frame), Client(home))
        assert found is not None
        assert [each.place for each in found.sends] == [home]
        assert leaving.is_shown(name) is is_shown


def test_a_client_of_the_target_hears_where_topics_of_the_source_are() -> None:
    places, found = done(promoted(), metadata("moved", "other"), 12, LEADER)
    assert places == [SOURCE_AS_LINK]
    asked = MetadataRequest.decode(memoryview(found.sends[0].frame)[4:], version=12, header=True)
    assert not asked.allow_auto_topic_creation, "no topic is created by the rights of the link"
    assert not asked.include_topic_authorized_operations
    answer = changed(found, described(("other", 29)), 12)
    assert topics_of(answer) == {"other": 5}, "the link has no right, so the client asks again"


def test_a_client_of_the_target_lists_what_it_may_see_there() -> None:
    places, found = done(promoted(), metadata(), 12, LEADER)
    assert places == [LEADER, SOURCE_AS_LINK]
    assert found.join is not None
    joined = found.join([described(("a", 0), ("b", 29)), described(("a", 0), ("b", 0), ("c", 0))])
    assert topics_of(joined) == {"a": 0}
    with pytest.raises(FrameError):
        found.join([None, described(("a", 0))])


@pytest.mark.parametrize(
    ("group", "home", "there"), [("g", AT_SOURCE, TARGET_AS_LINK), ("h", LEADER, SOURCE_AS_LINK)]
)
def test_coordinators_are_asked_for_with_the_login_of_the_link(
    group: str, home: BrokerPlace, there: BrokerPlace
) -> None:
    asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    places, found = done(promoted(), asked, 4, home)
    assert places == [there]
    kind = FindCoordinatorResponse.Coordinator
    row = kind(key=group, node_id=-1, host="", port=-1, error_code=30, error_message=None)
    answer = changed(
        found, framed(FindCoordinatorResponse(throttle_time_ms=0, coordinators=[row]), 4), 4
    )
    said = FindCoordinatorResponse.decode(memoryview(answer)[4:], version=4, header=True)
    assert said.coordinators[0].error_code == 15, "the client asks again"


def _commit() -> Any:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    each = topic.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata=""
    )
    return OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=1, member_id="m", group_instance_id=None,
        retention_time_ms=-1, topics=[topic(name="moved", partitions=[each])],
    )  # fmt: skip


def _fetch(version: int) -> Any:
    if version >= 8:
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        return OffsetFetchRequest(groups=[group(group_id="g", topics=None)], require_stable=True)
    topic = OffsetFetchRequest.OffsetFetchRequestTopic
    return OffsetFetchRequest(group_id="g", topics=[topic(name="moved", partition_indexes=[0])])


def _join() -> Any:
    return JoinGroupRequest(
        group_id="g", session_timeout_ms=1, rebalance_timeout_ms=1, member_id="m",
        group_instance_id=None, protocol_type="consumer", protocols=[], reason=None,
    )  # fmt: skip


def _sync() -> Any:
    return SyncGroupRequest(
        group_id="g", generation_id=1, member_id="m", group_instance_id=None,
        protocol_type="consumer", protocol_name="range", assignments=[],
    )  # fmt: skip


def _beat() -> Any:
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=3, instance_id=None, rack_id=None,
        rebalance_timeout_ms=-1, subscribed_topic_names=None, subscribed_topic_regex=None,
        server_assignor=None, topic_partitions=None,
    )  # fmt: skip


def _heartbeat() -> Any:
    return HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id=None)


def _topic(said: Any) -> int:
    return int(said.topics[0].partitions[0].error_code)


def _whole(said: Any) -> int:
    return int(said.error_code)


CASES: list[tuple[Callable[[], Any], Any, range, Callable[[Any], int]]] = [
    (_commit, OffsetCommitResponse, range(2, 10), _topic),
    (lambda: _fetch(1), OffsetFetchResponse, range(1, 2), _topic),
    (lambda: _fetch(2), OffsetFetchResponse, range(2, 8), _whole),
    (lambda: _fetch(8), OffsetFetchResponse, range(8, 10), lambda said: said.groups[0].error_code),
    (_join, JoinGroupResponse, range(2, 10), _whole),
    (_sync, SyncGroupResponse, range(6), _whole),
    (_heartbeat, HeartbeatResponse, range(5), _whole),
    (lambda: LeaveGroupRequest(group_id="g", member_id="m", members=[]), LeaveGroupResponse,
     range(6), _whole),
    (lambda: OffsetDeleteRequest(group_id="g", topics=[]), OffsetDeleteResponse, range(1), _whole),
    (_beat, ConsumerGroupHeartbeatResponse, range(1), _whole),
]  # fmt: skip


def test_members_of_what_has_moved_look_for_their_coordinator() -> None:
    for make, message, versions, code in CASES:
        for version in versions:
            places, found = done(promoted(), make(), version)
            assert places == [], (message, version)
            assert found.own is not None
            said = message.decode(memoryview(found.own)[4:], version=version, header=True)
            assert code(said) == 16, (message, version)


def test_changes_of_topics_of_the_other_cluster_end_their_connection() -> None:
    topic = DeleteTopicsRequest.DeleteTopicState
    asked = DeleteTopicsRequest(
        topics=[topic(name="moved", topic_id=UUID(int=0))], topic_names=[], timeout_ms=1
    )
    with pytest.raises(FrameError, match="the other cluster than the client is logged in to"):
        step(promoted(), asked, 6, Client())


def test_without_the_source_its_clients_have_to_connect_anew() -> None:
    routes = promoted()
    routes.source_away = True
    with pytest.raises(FrameError, match="the other cluster"):
        step(routes, metadata("moved"), 12, Client())
    assert done(routes, metadata("moved"), 12, LEADER)[0] == [LEADER]
