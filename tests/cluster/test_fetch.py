"""Fetch requests and answers, and answers to produce requests that concern no partition."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse

from towpath.cluster.data import produce
from towpath.cluster.data.fetch import FetchSession, version_for
from towpath.cluster.data.fetch_bodies import BY_ID, BY_NAME, DIVERGING, FetchFrom
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.records.source.trouble import SourceTrouble, source_trouble

ID = TopicId("5ba5fb07-7df2-4f4b-9a3c-f5dd19aa45b5")
OLD = TopicId("0aa5fb07-7df2-4f4b-9a3c-f5dd19aa45b5")
SOME = [TopicPartition(TopicName("t"), number) for number in range(2)]
ALL = [BY_NAME, DIVERGING, BY_ID]


@pytest.mark.parametrize(
    ("newest", "ids", "version"),
    [
        (11, True, 11),
        (12, True, 12),
        (12, False, 12),
        (13, True, 13),
        (18, True, 13),
        (18, False, 12),
    ],
)
def test_the_newest_version_that_both_know(newest: int, ids: bool, version: int) -> None:
    """Without ids of topics they are fetched by name, and divergence is told all the same."""
    assert version_for(newest, ids=ids) == version


@pytest.mark.parametrize("version", ALL)
def test_requests_are_those_of_kafka_python(version: int) -> None:
    made = FetchSession(version, max_bytes=1000, rack="r1")
    for tp in SOME:
        made.want(tp, FetchFrom(7, 500, ID, last_epoch=3))
    body = made.request(250)[0]
    sent = FetchRequest.decode(bytes(body), version=version)
    assert (sent.max_wait_ms, sent.max_bytes, sent.rack_id) == (250, 1000, "r1")
    [topic] = sent.topics
    assert (topic.topic or topic.topic_id) == ("t" if version < BY_ID else UUID(ID))
    asked = [(p.partition, p.fetch_offset, p.partition_max_bytes) for p in topic.partitions]
    assert sorted(asked) == [(0, 7, 500), (1, 7, 500)]
    epochs = {p.last_fetched_epoch for p in topic.partitions}
    assert epochs == {-1 if version < DIVERGING else 3}
    made.drop(SOME[0])
    [gone] = FetchRequest.decode(bytes(made.request(0)[0]), version=version).forgotten_topics_data
    assert (gone.topic or gone.topic_id, gone.partitions) == (topic.topic or topic.topic_id, [0])


@pytest.mark.parametrize("dropped", [True, False])
def test_the_broker_forgets_a_topic_that_was_made_again(*, dropped: bool) -> None:
    made, tp = FetchSession(BY_ID, max_bytes=1000), SOME[0]
    made.want(tp, FetchFrom(7, 500, OLD))
    made.request(0)
    if dropped:
        made.drop(tp)
    made.want(tp, FetchFrom(0, 500, ID))
    sent = FetchRequest.decode(bytes(made.request(0)[0]), version=BY_ID)
    assert [topic.topic_id for topic in sent.topics] == [UUID(ID)]
    [gone] = sent.forgotten_topics_data
    assert (gone.topic_id, gone.partitions) == (UUID(OLD), [0])
    sent = FetchRequest.decode(bytes(made.request(0)[0]), version=BY_ID)
    assert (sent.topics, sent.forgotten_topics_data) == ([], [])


@pytest.mark.parametrize("version", ALL)
def test_a_topic_that_is_wanted_again_at_once_is_not_forgotten(version: int) -> None:
    made, tp = FetchSession(version, max_bytes=1000), SOME[0]
    for offset in (7, 9):
        made.want(tp, FetchFrom(offset, 500, ID))
        made.request(0)
        made.drop(tp)
    made.want(tp, FetchFrom(9, 500, ID))
    assert not FetchRequest.decode(bytes(made.request(0)[0]), version=version).forgotten_topics_data


def _answered(version: int, **more: Any) -> bytes:
    part = FetchResponse.FetchableTopicResponse.PartitionData
    aborted = part.AbortedTransaction
    data = part(
        partition_index=1, error_code=0, high_watermark=9, last_stable_offset=8,
        log_start_offset=2, aborted_transactions=[aborted(producer_id=5, first_offset=4)],
        preferred_read_replica=-1, records=b"records", **more,
    )  # fmt: skip
    topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=UUID(ID), partitions=[data])
    whole = FetchResponse(throttle_time_ms=0, error_code=0, session_id=77, responses=[topic])
    tags = b"\0" if version >= DIVERGING else b""
    return b"\0" * 4 + tags + bytes(whole.encode(version=version))


@pytest.mark.parametrize("version", ALL)
def test_answers_are_those_of_kafka_python(version: int) -> None:
    data = _answered(version)
    [said] = session(version).response(memoryview(data)) or []
    assert (said.tp, said.error, said.high_watermark, said.last_stable) == (SOME[1], 0, 9, 8)
    assert (said.log_start, said.aborted, said.diverging) == (2, ((5, 4),), None)
    assert data[said.start : said.end] == b"records"


@pytest.mark.parametrize("version", [DIVERGING, BY_ID])
def test_the_broker_tells_where_its_log_diverges(version: int) -> None:
    part = FetchResponse.FetchableTopicResponse.PartitionData
    data = _answered(version, diverging_epoch=part.EpochEndOffset(epoch=2, end_offset=6))
    [said] = session(version).response(memoryview(data)) or []
    assert said.diverging == (2, 6)
    assert source_trouble(said) is SourceTrouble.CUT


def session(version: int) -> FetchSession:
    made = FetchSession(version, max_bytes=1000)
    for tp in SOME:
        made.want(tp, FetchFrom(7, 1000, ID))
    made.request(0)
    return made


def answer(version: int, error: int, throttle: int = 0) -> memoryview:
    """Correlation id, tags, throttle time, error, session id, no topics, tags."""
    tags, none = (b"\0", b"\1") if version >= DIVERGING else (b"", b"\0" * 4)
    return memoryview(b"\0" * 4 + tags + struct.pack(">ihi", throttle, error, 0) + none + tags)


@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("error", [-1, 29, 42])
def test_an_error_of_the_whole_answer_is_one_of_each_partition(version: int, error: int) -> None:
    """Else the same request would go out again at once, and for ever."""
    made = session(version)
    said = made.response(answer(version, error))
    assert said is not None
    assert {(one.tp, one.error) for one in said} == {(tp, error) for tp in SOME}
    assert all(source_trouble(one) is not SourceTrouble.NONE for one in said)
    again = FetchSession(version, max_bytes=1000)
    for tp in SOME:
        again.want(tp, FetchFrom(7, 1000, ID))
    assert sorted(made.request(0)[0]) == sorted(again.request(0)[0])


@pytest.mark.parametrize("version", ALL)
def test_a_lost_session_begins_again(version: int) -> None:
    assert session(version).response(answer(version, 70)) is None
    assert session(version).response(answer(version, 0)) == []


@pytest.mark.parametrize("version", ALL)
def test_a_fetch_answer_tells_for_how_long_the_broker_is_mute(version: int) -> None:
    made = session(version)
    made.response(answer(version, 0, throttle=1500))
    assert made.throttle == 1.5
    made.response(answer(version, 0))
    assert made.throttle == 0


def test_a_produce_answer_tells_for_how_long_the_broker_is_mute() -> None:
    one = struct.pack(">ihqqq", 0, 0, 41, -1, 0)
    named = b"\0" * 4 + struct.pack(">ih", 1, 1) + b"t" + struct.pack(">i", 1)
    for version, tail in (7, b""), (8, struct.pack(">ih", 0, -1)):
        said = produce.response(memoryview(named + one + tail + struct.pack(">i", 250)), version)
        assert (said.throttle, said.batches) == (0.25, (produce.Produced(SOME[0], 0, 41),))
    by_id = b"\0" * 4 + b"\0\2" + UUID(ID).bytes + b"\2" + one + b"\1\0\0\0"
    body = memoryview(by_id + struct.pack(">i", 250) + b"\0")
    said = produce.response_by_id(body, {ID: SOME[0].topic})
    assert (said.throttle, said.batches) == (0.25, (produce.Produced(SOME[0], 0, 41),))
