"""Answers that the gateway gives to requests of transactions in a broker's place. Pure.

NOT_COORDINATOR makes a client look for the coordinator again, and tells its application nothing.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.producer import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    TxnOffsetCommitResponse,
)

from towpath.gateway.frames import Head
from towpath.gateway.steering_answers import framed

NOT_COORDINATOR, INVALID_STATE = 16, 48
"""Kafka's codes NOT_COORDINATOR and INVALID_TXN_STATE."""
POLICY_VIOLATION = 44
"""What a transaction of two clusters is told: applications hear it with the names of partitions,
and may abort the transaction."""


def no_producer_id(head: Head, code: int) -> bytes:
    """Answer an InitProducerId with an error."""
    made = InitProducerIdResponse(
        throttle_time_ms=0, error_code=code, producer_id=-1, producer_epoch=-1
    )
    return framed(made, head)


def partitions_not_added(asked: Any, head: Head, code: int) -> bytes:
    """Answer an AddPartitionsToTxn with an error."""
    kind = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    topics = [
        kind(
            name=topic.name,
            results_by_partition=[
                kind.AddPartitionsToTxnPartitionResult(
                    partition_index=each, partition_error_code=code
                )
                for each in topic.partitions
            ],
        )
        for topic in asked.v3_and_below_topics
    ]
    made = AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=topics)
    return framed(made, head)


def offsets_not_added(head: Head, code: int) -> bytes:
    """Answer an AddOffsetsToTxn with an error."""
    return framed(AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code), head)


def not_ended(head: Head, code: int) -> bytes:
    """Answer an EndTxn with an error."""
    return framed(EndTxnResponse(throttle_time_ms=0, error_code=code), head)


def offsets_not_committed(asked: Any, head: Head, code: int) -> bytes:
    """Answer a TxnOffsetCommit with an error."""
    kind = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    topics = [
        kind(
            name=topic.name,
            partitions=[
                kind.TxnOffsetCommitResponsePartition(
                    partition_index=each.partition_index, error_code=code
                )
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
    return framed(TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics), head)


def added(answer: Any) -> bool:
    """Return whether a broker added the partitions or the offsets of a request."""
    topics = getattr(answer, "results_by_topic_v3_and_below", None)
    if topics is None:
        return not answer.error_code
    return not any(each.partition_error_code for t in topics for each in t.results_by_partition)
