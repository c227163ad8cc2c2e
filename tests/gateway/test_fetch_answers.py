"""Answers to Fetch lose their epochs, and nothing else."""

from __future__ import annotations

import uuid
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchResponse

from towpath.gateway.fetch_answers import FetchAnswer, FetchChange
from towpath.gateway.frames import FrameError
from towpath.gateway.relayed_nodes import SHIFT, shown

VERSIONS = range(4, 16)
_MAGIC = 2
IDS = {uuid.UUID(int=n).bytes: uuid.UUID(int=n + 1).bytes for n in range(3)}
Topic, Partition = (
    FetchResponse.FetchableTopicResponse,
    FetchResponse.FetchableTopicResponse.PartitionData,
)


@st.composite
def batches(draw: st.DrawFn) -> bytes:
    """Batches with epochs; the last one may be cut off."""
    made = b""
    for _ in range(draw(st.integers(0, 3))):
        body = draw(st.binary(min_size=0, max_size=30))
        epoch = draw(st.integers(0, 2**31 - 1))
        rest = epoch.to_bytes(4, "big") + bytes([_MAGIC]) + body
        made += draw(st.binary(min_size=8, max_size=8)) + len(rest).to_bytes(4, "big") + rest
    return made[: len(made) - draw(st.integers(0, min(len(made), 20)))]


@st.composite
def partitions(draw: st.DrawFn, version: int) -> Any:
    numbers = st.integers(-1, 2**40)
    made = Partition(
        partition_index=draw(st.integers(0, 9)),
        error_code=draw(st.sampled_from([0, 6])),
        high_watermark=draw(numbers),
        last_stable_offset=draw(numbers),
        log_start_offset=draw(numbers),
        aborted_transactions=draw(
            st.none()
            | st.lists(
                st.builds(Partition.AbortedTransaction, producer_id=numbers, first_offset=numbers),
                max_size=2,
            )
        ),
        preferred_read_replica=draw(st.integers(-1, 9)),
        records=draw(st.none() | batches()),
    )
    if version >= 12 and draw(st.booleans()):
        made.current_leader = Partition.LeaderIdAndEpoch(leader_id=3, leader_epoch=5)
    return made


@st.composite
def answers(draw: st.DrawFn) -> tuple[int, bytearray]:
    version = draw(st.sampled_from(VERSIONS))
    topics = [
        Topic(
            topic=draw(st.text(max_size=5)),
            topic_id=uuid.UUID(int=draw(st.integers(0, 2**128 - 1))),
            partitions=draw(st.lists(partitions(version), max_size=3)),
        )
        for _ in range(draw(st.integers(0, 2)))
    ]
    answer = FetchResponse(throttle_time_ms=0, error_code=0, session_id=7, responses=topics)
    answer.API_VERSION = version
    answer.with_header(correlation_id=9)
    return version, bytearray(answer.encode(header=True, framed=True))


def stripped(records: bytes | None) -> bytes | None:
    """Take the epochs out, batch by batch."""
    made, at = bytearray(records or b""), 0
    while at + 16 < len(made):
        made[at + 12 : at + 16] = b"\xff" * 4
        at += 12 + int.from_bytes(made[at + 8 : at + 12], "big")
    return None if records is None else bytes(made)


@given(answers())
def test_epochs_are_taken_out_and_nodes_renamed(made: tuple[int, bytearray]) -> None:
    version, frame = made
    expected = FetchResponse.decode(memoryview(bytes(frame))[4:], version=version, header=True)
    for topic in expected.responses:
        for each in topic.partitions:
            each.records = stripped(each.records)
            if version >= 11:
                each.preferred_read_replica = shown(each.preferred_read_replica)
            if version >= 12 and each.current_leader is not None and each.error_code >= 0:
                _hide(each.current_leader)
    found = FetchResponse.decode(
        memoryview(bytes(FetchChange(shown)(frame, version)))[4:], version=version, header=True
    )
    assert found == expected


def _hide(leader: Any) -> None:
    if leader.leader_id >= 0:
        leader.leader_id, leader.leader_epoch = leader.leader_id + SHIFT, -1


@given(answers(), st.data())
def test_an_answer_that_ends_early_is_refused(made: tuple[int, bytearray], data: Any) -> None:
    version, frame = made
    cut = frame[: data.draw(st.integers(8, max(8, len(frame) - 1)))]
    if len(cut) < len(frame):
        with pytest.raises(FrameError):
            FetchChange(shown)(cut, version)


@given(answers(), st.data())
def test_an_answer_that_passes_in_pieces_is_what_it_is_as_a_whole(
    made: tuple[int, bytearray], data: Any
) -> None:
    version, frame = made
    whole = bytes(FetchChange(shown, IDS)(bytearray(frame), version))
    answer = FetchChange(shown, IDS).begin(len(frame), version)
    assert answer is not None
    cuts = data.draw(st.lists(st.integers(0, len(frame)), max_size=20).map(sorted))
    found = b""
    for begin, end in pairwise([0, *cuts, len(frame)]):
        piece = memoryview(bytearray(frame[begin:end]))
        found += b"".join(map(bytes, answer.passed(piece)))
        assert len(found) <= end, "nothing passes before it came"
    assert (found, answer.left) == (whole, 0)


@given(answers(), st.data())
def test_an_answer_that_ends_early_is_refused_in_pieces(
    made: tuple[int, bytearray], data: Any
) -> None:
    version, frame = made
    size = data.draw(st.integers(8, max(8, len(frame) - 1)))
    if size == len(frame):
        return
    answer = FetchChange(shown).begin(size, version)
    assert answer is not None
    cut = data.draw(st.integers(0, size))
    with pytest.raises(FrameError):
        _take(answer, frame[:cut], frame[cut:size])


def _take(answer: FetchAnswer, *pieces: bytearray) -> None:
    for piece in pieces:
        answer.passed(memoryview(bytearray(piece)))


def test_an_answer_that_may_be_late_is_awaited() -> None:
    assert FetchChange(shown, ahead=lambda *_: True).begin(100, 12) is None
