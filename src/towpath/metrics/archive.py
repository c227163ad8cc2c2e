"""Counts of the run of an archive. One meter is passed around; it opens no connection."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.metrics.compaction import CompactionCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStand:
    """Where a partition stands.

    Attributes:
        topic: Its topic.
        partition: Its number.
        state: How it stands.
        archived_to: The offset up to which it is archived.
        stable_end: Its last stable offset at the source.
        lag: Number of offsets that are not archived; `lag_bytes`, how many bytes these may be.
        exposed: Seconds for which the oldest of them may have waited.
        gaps: Offsets without a record, by kind.
        records: Records that the run has archived; `segments` likewise.
        redundant: Records that it has read in vain.
    """

    topic: str
    partition: int
    state: str
    archived_to: int
    stable_end: int
    lag: int
    lag_bytes: float
    exposed: float
    gaps: Mapping[str, int] = field(default_factory=dict)
    records: int = 0
    segments: int = 0
    redundant: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCounts:
    """All counts at a moment.

    Attributes:
        stands: The partitions.
        version: The newest version of the archive.
        committed: When it was written, in seconds since 1970.
        cycles: Cycles that have ended; `failed`, those that failed, by the code of the error.
        throttled: Seconds for which brokers throttled the run.
        trouble: Whether the run as a whole is in trouble.
        compaction: What was compacted beside it.
    """

    stands: tuple[ArchiveStand, ...] = ()
    version: int = 0
    committed: float = 0.0
    cycles: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    throttled: float = 0.0
    trouble: bool = False
    compaction: CompactionCounts = field(default_factory=CompactionCounts)


class ArchiveMeter:
    """Keeps what a run tells, for whoever asks from another thread."""

    def __init__(self) -> None:
        self._reading: ArchiveCounts | None = None
        self._turned = time.monotonic()

    def tell(self, reading: ArchiveCounts) -> None:
        """Take in how things stand."""
        self._reading = reading

    def turned(self) -> None:
        """Take in that the main loop has gone round once more."""
        self._turned = time.monotonic()

    @property
    def idle(self) -> float:
        """Seconds since the main loop last went round, or since the start."""
        return time.monotonic() - self._turned

    @property
    def ready(self) -> bool:
        """Whether the source and the store were looked at."""
        return self._reading is not None

    def read(self) -> ArchiveCounts:
        """Return what was told last."""
        return self._reading or ArchiveCounts()
