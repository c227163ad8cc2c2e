"""What the ledger says of a partition: the least of it, for tests to change what they need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from towpath.ledger.entries import Opened, Receipt
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

TP = TopicPartition(TopicName("t"), 0)
_OPENED = Opened(
    link=LinkName("l"),
    topic=TP.topic,
    partition=TP.partition,
    source_topic_id=TopicId("s"),
    target_topic=TP.topic,
    target_topic_id=TopicId("t"),
    producer_id=ProducerId(1),
    mode=Mode.IDENTICAL,
    reasons=(),
    source_start=SourceOffset(0),
    target_start=TargetOffset(0),
    run_id="r",
    at=0,
)
_RECEIPT = Receipt(
    link=_OPENED.link,
    topic=TP.topic,
    partition=TP.partition,
    producer_id=_OPENED.producer_id,
    source_end=SourceOffset(0),
    source_epoch=0,
    target_end=TargetOffset(0),
    sequence=0,
    records=0,
    bytes=0,
    first_timestamp=1,
    last_timestamp=2,
    digest=3,
    mode=Mode.IDENTICAL,
    reasons=(),
    run=(SourceOffset(0), TargetOffset(0), 0),
    trouble=None,
    at=1,
)


def opened(tp: TopicPartition = TP, **changes: Any) -> Opened:
    """Return the opening of a partition whose mirror topic has the same name."""
    named: dict[str, Any] = {"topic": tp.topic, "partition": tp.partition, "target_topic": tp.topic}
    return replace(_OPENED, **named | changes)


def receipt(tp: TopicPartition = TP, **changes: Any) -> Receipt:
    """Return a receipt of a partition."""
    return replace(_RECEIPT, topic=tp.topic, partition=tp.partition, **changes)
