"""The work and the result of an archiving slice, as frozen values that pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from towpath.archive.config.segments import SegmentLimits
from towpath.archive.model import BatchMark, PartitionId, Segment
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.model.nouns import ProducerId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.model.reasons import Reason
from towpath.settings import ClusterConfig, StoreConfig

SCHEMA = "archived string"
"""The rows that reach the driver, as DDL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressSlice:
    """The ranges that one task archives.

    Attributes:
        source: The source cluster.
        store: Where the objects go.
        region: The region of their keys.
        format: How objects hold records.
        ranges: The ranges.
        limits: When segments of each topic are complete.
        memory: Bytes of fetched records that may be held.
        left_out: Producer ids whose records are left out, by topic.
        again: Partitions that others had the keys of, as `WritingTerms` has them.
        patience: Seconds of waiting without a record after which a range is left for another cycle.
    """

    source: ClusterConfig
    store: StoreConfig
    region: str
    format: SegmentFormat
    ranges: tuple[PlannedRange, ...]
    limits: Mapping[TopicName, SegmentLimits]
    memory: int = 96 << 20
    left_out: Mapping[TopicId, frozenset[ProducerId]] = field(default_factory=dict)
    again: frozenset[PartitionId] = frozenset()
    patience: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressResult:
    """The result of archiving a range.

    Attributes:
        id: The partition.
        start: The first offset of the range, which names it.
        segments: The segments that were written, in order and without a hole from `start` on.
        trouble: What kept the rest from being archived, `None` if nothing did.
        fetched: Bytes that were fetched, as the source holds them.
        throttled: Seconds for which brokers throttled the whole slice; in its first row only.
        tails: The last batch of each segment, `None` where it is not known.
        behind: The batch of the source's log that has the offset before the range, if it was found.
        diverged: The source's log does not have what was archived before it any more.
    """

    id: PartitionId
    start: SourceOffset
    segments: tuple[Segment, ...] = ()
    trouble: Reason | None = None
    fetched: int = 0
    throttled: float = 0.0
    tails: tuple[BatchMark | None, ...] = ()
    behind: BatchMark | None = None
    diverged: bool = False

    @property
    def end(self) -> SourceOffset:
        """The offset up to which the range is archived."""
        return self.segments[-1].end if self.segments else self.start

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _archived.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> EgressResult:
        """Parse the JSON text that `to_json` returned."""
        return _archived.validate_json(text)


_archived = TypeAdapter(EgressResult)
