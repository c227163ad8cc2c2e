"""What a comparing slice is told to do and what it tells, as frozen values that pickle."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from pydantic import TypeAdapter

from towpath.compare.doubled import Doubled
from towpath.config import ClusterConfig
from towpath.ledger.entries import Run
from towpath.ledger.offsets import Extent, OffsetMap
from towpath.ledger.producers import generations
from towpath.model.nouns import ProducerId, SourceOffset, TargetOffset, TopicPartition
from towpath.wire.digest import Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Source offsets [first, end) of a partition, and the target offsets that belong to them.

    Attributes:
        runs: The runs that touch the range, none over another.
        replaced: Target offsets [first, end) that were copied before the source log was cut.
        source_compacted: Records that the source lost to compaction are looked into.
        target_compacted: The same for the target.
        whole: The range reaches over all that was copied, so that a record of the same key behind
            a missing one can be looked for.
        ids: Generation 0 of the producer ids of ours. A range is as small as they are few: there
            may be ten thousand ranges.
        writers: The other producer ids of ours, which write in transactions.
        own: Those of `ids` whose sequences count the records that were copied.
        following: The sequence that follows what was copied, by producer id, if the range reaches
            to the end of that; then what lies behind it is looked at, too.
    """

    source: TopicPartition
    target: TopicPartition
    first: SourceOffset
    end: SourceOffset
    target_first: TargetOffset
    target_end: TargetOffset
    runs: tuple[Run, ...]
    replaced: tuple[tuple[int, int], ...] = ()
    source_compacted: bool = False
    target_compacted: bool = False
    whole: bool = True
    ids: frozenset[ProducerId] = frozenset()
    writers: frozenset[ProducerId] = frozenset()
    own: frozenset[ProducerId] = frozenset()
    following: tuple[tuple[ProducerId, int], ...] = ()

    @property
    def producers(self) -> frozenset[ProducerId]:
        """Batches of these producer ids are ours; all others are somebody else's."""
        return generations(*self.ids) | self.writers

    @property
    def offsets(self) -> OffsetMap:
        """The offset map of the range, made of its runs each time."""
        extent = Extent(self.first, self.target_first, self.end, self.target_end)
        return OffsetMap(self.runs, extent)


@dataclass(frozen=True, slots=True)
class CompareSlice:
    """Some ranges that one task compares, one after the other."""

    source: ClusterConfig
    target: ClusterConfig
    ranges: tuple[Range, ...]
    fetch_bytes: int = 8 << 20


@dataclass(frozen=True, slots=True, order=True)
class RecordDifference:
    """The place of a difference; -1 where a side has no such offset."""

    source_offset: int
    target_offset: int
    what: str


@dataclass(slots=True, kw_only=True)
class Counts:
    """Records by what came of them.

    Attributes:
        equal: On both sides and the same.
        unopened: Those of the equal ones whose batches had the same bytes.
        changed: On both sides and not the same.
        missing: On the source only.
        extra: Ours on the target, with nothing on the source.
        compacted: On one side only, because the other compacted them away.
        expired: On one side only, because retention at the other deleted them meanwhile.
        replaced: On the target only: copied before the source log was cut.
        foreign: On the target, of other producers.
        untimed: Compared without timestamps, which the target sets by its own clock.
        uncommitted: On the target, of aborted transactions: only consumers with
            isolation.level=read_uncommitted see them, and never as a mirrored record.
    """

    equal: int = 0
    unopened: int = 0
    changed: int = 0
    missing: int = 0
    extra: int = 0
    compacted: int = 0
    expired: int = 0
    replaced: int = 0
    foreign: int = 0
    untimed: int = 0
    uncommitted: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sums."""
        names = [each.name for each in fields(self)]
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def different(self) -> int:
        """How many records speak against equality."""
        return self.changed + self.missing + self.extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What comparing a range came to.

    The digests cover what must be equal: compacted, expired, replaced and foreign records are left
    out. A batch with the same bytes on both sides goes in as a whole, so digests tell two sides of
    one comparison apart and mean nothing between two of them.

    Attributes:
        doubled: Records of ours that the target holds twice, in the range and behind its end.
        beyond: Records of ours behind the end of what was copied that are not doubled.
    """

    source: TopicPartition
    target: TopicPartition
    first: int
    end: int
    source_digest: Digest
    target_digest: Digest
    counts: Counts
    bytes: int
    difference: RecordDifference | None = None
    notes: tuple[str, ...] = field(default=())
    doubled: Doubled = field(default_factory=Doubled)
    beyond: int = 0

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        same = self.difference is None and self.source_digest == self.target_digest
        return same and not self.doubled.records

    def then(self, other: Comparison) -> Comparison:
        """Return what this range and a later one of the same partition came to together."""
        return Comparison(
            source=self.source,
            target=self.target,
            first=self.first,
            end=other.end,
            source_digest=self.source_digest.then(other.source_digest),
            target_digest=self.target_digest.then(other.target_digest),
            counts=self.counts.plus(other.counts),
            bytes=self.bytes + other.bytes,
            difference=self.difference or other.difference,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            doubled=self.doubled.then(other.doubled),
            beyond=self.beyond + other.beyond,
        )

    def to_json(self) -> str:
        """Return it as text, for the way through Spark."""
        return _comparison.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Read what `to_json` wrote."""
        return _comparison.validate_json(text)


_comparison = TypeAdapter(Comparison)
