"""What the target has acknowledged of one partition: position, mode, runs and totals. Pure."""

from __future__ import annotations

from dataclasses import replace

from towpath.ledger.entries import Receipt, Run
from towpath.ledger.producers import of_generation
from towpath.model.nouns import LinkName, Mode, ProducerId, Side, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch, Fill
from towpath.records.standing import Standing, receipt_of
from towpath.records.work import Assignment
from towpath.wire import batch as wire

_DIGEST_PRIME = 0x100000001B3
_64 = (1 << 64) - 1


class RunBuilder:
    """Joins acknowledged batches to runs; a run that cannot grow any more is `closed`."""

    def __init__(self, run: Run) -> None:
        self.growing = run
        self.closed: list[Run] = []

    def add(
        self, source: SourceOffset, target: TargetOffset, length: int, *, across: bool = False
    ) -> None:
        """Records of source offsets from `source` on lie on the target from `target` on.

        With `across`, offsets between the growing run and these hold no record on either side, so
        the run may grow over them.
        """
        start, target_start, so_far = self.growing
        joins = source >= start + so_far if across else source == start + so_far
        if so_far and joins and target - source == target_start - start:
            self.growing = (start, target_start, source + length - start)
            return
        if so_far:
            self.closed.append(self.growing)
        self.growing = (source, target, length)

    def take_closed(self) -> tuple[Run, ...]:
        """Return the closed runs that were not taken yet."""
        taken, self.closed = tuple(self.closed), []
        return taken


class LaneProgress:
    """How far a partition came. It moves only over what the target holds.

    Attributes:
        trouble: What keeps the partition from moving now, if anything does.
        stopped: It moves no more in this round.
        changed: There is something that the ledger does not know yet.
        abandoned: Receipts of others that can be removed if they reach less far than our own.
        holes: Offsets filled that compaction left empty.
        transacted: Offsets filled in transactions, as the target takes no markers.
    """

    def __init__(self, work: Assignment, standing: Standing) -> None:
        self.work = work
        self.runs = RunBuilder(standing.run)
        self.trouble: Reason | None = None
        self._side: Side | None = None
        self.stopped = False
        self.changed = standing.trouble is not None
        self.copied_records = self.copied_bytes = 0
        self._stand(standing)

    def _stand(self, standing: Standing) -> None:
        self.position = standing.position
        self.mode, self.reasons = standing.mode, standing.reasons
        self.records, self.bytes, self._digest = standing.records, standing.bytes, standing.digest
        self._first_time, self._last_time = standing.first_time, standing.last_time
        self._cuts = standing.cuts
        self.runs.closed.extend(standing.closed)
        self.holes, self.transacted = standing.holes, standing.transacted
        self._bridged = TargetOffset(-1)
        self.abandoned = standing.abandoned
        self.changed |= standing.news or standing.writer is not None  # told to the ledger at once

    def resume(self, standing: Standing) -> None:
        """Go on from where the target and the ledger say, after our own idea was wrong."""
        self.runs.closed.append(self.runs.growing)
        self.runs.growing = standing.run
        self.changed |= self.trouble is not None
        self.trouble = None
        self._stand(standing)

    @property
    def producer(self) -> ProducerId:
        """The producer id to write under."""
        return of_generation(self.work.producer_id, self.position.generation)

    @property
    def done(self) -> bool:
        """Whether the offset at which the run ends is reached."""
        return self.work.end is not None and self.position.source >= self.work.end

    def add(self, batch: Batch, base_offset: TargetOffset) -> None:
        """Records of ours lie on the target from `base_offset` on."""
        target = base_offset
        for source, length in batch.pieces or ((batch.base, batch.count),):
            self.note(source, target, length)
            target = TargetOffset(target + length)
        self.bytes += batch.size
        self.copied_bytes += batch.size
        self._digest = (self._digest * _DIGEST_PRIME ^ batch.crc) & _64
        self._first_time = batch.time if self._first_time < 0 else self._first_time
        self._last_time = max(self._last_time, batch.time)
        self.move(batch.end, batch.epoch)

    def note(self, source: SourceOffset, target: TargetOffset, length: int) -> None:
        """Records of the source from `source` on lie on the target from `target` on."""
        across = self.mode is Mode.IDENTICAL or target == self._bridged
        self.runs.add(source, target, length, across=across)
        self.copied_records += length
        self._grow(target + length, length)

    def vanish(self, count: int) -> None:
        """The target holds records of ours that the source has no more."""
        self._grow(self.position.target + count, count)

    def reach(self, target: TargetOffset) -> None:
        """Nothing of ours that is not counted lies before target offset `target`."""
        if self.mode is Mode.MAPPED and target > self.position.target:
            self.position = replace(self.position, target=target)

    def _grow(self, target: int, count: int) -> None:
        self.records += count
        sequence = (self.position.sequence + count) % wire.SEQUENCES
        self.position = replace(self.position, target=TargetOffset(target), sequence=sequence)

    def pass_fill(self, fill: Fill, *, taken: bool = False) -> None:
        """Source offsets without records are behind us; `taken` if they take offsets of ours, too.

        Where offsets are identical they do in any case.
        """
        if self.mode is Mode.IDENTICAL:
            self.position = replace(self.position, target=TargetOffset(fill.end))
            self.holes += fill.holes
        elif taken:
            self._bridged = TargetOffset(self.position.target + fill.end - fill.base)
            self.position = replace(self.position, target=self._bridged)
        self.move(fill.end, fill.epoch)

    def move(self, source: SourceOffset, epoch: int) -> None:
        """Everything before the offset `source` is done."""
        self._cuts += source < self.position.source
        self.position = replace(self.position, source=source, epoch=epoch)
        self.changed = True

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset, before anything was copied."""
        identical = self.mode is Mode.IDENTICAL
        target = TargetOffset(source) if identical else self.position.target
        self.position = replace(self.position, target=target)
        self.runs.growing = (source, target, 0)
        self.move(source, -1)

    def become_mapped(self, why: Reason) -> None:
        """Offsets differ from here on; stop, where they must not."""
        if self.mode is Mode.IDENTICAL and self.work.must_be_identical:
            self.stop(Reason.of(ReasonCode.NOT_IDENTICAL, why=why))
        elif self.mode is Mode.IDENTICAL:
            self.mode, self.reasons = Mode.MAPPED, (why,)
            self.changed = True

    def stop(self, why: Reason) -> None:
        """Move no more in this round."""
        self.trouble, self._side, self.changed = why, None, True
        self.stopped = True

    def hinder(self, side: Side, why: Reason) -> None:
        """Tell what keeps the partition from moving now, until `side` works again."""
        self.trouble, self._side, self.changed = why, side, True

    def hindered_by(self, side: Side) -> bool:
        """Whether the partition moves again as soon as `side` works."""
        return self.trouble is not None and self._side is side

    def relieve(self, side: Side) -> bool:
        """Take back the trouble with a side that works again; return whether there was any."""
        if not self.hindered_by(side):
            return False
        self.trouble, self._side, self.changed = None, None, True
        return True

    @property
    def error(self) -> str:
        """The sentence about what keeps the partition from moving, "" when nothing does."""
        return str(self.trouble) if self.trouble is not None else ""

    def receipt(self, link: LinkName, copier: str, packed: str = "") -> Receipt:
        """Return what `copier` is to write to the ledger now, with the latest closed runs."""
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
        )
