"""Counts of a restore. One meter is passed around; it opens no connection."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.metrics.told import ToldMeter


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreStand:
    """Where the restore of a partition stands.

    Attributes:
        region: The region whose archive it is.
        topic: The archived topic.
        partition: Its number.
        state: How it stands.
        restored_to: The archived offset up to which it is restored, exclusive.
        end: Where the archive of it ends, exclusive.
        late: Whether it waits for a part of the archive that is missing.
        lost: Archived offsets that were lost, in so many `gaps`.
        records: Records that are on the target, also those of earlier runs.
    """

    region: str
    topic: str
    partition: int
    state: str
    restored_to: int
    end: int
    late: bool = False
    lost: int = 0
    gaps: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCounts:
    """All counts at a moment.

    Attributes:
        stands: The partitions.
        bytes: Archived bytes of all of them; `done_bytes`, those that are on the target, about.
        rate: Archived bytes per second, in the last half minute.
        seconds_left: Seconds until all is restored at this rate; `None` if that is not known.
        left_out: Number of topics and others that are not restored.
        trouble: Whether the restore as a whole is in trouble.
        messages: Messages of the queue that were handled, and those of them that could not be read;
            `None` if no queue is named.
    """

    stands: tuple[RestoreStand, ...] = ()
    bytes: float = 0.0
    done_bytes: float = 0.0
    rate: float = 0.0
    seconds_left: float | None = None
    left_out: int = 0
    trouble: bool = False
    messages: tuple[int, int] | None = None


class RestoreMeter(ToldMeter[RestoreCounts]):
    """Keeps what a restore tells.

    Records count from the first look on, so that counters begin at 0 with each run.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[tuple[str, str, int], int] = {}

    def tell(self, reading: RestoreCounts) -> None:
        """Take in how things stand."""
        for each in reading.stands:
            self._before.setdefault((each.region, each.topic, each.partition), each.records)
        super().tell(reading)
        self.turned()

    def read(self) -> RestoreCounts:
        """Return what was told last."""
        return self.last() or RestoreCounts()

    def produced(self, stand: RestoreStand) -> int:
        """Return how many records of a partition this run has restored."""
        known = self._before.get((stand.region, stand.topic, stand.partition), stand.records)
        return max(0, stand.records - known)
