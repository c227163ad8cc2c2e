"""Links that were cut, as a cutover or a failover leaves them."""

from __future__ import annotations

from tests.support.ledger.books import TP, opened
from tests.support.mirror import Mirror
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut, Salvaged
from towpath.mirror.failback.divergence import Divergence, LogEnds, divergence
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.runtime.clock import now_ms

CUT = Cut(
    link=LinkName("l"),
    topic=TP.topic,
    partition=TP.partition,
    producer_id=ProducerId(1),
    source_end=SourceOffset(10),
    target_end=TargetOffset(10),
    records=10,
    at=5,
)
SALVAGED = Salvaged(
    link=CUT.link,
    topic=TP.topic,
    partition=TP.partition,
    producer_id=CUT.producer_id,
    side=Side.SOURCE,
    first=10,
    end=15,
    records=5,
    deleted=0,
    salvage_topic=TopicName("t.salvage"),
    at=7,
)


def log(end: int, start: int = 0, stable: int | None = None) -> LogEnds:
    """Return where a log begins and ends."""
    return LogEnds(start, end if stable is None else stable, end)


def found(
    source: LogEnds,
    target: LogEnds,
    *more: Salvaged,
    shared: int | None = None,
    kept: int | None = None,
    cut: Cut = CUT,
) -> Divergence:
    books = PartitionBooks()
    books.take(opened())
    books.take(cut)
    for entry in more:
        books.take(entry)
    said = None if shared is None else SourceOffset(shared)
    there = None if kept is None else TargetOffset(kept)
    return divergence(TP, books, source, target, shared=said, kept=there)


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
