"""The options of a run, and its displayed progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from towpath.cluster.connect.answering import Silence
from towpath.mirror.run.reconcile import Reconciled
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.mirror.status.transformed import READ
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.model.rates import NO_LIMIT, RateLimits


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of a run."""

    until_caught_up: bool = False
    parallelism: int | None = None
    wait: bool = False
    """Wait for clusters that do not answer at the start, instead of ending with an error."""
    file: Path | None = None
    """The file of the link, to take over what somebody changes in it; `None` to go on as begun."""


class RunPhase(StrEnum):
    """The phases of a run."""

    LOOKING = "looking at both clusters"
    APPLYING = "preparing the target"
    STARTING = "Spark is starting"
    COPYING = "copying"
    DRAINING = "stopping: slices finish what they have begun"


@dataclass(slots=True)
class RunProgress:
    """The progress of a run; `rows` is replaced, never changed.

    Other threads may read it at any time.
    """

    began: float = field(default_factory=time.monotonic)
    phase: RunPhase = RunPhase.LOOKING
    silences: Callable[[], tuple[Silence, ...]] = tuple
    """Returns which clusters do not answer now."""
    away: Callable[[], tuple[str, ...]] = tuple
    """Returns a sentence about each broker that is away now."""
    round: int = 0
    rows: tuple[PartitionStatus, ...] = ()
    before: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Records and bytes of each partition when the run began, by producer id."""
    through: Mapping[tuple[TopicName, int], tuple[int, int]] = field(default_factory=dict)
    """Records that were read and written of each partition that goes through a query, likewise."""
    ends: Mapping[tuple[TopicName, int], int | None] = field(default_factory=dict)
    """Where each partition ended at the source when the run began; `None` where that is unknown."""
    topics: Reconciled = field(default_factory=Reconciled)
    """What was applied of all subjects but schemas."""
    schemas: Reconciled = field(default_factory=Reconciled)
    """What was applied of schemas."""
    slots: int = 0
    """How many slices run at the same time, once Spark runs."""
    trouble: str = ""
    held: str = ""
    """The process that changes the target now, so that this run applies no step; "" for none."""
    files: tuple[str, ...] = ()
    """Files of secrets that changed but cannot be used as they are now."""
    events: str = ""
    """Why events are not written, "" where they are."""
    paused: tuple[str, ...] = ()
    """A sentence about each pause that holds."""
    cut_over: str = ""
    """That clients were moved to the mirror topics, "" where no cutover was."""
    overtaken: str = ""
    """That another program committed for the link's group beyond the link, "" if none did."""
    limited: tuple[str, ...] = ()
    """A sentence about each limit in bytes per second."""
    waiting: tuple[str, ...] = ()
    """A sentence about each limit that slices wait for now."""
    rates: RateLimits = NO_LIMIT
    """The limits that hold."""
    groups: tuple[str, ...] = ()
    """A sentence about each group of consumers, or broker, that the last sync could not look at."""
    strays: tuple[str, ...] = ()
    """Sentences about what came to the source of promoted topics, and is kept aside or not."""
    ids: tuple[str, ...] = ()
    """A sentence about each id of a schema that partitions wait for, and why nobody answers."""
    hanging: tuple[str, ...] = ()
    """A sentence about each partition behind a transaction that seems to hang at the source."""
    takeover: str = ""
    """The dead process that the lease was taken over from, "" where there was none."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences about everything that is not mirrored as the file asks."""
        return (*self.topics.left_out, *self.schemas.left_out)

    @property
    def left_out_names(self) -> frozenset[str]:
        """Names of the topics that are not mirrored, or only in part."""
        return self.topics.topics | self.schemas.topics

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the steps that were applied."""
        return (*self.topics.notes, *self.schemas.notes)

    def start(self) -> None:
        """Use the latest rows as the starting point of the run."""
        self.before = {row.producer_id: (row.records, row.bytes) for row in self.rows}
        self.ends = {(row.topic, row.partition): _end(row) for row in self.rows}
        self.through = {(row.topic, row.partition): _through(row) for row in self.rows}

    def copied(self, row: PartitionStatus) -> tuple[int, int]:
        """Return the records and bytes of a partition that this run copied."""
        records, size = self.before.get(row.producer_id, (0, 0))
        return row.records - records, row.bytes - size

    def transformed(self, row: PartitionStatus) -> tuple[int, int]:
        """Return the records of a partition that this run read, and wrote, through a query."""
        (read, written), before = _through(row), self.through.get((row.topic, row.partition))
        return (read - before[0], written - before[1]) if before else (read, written)

    def caught_up(self, row: PartitionStatus) -> bool:
        """Return whether all records that existed when the run began are copied."""
        end = self.ends.get((row.topic, row.partition), 0)
        if row.state in OVER:
            return True
        if row.lost is not None or row.state is State.PAUSED:
            return False
        if end is None:
            return row.lag_records == 0
        # A log that has become shorter, as that of a topic that was made again, is done at its end.
        shorter = row.state is not State.EXCLUDED and 0 <= row.source_log_end < end
        return row.source_end >= (row.source_log_end if shorter else end)


def _through(row: PartitionStatus) -> tuple[int, int]:
    return dict(row.tally).get(READ, 0), row.records


def _end(row: PartitionStatus) -> int | None:
    """Return where a partition ends at the source now, if that is known."""
    if row.state is State.EXCLUDED:
        return row.source_end + row.lag_records
    # Not the position plus the lag: that of a topic that was made again may be behind its new end.
    return row.source_log_end if row.source_log_end >= 0 else None
