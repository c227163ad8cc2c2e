"""Fetch requests lose their leader epochs, and nothing else."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest

from towpath.gateway.fetch_requests import without_leader_epochs
from towpath.gateway.frames import FrameError

Topic = FetchRequest.FetchTopic
VERSIONS = range(4, 16)
EPOCHS = st.integers(-1, 2**31 - 1)


@st.composite
def requests(draw: st.DrawFn, least: int = 0) -> Any:
    version = draw(st.sampled_from(VERSIONS))
    partitions = st.builds(
        Topic.FetchPartition,
        partition=st.integers(0, 9),
        current_leader_epoch=EPOCHS,
        fetch_offset=st.integers(0, 2**40),
        last_fetched_epoch=EPOCHS,
        log_start_offset=st.integers(-1, 9),
        partition_max_bytes=st.integers(0, 2**20),
    )
    topics = [
        Topic(
            topic=draw(st.text(max_size=5)),
            topic_id=uuid.UUID(int=draw(st.integers(0, 2**128 - 1))),
            partitions=draw(st.lists(partitions, min_size=1, max_size=3)),
        )
        for _ in range(draw(st.integers(least, 2)))
    ]
    asked = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=3,
        session_epoch=5,
        topics=topics,
        forgotten_topics_data=[],
        rack_id=draw(st.text(max_size=5)),
    )
    asked.API_VERSION = version
    asked.with_header(correlation_id=7, client_id=draw(st.none() | st.text(max_size=9)))
    return asked


def frame_of(asked: Any) -> bytearray:
    return bytearray(asked.encode(header=True, framed=True))


@given(requests())
def test_epochs_are_gone_and_all_else_is_as_it_was(asked: Any) -> None:
    changed = without_leader_epochs(frame_of(asked), asked.API_VERSION)
    for topic in asked.topics:
        for each in topic.partitions:
            each.current_leader_epoch = each.last_fetched_epoch = -1
    assert changed == frame_of(asked)


@given(requests(1), st.data())
def test_a_request_that_ends_early_is_refused(asked: Any, data: st.DataObject) -> None:
    frame = frame_of(asked)
    if asked.API_VERSION < 9:
        return
    behind = len(asked.rack_id.encode()) + 10
    cut = data.draw(st.integers(14, len(frame) - behind))
    with pytest.raises(FrameError):
        without_leader_epochs(frame[:cut], asked.API_VERSION)
