"""The archive that the slices of a restore read: its commit log, and the objects in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towpath.model.nouns import SourceOffset
from towpath.segments.ingress.segment_supply import AT_ONCE
from towpath.segments.log import CommitLog
from towpath.segments.model import PartitionId, Segment
from towpath.store import Store


class LoggedArchive:
    """See `SegmentArchive`.

    Args:
        store: The store.
        log: The commit log, as far as it was read.
    """

    def __init__(self, store: Store, log: CommitLog) -> None:
        self._store, self._log = store, log

    def segments(
        self, partition: PartitionId, first: SourceOffset, end: SourceOffset
    ) -> Sequence[Segment]:
        """See `SegmentArchive`."""
        return self._log.state.segments(partition, first, end, AT_ONCE)

    def end(self, partition: PartitionId) -> SourceOffset:
        """Return up to where a partition is archived, by what was read of the log."""
        known = self._log.state.partitions.get(partition)
        return known.archived_to if known is not None else SourceOffset(0)

    def refresh(self) -> bool:
        """See `SegmentArchive`."""
        return bool(self._log.follow())

    def open(self, key: str) -> Any:
        """See `SegmentArchive`."""
        return self._store.reader(key)
