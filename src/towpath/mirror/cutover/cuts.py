"""The offsets at which a cutover ended each partition, for the ledger. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from towpath.ledger.entries import Cut
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TargetOffset, TopicPartition
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
