"""Where a partition stands, by the ledger, and whether it keeps its offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from towpath.config import OffsetsPolicy
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Receipt, Run
from towpath.ledger.keys import is_abandoned
from towpath.ledger.packed import runs_of
from towpath.model.clock import now_ms
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import TransactionalWriter
from towpath.records.passed import Passed
from towpath.records.work import Assignment
from towpath.wire import batch as wire

_MOST_FILL = 2_000_000_000
"""Offsets worth filling at the front: about four minutes of a broker's time."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a partition stands: next source offset, next target offset, next sequence.

    `generation` tells under which producer id it is written (`ledger/producers.py`).
    """

    source: SourceOffset
    target: TargetOffset
    sequence: int
    epoch: int = -1
    generation: int = 0


@dataclass(slots=True, kw_only=True)
class Standing:
    """What opening or resuming a partition found out."""

    position: Position
    mode: Mode
    reasons: tuple[Reason, ...]
    """Why it is mapped."""
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
    tail_end: TargetOffset = TargetOffset(-1)
    """How far the target log was read for them: nothing else of ours lies before this offset."""
    trouble: Reason | None = None
    """What the ledger says keeps the partition from moving."""
    writer: TransactionalWriter | None = None
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
    front: TargetOffset | None = None
    """Where the log of a fresh target partition ends, if it must be filled up to `position`."""

    def become_transactional(self, why: Reason, writer: TransactionalWriter) -> None:
        """Let `writer` write; its markers take offsets, so the partition is mapped."""
        if why not in self.reasons:
            self.reasons = (*self.reasons, why)
        self.mode, self.writer = Mode.MAPPED, writer

    def reach(self, target: TargetOffset) -> None:
        """Nothing of ours lies between the position and target offset `target`."""
        self.position = replace(self.position, target=max(target, self.position.target))

    def begin_at(self, offset: TargetOffset, records: int) -> None:
        """Go on at `offset` of both sides, behind `records` that the target deleted since."""
        sequence = (self.position.sequence + records) % wire.SEQUENCES
        generation = self.position.generation
        self.position = Position(SourceOffset(offset), offset, sequence, generation=generation)
        self.news = True
        self.records += records


def known_standing(books: PartitionBooks, at: int) -> Standing:
    """Return where a partition stands by what the ledger said at a time."""
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # whoever asks knows that it was opened
    if receipt is None:
        target = min([opened.target_start, *(w.target_start for w in books.writers.values())])
        run = (opened.source_start, opened.target_start, 0)
        return Standing(
            position=Position(opened.source_start, target, 0),
            mode=opened.mode,
            reasons=opened.reasons,
            run=run,
        )
    position = Position(
        receipt.source_end,
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
        abandoned=tuple(each for each in books.standing if is_abandoned(each.at, at)),
    )


def receipt_of(
    a: Assignment, link: LinkName, standing: Standing, *, copier: str, packed: str
) -> Receipt:
    """Return the receipt that says where a partition stands now.

    Args:
        a: The partition.
        link: The link.
        standing: Where it stands.
        copier: Whose receipt it is.
        packed: The runs that the receipt is to hold.
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
    )


def why_mapped(
    policy: OffsetsPolicy,
    start: SourceOffset,
    target_end: TargetOffset,
    *,
    compacted: bool,
    fill: int = 0,
) -> Reason | None:
    """Return why a partition is mapped when it is opened, `None` if it keeps its offsets.

    Args:
        policy: What the file asks for; `identical` is judged by who asks.
        start: The first source offset to copy.
        target_end: Where the target partition ends now.
        compacted: Whether the target compacts it, so that nothing can be cut off its front.
        fill: How many offsets of a compacted topic may be filled with markers.
    """
    if policy is OffsetsPolicy.MAPPED:
        return Reason.of(ReasonCode.ASKED_FOR)
    if target_end == TargetOffset(start):
        return None
    if target_end:
        return Reason.of(ReasonCode.TARGET_NOT_EMPTY, end=target_end)
    if start <= (fill if compacted else _MOST_FILL):
        return None
    return Reason.of(
        ReasonCode.COMPACTED_FRONT if compacted else ReasonCode.FRONT_TOO_LONG, start=start
    )


def taken(found: int, expected: int) -> Reason:
    """Return the reason that a record lies at target offset `found`, not at its own."""
    return Reason.of(ReasonCode.OFFSET_TAKEN, found=found, expected=expected)
