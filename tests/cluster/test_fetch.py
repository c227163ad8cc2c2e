"""Answers to fetches and produce requests that concern no single partition."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from towpath.cluster import produce
from towpath.cluster.fetch import BY_ID, BY_NAME, FetchFrom, FetchSession
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.records.trouble import SourceTrouble, source_trouble

ID = TopicId("5ba5fb07-7df2-4f4b-9a3c-f5dd19aa45b5")
SOME = [TopicPartition(TopicName("t"), number) for number in range(2)]


def session(version: int) -> FetchSession:
    made = FetchSession(version, max_bytes=1000)
    for tp in SOME:
        made.want(tp, FetchFrom(7, 1000, ID))
    made.request(0)
    return made


def answer(version: int, error: int, throttle: int = 0) -> memoryview:
    """Correlation id, tags, throttle time, error, session id, no topics, tags."""
    tags, none = (b"\0", b"\1") if version == BY_ID else (b"", b"\0" * 4)
    return memoryview(b"\0" * 4 + tags + struct.pack(">ihi", throttle, error, 0) + none + tags)


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
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


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_a_lost_session_begins_again(version: int) -> None:
    assert session(version).response(answer(version, 70)) is None
    assert session(version).response(answer(version, 0)) == []


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
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
