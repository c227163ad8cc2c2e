"""The status of an archive's compaction: waiting merges, and the last result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from towpath.archive.config import ArchiveConfig
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.log import ArchiveState
from towpath.archive.log.lease import ArchiveLease, read_lease
from towpath.archive.upkeep.compacting import CompactionWishes, rules_of
from towpath.archive.upkeep.compaction_rounds import WORK
from towpath.archive.upkeep.last_compaction import LastCompaction, last_compaction
from towpath.archive.upkeep.slice.merge_plan import qualifying
from towpath.runtime.clock import now_ms
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStatus:
    """The status of an archive's compaction.

    Attributes:
        rules: How many rules the file has; without any, `archive compact` has defaults.
        next: When a run applies a rule again by its schedule, in ms; `None` if no rule has one.
        merges: How many merges would be done now, by the rules or the defaults.
        segments: How many segments they have; `bytes` of their objects.
        waiting: Objects of replaced or removed segments that are not deleted yet.
        merged: When the newest merged segment was written, in ms; `None` if there is none.
        lease: Who replaces segments now, or did so last; `None` if nobody ever did.
        last: How the last compaction ended, `None` if nobody knows.
    """

    rules: int
    next: int | None
    merges: int
    segments: int
    bytes: int
    waiting: int
    merged: int | None
    lease: ArchiveLease | None
    last: LastCompaction | None

    @property
    def failed(self) -> bool:
        """Whether the last compaction failed to merge some segments."""
        return self.last is not None and self.last.failing


def compaction_status(config: ArchiveConfig, store: Store, state: ArchiveState) -> CompactionStatus:
    """Return the status of an archive's compaction.

    Args:
        config: The archive.
        store: Its store.
        state: The archive as it is now.

    Raises:
        StoreError: The store cannot be read.
    """
    lease, _ = read_lease(store, config.region, WORK)
    rules, now = rules_of(config.compaction, CompactionWishes()), now_ms()
    found = [each for rule in rules for each in qualifying(state.table(), rule, now)]
    return CompactionStatus(
        rules=len(config.compaction),
        next=_next(config.compaction),
        merges=len(found),
        segments=sum(count for count, _ in found),
        bytes=round(sum(size for _, size in found)),
        waiting=len(state.unused_objects()),
        merged=_merged(state),
        lease=lease,
        last=last_compaction(store, config.region),
    )


def _next(rules: Sequence[CompactionConfig]) -> int | None:
    """Return when the first schedule is due, in ms."""
    due = (
        each.schedule.after(datetime.now(each.time_zone))
        for each in rules
        if each.schedule is not None
    )
    times = [round(each.astimezone(UTC).timestamp() * 1000) for each in due if each is not None]
    return min(times, default=None)


def _merged(state: ArchiveState) -> int | None:
    rows = state.table().rows
    levels, created = rows["level"].to_numpy(), rows["created"].to_numpy()
    merged = created[levels > 0]
    return int(np.max(merged)) if len(merged) else None
