"""Routes of a topic that was promoted, and requests of clients for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import ProduceRequest

from towpath.cluster.metadata import Broker, Metadata, PartitionInfo, TopicInfo
from towpath.gateway.routes import BrokerPlace, Cluster, Routes
from towpath.ledger.entries import LastBatch, Promoted, PromotedPartition, PromotedTopic
from towpath.model.nouns import ClusterId, LinkName, TopicId, TopicName
from towpath.wire import plain

SOURCE_ID, TARGET_ID = UUID(int=1), UUID(int=2)
PRODUCER = 1 << 62
AT_SOURCE = BrokerPlace(Cluster.SOURCE, 1)
LEADER = BrokerPlace(Cluster.TARGET, 7)
KINDS = dict.fromkeys(range(100), (0, 15))


def promoted() -> Routes:
    """Return the routes of the topic `moved` and the group `g`, which the target serves."""
    routes = Routes()
    producers = (LastBatch(id=PRODUCER, epoch=0, sequence=9),)
    topic = PromotedTopic(
        topic=TopicName("moved"),
        source_id=TopicId(str(SOURCE_ID)),
        target_id=TopicId(str(TARGET_ID)),
        partitions=(PromotedPartition(partition=0, end=10, producers=producers),),
    )
    routes.move(Promoted(link=LinkName("l"), name="p", topics=(topic,), groups=("g",), at=1))
    broker = Broker(7, "h", 1)
    info = TopicInfo(
        TopicName("moved"), TopicId(str(TARGET_ID)), False, (PartitionInfo(0, 7, (7,)),)
    )
    routes.view = Metadata(ClusterId("c"), 7, {7: broker}, {info.name: info})
    return routes


def framed(message: Any, version: int) -> bytearray:
    """Return the frame of a request or an answer."""
    message.API_VERSION = version
    message.with_header(correlation_id=3, client_id="c")
    return bytearray(message.encode(header=True, framed=True))


def produce(topics: Sequence[str], sequence: int, acks: int = -1) -> Any:
    """Return a Produce request with a batch of one record for each topic."""
    topic = ProduceRequest.TopicProduceData
    records = plain.encode(
        [plain.Record(b"k", b"v", (), 1)],
        producer_id=PRODUCER,
        producer_epoch=0,
        base_sequence=sequence,
    )
    return ProduceRequest(
        transactional_id=None,
        acks=acks,
        timeout_ms=1,
        topic_data=[
            topic(
                name=name,
                partition_data=[topic.PartitionProduceData(index=0, records=bytes(records))],
            )
            for name in topics
        ],
    )


def finding(*groups: str) -> Any:
    """Return a FindCoordinator request for groups."""
    return FindCoordinatorRequest(key_type=0, coordinator_keys=[*groups])
