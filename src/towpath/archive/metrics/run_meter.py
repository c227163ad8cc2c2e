"""Counts of the run of an archive. One meter is passed around; it opens no connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.archive.metrics.compaction import CompactionCounts
from towpath.metering.meter import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStand:
    """The progress of an archive's run in one partition.

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
        redundant: Records that it has read in vain; `rewound`, segments that it has written so.
        cuts: How often its log was cut at the source, and another history began.
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
    rewound: int = 0
    cuts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCounts:
    """The counts of an archive's run at one moment.

    Attributes:
        stands: The partitions.
        version: The newest version of the archive.
        committed: When it was written, in seconds since 1970.
        cycles: Cycles that have ended; `failed`, those that failed, by the code of the error.
        failures: Errors so far of the source, of the store and of others, by their codes.
        throttled: Seconds for which brokers throttled the run.
        trouble: Whether the run as a whole is in trouble.
        compaction: What was compacted beside it.
    """

    stands: tuple[ArchiveStand, ...] = ()
    version: int = 0
    committed: float = 0.0
    cycles: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    throttled: float = 0.0
    trouble: bool = False
    compaction: CompactionCounts = field(default_factory=CompactionCounts)


class ArchiveMeter(Meter[ArchiveCounts]):
    """Keeps the counts that the run of an archive reports."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = False

    def waits(self, waits: bool) -> None:
        """Record whether the run waits for a source or a store when it begins."""
        self._waits = waits

    def read(self) -> ArchiveCounts:
        """Return the newest counts."""
        return self.newest or ArchiveCounts(trouble=self._waits)
