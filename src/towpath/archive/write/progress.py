"""The options of an archive's run, and its displayed progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason, sentence


@dataclass(frozen=True, slots=True)
class ArchiveWishes:
    """The options of an archive's run.

    Attributes:
        until_caught_up: End once all is archived that the source has when the run begins.
        parallelism: Number of slices at a time; by default as many as Spark can run.
        wait: Wait for a source or a store that does not answer at the start.
    """

    until_caught_up: bool = False
    parallelism: int | None = None
    wait: bool = False


class ArchivePhase(StrEnum):
    """The phases of an archive's run."""

    LOOKING = "looking at the source and the store"
    STARTING = "slices are starting"
    ARCHIVING = "archiving"
    DRAINING = "stopping: slices finish what they have begun"


class ArchiveRowState(StrEnum):
    """The states of a partition in an archive's run."""

    CAUGHT_UP = "caught up"
    WAITING = "waiting"
    """What is new is younger than `max_age` and less than a segment, or behind a transaction."""
    TROUBLE = "trouble"
    GONE = "gone"
    """Its topic is no more at the source."""
    EARLIER = "earlier"
    """An earlier history: the source's log was cut, and a later one has what followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRow:
    """The displayed progress of one partition.

    Attributes:
        topic: Its topic.
        partition: Its number.
        state: How it stands.
        archived_to: The offset up to which it is archived.
        stable_end: Its last stable offset.
        waited: Seconds for which its oldest offset that is not archived may have waited, also
            behind an open transaction.
        records: Records that this run has archived; `bytes` and `segments` likewise.
        trouble: What keeps it from being archived, `None` if nothing does.
    """

    topic: TopicName
    partition: int
    state: ArchiveRowState
    archived_to: int
    stable_end: int
    waited: float
    records: int = 0
    bytes: int = 0
    segments: int = 0
    trouble: Reason | None = None

    @property
    def lag(self) -> int:
        """Number of offsets at the source that are not archived."""
        return max(0, self.stable_end - self.archived_to)

    @property
    def why(self) -> str:
        """The trouble as a sentence that names its partition; "" if there is none."""
        return f"{self.topic}-{self.partition}: {sentence((self.trouble,))}" if self.trouble else ""


@dataclass(slots=True)
class ArchiveProgress:
    """The progress of an archive's run; `rows` is replaced, never changed.

    Other threads may read it at any time.

    Attributes:
        began: When the run began, by the monotonic clock.
        phase: What it does now.
        away: Returns a sentence about each broker that is away now.
        slots: How many slices run at a time, once Spark runs.
        cycles: Number of cycles that have ended.
        slices: Slices of the cycles that go on, and how many of them have ended.
        version: The newest version of the archive.
        rows: Its partitions.
        hidden: Sentences about topics that could not be looked at.
        unread: Sentences about what the source deleted before it was archived.
        trouble: What the run as a whole suffers from, "" for nothing.
        notes: What a person should know besides.
        beside: What keeps from being archived what goes beside records.
        incomplete: Partitions that a run which ends when it has caught up left behind.
    """

    began: float = field(default_factory=time.monotonic)
    phase: ArchivePhase = ArchivePhase.LOOKING
    away: Callable[[], tuple[str, ...]] = tuple
    slots: int = 0
    cycles: int = 0
    slices: tuple[int, int] = (0, 0)
    version: int = 0
    rows: tuple[ArchiveRow, ...] = ()
    hidden: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    trouble: str = ""
    notes: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences about everything that is not archived as the file asks."""
        told = (row.why for row in self.rows if row.state is ArchiveRowState.TROUBLE)
        return (*self.unread, *self.hidden, *told, *self.beside, *self.incomplete)

    @property
    def lag(self) -> int:
        """Number of offsets at the source that are not archived."""
        return sum(row.lag for row in self.rows if row.state is not ArchiveRowState.GONE)

    @property
    def exposed(self) -> float:
        """Seconds of records that would be lost if the source failed now (RPO)."""
        return max((row.waited for row in self.rows), default=0.0)


def rows_of(standings: Standings, present: Iterable[PartitionStanding]) -> tuple[ArchiveRow, ...]:
    """Return the current rows of partitions."""
    now = time.monotonic()
    failed = standings.failed
    found = (_row(each, now, failed[each.id.source].reason if each.id.source in failed else None)
             for each in present)  # fmt: skip
    return tuple(sorted(found, key=lambda row: (row.topic, row.partition)))


def _row(standing: PartitionStanding, now: float, unseen: Reason | None) -> ArchiveRow:
    trouble = standing.trouble or unseen
    is_behind = standing.lag or standing.ends.held
    state = ArchiveRowState.WAITING if is_behind else ArchiveRowState.CAUGHT_UP
    if standing.gone:
        state = ArchiveRowState.GONE
    elif trouble is not None:
        state = ArchiveRowState.TROUBLE
    return ArchiveRow(
        topic=standing.topic,
        partition=standing.id.partition,
        state=state,
        archived_to=standing.archived_to,
        stable_end=standing.ends.stable_end,
        waited=standing.exposed(now),
        records=standing.run.records,
        bytes=standing.run.raw_bytes,
        segments=standing.run.segments,
        trouble=trouble,
    )
