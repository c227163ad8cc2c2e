"""The work and the result of an import slice, as frozen values that pickle."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import TypeAdapter

from towpath.archive.config.segments import SegmentLimits
from towpath.archive.imports.bucket_layout import ReplicatorPiece
from towpath.archive.imports.replicator_rows import Doubts, EmptyRules
from towpath.archive.model import PartitionId, Segment
from towpath.model.nouns import SourceOffset, TopicName
from towpath.settings import StoreConfig

SCHEMA = "imported string"
"""The rows that reach the driver, as DDL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSlice:
    """Pieces of one partition that a task imports.

    Attributes:
        theirs: Where the objects of kafka-replicator are.
        store: Where ours go.
        region: The region of our keys.
        id: The partition in our archive.
        topic: The topic.
        pieces: The pieces, which tile.
        rules: What empty keys and values were.
        limits: When a segment is complete.
        again: Whether another topic of this name may have had its keys.
    """

    theirs: StoreConfig
    store: StoreConfig
    region: str
    id: PartitionId
    topic: TopicName
    pieces: tuple[ReplicatorPiece, ...]
    rules: EmptyRules
    limits: SegmentLimits
    again: bool = False

    @property
    def size(self) -> int:
        """Bytes of the objects."""
        return sum(each.source.size for each in self.pieces if each.source is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The result of an import slice.

    Attributes:
        id: The partition.
        segments: The segments that were written, in order and without a hole from the first piece.
        why: Why the rest was not imported, "" if all was.
        doubts: What the files do not tell of the records that were imported.
    """

    id: PartitionId
    segments: tuple[Segment, ...] = ()
    why: str = ""
    doubts: Doubts = field(default_factory=Doubts)

    @property
    def end(self) -> SourceOffset | None:
        """The offset up to which the slice was imported; `None` if nothing was."""
        return self.segments[-1].end if self.segments else None

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _imported.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> ImportResult:
        """Parse the JSON text that `to_json` returned."""
        return _imported.validate_json(text)


_imported = TypeAdapter(ImportResult)
