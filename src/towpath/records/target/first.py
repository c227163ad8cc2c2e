"""The ledger entries of a partition's first opening, which bind every later copier."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Entry, Gap, Opened, Receipt
from towpath.ledger.keys import new_name
from towpath.model.errors import NotIdenticalError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.model.reasons import Reason
from towpath.records.modes import why_mapped
from towpath.records.standing import Position, Standing, receipt_of
from towpath.records.target.state import TargetState
from towpath.records.trouble import RECREATED
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms
from towpath.settings import OffsetsPolicy


def first_entries(
    work: Slice, a: Assignment, books: PartitionBooks, state: TargetState
) -> list[Entry]:
    """Return the entries that open a partition.

    Args:
        work: The slice that opens it.
        a: The partition.
        books: What the ledger knows of a topic that had the same name before.
        state: The state of the target partition.

    Raises:
        NotIdenticalError: Offsets must stay the same, and cannot.
    """
    why = why_mapped(
        work.offsets,
        a.start,
        state.log_end,
        compacted=a.compacted,
        fill=a.fill,
        change=a.change,
        two_ways=bool(work.twin),
    )
    if why is not None and work.offsets is OffsetsPolicy.IDENTICAL:
        raise NotIdenticalError(str(a.source), why)
    opened = _opened(work, a, why, state)
    return [*_recreated(work, a, books), opened, *_kept(work, a, opened, state)]


def _kept(work: Slice, a: Assignment, opened: Opened, state: TargetState) -> Iterator[Receipt]:
    """Yield a receipt of nothing if an identical partition begins behind records of others.

    Without a receipt, whatever lies before its beginning would be deleted as filler.
    """
    if opened.mode is Mode.IDENTICAL and state.earliest < state.log_end:
        position = Position(SourceOffset(a.start), opened.target_start, 0)
        run = (position.source, position.target, 0)
        nothing = Standing(
            position=position, mode=opened.mode, reasons=(), run=run, change=a.change
        )
        yield receipt_of(a, work.link, nothing, copier=new_name(), packed="")


def _recreated(work: Slice, a: Assignment, books: PartitionBooks) -> Iterator[Gap]:
    """Yield a gap if the source topic is another one than the ledger knows."""
    if books.opened is None or books.opened.source_topic_id == a.source_id:
        return
    yield Gap(
        link=work.link,
        topic=a.source.topic,
        partition=a.source.partition,
        producer_id=a.producer_id,
        first=a.start,
        end=a.start,
        why=RECREATED,
        went_on=True,
        at=now_ms(),
    )


def _opened(work: Slice, a: Assignment, why: Reason | None, state: TargetState) -> Opened:
    mode, reasons = (Mode.IDENTICAL, ()) if why is None else (Mode.MAPPED, (why,))
    target_start = TargetOffset(a.start) if why is None else state.log_end
    return Opened(
        link=work.link,
        topic=a.source.topic,
        partition=a.source.partition,
        source_topic_id=a.source_id,
        target_topic=a.target.topic,
        target_topic_id=a.target_id,
        producer_id=a.producer_id,
        mode=mode,
        reasons=reasons,
        source_start=a.start,
        target_start=target_start,
        run_id=work.run_id,
        at=now_ms(),
        change=a.change.digest,
    )
