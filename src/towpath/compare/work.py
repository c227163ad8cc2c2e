"""The work and the result of a comparing slice, as frozen values that pickle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from pydantic import TypeAdapter

from towpath.compare.doubled import Doubled
from towpath.compare.named import SeenIds
from towpath.compare.others import OtherRecords
from towpath.ledger.entries import Run, Tally
from towpath.ledger.offsets import Extent, OffsetMap
from towpath.ledger.producers import generations
from towpath.model.changes import RecordChange
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicPartition,
)
from towpath.settings import ClusterConfig
from towpath.wire.digest import Digest
from towpath.wire.naming import IdSample


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Source offsets [first, end) of a partition, and the corresponding target offsets.

    Attributes:
        runs: The runs that touch the range. They do not overlap.
        replaced: Target offsets [first, end) that were copied before the source log was truncated.
        source_compacted: Whether the source topic is compacted, so that missing records are
            examined.
        target_compacted: The same for the target topic.
        whole: The range covers all copied records, so that a later record with the key of a missing
            one can be found.
        ids: Generation 0 of our producer ids, not all generations: there may be ten thousand
            ranges, which must stay small.
        writers: Our other producer ids, which write in transactions.
        own: The part of `ids` whose sequences number the copied records.
        following: The sequence after the copied records, by producer id, if the range reaches to
            their end. Then the records after the range are checked too.
        front: The target offset from which the records before `target_first` are looked at for
            those of others; -1 if they are not.
        cut: The target offset from which on a cutover lets others write; -1 without a cutover.
        change: The digest of the change under which the records were copied, "" if they stayed as
            they were.
        refused: Source offsets [first, end) of records that the target refused and that the ledger
            leaves out.
        gone: The target has deleted all of the range, so that the source's records are only
            counted.
        due: The source's own retention deletes the records before this source offset soon.
        twin: Generation 0 of the producer ids whose batches at the source the link leaves out.
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
    front: int = -1
    cut: int = -1
    change: str = ""
    refused: tuple[tuple[int, int], ...] = ()
    gone: bool = False
    due: int = 0
    twin: frozenset[ProducerId] = frozenset()

    @property
    def producers(self) -> frozenset[ProducerId]:
        """All producer ids of the link; batches with other ids are foreign."""
        return generations(*self.ids) | self.writers

    @property
    def offsets(self) -> OffsetMap:
        """The offset map of the range, built from its runs at each call."""
        extent = Extent(self.first, self.target_first, self.end, self.target_end)
        return OffsetMap(self.runs, extent)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChanges:
    """The changes under which a link's records were copied.

    Attributes:
        link: The link.
        source_cluster: The id of the source cluster.
        target_cluster: The id of the target cluster.
        defined: What the digests of ranges stand for.
    """

    link: LinkName
    source_cluster: ClusterId
    target_cluster: ClusterId
    defined: Mapping[str, RecordChange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompareSlice:
    """The ranges that one task compares, one after the other.

    Attributes:
        ids: Which records of the target are looked at for schema ids, `None` for no record.
        changes: How records were changed, `None` if they were copied as they are.
    """

    source: ClusterConfig
    target: ClusterConfig
    ranges: tuple[Range, ...]
    fetch_bytes: int = 8 << 20
    ids: IdSample | None = None
    changes: LinkChanges | None = None


@dataclass(frozen=True, slots=True, order=True)
class RecordDifference:
    """A difference and its offsets, -1 if a side has no such offset."""

    source_offset: int
    target_offset: int
    what: str


@dataclass(slots=True, kw_only=True)
class Counts:
    """Numbers of records, by result.

    Attributes:
        equal: On both sides, and the same.
        unopened: The part of the equal ones whose batches have the same bytes.
        changed: On both sides, and different.
        missing: On the source only.
        extra: Ours, on the target only.
        compacted: On one side only, because the other one removed them by compaction.
        compacted_there: The part of these that the target removed.
        deleted: On the source only, because the target deleted them from the start of its log.
        due: The part of these that the source's own retention deletes soon.
        expired: On the target only, because the source deleted them from the start of its log.
        replaced: On the target only, copied before the source log was truncated.
        foreign: On the target, of other producers.
        untimed: Compared without timestamps, because the target sets them (LogAppendTime).
        twin: On the source, left out as the twin of the link wrote them.
        uncommitted: On the target, in aborted transactions. Only consumers with
            isolation.level=read_uncommitted see them, and never as mirrored records.
    """

    equal: int = 0
    unopened: int = 0
    changed: int = 0
    missing: int = 0
    extra: int = 0
    compacted: int = 0
    compacted_there: int = 0
    deleted: int = 0
    due: int = 0
    expired: int = 0
    replaced: int = 0
    foreign: int = 0
    untimed: int = 0
    uncommitted: int = 0
    twin: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum of both counts."""
        names = [each.name for each in fields(self)]
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def different(self) -> int:
        """Number of records that differ."""
        return self.changed + self.missing + self.extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of comparing a range.

    The digests cover the records that must be equal, without compacted, deleted, expired, replaced
    and foreign ones. A batch with the same bytes on both sides is added as a whole. So the digests
    compare the two sides of one comparison, and mean nothing between two comparisons.

    Attributes:
        doubled: Records of ours that the target holds twice, in the range and after it.
        beyond: Number of our records after the copied ones that are not doubled.
        others: Records of others on the target, in the range, and before and after it.
        behind_cut: Further records of others, from the cutover on.
        ids: The schema ids that our records on the target name, as far as they are looked for; also
            those of records before and after the range.
        tally: What changes did to the records of the source (`ledger/entries/partition.py`).
        stopped: Why the range was compared only up to an offset, "" if it was compared whole.
        gone: The target has deleted all of the range, whose records were only counted; `first` and
            `end` are those of the records that the source has.
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
    others: OtherRecords = field(default_factory=OtherRecords)
    behind_cut: OtherRecords = field(default_factory=OtherRecords)
    ids: SeenIds = field(default_factory=SeenIds)
    tally: Tally = ()
    stopped: str = ""
    gone: bool = False

    @property
    def empty(self) -> bool:
        """Whether the range had no records, so that only other writers' records were searched."""
        return self.first >= self.end

    @property
    def equal(self) -> bool:
        """Whether both sides are equal."""
        same = self.difference is None and self.source_digest == self.target_digest
        return same and not self.doubled.records

    def then(self, other: Comparison) -> Comparison:
        """Return the result for this range and a later one of the same partition together."""
        # Of what the target deleted, the offsets are those of records that were counted.
        none_here = self.gone and not self.counts.deleted
        none_there = self.gone and not other.counts.deleted
        return Comparison(
            source=self.source,
            target=self.target,
            first=other.first if none_here else self.first,
            end=self.end if none_there else other.end,
            source_digest=self.source_digest.then(other.source_digest),
            target_digest=self.target_digest.then(other.target_digest),
            counts=self.counts.plus(other.counts),
            bytes=self.bytes + other.bytes,
            difference=self.difference or other.difference,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            doubled=self.doubled.then(other.doubled),
            beyond=self.beyond + other.beyond,
            others=self.others.then(other.others),
            behind_cut=self.behind_cut.then(other.behind_cut),
            ids=self.ids.then(other.ids),
            tally=tallied((self.tally, other.tally)),
            stopped=self.stopped or other.stopped,
            gone=self.gone,
        )

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _comparison.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Parse the JSON text that `to_json` returned."""
        return _comparison.validate_json(text)


def tallied(tallies: Iterable[Tally]) -> Tally:
    """Add up the tallies of several ranges."""
    counts = Counter[str]()
    for each in tallies:
        counts.update(dict(each))
    return tuple(sorted(counts.items()))


_comparison = TypeAdapter(Comparison)
