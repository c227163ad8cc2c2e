"""The position of a partition by the ledger, and its mode of offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from towpath.cluster.data.leaders import Leader
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import ChangedAt, Counted, Gap, Receipt, Run, Stretch, Tally
from towpath.ledger.keys import is_abandoned
from towpath.ledger.packed import runs_of
from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.records.items import TransactionalWriter
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms
from towpath.wire import batch as wire

_DELETED = {
    ReasonCode.RETENTION,
    ReasonCode.RECORDS_DELETED,
    ReasonCode.READ_AND_DELETED,
    ReasonCode.NOT_IN_ARCHIVE,
}


@dataclass(frozen=True, slots=True)
class Position:
    """A partition's position: next source offset, target offset and sequence.

    Attributes:
        epoch: Leader epoch of the last record at the source, -1 if unknown.
        generation: Determines the producer id to write under (`ledger/producers.py`).
    """

    source: SourceOffset
    target: TargetOffset
    sequence: int
    epoch: int = -1
    generation: int = 0


@dataclass(slots=True, kw_only=True)
class Standing:
    """Position, mode and totals of a partition when it is opened."""

    position: Position
    mode: Mode
    reasons: tuple[Reason, ...]
    """Why the partition is mapped."""
    run: Run
    records: int = 0
    bytes: int = 0
    first_time: int = -1
    last_time: int = -1
    digest: int = 0
    passed: BeyondReceipt = field(default_factory=BeyondReceipt)
    """Records that the target holds after `position` already."""
    news: bool = False
    """The ledger lacks the position."""
    tail_end: TargetOffset = TargetOffset(-1)
    """How far the target log was read for them. No other record of this link is before it."""
    trouble: Reason | None = None
    """What keeps the partition from moving, by the ledger."""
    writer: TransactionalWriter | None = None
    """Writes in transactions, if the target refuses our producer id."""

    cuts: int = 0
    """How often the source log was truncated, so that copying went back."""
    closed: tuple[Run, ...] = ()
    """Closed runs that only the receipt holds."""
    holes: int = 0
    """Number of filled offsets that compaction had left empty."""
    transacted: int = 0
    """Number of offsets filled in transactions, because the target accepts no markers."""
    abandoned: tuple[Receipt, ...] = ()
    """Receipts of this incarnation whose copiers write no more."""
    front: TargetOffset | None = None
    """Log end offset of a new target partition that must be filled up to `position`."""
    leader: Leader | None = None
    """The leader of the target partition just now, `None` where it has to be looked up."""
    change: RecordChange = NO_CHANGE
    """The change under which records are copied, by the ledger."""
    changed: tuple[ChangedAt, ...] = ()
    """Where the partition was opened again under another change."""
    others: tuple[RecordChange, ...] = ()
    """Changes under which other copiers may have written records behind the position."""
    tally: Tally = ()
    """What changes did to records."""
    counted: tuple[Counted, ...] = ()
    """Records that `tally` counts though the target lost them."""
    archived: tuple[Stretch, ...] = ()
    """Records that `tally` counts as those of an archive: their newest stretches."""
    refused: frozenset[SourceOffset] = frozenset()
    """Offsets of records that are left out, because the target refuses them."""
    passed_over: tuple[Gap, ...] = ()
    """Records that retention had deleted and that no archive gave, behind the position: an earlier
    copier went on behind them, or was about to."""

    def agrees(self, books: PartitionBooks) -> bool:
        """Return whether the ledger still names the same writer for records after the position."""
        start = self.position.source
        left_out = frozenset(offset for offset in self.refused if offset >= start)
        known = self.position.generation, self.change.digest, left_out
        return known == (books.generation, books.change, _left_out(books, start))

    def become_transactional(self, why: Reason, writer: TransactionalWriter) -> None:
        """Write in transactions from now on, through `writer`.

        The partition becomes mapped, because the markers of transactions take offsets.
        """
        if why not in self.reasons:
            self.reasons = (*self.reasons, why)
        self.mode, self.writer = Mode.MAPPED, writer

    def reach(self, target: TargetOffset) -> None:
        """Move to target offset `target`, as all records before it are counted."""
        self.position = replace(self.position, target=max(target, self.position.target))

    def change_to(self, change: RecordChange) -> None:
        """Change the copies of records after the position by other rules than before."""
        here = self.position.source, self.position.target, change.digest
        self.change, self.changed = change, (*self.changed, here)

    def begin_at(self, offset: TargetOffset, records: int) -> None:
        """Continue at `offset` on both sides, after `records` that the target has deleted since."""
        sequence = (self.position.sequence + records) % wire.SEQUENCES
        generation = self.position.generation
        self.position = Position(SourceOffset(offset), offset, sequence, generation=generation)
        self.news = True
        self.records += records


def known_standing(books: PartitionBooks, at: int, change: RecordChange = NO_CHANGE) -> Standing:
    """Return a partition's position by the state of the ledger at time `at`.

    Args:
        books: What the ledger said.
        at: When.
        change: The change that it names.
    """
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # callers ask about opened partitions only
    if receipt is None:
        target = min([opened.target_start, *(w.target_start for w in books.writers.values())])
        run = (opened.source_start, opened.target_start, 0)
        return Standing(
            position=Position(opened.source_start, target, 0),
            mode=opened.mode,
            reasons=opened.reasons,
            run=run,
            change=change,
            refused=_left_out(books, opened.source_start),
            passed_over=_passed_over(books, opened.source_start),
        )
    source = receipt.source_end
    if receipt.mode is Mode.IDENTICAL:
        # Earlier versions told of a lower source offset in the middle of a batch.
        source = max(source, SourceOffset(receipt.target_end))
    position = Position(
        source,
        receipt.target_end,
        receipt.sequence,
        receipt.source_epoch,
        books.generation,
    )
    return Standing(
        position=position,
        mode=receipt.mode,
        reasons=receipt.reasons,
        run=receipt.run,
        records=receipt.records,
        bytes=receipt.bytes,
        first_time=receipt.first_timestamp,
        last_time=receipt.last_timestamp,
        digest=receipt.digest,
        trouble=receipt.trouble,
        cuts=receipt.cuts,
        closed=runs_of(receipt.packed),
        holes=receipt.holes,
        transacted=receipt.transacted,
        change=change,
        changed=books.changed,
        tally=receipt.tally,
        counted=receipt.counted,
        archived=receipt.archived,
        refused=_left_out(books, source),
        passed_over=_passed_over(books, source),
        abandoned=tuple(each for each in books.standing if is_abandoned(each.at, at)),
    )


def _left_out(books: PartitionBooks, start: SourceOffset) -> frozenset[SourceOffset]:
    """Return the offsets that decisions leave out, from where copying goes on."""
    return frozenset(
        SourceOffset(offset)
        for each in books.refused
        for offset in range(max(start, each.first), each.end)
    )


def _passed_over(books: PartitionBooks, start: SourceOffset) -> tuple[Gap, ...]:
    """Return the gaps by retention from `start` on behind which copying goes on."""
    return tuple(
        gap for gap in books.gaps if gap.went_on and gap.end > start and gap.why.code in _DELETED
    )


def receipt_of(
    a: Assignment, link: LinkName, standing: Standing, *, copier: str, packed: str
) -> Receipt:
    """Return the receipt for a partition's present position.

    Args:
        a: The partition.
        link: The link.
        standing: Where it stands.
        copier: Who writes the receipt.
        packed: The closed runs for the receipt.
    """
    position = standing.position
    return Receipt(
        link=link,
        topic=a.source.topic,
        partition=a.source.partition,
        producer_id=a.producer_id,
        source_end=position.source,
        source_epoch=position.epoch,
        target_end=position.target,
        sequence=position.sequence,
        records=standing.records,
        bytes=standing.bytes,
        first_timestamp=standing.first_time,
        last_timestamp=standing.last_time,
        digest=standing.digest,
        mode=standing.mode,
        reasons=standing.reasons,
        run=standing.run,
        trouble=standing.trouble,
        at=now_ms(),
        copier=copier,
        cuts=standing.cuts,
        packed=packed,
        holes=standing.holes,
        transacted=standing.transacted,
        generation=position.generation,
        change=standing.change.digest,
        changed=standing.changed,
        tally=standing.tally,
        counted=standing.counted,
        archived=standing.archived,
    )
