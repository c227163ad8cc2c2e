"""The bytes to copy of partitions without a copied record, from their log sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName


def with_backlog(
    rows: Iterable[PartitionStatus], source: Admin, patience: float | None = None
) -> tuple[PartitionStatus, ...]:
    """Return the rows with the bytes of their lag, as far as the source reveals log sizes.

    Only the logs of partitions are asked for of which no record was copied yet: of the others the
    mean size of a record is known. A source that does not tell leaves the bytes unknown.

    Args:
        rows: The partitions.
        source: Asked for sizes of logs (KIP-113) and for first offsets.
        patience: As for `ask_leaders`.
    """
    kept = tuple(rows)
    unknown = {row.tp: row for row in kept if row.lag_records > 0 and not row.records}
    if not unknown:
        return kept
    topics: dict[TopicName, int] = {}
    for tp in unknown:
        topics[tp.topic] = max(topics.get(tp.topic, 0), tp.partition + 1)
    try:
        disks = source.disks.describe(topics)
        firsts = source.offsets.earliest(unknown, patience=patience)
    except ClusterError:
        return kept
    sized = {}
    for tp, row in unknown.items():
        held = disks.size(tp)
        if held is not None and tp in firsts:
            sized[tp] = share(held, firsts[tp], row.source_end, row.source_log_end)
    return tuple(replace(row, lag_log_bytes=sized.get(row.tp, -1)) for row in kept)


def share(held: int, first: int, at: int, end: int) -> int:
    """Estimate the bytes from offset `at` on in a log of `held` bytes from `first` to `end`."""
    left = end - max(at, first)
    return round(held * left / (end - first)) if left > 0 else 0
