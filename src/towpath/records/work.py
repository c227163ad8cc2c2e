"""The work of a slice and its summary, as frozen values that pickle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from towpath.ledger.entries import MIRROR
from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.nouns import (
    NO_CLUSTER,
    NO_LINK,
    NO_TOPIC_ID,
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicPartition,
)
from towpath.model.rates import NO_LIMIT, RateLimits
from towpath.model.reasons import Reason, sentence
from towpath.settings import ClusterConfig, GapArchive, GapRules, OffsetsPolicy

UNKNOWN = SourceOffset(-1)
"""An offset that is not known yet, because the source partition has no leader."""
NO_RULES = GapRules()


@dataclass(frozen=True, slots=True)
class Beginning:
    """The start of a mirror partition that the ledger does not know yet.

    Attributes:
        offset: The first source offset to copy, or the log start offset if that is larger.
        exact: The mirror partition begins at `offset` even if records are missing there: these
            become a gap.
        time: If not `None`, copying begins at the first record with this timestamp (ms since 1970)
            or a later one.
        epoch: If not negative, copying begins where this leader epoch ended.
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

    Attributes:
        start: The offset to begin at if the ledger does not know the partition. If `UNKNOWN`, the
            slice finds it as `begin` says.
        end: The offset at which a run with an end is done, if the run has one. It may be `UNKNOWN`.
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
    """Both topics set timestamps themselves, so batches need not be opened for that."""
    max_batch: int = 1 << 20
    must_be_identical: bool = False
    begin: Beginning = EARLIEST
    from_earliest: bool = False
    """The mirror partition begins wherever the source log begins."""
    marker_id: ProducerId = _FIRST_ID
    """The first of the producer ids that are used only for filling gaps with markers."""
    earlier: frozenset[ProducerId] = frozenset()
    """The producer ids under which the partition was written before it was repaired."""
    fill: int = 0
    """How many offsets left empty by compaction may be filled with markers, 0 for none."""
    change: RecordChange = NO_CHANGE
    """What the file says is changed in its records."""
    cuts: int = -1
    """How many cuts of the source's log the ledger knows, if its leader tells of another one: the
    end is not reached before copying has met that. -1 if it tells of none."""

    @property
    def terms(self) -> Assignment:
        """The assignment without its offsets, for detecting changes."""
        offsets = replace(self, start=SourceOffset(0), end=None, begin=EARLIEST, cuts=-1)
        return replace(offsets, from_earliest=False)


_ASSIGNMENTS = TypeAdapter(tuple[Assignment, ...])


def as_data(assignments: Iterable[Assignment]) -> tuple[Mapping[str, Any], ...]:
    """Return assignments as JSON values."""
    return tuple(_ASSIGNMENTS.dump_python(tuple(assignments), mode="json"))


def from_data(data: tuple[Mapping[str, Any], ...]) -> tuple[Assignment, ...]:
    """Return the assignments in JSON values.

    Raises:
        ValueError: The values are not assignments.
    """
    return _ASSIGNMENTS.validate_python(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Partitions to copy in one task until the round ends, from any kind of source.

    Partitions may be added while the slice runs (`Dealt` in `ledger/entries/session.py`).
    """

    link: LinkName
    target: ClusterConfig
    assignments: tuple[Assignment, ...]
    run_id: str
    round: int
    seconds: float
    offsets: OffsetsPolicy = OffsetsPolicy.AUTO
    stop_on_gap: bool = True
    """Whether partitions stop where records are lost, unless `gap_rules` name their topic."""
    gap_rules: GapRules = NO_RULES
    receipts: float = 1.0
    memory: int = 96 << 20
    settled: bool = False
    """No request of an earlier copier can still reach the target."""
    target_memory_ms: int = 0
    """How long the target keeps producer state (`producer.id.expiration.ms`), 0 if unknown."""
    number: int = 0
    """Number of the slice in its round, from 0."""
    attempt: int = 0
    """How often Spark had tried the slice before."""
    follows: int = 0
    """The round before this one, if its slices may still copy the assignments; 0 if none does."""
    rates: RateLimits = NO_LIMIT
    """The limits of the slice when it begins."""
    source_cluster: ClusterId = NO_CLUSTER
    target_cluster: ClusterId = NO_CLUSTER
    ledger: TopicId = NO_TOPIC_ID
    """The topic id of the ledger of the run, `NO_TOPIC_ID` where nobody knows it."""
    twin: LinkName = NO_LINK
    """The link in the other direction whose batches are left out, "" without one."""
    kind: str = MIRROR
    """The kind of work of its run: runs of another kind do not concern it."""

    def stops_on_gap(self, tp: TopicPartition) -> bool:
        """Return whether a source partition stops where records are lost."""
        said = self.gap_rules.stops(tp.topic)
        return self.stop_on_gap if said is None else said

    @property
    def ends(self) -> bool:
        """Whether the slice ends at the log ends of the run's beginning."""
        return self.seconds == float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySlice(Slice):
    """The partitions of a source cluster that one task copies.

    Attributes:
        archive: The archive that has what the source has deleted, `None` if there is none.
    """

    source: ClusterConfig
    archive: GapArchive | None = None


Throttled = dict[Side, float]
"""Seconds for which the brokers of each side throttled us (KIP-219)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The result of one slice for one partition in one round."""

    tp: TopicPartition
    source_end: SourceOffset
    target_end: TargetOffset
    records: int
    bytes: int
    mode: Mode
    reasons: tuple[Reason, ...]
    trouble: Reason | None
    under_way: bool = False
    """Records were sent that the target did not answer."""

    @property
    def reason(self) -> str:
        """A sentence on why the partition is mapped; "" if offsets are identical."""
        return sentence(self.reasons)

    @property
    def error(self) -> str:
        """A sentence on what keeps the partition from moving; "" for no trouble."""
        return str(self.trouble) if self.trouble is not None else ""


TOLD = (
    "topic string, partition int, error string, under_way boolean,"
    " throttled_source double, throttled_target double"
)
"""Columns of the rows that a slice tells Spark, as DDL.

There is a row for each partition that could not be opened, which has no entry in the ledger, and
for each one with unanswered records. A row without a topic holds the seconds for which brokers
throttled the slice."""
