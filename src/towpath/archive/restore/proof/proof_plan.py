"""The ranges to compare after a restore; whole segments where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from towpath.archive.log import Archive
from towpath.archive.model import Segment
from towpath.archive.read.feed.restore_work import archived
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.progress import RestoreRow
from towpath.archive.restore.proof.proof_work import (
    Archived,
    BrokerLogCut,
    ProofRange,
    ProofSlice,
    SegmentCut,
)
from towpath.archive.restore.task import RestoreTask
from towpath.ledger.books import LinkBooks
from towpath.model.changes import RecordOrigin
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset, TopicPartition
from towpath.model.portions import portions
from towpath.settings import StoreLayout

_BYTES = 128 << 20
"""Approximate bytes of keys, values and headers of a range, and of a slice."""
_MOST_RANGES = 64
Span = tuple[SourceOffset, SourceOffset]


@dataclass(frozen=True, slots=True)
class SizedRange:
    """A range to compare, and its approximate bytes of keys, values and headers."""

    part: ProofRange
    bytes: int


class ProofPlan:
    """Plans the comparison of a restore with its archive.

    Args:
        task: The restore.
        archive: The archive.
        scope: What was restored.
        books: What the ledger knows, runs included.
        target: The id of the target cluster.
    """

    def __init__(
        self,
        task: RestoreTask,
        archive: Archive,
        scope: RestoreScope,
        books: LinkBooks,
        target: ClusterId,
    ) -> None:
        self._task, self._archive, self._scope = task, archive, scope
        self._books, self._target = books, target

    def slices(self, rows: Iterable[RestoreRow]) -> list[ProofSlice]:
        """Return the slices that compare the restored records of these partitions."""
        known = {row.tp: row for row in rows if row.mode and not row.is_lost}
        found: list[SizedRange] = []
        for topic in self._scope.topics.values():
            written = {tp: known[tp] for tp in topic.by_partition if tp in known}
            found += (
                self._by_key(topic, written) if topic.layout else self._straight(topic, written)
            )
        return [
            ProofSlice(
                store=self._task.store,
                region=self._task.region,
                restore=self._task.name,
                target=self._task.target,
                ranges=some,
            )
            for some in _packed(found)
        ]

    def _straight(
        self, topic: RestoreTopic, rows: dict[TopicPartition, RestoreRow]
    ) -> Iterator[SizedRange]:
        """Yield the ranges of a topic whose records keep their partitions."""
        for tp, row in rows.items():
            books = self._books.of(tp)
            offsets = books.offsets()
            lost = [(gap.first, gap.end) for gap in row.gaps]
            for each in self._stretches(topic, tp, row.part, min(row.at, row.part.end), lost):
                one = replace(
                    each.part,
                    target=TopicPartition(topic.target, tp.partition),
                    target_first=offsets.next_target(each.part.first),
                    target_end=offsets.next_target(each.part.end),
                    ids=books.own,
                    writers=frozenset(books.writers),
                )
                yield SizedRange(one, each.bytes)

    def _by_key(
        self, topic: RestoreTopic, rows: dict[TopicPartition, RestoreRow]
    ) -> Iterator[SizedRange]:
        """Yield what the archive holds of a topic, and what the target does, each by itself."""
        if len(rows) < len(topic.by_partition) or not all(row.done for row in rows.values()):
            return  # what is missing could be anywhere
        for part in topic.parts:
            tp = TopicPartition(topic.topic.name, part.id.partition)
            yield from self._stretches(topic, tp, part, part.end, [])
        for tp, row in rows.items():
            books = self._books.of(tp)
            opened, receipt = books.opened, books.receipt
            if opened is None or receipt is None:
                continue
            one = ProofRange(
                tp=tp,
                first=row.part.start,
                end=row.part.end,
                target=TopicPartition(topic.target, tp.partition),
                target_first=opened.target_start,
                target_end=receipt.target_end,
                ids=books.own,
                writers=frozenset(books.writers),
            )
            yield SizedRange(one, row.part.bytes)

    def _stretches(
        self,
        topic: RestoreTopic,
        tp: TopicPartition,
        part: RestorePart,
        end: SourceOffset,
        lost: Sequence[tuple[int, int]],
    ) -> Iterator[SizedRange]:
        """Yield what the archive holds of a partition before `end`, without what was lost."""
        origin = RecordOrigin(
            link=self._task.name,
            topic=tp.topic,
            partition=tp.partition,
            source_cluster=archived(self._task.region),
            target_cluster=self._target,
        )
        for span in reduce(without, lost, [(part.start, end)]):
            for some, size in self._pieces(topic, part, span):
                one = ProofRange(
                    tp=tp,
                    first=some[0][0],
                    end=some[-1][1],
                    archived=tuple(each for _, _, each in some),
                    change=topic.change,
                    origin=origin,
                )
                yield SizedRange(one, size)

    def _pieces(
        self, topic: RestoreTopic, part: RestorePart, span: Span
    ) -> Iterator[tuple[list[tuple[SourceOffset, SourceOffset, Archived]], int]]:
        """Yield neighbouring segments of a span that are compared as one range, and their bytes."""
        held: list[tuple[SourceOffset, SourceOffset, Archived]] = []
        size = 0
        for segment, first, end in self._archive.pieces(part.id, *span):
            if held and size + segment.raw_bytes > _BYTES:
                yield held, size
                held, size = [], 0
            held.append((first, end, self._known(topic, segment, (first, end))))
            size += segment.raw_bytes
        if held:
            yield held, size

    def _known(self, topic: RestoreTopic, segment: Segment, span: Span) -> Archived:
        """Return the digest of a span of a segment, or what must be read for it."""
        if self._task.store.layout is not StoreLayout.ARCHIVE:
            return BrokerLogCut(segment.partition_id, *span)
        if span == (segment.start, segment.end) and not topic.change.digest:
            return segment.digest
        return Digest() if segment.place is None else SegmentCut(segment, *span)


def without(spans: Sequence[Span], lost: tuple[int, int]) -> list[Span]:
    """Subtract a range of offsets from a list of ranges."""
    first, end = map(SourceOffset, lost)
    cut = [
        piece
        for start, stop in spans
        for piece in ((start, min(stop, first)), (max(start, end), stop))
    ]
    return [(start, stop) for start, stop in cut if start < stop]


def _packed(found: Iterable[SizedRange]) -> Iterator[tuple[ProofRange, ...]]:
    """Yield the ranges of each slice: many small ones, or a large one."""
    for some in portions(found, lambda each: each.bytes, _BYTES, _MOST_RANGES):
        yield tuple(each.part for each in some)
