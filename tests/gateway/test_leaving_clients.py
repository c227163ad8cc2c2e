"""Which clients may go on without a gateway, and what they are shown."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)

from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    KINDS,
    LEADER,
    framed,
    produce,
    promoted,
)
from towpath.cluster.metadata import Broker
from towpath.gateway import leaving_clients
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.cut_table import SentBatch
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import ClientName, head
from towpath.gateway.gateway_counts import LeavingCounts
from towpath.gateway.leaving_clients import SETTLED, LeavingClients
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import TARGET, Cluster, Routes
from towpath.gateway.steering import Steering
from towpath.model.nouns import ClusterId

ME = "h", "c"
TOPICS = ["moved"]


class Client:
    """A connection to the source's broker 1."""

    home = AT_SOURCE
    whole_at = 0
    name = ME

    def __init__(self) -> None:
        self.positions: Positions = {}


class Clock:
    """The time, which goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def opened(routes: Routes, clock: Clock, back: list[ClientName] | None = None) -> LeavingClients:
    leaving = LeavingClients(routes, clock, back.append if back is not None else lambda _: None)
    leaving.began(ME)
    leaving.is_open = True
    return leaving


def test_nobody_leaves_before_the_way_is_open() -> None:
    clock = Clock()
    leaving = opened(promoted(), clock)
    leaving.is_open = False
    clock.wait(2 * SETTLED)
    assert not leaving.goes(ME, TOPICS)
    assert not leaving.retires(ME)


def test_a_client_leaves_once_nothing_broke_off_for_a_while() -> None:
    clock = Clock()
    leaving = opened(promoted(), clock)
    clock.wait(SETTLED - 1)
    assert not leaving.goes(ME, TOPICS)
    leaving.began(ME)
    clock.wait(SETTLED - 1)
    assert not leaving.goes(ME, TOPICS), "a new connection may bring what was in doubt"
    leaving.ended(ME, retired=False)
    clock.wait(SETTLED - 1)
    assert not leaving.goes(ME, TOPICS), "what a broken connection had sent may be in doubt"
    leaving.doubts(ME)
    clock.wait(SETTLED - 1)
    assert not leaving.goes(ME, TOPICS), "the cut table had to judge what it sent"
    clock.wait(1)
    assert leaving.goes(ME, TOPICS)
    assert leaving.is_shown(ME)


def test_where_no_producer_is_in_doubt_clients_leave_at_once() -> None:
    routes = promoted()
    routes.table.forget_all_but(("moved", 0), set())
    assert opened(routes, Clock()).goes(ME, TOPICS)


def test_a_first_batch_on_its_way_keeps_clients() -> None:
    """The next one would overtake it on a connection of its own."""
    clock, routes = Clock(), promoted()
    leaving = opened(routes, clock)
    clock.wait(SETTLED)
    batch, place = SentBatch(1 << 62, 0, 10, 1), ("moved", 0)
    routes.table.sent(place, batch)
    assert not leaving.goes(ME, TOPICS)
    routes.table.answered(place, batch, taken=True)
    assert leaving.goes(ME, TOPICS)


def test_other_topics_and_those_that_were_back_once_keep_a_client() -> None:
    clock = Clock()
    leaving = opened(promoted(), clock)
    clock.wait(SETTLED)
    assert not leaving.goes(ME, ["moved", "other"])
    assert not leaving.goes(ME, []), "who asks for no topics may want any"
    assert leaving.told() == ["client c at h stays: it asks for other topics, or for all"]
    routes = promoted()
    routes.eras["moved"] = 1  # it was back once: the target knows other producer ids
    leaving = opened(routes, clock)
    clock.wait(SETTLED)
    assert not leaving.goes(ME, TOPICS)


def test_a_transactional_client_stays() -> None:
    clock = Clock()
    leaving = opened(promoted(), clock)
    clock.wait(SETTLED)
    leaving.transacts(ME)
    assert not leaving.goes(ME, TOPICS)
    assert leaving.told() == ["client c at h stays: it writes in transactions"]


def test_connections_are_closed_once_to_be_looked_at_anew_and_all_behind_that() -> None:
    clock = Clock()
    leaving = opened(promoted(), clock)
    assert not leaving.retires(ME)
    clock.wait(SETTLED)
    assert [leaving.retires(ME) for _ in range(3)] == [True, False, False]
    leaving.ended(ME, retired=True)
    leaving.began(ME)  # in the place of the one that was closed
    assert leaving.goes(ME, TOPICS)
    assert not leaving.retires(ME), "it has not taken in the addresses yet"
    clock.wait(1)
    assert [leaving.retires(ME) for _ in range(2)] == [True, True]
    assert leaving.counts() == LeavingCounts(staying=0, leaving=1, left=0)
    leaving.ended(ME, retired=True)
    assert leaving.counts() == LeavingCounts(staying=0, leaving=0, left=1)
    assert leaving.told() == []


def test_a_client_that_comes_back_twice_stays_for_a_while() -> None:
    clock, back = Clock(), list[ClientName]()
    leaving = opened(promoted(), clock, back)
    clock.wait(SETTLED)
    for _ in range(2):
        assert leaving.goes(ME, TOPICS)
        clock.wait(20)
        leaving.began(ME)
        clock.wait(SETTLED)
    assert back == [ME]
    assert not leaving.goes(ME, TOPICS)
    assert leaving.told() == [
        "client c at h stays: it came back; does it reach the target's brokers?"
    ]
    clock.wait(600)
    assert leaving.goes(ME, TOPICS)


def test_programs_with_one_client_id_are_each_shown_the_addresses() -> None:
    """Each comes anew to the gateway until it was shown them, and none of them came back."""
    clock, back = Clock(), list[ClientName]()
    leaving = opened(promoted(), clock, back)
    for _ in range(11):  # four programs have twelve connections
        leaving.began(ME)
    clock.wait(SETTLED)
    for _ in range(8):
        assert leaving.goes(ME, TOPICS)
        leaving.began(ME)
        clock.wait(SETTLED)
    assert back == []
    for _ in range(4):
        assert leaving.goes(ME, TOPICS)
        leaving.began(ME)
        clock.wait(SETTLED)
    assert back == [ME], "they cannot do without the gateway"
    assert not leaving.goes(ME, TOPICS)


def test_clients_that_left_are_forgotten_before_those_that_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leaving_clients, "MOST", 100)
    leaving = opened(promoted(), Clock())
    for number in range(250):
        leaving.began(("h", str(number)))
        leaving.ended(("h", str(number)), retired=False)
    assert leaving.counts().staying == 1
    assert len(leaving._clients) == 100


# What clients are shown


def steering(routes: Routes, leaving: LeavingClients) -> Steering:
    source = RelayedNodes("gateway", 1, {}, lambda *_: None)
    nodes = RelayedNodes("gateway", 1, {}, lambda *_: None, shift=0)
    nodes.learn([Broker(7, "target-7", 9092)])
    answers = {
        Cluster.SOURCE: AnswerChanges(source, ClusterId("t")),
        Cluster.TARGET: AnswerChanges(nodes, ClusterId("t")),
    }
    return Steering(OwnAnswers(KINDS), answers, routes, lambda: None, leaving)


def asked(of: Steering, message: Any, version: int) -> RequestStep:
    frame = framed(message, version)
    found = of.step(frame, head(frame), Client())
    assert found is not None
    return found


def changed(of: RequestStep, answer: Any, version: int) -> Any:
    change = of.sends[0].change
    assert change is not None
    frame = change(framed_answer(answer, version), version)
    return type(answer).decode(memoryview(frame)[4:], version=version, header=True)


def metadata(name: str) -> Any:
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[topic(name=name, topic_id=UUID(int=0))],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def framed_answer(answer: Any, version: int) -> bytearray:
    answer.API_VERSION = version
    answer.with_header(correlation_id=3)
    return bytearray(answer.encode(header=True, framed=True))


def told_metadata() -> Any:
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=7, leader_epoch=4, replica_nodes=[7],
        isr_nodes=[7], offline_replicas=[],
    )  # fmt: skip
    broker = MetadataResponse.MetadataResponseBroker
    return MetadataResponse(
        throttle_time_ms=0,
        brokers=[broker(node_id=7, host="target-7", port=9092, rack=None)],
        cluster_id="t",
        controller_id=7,
        topics=[
            topic(error_code=0, name="moved", topic_id=UUID(int=2), is_internal=False,
                  partitions=[partition])
        ],
    )  # fmt: skip


def found_coordinator() -> Any:
    kind = FindCoordinatorResponse.Coordinator
    return FindCoordinatorResponse(
        throttle_time_ms=0,
        coordinators=[
            kind(key="g", node_id=7, host="target-7", port=9092, error_code=0, error_message=None)
        ],
    )


def test_a_client_that_leaves_is_shown_the_target_s_own_brokers() -> None:
    clock, routes = Clock(), promoted()
    leaving = opened(routes, clock)
    of = steering(routes, leaving)
    finding = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    for settled, host in ((False, "gateway"), (True, "target-7")):
        clock.wait(SETTLED if settled else 1)
        step = asked(of, metadata("moved"), 12)
        assert [each.place for each in step.sends] == [TARGET]
        answer = changed(step, told_metadata(), 12)
        assert [(each.node_id, each.host) for each in answer.brokers] == [(7, host)]
        assert answer.topics[0].partitions[0].leader_id == 7
        assert answer.topics[0].partitions[0].leader_epoch == -1
        found = changed(asked(of, finding, 4), found_coordinator(), 4)
        assert [each.host for each in found.coordinators] == [host]


def test_a_repeat_of_what_the_source_held_keeps_its_producer() -> None:
    clock, routes = Clock(), promoted()
    leaving = opened(routes, clock)
    of = steering(routes, leaving)
    clock.wait(SETTLED)
    assert asked(of, produce(["moved"], 9), 9).own is not None, "acknowledged, and sent nowhere"
    assert not leaving.goes(ME, TOPICS)
    clock.wait(SETTLED)
    assert leaving.goes(ME, TOPICS)
    assert [each.place for each in asked(of, produce(["moved"], 10), 9).sends] == [LEADER]


def test_who_looks_for_a_coordinator_of_transactions_stays() -> None:
    clock, routes = Clock(), promoted()
    leaving = opened(routes, clock)
    asked(steering(routes, leaving), FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
    clock.wait(SETTLED)
    assert not leaving.goes(ME, TOPICS)


def test_who_takes_a_topic_with_another_id_for_another_one_stays() -> None:
    for software, version, goes in (("kgo", 3, False), ("kgo", 4, False), ("librdkafka", 3, True)):
        routes, clock = promoted(), Clock()
        leaving = opened(routes, clock)
        of = steering(routes, leaving)
        asked(of, ApiVersionsRequest(client_software_name=software), version)
        clock.now += SETTLED
        assert leaving.goes(ME, TOPICS) is goes, software


def test_all_topics_of_the_link_are_shown_once_the_source_is_away() -> None:
    clock, routes = Clock(), promoted()
    leaving = opened(routes, clock)
    clock.wait(SETTLED)
    every = MetadataRequest(
        topics=None,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )
    of = steering(routes, leaving)
    asked(of, every, 12)
    assert not leaving.is_shown(ME)
    routes.source_away = True
    step = asked(of, every, 12)
    assert leaving.is_shown(ME)
    assert changed(step, told_metadata(), 12).brokers[0].host == "target-7"
