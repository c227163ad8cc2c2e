"""Counts of a restore. One meter is passed around; it opens no connection."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.metering.meter import Meter


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreStand:
    """The progress of the restore of one partition.

    Attributes:
        region: The region whose archive it is.
        source: The name of the source in the file's `restore.sources`; "" if it has none.
        topic: The archived topic.
        partition: Its number.
        state: How it stands.
        restored_to: The archived offset up to which it is restored, exclusive.
        end: Where the archive of it ends, exclusive.
        late: Whether it waits for a part of the archive that is missing.
        refused: Whether an error of the target keeps it from moving.
        lost: Archived offsets that were lost, in so many `gaps`.
        records: Records that are on the target, also those of earlier runs.
        segments: Archived segments that are on the target, also those of earlier runs.
        waiting: Archived segments that are not; `None` if that is not known.
        lag: Seconds since the oldest of these was written; 0 if there is none.
    """

    region: str
    source: str
    topic: str
    partition: int
    state: str
    restored_to: int
    end: int
    late: bool = False
    refused: bool = False
    lost: int = 0
    gaps: int = 0
    records: int = 0
    segments: int = 0
    waiting: int | None = None
    lag: float = 0.0

    @property
    def place(self) -> tuple[str, str, int]:
        """The key of the partition: source or region, topic, and number."""
        return self.source or self.region, self.topic, self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCounts:
    """Counts of the notification queue that announces new objects.

    Attributes:
        received: Messages that were handled.
        invalid: Those of them that could not be read.
        failed: Times that a message could not be read, and was left for another attempt.
        errors: Requests that failed.
        lag: Seconds from the creation of the last object that a message told of to its reading;
            `None` before the first one.
    """

    received: int = 0
    invalid: int = 0
    failed: int = 0
    errors: int = 0
    lag: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCounts:
    """The counts of a restore at one moment.

    Attributes:
        stands: The partitions.
        bytes: Archived bytes of all of them; `done_bytes`, those that are on the target, about.
        rate: Archived bytes per second, in the last half minute.
        seconds_left: Seconds until all is restored at this rate; `None` if that is not known.
        left_out: Number of topics and others that are not restored.
        trouble: Whether the restore as a whole is in trouble.
        unread: Names of partitions, archives and others that an error of the store holds up.
        queue: What came from the queue; `None` if none is named.
    """

    stands: tuple[RestoreStand, ...] = ()
    bytes: float = 0.0
    done_bytes: float = 0.0
    rate: float = 0.0
    seconds_left: float | None = None
    left_out: int = 0
    trouble: bool = False
    unread: frozenset[str] = frozenset()
    queue: QueueCounts | None = None


_Place = tuple[str, str, int]


class RestoreMeter(Meter[RestoreCounts]):
    """Keeps the counts that a restore reports.

    Records count from the first look on, so that counters begin at 0 with each run. Trouble is told
    before that look, too, as with an archive that is not there.

    Attributes:
        refusals: How often an error of the target kept a partition from moving.
        store_errors: How often one of the store came to hold something up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[_Place, int] = {}
        self._segments: dict[_Place, tuple[int, int]] = {}
        self._refused: set[_Place] = set()
        self._unread: frozenset[str] = frozenset()
        self.refusals = self.store_errors = 0

    def tell(self, counts: RestoreCounts) -> None:
        """Record the current counts."""
        for each in counts.stands:
            place = each.place
            self._before.setdefault(place, each.records)
            known, read = self._segments.get(place, (each.segments, 0))
            # A compaction makes fewer of those that were read.
            self._segments[place] = each.segments, read + max(0, each.segments - known)
        refused = {each.place for each in counts.stands if each.refused}
        self.refusals += len(refused - self._refused)
        self._refused = refused
        self.store_errors += len(counts.unread - self._unread)
        self._unread = counts.unread
        super().tell(counts)
        self.turned()

    @property
    def ready(self) -> bool:
        """Whether the first look at the archive and the target is complete."""
        return bool(self._before)

    def read(self) -> RestoreCounts:
        """Return the newest counts."""
        return self.newest or RestoreCounts()

    def produced(self, stand: RestoreStand) -> int:
        """Return the number of records of a partition that this run has restored."""
        known = self._before.get(stand.place, stand.records)
        return max(0, stand.records - known)

    def read_segments(self, stand: RestoreStand) -> int:
        """Return the number of segments of a partition that this run has restored."""
        _, read = self._segments.get(stand.place, (0, 0))
        return read
