"""The work and the result of a compaction slice, as frozen values that pickle."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from towpath.archive.model import PartitionId, Segment
from towpath.archive.upkeep.slice.merge_plan import Bundle
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.model.reasons import Reason
from towpath.settings import StoreConfig

SCHEMA = "compacted string"
"""The rows that reach the driver, as DDL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactSlice:
    """The merges that one task does.

    Attributes:
        store: Where the objects are, and go.
        region: The region of their keys.
        format: How new objects hold records, where their inputs do, too.
        bundles: The merges.
        rows: Records that are decoded at a time, where they must be.
    """

    store: StoreConfig
    region: str
    format: SegmentFormat
    bundles: tuple[Bundle, ...]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactResult:
    """The result of a merge.

    Attributes:
        id: The partition.
        start: The first offset of its range, which names it.
        made: The new segment; `None` if there is none.
        trouble: Why there is none.
    """

    id: PartitionId
    start: SourceOffset
    made: Segment | None = None
    trouble: Reason | None = None

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _told.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> CompactResult:
        """Parse the JSON text that `to_json` returned."""
        return _told.validate_json(text)


_told = TypeAdapter(CompactResult)
