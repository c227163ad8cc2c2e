"""Requests of transactional clients, and what a gateway makes of them."""

from __future__ import annotations

from typing import Any

from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)

from tests.support.clients.promoted_routes import framed, promoted
from towpath.gateway.recoding import decoded
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Routes
from towpath.ledger.entries import MovedTransactional, Promoted
from towpath.model.nouns import LinkName
from towpath.wire import plain

MOVED = MovedTransactional(
    id="app", left_id=5, left_epoch=3, there_id=9, there_epoch=1, ended="CompleteCommit"
)


def record(
    *moved: MovedTransactional, back: bool = False, staying: tuple[str, ...] = ()
) -> Promoted:
    return Promoted(
        link=LinkName("l"), name="n", topics=(), groups=(), at=0, back=back,
        transactional=moved, staying=staying,
    )  # fmt: skip


def moved() -> Routes:
    routes = promoted()
    routes.transactions.move(record(MOVED))
    return routes


def init(name: str = "app", producer: int = -1, epoch: int = -1) -> Any:
    return InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=1, producer_id=producer, producer_epoch=epoch
    )


def add(topic: str, name: str = "app", producer: int = 5, epoch: int = 3) -> Any:
    kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[kind(name=topic, partitions=[0])],
    )


def add_offsets(group: str, name: str = "app", epoch: int = 3) -> Any:
    return AddOffsetsToTxnRequest(
        transactional_id=name, producer_id=5, producer_epoch=epoch, group_id=group
    )


def commit_offsets(group: str, name: str = "app", epoch: int = 3) -> Any:
    kind = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = kind.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_leader_epoch=-1, committed_metadata=""
    )
    return TxnOffsetCommitRequest(
        transactional_id=name, group_id=group, producer_id=5, producer_epoch=epoch,
        generation_id=-1, member_id="", group_instance_id=None,
        topics=[kind(name="moved", partitions=[partition])],
    )  # fmt: skip


def end(name: str = "app", *, committed: bool = True, epoch: int = 3) -> Any:
    return EndTxnRequest(
        transactional_id=name, producer_id=5, producer_epoch=epoch, committed=committed
    )


def produce(topic: str, name: str = "app", producer: int = 5, epoch: int = 3) -> Any:
    kind = ProduceRequest.TopicProduceData
    batch = bytearray(
        plain.encode(
            [plain.Record(b"k", b"v", (), 1)],
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=40,
        )
    )
    batch[22] |= 1 << 4  # transactional; the checksum is no matter here
    return ProduceRequest(
        transactional_id=name,
        acks=-1,
        timeout_ms=1,
        topic_data=[
            kind(
                name=topic,
                partition_data=[kind.PartitionProduceData(index=0, records=bytes(batch))],
            )
        ],
    )


def sent(found: RequestStep | None, message: Any, version: int = 3) -> Any:
    assert found is not None
    (only,) = found.sends
    return decoded(message, only.frame, version)


def own(found: RequestStep | None, message: Any, version: int = 3) -> Any:
    assert found is not None
    assert found.own is not None
    return decoded(message, found.own, version)


def answered(found: RequestStep | None, answer: Any, version: int = 3) -> Any:
    """Return a broker's answer as the client gets it."""
    assert found is not None
    (only,) = found.sends
    assert only.change is not None
    return decoded(type(answer), only.change(framed(answer, version), version), version)


def added(code: int = 0) -> Any:
    kind = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    each = kind.AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=code)
    topics = [kind(name="t", results_by_partition=[each])]
    return AddPartitionsToTxnResponse(throttle_time_ms=0, results_by_topic_v3_and_below=topics)
