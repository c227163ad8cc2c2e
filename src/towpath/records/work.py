"""What a slice is told to do, as frozen values that pickle."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.config import ClusterConfig, OffsetsPolicy
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    TopicId,
    TopicPartition,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One source partition of a slice.

    `start` is the offset to begin at when the ledger knows nothing; `end`, if any, is the offset
    at which a run until caught up is done.
    """

    source: TopicPartition
    target: TopicPartition
    source_id: TopicId
    target_id: TopicId
    producer_id: ProducerId
    filler_id: ProducerId
    start: int
    end: int | None = None
    compacted: bool = False
    keep_append_time: bool = False
    """Both sides stamp by their own clock, so batches need not be opened for it."""
    max_batch: int = 1 << 20
    must_be_identical: bool = False


@dataclass(frozen=True, slots=True)
class Slice:
    """Some partitions, from where they stand, until told to stop."""

    link: LinkName
    source: ClusterConfig
    target: ClusterConfig
    assignments: tuple[Assignment, ...]
    run_id: str
    round: int
    seconds: float
    offsets: OffsetsPolicy = OffsetsPolicy.AUTO
    stop_on_gap: bool = True
    receipts: float = 1.0
    memory: int = 96 << 20


@dataclass(frozen=True, slots=True)
class Position:
    """Where a partition stands: next source offset, next target offset, next sequence."""

    source: int
    target: int
    sequence: int
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class Summary:
    """What one slice did with one partition in one round."""

    tp: TopicPartition
    source_end: int
    target_end: int
    records: int
    bytes: int
    mode: Mode
    reason: str
    error: str
