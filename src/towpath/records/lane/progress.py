"""Acknowledged progress of one partition: position, mode, runs and totals. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from towpath.ledger.entries import FROM_ARCHIVE, Receipt, Run, Stretch
from towpath.ledger.producers import of_generation
from towpath.model.nouns import LinkName, Mode, ProducerId, Side, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch, Fill
from towpath.records.lane.stretches import ended, joined, left_out
from towpath.records.standing import Standing, receipt_of
from towpath.records.work import Assignment
from towpath.wire import batch as wire
from towpath.wire.batch import Table
from towpath.wire.tally import OffsetTally

_DIGEST_PRIME = 0x100000001B3
_64 = (1 << 64) - 1
_NO_RUNS = np.empty((0, 3), np.int64)


class RunBuilder:
    """Builds runs of the offset map from acknowledged batches."""

    def __init__(self, run: Run) -> None:
        self.growing = run
        self.closed: list[Run] = []
        self._many: list[Table] = []

    def add(
        self, source: SourceOffset, target: TargetOffset, length: int, *, across: bool = False
    ) -> None:
        """Add `length` records from source offset `source`, which begin at target offset `target`.

        With `across`, the offsets between the growing run and these records hold no record on
        either side, so the run may grow over them.
        """
        start, target_start, so_far = self.growing
        joins = source >= start + so_far if across else source == start + so_far
        if so_far and joins and target - source == target_start - start:
            self.growing = (start, target_start, source + length - start)
            return
        if so_far:
            self.closed.append(self.growing)
        self.growing = (source, target, length)

    def add_apart(self, runs: Table) -> None:
        """Add runs of records that are surrounded by holes at the source."""
        self.closed.append(self.growing)
        self._many.append(runs[:-1])
        source, target, length = runs[-1].tolist()
        self.growing = (source, target, length)

    def take_closed(self) -> tuple[Run, ...]:
        """Return the runs closed since the last call."""
        taken, self.closed = tuple(self.closed), []
        return taken

    def take_many(self) -> Table:
        """Return the many-at-once runs closed since the last call, as a table."""
        taken, self._many = self._many, []
        return np.concatenate([_NO_RUNS, *taken])


@dataclass(frozen=True, slots=True)
class WentBack:
    """A return to an earlier offset, because the source's log was truncated.

    Attributes:
        first: The source offset to which it went back.
        end: The source offset from which it went back.
        target: The target offset of the next record.
    """

    first: SourceOffset
    end: SourceOffset
    target: TargetOffset


class LaneProgress:
    """The progress of a partition, which moves only over records that the target holds.

    Attributes:
        trouble: What keeps the partition from moving now, `None` if nothing does.
        stopped: The partition has stopped for the rest of the round.
        changed: The ledger lacks the latest progress.
        abandoned: Receipts of other copiers, to be removed once our own reaches further.
        holes: Number of filled offsets that compaction had left empty.
        transacted: Number of offsets filled in transactions, because the target accepts no markers.
        change: The change under which records are copied.
        went_back: Where copying went back and the ledger does not know yet at which target offset.
        front: The target log is still being filled up to the position, and cut there. No receipt is
            written meanwhile: whoever opens the partition next would take it that all before the
            position stays, and miss what is not filled yet.
    """

    def __init__(self, work: Assignment, standing: Standing) -> None:
        self.work = work
        self.runs = RunBuilder(standing.run)
        self.trouble: Reason | None = None
        self._side: Side | None = None
        self.stopped = False
        self.changed = standing.trouble is not None
        self.copied_records = self.copied_bytes = 0
        self.went_back: list[WentBack] = []
        self._archived: list[tuple[int, int]] = []
        """Source offsets [first, end) whose records come from an archive, in order."""
        self._filled: tuple[Stretch, ...] = ()
        """Those whose records are counted as such, in order."""
        self._stand(standing)

    def _stand(self, standing: Standing) -> None:
        self.position, self.front = standing.position, standing.front is not None
        self.mode, self.reasons = standing.mode, standing.reasons
        self.records, self.bytes, self._digest = standing.records, standing.bytes, standing.digest
        self._first_time, self._last_time = standing.first_time, standing.last_time
        self._cuts = standing.cuts
        self.runs.closed.extend(standing.closed)
        self.holes, self.transacted = standing.holes, standing.transacted
        self.change, self._changed = standing.change, standing.changed
        self._tally, self._counted = Counter(dict(standing.tally)), standing.counted
        self._filled = standing.archived
        self._bridged = TargetOffset(-1)
        self.abandoned = standing.abandoned
        self.changed |= (
            standing.news or standing.writer is not None
        )  # the ledger must have it at once

    def resume(self, standing: Standing) -> None:
        """Continue from the position that the target and the ledger give."""
        self.runs.closed.append(self.runs.growing)
        self.runs.growing = standing.run
        self.changed |= self.trouble is not None
        self.trouble = None
        self._stand(standing)

    @property
    def producer(self) -> ProducerId:
        """The producer id of the present generation."""
        return of_generation(self.work.producer_id, self.position.generation)

    @property
    def last_time(self) -> int:
        """Largest timestamp in ms of the copied records, -1 if there are none."""
        return self._last_time

    @property
    def done(self) -> bool:
        """Whether the end offset of the run is reached, in the log that the source has now."""
        if self.work.end is None or self.position.source < self.work.end:
            return False
        # A fetch finds the cut by the leader epoch of what was copied last.
        return self._cuts > self.work.cuts or self.position.epoch < 0

    def add(self, batch: Batch, base_offset: TargetOffset) -> None:
        """Move past a batch that the target appended at `base_offset`."""
        if batch.pieces is None:
            self.note(batch.base, base_offset, batch.count)
        else:
            self.note_all(batch.pieces, base_offset)
        self.bytes += batch.size
        self.copied_bytes += batch.size
        self._digest = (self._digest * _DIGEST_PRIME ^ batch.crc) & _64
        self._first_time = batch.time if self._first_time < 0 else self._first_time
        self._last_time = max(self._last_time, batch.time)
        self.count(batch.tally)
        self.move(batch.end, batch.epoch)

    def count(self, tally: OffsetTally) -> None:
        """Add changed records to the counts, unless already counted."""
        for first, end, digest in self._counted if tally else ():
            if digest == self.change.digest:
                tally = tally.without(first, end)
        if tally:
            self._tally.update(dict(tally.by_kind()))

    def note(self, source: SourceOffset, target: TargetOffset, length: int) -> None:
        """Count `length` records from source offset `source`, found at target offset `target`."""
        across = self.mode is Mode.IDENTICAL or target == self._bridged
        self.runs.add(source, target, length, across=across)
        self._count_archived(source, SourceOffset(source + length))
        self.copied_records += length
        self._grow(target + length, length)

    def note_all(self, pieces: Table, target: TargetOffset) -> None:
        """Count records with holes between them, found from target offset `target` on."""
        lengths = pieces[:, 1]
        there = target + np.cumsum(lengths) - lengths
        first, count = int(lengths[0]), int(lengths.sum())
        self.note(SourceOffset(int(pieces[0, 0])), target, first)
        self.runs.add_apart(np.stack((pieces[1:, 0], there[1:], lengths[1:]), 1))
        for source, length in pieces[1:].tolist() if self._archived else ():
            self._count_archived(source, source + length)
        self.copied_records += count - first
        self._grow(target + count, count - first)

    def comes_from_archive(self, first: SourceOffset, end: SourceOffset) -> None:
        """Count the records at source offsets [first, end) as those of an archive from now on.

        They are read from there, once more perhaps after an opening.
        """
        left = [part for part in self._archived if part[1] > self.position.source]
        known = max((stop for _, stop in left), default=0)
        self._archived = [*left, (max(first, known), end)] if end > known else left

    def _count_archived(self, first: int, end: int) -> None:
        """Count the records at source offsets [first, end) that came from an archive."""
        for start, stop in self._archived:
            low, high = max(first, start), min(end, stop)
            if low < high:
                self._tally[FROM_ARCHIVE] += left_out(self._filled, low, high)
                self._filled = joined(self._filled, start, high)

    def vanish(self, count: int) -> None:
        """Count records that the target holds and the source has deleted."""
        self._grow(self.position.target + count, count)

    def reach(self, target: TargetOffset) -> None:
        """Move a mapped partition to target offset `target`: all records before it are counted."""
        if self.mode is Mode.MAPPED and target > self.position.target:
            self.position = replace(self.position, target=target)

    def _grow(self, target: int, count: int) -> None:
        self.records += count
        sequence = (self.position.sequence + count) % wire.SEQUENCES
        self.position = replace(self.position, target=TargetOffset(target), sequence=sequence)

    def pass_fill(self, fill: Fill, *, taken: bool = False) -> None:
        """Move past source offsets without records.

        Args:
            fill: The offsets.
            taken: They take offsets of a mapped target partition too. Those of an identical one
                always do.
        """
        if self.mode is Mode.IDENTICAL:
            self.position = replace(self.position, target=TargetOffset(fill.end))
            self.holes += fill.holes
        elif taken:
            self._bridged = TargetOffset(self.position.target + fill.end - fill.base)
            self.position = replace(self.position, target=self._bridged)
        if fill.lost and fill.end < fill.base:
            self.went_back.append(WentBack(fill.end, fill.base, self.position.target))
        self.count(fill.tally)
        self.move(fill.end, fill.epoch)

    def move(self, source: SourceOffset, epoch: int) -> None:
        """Move to source offset `source`, as everything before it is done."""
        if source < self.position.source:
            self._cuts += 1
            self._counted = ()  # the source has other records there now
            self._filled = ended(self._filled, source)
        self.position = replace(self.position, source=source, epoch=epoch)
        self.changed = True

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset, before any record was copied."""
        identical = self.mode is Mode.IDENTICAL
        target = TargetOffset(source) if identical else self.position.target
        self.position = replace(self.position, target=target)
        self.runs.growing = (source, target, 0)
        self.move(source, -1)

    def become_mapped(self, why: Reason) -> None:
        """Allow offsets to differ from here on, or stop if the file requires identical ones."""
        if self.mode is Mode.IDENTICAL and self.work.must_be_identical:
            self.stop(Reason.of(ReasonCode.NOT_IDENTICAL, why=why))
        elif self.mode is Mode.IDENTICAL:
            self.mode, self.reasons = Mode.MAPPED, (why,)
            self.changed = True

    def stop(self, why: Reason) -> None:
        """Stop the partition for the rest of the round."""
        self.trouble, self._side, self.changed = why, None, True
        self.stopped = True

    def hinder(self, side: Side, why: Reason) -> None:
        """Record what keeps the partition from moving until `side` works again."""
        self.trouble, self._side, self.changed = why, side, True

    def hindered_by(self, side: Side) -> bool:
        """Whether only trouble of `side` keeps the partition from moving."""
        return self.trouble is not None and self._side is side

    def relieve(self, side: Side) -> bool:
        """Clear the trouble of a side that works again. Returns whether there was any."""
        if not self.hindered_by(side):
            return False
        self.trouble, self._side, self.changed = None, None, True
        return True

    @property
    def error(self) -> str:
        """A sentence on what keeps the partition from moving; "" if nothing does."""
        return str(self.trouble) if self.trouble is not None else ""

    def receipt(self, link: LinkName, copier: str, packed: str = "") -> Receipt:
        """Return the receipt for `copier` to write now, with the latest closed runs."""
        self.changed = False
        return receipt_of(self.work, link, self._standing(), copier=copier, packed=packed)

    def _standing(self) -> Standing:
        return Standing(
            position=self.position,
            mode=self.mode,
            reasons=self.reasons,
            run=self.runs.growing,
            records=self.records,
            bytes=self.bytes,
            first_time=self._first_time,
            last_time=self._last_time,
            digest=self._digest,
            trouble=self.trouble,
            cuts=self._cuts,
            holes=self.holes,
            transacted=self.transacted,
            change=self.change,
            changed=self._changed,
            tally=tuple(sorted(self._tally.items())),
            counted=tuple(each for each in self._counted if each[1] > self.position.source),
            archived=self._filled,
        )
