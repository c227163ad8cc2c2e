"""The archive as restore slices read it: commit log and objects in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towpath.archive.log import CommitLog, as_of_history, stretches
from towpath.archive.model import PartitionId, Segment
from towpath.archive.read.feed.segment_supply import AT_ONCE
from towpath.model.nouns import SourceOffset
from towpath.store import Store


class LoggedArchive:
    """A segment archive backed by a commit log; implements `SegmentArchive`.

    Args:
        store: The store.
        log: The commit log, as far as it was read.
    """

    def __init__(self, store: Store, log: CommitLog) -> None:
        self._store, self._log = store, log

    def segments(
        self, partition: PartitionId, first: SourceOffset, end: SourceOffset
    ) -> Sequence[Segment]:
        """Return the first segments, about `AT_ONCE`, that overlap the offsets [first, end)."""
        state = self._log.state
        for each in stretches(state.partitions.get, partition):
            if first < each.end:
                return state.segments(each.partition, first, min(end, each.end), AT_ONCE)
        return []

    def until(self, partition: PartitionId, first: SourceOffset) -> SourceOffset:
        """Return the end of the history that has an offset, or that has the next archived one."""
        found = stretches(self._log.state.partitions.get, partition)
        return next((each.end for each in found if first < each.end), first)

    def begin(self, partition: PartitionId) -> SourceOffset:
        """Return the first archived offset of a partition; earlier ones were pruned."""
        known = as_of_history(self._log.state.partitions.get, partition)
        return known.begin if known is not None else SourceOffset(0)

    def end(self, partition: PartitionId) -> SourceOffset:
        """Return the end of a partition's archive, by the entries read so far."""
        known = self._log.state.partitions.get(partition)
        return known.archived_to if known is not None else SourceOffset(0)

    def refresh(self) -> bool:
        """Read new entries of the commit log. Returns whether there were any."""
        return bool(self._log.follow())

    def open(self, key: str) -> Any:
        """Open an object as a file that pyarrow can read."""
        return self._store.reader(key)
