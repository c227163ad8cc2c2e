"""Where requests go while topics are held and once they are promoted."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
)
from kafka.protocol.metadata import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    ProduceRequest,
    ProduceResponse,
)

from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    LEADER,
    PRODUCER,
    SOURCE_ID,
    TARGET_ID,
    finding,
    framed,
    produce,
    promoted,
)
from tests.support.clients.steered import SourceClient, TargetClient, places, steering, step
from towpath.gateway.frames import FrameError, head
from towpath.gateway.producer_eras import told
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import SOURCE, TARGET, BrokerPlace, Cluster, Routes
from towpath.ledger.entries import LastBatch, Promoted, PromotedPartition, PromotedTopic
from towpath.model.nouns import LinkName, TopicId, TopicName
from towpath.wire.header import BatchHeader


def reverted(*stay: str) -> Routes:
    """Return the routes of topic `moved` that is back at the source, of which the group `g` is."""
    routes = promoted()
    producers = (LastBatch(id=PRODUCER, epoch=0, sequence=20),)
    topic = PromotedTopic(
        topic=TopicName("moved"),
        source_id=TopicId(str(SOURCE_ID)),
        target_id=TopicId(str(TARGET_ID)),
        partitions=(PromotedPartition(partition=0, end=30, producers=producers),),
    )
    link = LinkName("l")
    record = Promoted(
        link=link, name="r", topics=(topic,), groups=("g",), at=2, back=True, stay=stay
    )
    routes.move(record)
    return routes


def codes(found: bytes | None) -> dict[str, int]:
    assert found is not None
    answer = ProduceResponse.decode(memoryview(found)[4:], version=9, header=True)
    return {each.name: each.partition_responses[0].error_code for each in answer.responses}


def test_records_of_held_topics_wait_and_others_do_not() -> None:
    routes = Routes(held=frozenset({"held"}))
    assert step(routes, produce(["held", "free"], 0), 9) is None
    assert places(step(routes, produce(["free"], 0), 9)) == [AT_SOURCE]


def test_records_of_a_promoted_topic_go_to_its_leader() -> None:
    assert places(step(promoted(), produce(["moved"], 10), 9)) == [LEADER]


def test_a_repeat_of_what_the_source_holds_is_done() -> None:
    found = step(promoted(), produce(["moved"], 9), 9)
    assert found is not None
    assert not found.sends
    assert codes(found.own) == {"moved": 46}


def test_a_gap_is_refused_in_a_way_that_is_tried_again() -> None:
    found = step(promoted(), produce(["moved"], 12), 9)
    assert found is not None
    assert codes(found.own) == {"moved": 6}


def test_a_gap_lets_the_target_be_asked_what_it_knows() -> None:
    routes = promoted()
    step(routes, produce(["moved"], 12), 9)
    assert routes.early == {("moved", 0)}


def test_a_request_for_both_clusters_is_parted_and_its_answer_joined() -> None:
    found = step(promoted(), produce(["moved", "other"], 10), 9)
    assert places(found) == [LEADER, AT_SOURCE]
    assert found is not None
    assert found.join is not None
    parts = [ProduceRequest.decode(memoryview(each.frame)[4:], version=9, header=True)
             for each in found.sends]  # fmt: skip
    assert [each.topic_data[0].name for each in parts] == ["moved", "other"]
    topic = ProduceResponse.TopicProduceResponse
    said = ProduceResponse(
        responses=[
            topic(
                name="other",
                partition_responses=[
                    topic.PartitionProduceResponse(
                        index=0,
                        error_code=0,
                        base_offset=5,
                        log_append_time_ms=-1,
                        log_start_offset=0,
                        record_errors=[],
                        error_message=None,
                    )
                ],
            )
        ],
        throttle_time_ms=0,
    )
    joined = found.join([None, framed(said, 9)])
    assert codes(joined) == {"moved": 6, "other": 0}, "the leg to the leader broke"


def test_records_without_acks_that_are_not_taken_end_their_connection() -> None:
    """As brokers do it: their client hears nothing else of it."""
    found = step(promoted(), produce(["moved"], 10, acks=0), 9)
    assert found is not None
    assert found.join is not None
    with pytest.raises(FrameError, match="for moved, which were refused"):
        found.join([None])
    routes = promoted()
    routes.view = None
    with pytest.raises(FrameError, match="for topic moved, which is elsewhere"):
        step(routes, produce(["moved"], 10, acks=0), 9)


def test_records_without_acks_that_were_held_are_not_answered_either() -> None:
    routes = Routes(held=frozenset({"t"}))
    of, frame = steering(routes), framed(produce(["t"], 0, acks=0), 9)
    assert of.step(frame, head(frame), SourceClient()) is None
    routes.undo()
    found = of.step(frame, head(frame), SourceClient())
    assert found is not None
    assert found.silent
    sent = ProduceRequest.decode(memoryview(found.sends[0].frame)[4:], version=9, header=True)
    assert sent.acks == 1


def test_records_follow_a_topic_back_to_its_leader() -> None:
    """Sent there anew, those without sequences might overtake each other."""
    for acks in (0, 1, -1):
        routes = reverted()
        routes.view_back = promoted().view
        found = step(routes, produce(["moved"], 21, acks), 9, TargetClient())
        assert places(found) == [BrokerPlace(Cluster.SOURCE, 7)]
    assert places(step(reverted(), produce(["moved"], 21), 9, TargetClient())) == []
    with pytest.raises(FrameError, match="for topic moved, which is elsewhere"):
        step(reverted(), produce(["moved"], 21, acks=0), 9, TargetClient())


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_a_request_without_acks_is_answered_to_the_gateway_alone(acks: int) -> None:
    found = step(Routes(), produce(["t"], 0, acks), 9)
    assert found is not None
    assert found.silent == (acks == 0)
    sent = ProduceRequest.decode(memoryview(found.sends[0].frame)[4:], version=9, header=True)
    assert sent.acks == (acks or 1)


def fetch(version: int, name: str, ident: UUID, epoch: int) -> Any:
    topic = FetchRequest.FetchTopic
    named = {"topic_id": ident} if version >= 13 else {"topic": name}
    partition = topic.FetchPartition(
        partition=0, fetch_offset=1, partition_max_bytes=1, current_leader_epoch=-1,
        last_fetched_epoch=-1, log_start_offset=-1,
    )  # fmt: skip
    return FetchRequest(
        cluster_id=None, replica_id=-1, max_wait_ms=1, min_bytes=1, max_bytes=1,
        isolation_level=0, session_id=5 if epoch > 0 else 0, session_epoch=epoch,
        topics=[topic(partitions=[partition], **named)] if epoch <= 0 else [],
        forgotten_topics_data=[], rack_id="",
    )  # fmt: skip


@pytest.mark.parametrize("version", [11, 12, 13, 14])
def test_readers_of_a_promoted_topic_look_where_it_is(version: int) -> None:
    found = step(promoted(), fetch(version, "moved", SOURCE_ID, -1), version)
    assert found is not None
    assert found.own is not None
    said = FetchResponse.decode(memoryview(found.own)[4:], version=version, header=True)
    assert said.responses[0].partitions[0].error_code == 6
    other = step(promoted(), fetch(version, "other", UUID(int=9), -1), version)
    assert places(other) == [AT_SOURCE]


def test_a_session_of_before_ends_once() -> None:
    routes, client = promoted(), SourceClient()
    steers = steering(routes)

    def ask(epoch: int) -> RequestStep | None:
        frame = framed(fetch(12, "other", UUID(int=9), epoch), 12)
        return steers.step(frame, head(frame), client)

    first = ask(4)
    assert first is not None
    assert first.own is not None
    said = FetchResponse.decode(memoryview(first.own)[4:], version=12, header=True)
    assert said.error_code == 70
    assert places(ask(0)) == [AT_SOURCE]
    assert places(ask(1)) == [AT_SOURCE]


def metadata(*names: str) -> Any:
    topic = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[topic(name=name, topic_id=UUID(int=0)) for name in names] or None,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def test_metadata_come_from_the_cluster_that_has_the_topics() -> None:
    assert places(step(promoted(), metadata("moved"), 12)) == [TARGET]
    assert places(step(promoted(), metadata("moved", "other"), 12)) == [AT_SOURCE]
    assert places(step(promoted(), metadata(), 12)) == [AT_SOURCE]


def configs(*resources: tuple[int, str]) -> DescribeConfigsRequest:
    kind = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[kind(resource_type=of, resource_name=name) for of, name in resources],
        include_synonyms=False,
        include_documentation=False,
    )


def test_configs_of_promoted_topics_are_those_of_the_target() -> None:
    """There they are changed; a broker of the source would tell what counts no more."""
    moved, other, broker = (2, "moved"), (2, "other"), (4, "1000001")
    assert places(step(promoted(), configs(moved), 4)) == [TARGET]
    for asked in ((other,), (moved, other), (broker,), (moved, broker), ()):
        assert places(step(promoted(), configs(*asked), 4)) == [AT_SOURCE]
    assert places(step(reverted(), configs(moved), 4)) == [AT_SOURCE]
    at_target = TargetClient()
    for asked in ((moved,), (broker,), (moved, broker)):
        assert places(step(promoted(), configs(*asked), 4, at_target)) == [LEADER]
    assert places(step(promoted(), configs(other), 4, at_target)) == [SOURCE], "a mirror topic"
    assert places(step(promoted(), configs(moved, other), 4, at_target)) == [SOURCE]
    routes = promoted()
    routes.source_away = True
    assert places(step(routes, configs(moved, other), 4)) == [TARGET]


def test_a_promoted_group_is_found_on_the_target() -> None:
    assert places(step(promoted(), finding("g"), 4)) == [TARGET]
    assert places(step(promoted(), finding("other"), 4)) == [AT_SOURCE]
    both = step(promoted(), finding("g", "other"), 4)
    assert places(both) == [AT_SOURCE]
    assert both is not None
    sent = FindCoordinatorRequest.decode(
        memoryview(both.sends[0].frame)[4:], version=4, header=True
    )
    assert sent.coordinator_keys == ["other"]


def test_new_groups_are_of_the_target_once_all_topics_are() -> None:
    routes = promoted()
    routes.is_whole, routes.of_source = True, frozenset({"stays"})
    assert places(step(routes, finding("new"), 4)) == [TARGET]
    assert places(step(routes, finding("stays"), 4)) == [AT_SOURCE]


def test_records_of_a_topic_that_is_back_go_to_the_source_under_ids_of_its_era() -> None:
    found = step(reverted(), produce(["moved", "other"], 21), 9)
    assert places(found) == [AT_SOURCE]
    assert found is not None
    sent = ProduceRequest.decode(memoryview(found.sends[0].frame)[4:], version=9, header=True)
    ids = {
        topic.name: BatchHeader.read(bytes(topic.partition_data[0].records)).producer_id
        for topic in sent.topic_data
    }
    assert ids == {"moved": told(PRODUCER, 1), "other": PRODUCER}, "the source knew it before"


def test_repeats_and_gaps_are_judged_by_what_the_target_held() -> None:
    repeat = step(reverted(), produce(["moved"], 20), 9)
    assert repeat is not None
    assert codes(repeat.own) == {"moved": 46}
    gap = step(reverted(), produce(["moved"], 23), 9)
    assert gap is not None
    assert codes(gap.own) == {"moved": 6}


def test_clients_at_brokers_of_the_target_look_again_where_a_topic_is_that_is_back() -> None:
    routes, client = reverted(), TargetClient()
    written = step(routes, produce(["moved"], 21), 9, client)
    assert written is not None
    assert codes(written.own) == {"moved": 6}
    for version, ident in ((12, UUID(int=0)), (14, TARGET_ID), (14, SOURCE_ID)):
        read = step(routes, fetch(version, "moved", ident, -1), version, client)
        assert read is not None
        assert read.own is not None
        said = FetchResponse.decode(memoryview(read.own)[4:], version=version, header=True)
        assert said.responses[0].partitions[0].error_code == 6
    gone_on = step(routes, fetch(12, "moved", UUID(int=0), 4), 12, client)
    assert gone_on is not None
    assert gone_on.own is not None, "a session of before ends"
    assert places(step(routes, fetch(12, "moved", UUID(int=0), -1), 12)) == [AT_SOURCE]
    assert places(step(routes, metadata("moved"), 12, client)) == [SOURCE]


def test_groups_that_are_back_are_found_at_the_source_and_others_stay() -> None:
    assert places(step(reverted(), finding("g"), 4)) == [AT_SOURCE]
    assert places(step(reverted("stays"), finding("stays"), 4)) == [TARGET]


def test_a_topic_that_is_back_and_moves_again_keeps_the_ids_of_its_era() -> None:
    routes = reverted()
    producers = (LastBatch(id=told(PRODUCER, 1), epoch=0, sequence=40),)
    topic = PromotedTopic(
        topic=TopicName("moved"),
        source_id=TopicId(str(SOURCE_ID)),
        target_id=TopicId(str(TARGET_ID)),
        partitions=(PromotedPartition(partition=0, end=50, producers=producers),),
        era=1,
    )
    routes.move(Promoted(link=LinkName("l-2"), name="again", topics=(topic,), groups=("g",), at=3))
    again = step(routes, produce(["moved"], 40), 9)
    assert again is not None
    assert codes(again.own) == {"moved": 46}
    assert places(step(routes, produce(["moved"], 41), 9)) == [LEADER]
    assert places(step(routes, finding("g"), 4)) == [TARGET]


def alone() -> Routes:
    routes = promoted()
    routes.source_away = True
    return routes


def topics_asked(found: RequestStep | None) -> list[str] | None:
    assert found is not None
    asked = MetadataRequest.decode(memoryview(found.sends[0].frame)[4:], version=12, header=True)
    return None if asked.topics is None else [each.name for each in asked.topics]


def test_the_target_tells_alone_of_what_is_promoted_while_the_source_is_away() -> None:
    for names, asked in (((), None), (("moved", "other"), ["moved"]), (("other",), [])):
        found = step(alone(), metadata(*names), 12)
        assert places(found) == [TARGET]
        assert topics_asked(found) == asked
        assert found is not None
        assert found.sends[0].change is not None
        kind = MetadataResponse.MetadataResponseTopic
        there = ["moved", "unpromoted"] if asked is None else asked
        topics = [
            kind(error_code=0, name=each, topic_id=TARGET_ID, is_internal=False, partitions=[])
            for each in there
        ]
        told = MetadataResponse(
            throttle_time_ms=0, brokers=[], cluster_id="c", controller_id=1, topics=topics
        )
        made = found.sends[0].change(framed(told, 12), 12)
        said = MetadataResponse.decode(memoryview(made)[4:], version=12, header=True)
        shown = {each.name: each.error_code for each in said.topics}
        assert shown == ({name: 0 if name == "moved" else 5 for name in names} or {"moved": 0})


def test_groups_of_the_source_find_no_coordinator_while_it_is_away() -> None:
    assert places(step(alone(), finding("g"), 4)) == [TARGET]
    both = step(alone(), finding("g", "other"), 4)
    assert places(both) == [TARGET]
    assert both is not None
    sent = FindCoordinatorRequest.decode(
        memoryview(both.sends[0].frame)[4:], version=4, header=True
    )
    assert sent.coordinator_keys == ["g"]
    none = step(alone(), finding("other"), 4)
    assert none is not None
    assert none.own is not None
    said = FindCoordinatorResponse.decode(memoryview(none.own)[4:], version=4, header=True)
    assert [(each.key, each.error_code) for each in said.coordinators] == [("other", 15)]
    old = step(alone(), FindCoordinatorRequest(key="other", key_type=0), 2)
    assert old is not None
    assert old.own is not None
    told = FindCoordinatorResponse.decode(memoryview(old.own)[4:], version=2, header=True)
    assert told.error_code == 15


def of_others() -> Routes:
    """Return the routes of a gateway whose link another one has promoted topic `moved` beside."""
    routes = Routes()
    routes.of_others.links, routes.of_others.ids = {"moved": "other"}, {SOURCE_ID, TARGET_ID}
    return routes


def test_records_of_a_topic_that_another_link_has_promoted_are_sent_back() -> None:
    routes = of_others()
    found = step(routes, produce(["moved", "free"], 10), 9)
    assert found is not None
    assert places(found) == [AT_SOURCE]
    assert found.join is not None
    assert codes(bytes(found.join([None]))) == {"moved": 6, "free": 6}
    assert routes.of_others.turned_back == {(SourceClient.name, "moved")}
    alone = step(routes, produce(["moved"], 10), 9)
    assert alone is not None
    assert (alone.sends, codes(alone.own)) == ((), {"moved": 6})


def test_topics_of_other_links_count_for_none_of_what_a_link_has_moved_itself() -> None:
    routes = promoted()
    routes.of_others.links = {"moved": "other"}
    assert places(step(routes, produce(["moved"], 10), 9)) == [LEADER]
    assert routes.is_elsewhere("moved", Cluster.SOURCE)
    assert not routes.is_elsewhere("moved", Cluster.TARGET)


def test_a_topic_that_another_link_has_promoted_is_not_read_where_it_was() -> None:
    routes = of_others()
    assert routes.is_elsewhere("moved", Cluster.SOURCE)
    assert routes.is_id_elsewhere(SOURCE_ID, Cluster.SOURCE)
    assert not routes.is_elsewhere("free", Cluster.SOURCE)
