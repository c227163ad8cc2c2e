"""What a slice is told to do, as frozen values that pickle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from towpath.config import ClusterConfig, OffsetsPolicy
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicPartition,
)
from towpath.model.reasons import Reason, sentence

UNKNOWN = SourceOffset(-1)
"""An offset that the source has not told yet: the partition has no leader."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where the mirror topic of a partition begins that the ledger does not know yet.

    Attributes:
        offset: The first source offset to copy; the log's beginning, if that is further.
        exact: The mirror topic begins at `offset` in any case; records that are missing there are a
            gap.
        time: If not `None`, the first record of this time (ms since 1970) or later is the first.
        epoch: If not negative, the mirror topic begins where this leader epoch ended.
    """

    offset: SourceOffset = SourceOffset(0)
    exact: bool = False
    time: int | None = None
    epoch: int = -1


EARLIEST = Beginning()
_FIRST_ID = ProducerId(1 << 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One source partition of a slice.

    `start` is the offset to begin at when the ledger knows nothing; `end`, if any, is the offset
    at which a run until caught up is done. Both may be `UNKNOWN`, and then the slice asks for them:
    `begin` says how to find `start`.
    """

    source: TopicPartition
    target: TopicPartition
    source_id: TopicId
    target_id: TopicId
    producer_id: ProducerId
    filler_id: ProducerId
    start: SourceOffset
    end: SourceOffset | None = None
    compacted: bool = False
    keep_append_time: bool = False
    """Both sides stamp by their own clock, so batches need not be opened for it."""
    max_batch: int = 1 << 20
    must_be_identical: bool = False
    begin: Beginning = EARLIEST
    from_earliest: bool = False
    """The mirror topic begins wherever the source's log begins."""
    marker_id: ProducerId = _FIRST_ID
    earlier: frozenset[ProducerId] = frozenset()
    """The producer ids under which the partition was written before it was repaired."""
    """The first producer id that serves for filling gaps with markers, and for nothing else."""
    fill: int = 0
    """Most offsets that compaction left empty to fill with markers; 0 where none may be."""

    @property
    def terms(self) -> Assignment:
        """All of it but for where it begins and ends, to tell whether it has changed."""
        return replace(self, start=SourceOffset(0), end=None, begin=EARLIEST, from_earliest=False)


_ASSIGNMENTS = TypeAdapter(tuple[Assignment, ...])


def as_data(assignments: Iterable[Assignment]) -> tuple[Mapping[str, Any], ...]:
    """Return assignments as JSON has them."""
    return tuple(_ASSIGNMENTS.dump_python(tuple(assignments), mode="json"))


def from_data(data: tuple[Mapping[str, Any], ...]) -> tuple[Assignment, ...]:
    """Return the assignments that JSON holds.

    Raises:
        ValueError: It holds something else.
    """
    return _ASSIGNMENTS.validate_python(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some partitions, from where they stand, until told to stop.

    Partitions may be added while it runs (`Dealt` in `ledger/entries/session.py`).
    """

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
    settled: bool = False
    """No request of an earlier copier can still arrive at the target."""
    target_memory_ms: int = 0
    """How long the target remembers producer ids (`producer.id.expiration.ms`), 0 if unknown."""
    number: int = 0
    """Which slice of its round it is, from 0."""
    attempt: int = 0
    """How often Spark had tried the slice before."""

    @property
    def ends(self) -> bool:
        """Whether it ends where the partitions ended when the run began."""
        return self.seconds == float("inf")


Throttled = dict[Side, float]
"""For how many seconds the brokers of each side asked to wait (KIP-219)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one slice did with one partition in one round."""

    tp: TopicPartition
    source_end: SourceOffset
    target_end: TargetOffset
    records: int
    bytes: int
    mode: Mode
    reasons: tuple[Reason, ...]
    trouble: Reason | None
    under_way: bool = False
    """Records were sent that the target did not answer for."""

    @property
    def reason(self) -> str:
        """The sentence about why it is mapped, "" where it is not."""
        return sentence(self.reasons)

    @property
    def error(self) -> str:
        """The sentence about what keeps it from moving, "" where nothing does."""
        return str(self.trouble) if self.trouble is not None else ""
