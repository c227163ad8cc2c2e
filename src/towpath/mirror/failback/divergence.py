"""Where both logs of a partition diverge, and which records only one side has. Pure.

Up to the cut both sides hold the same records. What the old source got behind it was never
mirrored; what the target got behind it came from clients since the failover.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut, Salvaged
from towpath.ledger.offsets import OffsetMap
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicPartition

NOT_COUNTED = -1


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The first offset and the end offset of a partition's log.

    Attributes:
        start: Its first offset.
        stable: The offset of the first open transaction, or `end`.
        end: The high watermark.
    """

    start: int
    stable: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneRecords:
    """The records of a partition that only one of the two clusters has.

    Attributes:
        side: That cluster.
        place: The partition there.
        first: The first offset behind what both have.
        end: The offset behind the last record that is no part of an open transaction.
        log_start: Where the log begins. What lies before it was deleted.
        log_end: Where the log ends.
        records: How many records lie in [first, end), `NOT_COUNTED` if that is not known. Offsets
            of markers and aborted records hold none.
        fences: How many of these offsets were taken by the markers of a failover.
    """

    side: Side
    place: TopicPartition
    first: int
    end: int
    log_start: int
    log_end: int
    records: int = NOT_COUNTED
    fences: int = 0

    @property
    def offsets(self) -> int:
        """The number of offsets that may hold records."""
        return max(0, self.end - self.first - self.fences)

    @property
    def deleted(self) -> int:
        """The number of offsets that the cluster has deleted since, without those of fences."""
        return max(0, min(self.log_start, self.end) - self.first - self.fences)

    @property
    def most(self) -> int:
        """The number of records that are still there: as counted, or one for each offset."""
        return self.records if self.records != NOT_COUNTED else self.offsets - self.deleted

    @property
    def is_open(self) -> bool:
        """Whether a transaction after `end` is still open, so that its records may be committed."""
        return self.end < self.log_end

    @property
    def any(self) -> bool:
        """Whether there is at least one such record, or may be one."""
        return self.offsets > 0 and self.records != 0

    def __str__(self) -> str:
        """Return how many records, and at which offsets."""
        if not self.any:
            return "none"
        many = f"{self.most:,}" if self.records != NOT_COUNTED else f"up to {self.most:,}"
        first = max(self.first, self.log_start)
        left = f"{many} (offsets {first} to {self.end - 1})" if first < self.end else "none"
        return f"{left}, {self.deleted:,} offsets deleted since" if self.deleted else left


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A partition whose two logs diverged, with the records that only one side has.

    Attributes:
        tp: The source partition.
        cut: The last cut, which the failover or the cutover wrote.
        shared: Up to which source offset the old source still has what was mirrored. It lies
            before the cut where its leader lost the end of the log.
        source: What the old source alone has.
        target: What the target alone has.
        salvaged: What was copied to salvage topics before.
    """

    tp: TopicPartition
    cut: Cut
    shared: SourceOffset
    source: LoneRecords
    target: LoneRecords
    salvaged: tuple[Salvaged, ...] = ()

    @property
    def wins(self) -> Side | None:
        """The side whose records stay, by an earlier decision; `None` if nobody decided."""
        return self.salvaged[-1].winner if self.salvaged else None

    @property
    def is_conflict(self) -> bool:
        """Whether both sides have records of their own."""
        return self.source.any and self.target.any

    @property
    def undecided(self) -> bool:
        """Whether the user must still choose the side whose records stay (`--wins`)."""
        return self.is_conflict and self.wins is None

    @property
    def identical(self) -> bool:
        """Whether the link back keeps offsets, as the old source's log ends at the cut."""
        return self.source.log_end == self.target.first

    def own(self, side: Side) -> LoneRecords:
        """Return the records that only `side` has."""
        return self.source if side is Side.SOURCE else self.target

    def unsaved(self, side: Side) -> LoneRecords:
        """Return the records that only `side` has, without those that were salvaged before."""
        own = self.own(side)
        known = [each for each in self.salvaged if each.side is side]
        if not known or own.first < min(each.first for each in known):
            return own
        end = max(each.end for each in known)
        return replace(own, first=max(own.first, end), records=NOT_COUNTED)

    def counted(self, source: int, target: int) -> Divergence:
        """Return a copy with the number of records on each side."""
        return replace(
            self,
            source=replace(self.source, records=source),
            target=replace(self.target, records=target),
        )

    def cut_behind(self, end: int, at: int) -> Cut | None:
        """Return the cut after the target's own records, if the source's records stay.

        Args:
            end: The target offset behind what was salvaged.
            at: The present time, in ms since 1970.
        """
        return self._moved(TargetOffset(end), 0, at)

    def cut_back(self, at: int) -> Cut | None:
        """Return the cut at which the link back begins, `None` to keep the present one.

        It lies before the present one where either side lost what had been mirrored: the link
        back brings again what the old source lost, and what clients wrote where the target lost it.

        Args:
            at: The present time, in ms since 1970.
        """
        return self._moved(TargetOffset(self.target.first), self.target.fences, at)

    def _moved(self, border: TargetOffset, fences: int, at: int) -> Cut | None:
        cut = self.cut
        if (self.shared, border) == (cut.source_end, cut.target_end):
            return None
        return replace(
            cut, at=at, source_end=self.shared, target_end=border, fences=fences, passed=0
        )


def divergence(
    tp: TopicPartition,
    books: PartitionBooks,
    source: LogEnds,
    target: LogEnds,
    *,
    shared: SourceOffset | None = None,
    kept: TargetOffset | None = None,
    offsets: OffsetMap | None = None,
    passed: int = 0,
) -> Divergence:
    """Return the records of a cut partition that only one side has, for both sides.

    Args:
        tp: The source partition.
        books: What the ledger knows of it.
        source: The log of the old source.
        target: The log of the target.
        shared: Where the log of the old source was cut below what was mirrored; `None` if it was
            not.
        kept: Where the log of the target was cut below what was mirrored or fenced; `None` if it
            was not.
        offsets: The offset map, which is needed with `shared` and `kept` where offsets differ.
        passed: The source offset behind those records that the target has without a receipt, 0
            where there are none.

    Raises:
        ValueError: The partition was not opened, or not cut.
    """
    cut, opened = books.cut, books.opened
    if cut is None or opened is None:
        raise ValueError(f"{tp} was not cut")
    both, border, fences = cut.source_end, cut.target_end, cut.fences
    if kept is not None and kept < border + fences:
        fences = max(0, kept - border)
    if kept is not None and kept < border:
        border = kept
        both = offsets.to_source(kept).offset if offsets is not None else SourceOffset(kept)
    if shared is not None and shared < both:
        both = shared
        said = offsets.to_target(shared).offset if offsets is not None else TargetOffset(shared)
        border = min(border, said)
    theirs = LoneRecords(
        side=Side.SOURCE,
        place=tp,
        first=max(both, passed) if both == cut.source_end else both,
        end=source.stable,
        log_start=source.start,
        log_end=source.end,
    )
    ours = LoneRecords(
        side=Side.TARGET,
        place=opened.target,
        first=border,
        end=target.stable,
        log_start=target.start,
        log_end=target.end,
        fences=fences,
    )
    return Divergence(
        tp=tp, cut=cut, shared=both, source=theirs, target=ours, salvaged=books.salvaged
    )
