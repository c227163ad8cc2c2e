"""The offsets at which a cutover ended each partition, for the ledger. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Cut
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.runtime.clock import now_ms


def cuts(
    link: LinkName, rows: Iterable[PartitionStatus], clients: Collection[TopicPartition]
) -> list[Cut]:
    """Return a ledger entry for each selected partition that was opened.

    Args:
        link: The link.
        rows: The partitions, all of them copied.
        clients: Those to which clients have written since an earlier cutover. What they wrote stays
            theirs, so that the earlier border holds.
    """
    at = now_ms()
    return [
        _cut(link, row, at, keep=row.tp in clients)
        for row in rows
        if row.producer_id >= 0 and row.state not in {State.EXCLUDED, *OVER}
    ]


def cuts_through_query(
    books: LinkBooks,
    rows: Iterable[PartitionStatus],
    ends: Mapping[TopicPartition, int],
    clients: Collection[TopicName],
) -> list[Cut]:
    """Return the ledger entries of a link with `transform`, one for each number of a partition.

    A source partition and one of its mirror topic share an entry if they have the same number, and
    nothing else.

    Args:
        books: What the ledger knows of the link.
        rows: The source partitions, all of them read.
        ends: Log ends of all partitions of mirror topics.
        clients: Mirror topics to which clients have written since an earlier cutover. What they
            wrote stays theirs, so that the earlier border holds.
    """
    at = now_ms()
    known = {row.tp: row for row in rows if row.state not in {State.EXCLUDED, *OVER}}
    mirrors = {row.target_topic: row.topic for row in known.values()}
    numbers = {
        TopicPartition(mirrors[tp.topic], tp.partition) for tp in ends if tp.topic in mirrors
    }
    targets = {topic: mirror for mirror, topic in mirrors.items()}
    found = []
    for tp in sorted({*known, *numbers}):
        row, there = known.get(tp), TopicPartition(targets[tp.topic], tp.partition)
        before = books.of(tp).cut if there.topic in clients else None
        kept = before.target_end if before is not None else TargetOffset(ends.get(there, 0))
        found.append(
            Cut(
                link=books.link,
                topic=tp.topic,
                partition=tp.partition,
                producer_id=Cut.THROUGH_QUERY,
                source_end=SourceOffset(row.source_end if row is not None else 0),
                target_end=kept,
                records=before.records if before is not None else row.records if row else 0,
                at=at,
            )
        )
    return found


def _cut(link: LinkName, row: PartitionStatus, at: int, *, keep: bool) -> Cut:
    known = row.cut if keep else None
    return Cut(
        link=link,
        topic=row.topic,
        partition=row.partition,
        producer_id=ProducerId(row.producer_id),
        source_end=SourceOffset(row.source_end),
        target_end=known.target_end if known else TargetOffset(row.target_end),
        records=known.records if known else row.records,
        at=at,
    )
