"""Where partitions begin that the ledger does not know yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from towpath.cluster.admin import Admin
from towpath.config import RecordsConfig, StartAt
from towpath.model.nouns import TopicPartition

Offsets = Mapping[TopicPartition, int]


def starts(
    records: RecordsConfig,
    source: Admin,
    tps: Sequence[TopicPartition],
    earliest: Offsets,
    latest: Offsets,
    *,
    begun: bool,
) -> Offsets:
    """Return the first source offset to copy of each new partition.

    Args:
        records: What the file asks for.
        source: Asked for the offsets of a group or a time.
        tps: The new partitions.
        earliest: Where each begins; one without may have no leader now, and is left out.
        latest: Where each ends.
        begun: The link ran before. Then `latest` means `earliest`: what came to the source since
            must not be missed.
    """
    match records.start:
        case StartAt.LATEST if not begun:
            return latest
        case StartAt.EARLIEST | StartAt.LATEST:
            return earliest
        case StartAt.COMMITTED:
            committed = source.committed(records.group or "", tps) if tps else {}
            return from_group(committed, earliest)
        case moment:
            return source.at_time(tps, moment) if tps else {}


def from_group(committed: Offsets, earliest: Offsets) -> Offsets:
    """Return where a group stands, and where the log begins for what it has not committed on."""
    return {tp: max(committed.get(tp, 0), first) for tp, first in earliest.items()}
