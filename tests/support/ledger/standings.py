"""Where a link stands, as values."""

from __future__ import annotations

from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import TopicName

ORDERS = TopicName("orders")


ROW = PartitionStatus(
    topic=ORDERS,
    partition=0,
    target_topic=ORDERS,
    state=State.BEHIND,
    mode="identical",
    reason="",
    producer_id=7,
    source_end=10,
    target_end=10,
    lag_records=5,
    lag_seconds=1.0,
    records=10,
    bytes=100,
    gaps=(),
    error="",
)
