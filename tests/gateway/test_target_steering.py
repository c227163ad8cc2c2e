"""Where requests go where clients read mirror topics on the target and write to the source."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin import DeleteRecordsRequest, DescribeConfigsRequest
from kafka.protocol.consumer import (
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from tests.support.clients.mirror_gate import (
    BEHIND,
    FIRST,
    LINKED_ID,
    SECOND,
    Gate,
    batch,
    codes,
    parts_of,
    produce,
    produced,
)
from tests.support.clients.promoted_routes import LEADER, framed, promoted
from tests.support.clients.steered import places
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from towpath.gateway.fenced_members import HOLD
from towpath.gateway.frames import FrameError, head
from towpath.gateway.mirror_reads import MirrorEnds
from towpath.gateway.recoding import LateAnswer
from towpath.gateway.routes import BrokerPlace, Cluster
from towpath.ledger.entries import Promoted
from towpath.model.nouns import LinkName

# Records


def test_the_five_batches_of_two_producers_keep_their_order_and_their_requests() -> None:
    """Each producer's batches follow one another on a connection of its own to one leader.

    A shared pool would merge them into three requests; here each passes as it came, and nothing
    of one producer waits for another (decision 110).
    """
    gate, sent = Gate(), dict[int, list[tuple[str, int, bytes]]]()
    for producer, topic, partition, leader, number in (
        (0, "topic-a", 0, FIRST, 3), (1, "topic-b", 1, SECOND, 2),
    ):  # fmt: skip
        for sequence in range(number):
            asked = topic, partition, batch(producer, sequence)
            frame = framed(produce(asked), 9)
            step = gate.steering.step(frame, head(frame), gate.client)
            assert step is not None
            assert places(step) == [leader]
            assert step.sends[0].frame == frame, "it passes as it came"
            assert step.sends[0].writes, "a promotion waits for it"
            sent.setdefault(producer, []).extend(parts_of(step.sends[0].frame))
    assert sent == {
        0: [("topic-a", 0, batch(0, each)) for each in range(3)],
        1: [("topic-b", 1, batch(1, each)) for each in range(2)],
    }


def test_a_request_for_several_leaders_is_parted_with_one_batch_of_a_partition_each() -> None:
    gate = Gate()
    asked = [("topic-b", 1, batch(0, 0)), ("topic-a", 0, batch(0, 0)), ("other", 0, batch(0, 0))]
    found = gate.step(produce(*asked), 9)
    assert found is not None
    assert places(found) == [SECOND, FIRST, LEADER], "what the link does not have is the target's"
    assert [parts_of(each.frame) for each in found.sends] == [[each] for each in asked]
    assert found.join is not None
    said = found.join(
        [produced(("topic-b", 1, 0)), produced(("topic-a", 0, 6)), produced(("other", 0, 0))]
    )
    assert codes(said) == {("topic-b", 1): 0, ("topic-a", 0): 6, ("other", 0): 0}
    assert gate.asks == 1, "who leads topic-a is looked at"


def test_a_leader_that_moved_is_told_to_the_client_and_looked_for() -> None:
    gate = Gate()
    found = gate.step(produce(("topic-a", 0, batch(0, 0))), 9)
    assert found is not None
    change = found.sends[0].change
    assert change is not None
    assert codes(change(produced(("topic-a", 0, 0)), 9)) == {("topic-a", 0): 0}
    assert gate.asks == 0
    assert codes(change(produced(("topic-a", 0, 6)), 9)) == {("topic-a", 0): 6}
    assert gate.asks == 1


@pytest.mark.parametrize(("topic", "partition"), [("topic-c", 0), ("topic-new", 0)])
def test_records_without_a_leader_at_the_source_are_sent_again(topic: str, partition: int) -> None:
    gate = Gate()
    own = gate.answered(produce((topic, partition, batch(0, 0))), 9)
    assert codes(own) == {(topic, partition): 6}
    assert gate.asks, "who leads it is looked at"


def test_records_of_a_promoted_topic_stay_on_the_target() -> None:
    gate = Gate(promoted())
    found = gate.step(produce(("moved", 0, batch(0, 10)), ("topic-a", 0, batch(0, 0))), 9)
    assert places(found) == [LEADER, FIRST]


def test_records_are_held_while_their_topic_moves() -> None:
    gate = Gate()
    gate.routes.held = frozenset({"topic-a"})
    assert gate.step(produce(("topic-a", 0, batch(0, 0))), 9) is None


def test_records_without_acks_that_are_refused_end_their_connection() -> None:
    gate = Gate()
    found = gate.step(produce(("topic-a", 0, batch(0, 0)), acks=0), 9)
    assert found is not None
    assert found.silent
    change = found.sends[0].change
    assert change is not None
    with pytest.raises(FrameError, match="waits for no answer"):
        change(produced(("topic-a", 0, 6)), 9)


# Reads


def fetch(version: int, offset: int) -> Any:
    topic = FetchRequest.FetchTopic
    name = {"topic": "topic-a"} if version < 13 else {"topic_id": LINKED_ID}
    partition = topic.FetchPartition(
        partition=0, current_leader_epoch=4, fetch_offset=offset, last_fetched_epoch=4,
        log_start_offset=-1, partition_max_bytes=1,
    )  # fmt: skip
    return FetchRequest(
        replica_id=-1, max_wait_ms=1, min_bytes=1, max_bytes=1, isolation_level=0, session_id=0,
        session_epoch=0, topics=[topic(partitions=[partition], **name)], forgotten_topics_data=[],
        rack_id="",
    )  # fmt: skip


def fetched(version: int, code: int) -> bytearray:
    topic = FetchResponse.FetchableTopicResponse
    name = {"topic": "topic-a"} if version < 13 else {"topic_id": LINKED_ID}
    row = topic.PartitionData(
        partition_index=0, error_code=code, high_watermark=-1, last_stable_offset=-1,
        log_start_offset=-1, aborted_transactions=None, preferred_read_replica=-1, records=b"",
    )  # fmt: skip
    answer = FetchResponse(
        throttle_time_ms=0, error_code=0, session_id=0, responses=[topic(partitions=[row], **name)]
    )
    return framed(answer, version)


def read(gate: Gate, version: int, offset: int) -> tuple[int, bool]:
    """Return how a Fetch is answered that is out of range on the target, and whether late."""
    found = gate.step(fetch(version, offset), version)
    assert found is not None
    assert places(found) == [LEADER]
    change = found.sends[0].change
    assert change is not None
    made = change(fetched(version, 1), version)
    answer = FetchResponse.decode(memoryview(made)[4:], version=version, header=True)
    return answer.responses[0].partitions[0].error_code, isinstance(made, LateAnswer)


@pytest.mark.parametrize("version", [4, 5, 7, 11, 12, 13, 15])
def test_a_position_ahead_of_the_mirror_waits_and_others_are_told(version: int) -> None:
    gate = Gate()
    assert read(gate, version, 120) == (0, True), "as long as nothing is known"
    assert gate.mirror.asked() == {BEHIND}
    gate.mirror.ends[BEHIND] = MirrorEnds(10, 100, 150, 0.0)
    assert read(gate, version, 120) == (0, True)
    assert read(gate, version, 9) == (1, False), "deleted"
    assert read(gate, version, 151) == (1, False), "the source does not have it either"
    gate.mirror.ends[BEHIND] = MirrorEnds(10, 100, None, 0.0)
    assert read(gate, version, 151) == (0, True), "the source is away"


def test_ends_that_are_old_are_asked_for_again() -> None:
    gate = Gate()
    gate.mirror.ends[BEHIND] = MirrorEnds(10, 100, 110, 0.0)
    gate.clock.now = 5.0
    assert read(gate, 12, 120) == (0, True), "the source may have grown"
    assert gate.mirror.asked() == {BEHIND}


def test_what_is_promoted_is_told_as_the_target_says() -> None:
    gate = Gate()
    gate.routes.topics.add("topic-a")
    assert read(gate, 12, 120) == (1, False)


def test_metadata_come_from_the_target_and_make_no_mirror_topic() -> None:
    gate, kind = Gate(), MetadataRequest.MetadataRequestTopic
    for names, made in ((["topic-a"], False), (["other"], True), (["other", "topic-a"], False)):
        topics = [kind(name=name, topic_id=UUID(int=0)) for name in names]
        found = gate.step(MetadataRequest(topics=topics, allow_auto_topic_creation=True), 9)
        assert places(found) == [LEADER]
        assert found is not None
        sent = MetadataRequest.decode(memoryview(found.sends[0].frame)[4:], version=9, header=True)
        assert sent.allow_auto_topic_creation is made


def test_configs_of_mirror_topics_are_those_of_the_source_where_they_are_changed() -> None:
    kind = DescribeConfigsRequest.DescribeConfigsResource

    def asked(*names: str) -> Any:
        resources = [kind(resource_type=2, resource_name=name) for name in names]
        return DescribeConfigsRequest(
            resources=resources, include_synonyms=False, include_documentation=False
        )

    (found,) = places(Gate().step(asked("topic-a"), 4))
    assert found.cluster is Cluster.SOURCE
    assert places(Gate().step(asked("other"), 4)) == [LEADER]
    assert places(Gate().step(asked("other", "topic-a"), 4)) == [LEADER], "it has both"


def test_records_of_mirror_topics_are_not_deleted() -> None:
    kind = DeleteRecordsRequest.DeleteRecordsTopic
    with pytest.raises(FrameError, match="topic-a, which is a mirror topic"):
        Gate().step(DeleteRecordsRequest(topics=[kind(name="topic-a", partitions=[])]), 1)
    found = Gate().step(DeleteRecordsRequest(topics=[kind(name="other", partitions=[])]), 1)
    assert places(found) == [LEADER]


# Groups


def join(group: str = "g") -> Any:
    return JoinGroupRequest(
        group_id=group, session_timeout_ms=1, rebalance_timeout_ms=1, member_id="",
        group_instance_id=None, protocol_type="consumer", protocols=[],
    )  # fmt: skip


def beat(epoch: int) -> Any:
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=epoch, instance_id=None, rack_id=None,
        rebalance_timeout_ms=-1, subscribed_topic_names=None, subscribed_topic_regex=None,
        server_assignor=None, topic_partitions=None,
    )  # fmt: skip


def code_of(message: Any, frame: bytes, version: int) -> int:
    return int(message.decode(memoryview(frame)[4:], version=version, header=True).error_code)


def test_a_join_is_held_then_asked_for_again_until_the_group_is_promoted() -> None:
    gate = Gate()
    assert gate.step(join(), 5) is None
    gate.clock.now = HOLD - 1
    assert gate.step(join(), 5) is None
    gate.clock.now = HOLD
    assert code_of(JoinGroupResponse, gate.answered(join(), 5), 5) == 14
    assert gate.mirror.fenced.counts() == {"g": 1}
    assert gate.step(join(), 5) is None
    gate.routes.move(Promoted(link=LinkName("l"), name="p", topics=(), groups=("g",), at=1))
    assert gate.mirror.fenced.counts() == {}, "whichever gateway promoted it"
    assert places(gate.step(join(), 5)) == [LEADER]


def test_members_of_kip_848_wait_too_and_may_leave() -> None:
    gate = Gate()
    message = ConsumerGroupHeartbeatResponse
    for epoch, code in ((0, 14), (7, 110), (-1, 0)):
        assert code_of(message, gate.answered(beat(epoch), 0), 0) == code
    assert gate.mirror.fenced.counts() == {"g": 1}
    gate.routes.groups.add("g")
    assert places(gate.step(beat(0), 0)) == [LEADER]


def test_a_member_that_is_gone_does_not_count() -> None:
    gate = Gate()
    assert gate.step(join(), 5) is None
    gate.clock.now = 60
    assert gate.mirror.fenced.counts() == {}


def test_offsets_of_a_group_that_waits_are_asked_for_again() -> None:
    gate, kind = Gate(), OffsetFetchRequest.OffsetFetchRequestGroup
    asked = OffsetFetchRequest(
        groups=[kind(group_id="g", topics=None), kind(group_id="of the target", topics=None)],
        require_stable=True,
    )
    answer = OffsetFetchResponse.decode(
        memoryview(gate.answered(asked, 8))[4:], version=8, header=True
    )
    assert [each.error_code for each in answer.groups] == [14, 14]
    fresh = HeartbeatRequest(group_id="g", generation_id=3, member_id="m", group_instance_id=None)
    assert code_of(HeartbeatResponse, gate.answered(fresh, 3), 3) == 25


def test_groups_that_the_link_does_not_have_are_the_targets() -> None:
    gate = Gate()
    assert places(gate.step(join("of the target"), 5)) == [LEADER]
    asked = FindCoordinatorRequest(key="g", key_type=0)
    assert places(gate.step(asked, 2)) == [LEADER]
    assert places(gate.step(FindCoordinatorRequest(key="t", key_type=1), 2)) == [
        BrokerPlace(Cluster.SOURCE)
    ], "a transactional producer writes to the source"
