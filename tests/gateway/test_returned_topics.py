"""What went back to the source where clients know the target alone: they find and read it there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    ListOffsetsRequest,
)
from kafka.protocol.metadata import MetadataResponse

from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    KINDS,
    LEADER,
    SOURCE_ID,
    TARGET_ID,
    finding,
    framed,
    promoted,
)
from tests.support.clients.steered import SourceClient, TargetClient, places
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.cluster.metadata import Broker, Metadata, PartitionInfo, TopicInfo
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.fenced_members import FencedMembers
from towpath.gateway.frames import head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.metadata_merging import MetadataMerging, SourceBrokers
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_sending import RelayedClient
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import SOURCE, TARGET, Cluster, Routes
from towpath.gateway.target_steering import TargetSteering
from towpath.ledger.entries import Promoted, PromotedTopic
from towpath.model.nouns import ClusterId, LinkName, TopicId, TopicName

MOVED = TopicName("moved")


def returned(link: str = "l") -> Routes:
    """Return the routes where `moved` and the group `g` went to the target, and back."""
    routes = promoted()
    view = Metadata(
        ClusterId("s"),
        1,
        {1: Broker(1, "h", 1)},
        {MOVED: TopicInfo(MOVED, TopicId(str(SOURCE_ID)), False, (PartitionInfo(0, 1, (1,)),))},
    )
    routes.mirror = MirrorReads(
        lambda topic: topic == MOVED,
        lambda _: True,
        lambda: 0.0,
        FencedMembers(lambda: 0.0),
        link=link,
        view=view,
        names={TARGET_ID: MOVED},
    )
    topic = PromotedTopic(
        topic=MOVED,
        source_id=TopicId(str(SOURCE_ID)),
        target_id=TopicId(str(TARGET_ID)),
        partitions=(),
    )
    record = Promoted(link=LinkName("l"), name="b", topics=(topic,), groups=("g",), at=2, back=True)
    routes.move(record)
    return routes


def step(routes: Routes, message: Any, version: int, client: RelayedClient) -> RequestStep:
    nodes = RelayedNodes("h", 1, {}, lambda *_: None)
    answers = dict.fromkeys(Cluster, AnswerChanges(nodes, ClusterId("c")))
    leaving = LeavingClients(routes, lambda: 0.0)
    assert routes.mirror is not None
    how = OwnAnswers(KINDS), answers, routes, lambda: None, leaving, routes.mirror
    frame = framed(message, version)
    found = TargetSteering(*how).step(frame, head(frame), client)
    assert found is not None
    return found


def fetch(topic_id: UUID = TARGET_ID, epoch: int = -1, *, named: bool = True) -> Any:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(partition=0, fetch_offset=3, partition_max_bytes=1)
    topics = [topic(topic_id=topic_id, partitions=[partition])] if named else []
    return FetchRequest(
        max_wait_ms=1, min_bytes=1, max_bytes=1, isolation_level=0, session_id=5,
        session_epoch=epoch, topics=topics, forgotten_topics_data=[],
    )  # fmt: skip


def test_a_fetch_at_the_target_is_told_that_the_topic_is_elsewhere() -> None:
    found = step(returned(), fetch(), 13, TargetClient())
    assert found.own is not None
    told = FetchResponse.decode(memoryview(found.own)[4:], version=13, header=True)
    assert told.responses[0].topic_id == TARGET_ID
    assert told.responses[0].partitions[0].error_code == 6


def test_a_fetch_at_the_source_goes_there_under_its_own_topic_id() -> None:
    found = step(returned(), fetch(), 13, SourceClient())
    assert places(found) == [AT_SOURCE]
    sent = FetchRequest.decode(memoryview(found.sends[0].frame)[4:], version=13, header=True)
    assert sent.topics[0].topic_id == SOURCE_ID


def test_a_session_of_before_names_all_its_partitions_anew() -> None:
    client, routes = TargetClient(), returned()
    found = step(routes, fetch(epoch=4, named=False), 13, client)
    assert found.own is not None
    told = FetchResponse.decode(memoryview(found.own)[4:], version=13, header=True)
    assert told.error_code == 70
    assert places(step(routes, fetch(UUID(int=8), 0), 13, client)) == [LEADER], "others stay"


def test_metadata_shows_the_leader_at_the_source_under_the_id_that_clients_know() -> None:
    routes, nodes = returned(), RelayedNodes("h", 9092, {}, lambda *_: None)
    nodes.learn([Broker(1, "h", 1)])
    kind = MetadataResponse.MetadataResponseTopic
    there = [
        kind(error_code=code, name=name, topic_id=UUID(int=7), is_internal=False, partitions=[])
        for name, code in (("moved", 0), ("other", 0))
    ]
    answer = MetadataResponse(brokers=[], topics=there)
    SourceBrokers(routes, nodes).metadata(answer)
    moved, other = answer.topics
    assert moved.topic_id == TARGET_ID
    assert [each.leader_id for each in moved.partitions] == [nodes.shown(1)]
    assert other.partitions == []
    assert [each.node_id for each in answer.brokers] == [nodes.shown(1)]


def test_brokers_keep_their_racks_which_members_are_assigned_by() -> None:
    routes, nodes = promoted(), RelayedNodes("h", 9092, {}, lambda *_: None, shift=0)
    nodes.learn([Broker(1, "h", 1, "east"), Broker(2, "h", 2)])
    nodes.learn([Broker(1, "other", 1)])  # an answer that does not tell racks
    metadata = MetadataResponse(brokers=[], topics=[])
    cluster = DescribeClusterResponse(brokers=[])
    for merging in (MetadataMerging(routes, nodes), SourceBrokers(routes, nodes)):
        for told, add in ((metadata, merging.metadata), (cluster, merging.cluster)):
            told.brokers = []
            add(told)
            assert [each.rack for each in told.brokers] == ["east", None]


def test_a_group_that_went_back_is_the_sources() -> None:
    assert places(step(returned(), finding("g"), 4, TargetClient())) == [SOURCE]
    assert places(step(returned(), finding("other"), 4, SourceClient())) == [TARGET]
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert places(step(returned(), beat, 4, SourceClient())) == [AT_SOURCE], "nobody waits"


def beat_of(group: str, topic: str) -> Any:
    return ConsumerGroupHeartbeatRequest(
        group_id=group, member_id="m", member_epoch=0, instance_id=None, rack_id=None,
        rebalance_timeout_ms=1, subscribed_topic_names=[topic], server_assignor=None,
        topic_partitions=[], subscribed_topic_regex=None,
    )  # fmt: skip


def test_a_new_group_begins_where_its_topics_are() -> None:
    routes = returned()
    assert step(routes, beat_of("new", "moved"), 0, TargetClient()).own is not None
    assert places(step(routes, finding("new"), 4, TargetClient())) == [SOURCE]
    assert places(step(routes, beat_of("apart", "other"), 0, TargetClient())) == [LEADER]


def test_a_gateway_that_begins_knows_the_groups_that_the_source_has() -> None:
    routes = returned()
    routes.of_source = frozenset({"new"})
    assert places(step(routes, finding("new"), 4, TargetClient())) == [SOURCE]


@pytest.mark.parametrize("client", [SourceClient, TargetClient])
def test_offsets_are_listed_where_the_topic_is(client: type[Any]) -> None:
    kind = ListOffsetsRequest.ListOffsetsTopic
    partition = kind.ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)
    asked = ListOffsetsRequest(
        replica_id=-1, isolation_level=0, topics=[kind(name="moved", partitions=[partition])]
    )
    found = step(returned(), asked, 5, client())
    assert (found.own is None) is (client is SourceClient)


def test_a_later_link_copies_it_again_so_mirrors_are_read_and_groups_wait() -> None:
    routes = returned(link="the next one")
    assert routes.mirror is not None
    assert not routes.mirror.returned
    assert routes.fences("g")
    assert places(step(routes, fetch(), 13, TargetClient())) == [LEADER]
