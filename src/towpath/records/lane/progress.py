"""What the target has acknowledged of one partition: position, mode, runs and totals. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from towpath.ledger.entries import Receipt, Run
from towpath.model.clock import now_ms
from towpath.model.errors import NotIdenticalError
from towpath.model.nouns import LinkName, Mode, Side
from towpath.records.lane.passed import Passed
from towpath.records.lane.queue import Batch, Fill, RunBuilder, Writer
from towpath.records.work import Assignment, Position
from towpath.wire import batch as wire

_DIGEST_PRIME = 0x100000001B3
_64 = (1 << 64) - 1


@dataclass(slots=True)
class Standing:
    """What opening or resuming a partition found out."""

    position: Position
    mode: Mode
    reason: str
    run: Run
    records: int = 0
    bytes: int = 0
    first_time: int = -1
    last_time: int = -1
    digest: int = 0
    passed: Passed = field(default_factory=Passed)
    """Records that the target holds behind `position` already."""
    news: bool = False
    """The ledger does not know the position yet."""
    tail_end: int = -1
    """How far the target log was read for them: nothing else of ours lies before this offset."""
    error: str = ""
    """What the ledger says keeps the partition from moving."""
    writer: Writer | None = None
    """Who writes in transactions, where the target refuses our producer id."""

    cuts: int = 0
    """How often copying went back at the source."""
    closed: tuple[Run, ...] = ()
    """Runs that the receipt holds, and no other entry."""
    holes: int = 0
    """Offsets filled that compaction left empty."""
    transacted: int = 0
    """Offsets filled in transactions, as the target takes no markers."""
    abandoned: tuple[Receipt, ...] = ()
    """Receipts of the incarnation under whose keys nobody writes any more."""
    front: int | None = None
    """Where the log of a fresh target partition ends, if it must be filled up to `position`."""

    def become_transactional(self, reason: str, writer: Writer) -> None:
        """Let `writer` write; its markers take offsets, so the partition is mapped."""
        if reason not in self.reason:
            self.reason = "; ".join(filter(None, (self.reason, reason)))
        self.mode, self.writer = Mode.MAPPED, writer

    def reach(self, target: int) -> None:
        """Nothing of ours lies between the position and target offset `target`."""
        self.position = replace(self.position, target=max(target, self.position.target))

    def begin_at(self, offset: int, records: int) -> None:
        """Go on at `offset` of both sides, behind `records` that the target deleted since."""
        sequence = (self.position.sequence + records) % wire.SEQUENCES
        self.position, self.news = Position(offset, offset, sequence), True
        self.records += records


class Progress:
    """How far a partition came. It moves only over what the target holds.

    Attributes:
        error: What keeps the partition from moving now, for people; "" when nothing does.
        stopped: It moves no more in this round.
        changed: There is something that the ledger does not know yet.
        abandoned: Receipts of others that can be removed if they reach less far than our own.
        holes: Offsets filled that compaction left empty.
        transacted: Offsets filled in transactions, as the target takes no markers.
    """

    def __init__(self, work: Assignment, standing: Standing) -> None:
        self.work = work
        self.runs = RunBuilder(standing.run)
        self.error = ""
        self.stopped = False
        self.changed = bool(standing.error)
        self.copied_records = self.copied_bytes = 0
        self._stand(standing)

    def _stand(self, standing: Standing) -> None:
        self.position = standing.position
        self.mode, self.reason = standing.mode, standing.reason
        self.records, self.bytes, self._digest = standing.records, standing.bytes, standing.digest
        self._first_time, self._last_time = standing.first_time, standing.last_time
        self._cuts = standing.cuts
        self.runs.closed.extend(standing.closed)
        self.holes, self.transacted = standing.holes, standing.transacted
        self._bridged = -1
        self.abandoned = standing.abandoned
        self.changed |= standing.news or standing.writer is not None  # told to the ledger at once

    def resume(self, standing: Standing) -> None:
        """Go on from where the target and the ledger say, after our own idea was wrong."""
        self.runs.closed.append(self.runs.growing)
        self.runs.growing = standing.run
        self.changed |= bool(self.error)
        self.error = ""
        self._stand(standing)

    @property
    def done(self) -> bool:
        """Whether the offset at which the run ends is reached."""
        return self.work.end is not None and self.position.source >= self.work.end

    def add(self, batch: Batch, base_offset: int) -> None:
        """Records of ours lie on the target from `base_offset` on."""
        target = base_offset
        for source, length in batch.pieces or ((batch.base, batch.count),):
            self.note(source, target, length)
            target += length
        self.bytes += batch.size
        self.copied_bytes += batch.size
        self._digest = (self._digest * _DIGEST_PRIME ^ batch.crc) & _64
        self._first_time = batch.time if self._first_time < 0 else self._first_time
        self._last_time = max(self._last_time, batch.time)
        self.move(batch.end, batch.epoch)

    def note(self, source: int, target: int, length: int) -> None:
        """Records of the source from `source` on lie on the target from `target` on."""
        across = self.mode is Mode.IDENTICAL or target == self._bridged
        self.runs.add(source, target, length, across=across)
        self.copied_records += length
        self._grow(target + length, length)

    def vanish(self, count: int) -> None:
        """The target holds records of ours that the source has no more."""
        self._grow(self.position.target + count, count)

    def reach(self, target: int) -> None:
        """Nothing of ours that is not counted lies before target offset `target`."""
        if self.mode is Mode.MAPPED and target > self.position.target:
            self.position = replace(self.position, target=target)

    def _grow(self, target: int, count: int) -> None:
        self.records += count
        sequence = (self.position.sequence + count) % wire.SEQUENCES
        self.position = replace(self.position, target=target, sequence=sequence)

    def pass_fill(self, fill: Fill, *, taken: bool = False) -> None:
        """Source offsets without records are behind us; `taken` if they take offsets of ours, too.

        Where offsets are identical they do in any case.
        """
        if self.mode is Mode.IDENTICAL:
            self.position = replace(self.position, target=fill.end)
            self.holes += fill.holes
        elif taken:
            self._bridged = self.position.target + fill.end - fill.base
            self.position = replace(self.position, target=self._bridged)
        self.move(fill.end, fill.epoch)

    def move(self, source: int, epoch: int) -> None:
        """Everything before the offset `source` is done."""
        self._cuts += source < self.position.source
        self.position = replace(self.position, source=source, epoch=epoch)
        self.changed = True

    def begin_at(self, source: int) -> None:
        """Begin at another source offset, before anything was copied."""
        target = source if self.mode is Mode.IDENTICAL else self.position.target
        self.position = replace(self.position, target=target)
        self.runs.growing = (source, target, 0)
        self.move(source, -1)

    def become_mapped(self, reason: str) -> None:
        """Offsets differ from here on; stop, where they must not."""
        if self.mode is Mode.IDENTICAL and self.work.must_be_identical:
            self.stop(str(NotIdenticalError(str(self.work.source), reason)))
        elif self.mode is Mode.IDENTICAL:
            self.mode, self.reason = Mode.MAPPED, reason
            self.changed = True

    def stop(self, error: str) -> None:
        """Move no more in this round; `error` tells why."""
        self.hinder(error)
        self.stopped = True

    def hinder(self, error: str) -> None:
        """Tell what keeps the partition from moving now, "" when nothing does."""
        self.error, self.changed = error, True

    def relieve(self, side: Side) -> bool:
        """Take back an error of a side that works again; return whether there was one."""
        if self.stopped or not self.error.startswith(f"{side}: "):
            return False
        self.hinder("")
        return True

    def receipt(self, link: LinkName, copier: str, packed: str = "") -> Receipt:
        """Return what `copier` is to write to the ledger now, with the latest closed runs."""
        self.changed = False
        position, source = self.position, self.work.source
        return Receipt(
            link, source.topic, source.partition, self.work.producer_id,
            position.source, position.epoch, position.target, position.sequence, self.records,
            self.bytes, self._first_time, self._last_time, self._digest, self.mode, self.reason,
            self.runs.growing, self.error, now_ms(), copier, self._cuts, packed,
            self.holes, self.transacted,
        )  # fmt: skip
