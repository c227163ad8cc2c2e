"""Produce requests to promoted topics: split by partition, and their answers joined. Pure.

Batches pass as they are; what goes to one broker stays one request, with one batch for each
partition, as the client made it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka.protocol.producer import ProduceRequest, ProduceResponse

from towpath.gateway.cut_table import Place, SentBatch
from towpath.gateway.frames import FrameError
from towpath.gateway.produce_parts import PRODUCER_AT, is_transactional, require_one_batch
from towpath.gateway.producer_eras import canonical
from towpath.gateway.recoding import decoded

_PRODUCER = struct.Struct(">qhii")


def opened(frame: bytes | bytearray, version: int) -> Any:
    """Decode a Produce request.

    Raises:
        FrameError: It is no such request.
    """
    return decoded(ProduceRequest, frame, version)


def names(asked: Any) -> set[str]:
    """Return the topics of a Produce request."""
    return {topic.name for topic in asked.topic_data}


def batches(asked: Any) -> dict[Place, SentBatch]:
    """Return the record batch of each partition in a Produce request.

    Raises:
        FrameError: There is not one batch of today's format for each partition.
    """
    return {
        (topic.name, each.index): batch(bytes(each.records or b""))
        for topic in asked.topic_data
        for each in topic.partition_data
    }


def producers(frame: bytes | bytearray, version: int) -> set[int]:
    """Return the ids of the producers in a Produce request, as the gateway knows them.

    Raises:
        FrameError: It is no such request.
    """
    return {canonical(each.producer) for each in batches(opened(frame, version)).values()}


def batch(records: bytes) -> SentBatch:
    """Read the header of a record batch.

    Raises:
        FrameError: It is not one batch of today's format.
    """
    require_one_batch(records)
    producer, epoch, sequence, count = _PRODUCER.unpack_from(records, PRODUCER_AT)
    if is_transactional(records):
        return SentBatch(producer, epoch, sequence, count, transactional=True)
    return SentBatch(canonical(producer), epoch, sequence, count)


def part(asked: Any, places: Iterable[Place], stamp: Callable[[Place, bytes], bytes]) -> bytes:
    """Return a Produce request for some of the partitions.

    Args:
        asked: The whole request.
        places: The partitions.
        stamp: Makes the batch that brokers get of one for a partition.
    """
    wanted = set(places)
    topics = []
    for topic in asked.topic_data:
        theirs = [each for each in topic.partition_data if (topic.name, each.index) in wanted]
        for each in theirs:
            each.records = stamp((topic.name, each.index), bytes(each.records))
        if theirs:
            topics.append(ProduceRequest.TopicProduceData(name=topic.name, partition_data=theirs))
    made = ProduceRequest(
        transactional_id=asked.transactional_id,
        acks=asked.acks,
        timeout_ms=asked.timeout_ms,
        topic_data=topics,
    )
    made.API_VERSION = asked.API_VERSION
    made.with_header(correlation_id=asked.header.correlation_id, client_id=asked.header.client_id)
    return bytes(made.encode(header=True, framed=True))


def results(frame: bytes | bytearray, version: int) -> dict[Place, Any]:
    """Return the result for each partition in a Produce answer.

    Raises:
        FrameError: It is no such answer.
    """
    return {
        (topic.name, each.index): each
        for topic in decoded(ProduceResponse, frame, version).responses
        for each in topic.partition_responses
    }


def taken(frame: bytearray, version: int) -> bytearray:
    """Return the successful answer to a Produce request with acks=0.

    Raises:
        FrameError: Something was; brokers end the connection then.
    """
    if any(each.error_code for each in results(frame, version).values()):
        raise FrameError("a broker refused what a producer sent that waits for no answer")
    return frame


def refusals(codes: Mapping[Place, int]) -> dict[Place, Any]:
    """Return results with which the gateway itself refuses partitions, by error code."""
    kind = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    return {
        place: kind(
            index=place[1],
            error_code=code,
            base_offset=-1,
            log_append_time_ms=-1,
            log_start_offset=-1,
            record_errors=[],
            error_message=None,
        )
        for place, code in codes.items()
    }


def answer(asked: Any, said: Mapping[Place, Any], lost: Callable[[Place], Any]) -> bytes:
    """Return the answer to a Produce request, with partitions in the order of the request.

    Args:
        asked: The request.
        said: What is said of each partition.
        lost: Says what is said of a partition of which no broker says anything.
    """
    topic_kind = ProduceResponse.TopicProduceResponse
    made = ProduceResponse(
        responses=[
            topic_kind(
                name=topic.name,
                partition_responses=[
                    said.get((topic.name, each.index)) or lost((topic.name, each.index))
                    for each in topic.partition_data
                ],
            )
            for topic in asked.topic_data
        ],
        throttle_time_ms=0,
    )
    made.API_VERSION = asked.API_VERSION
    made.with_header(correlation_id=asked.header.correlation_id)
    return bytes(made.encode(header=True, framed=True))
