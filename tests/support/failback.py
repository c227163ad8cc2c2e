"""Links that were cut, as a cutover or a failover leaves them."""

from __future__ import annotations

from tests.support.mirror import Mirror
from towpath.ledger.entries import Cut
from towpath.model.nouns import TopicPartition
from towpath.runtime.clock import now_ms


def cut(mirror: Mirror, partitions: int) -> None:
    """Cut the first partitions of a link where it stands."""
    for number in range(partitions):
        known = mirror.books(number)
        assert known.opened is not None
        tp, receipt = TopicPartition(known.opened.topic, number), known.receipt
        mirror.note(
            Cut(
                link=known.opened.link,
                topic=tp.topic,
                partition=number,
                producer_id=known.opened.producer_id,
                source_end=receipt.source_end if receipt else known.opened.source_start,
                target_end=receipt.target_end if receipt else known.opened.target_start,
                records=receipt.records if receipt else 0,
                at=now_ms(),
            )
        )
