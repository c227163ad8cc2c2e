"""Where a partition stands by what the ledger says of it. Pure."""

from __future__ import annotations

from towpath.ledger.books import PartitionBooks
from towpath.ledger.keys import is_abandoned
from towpath.ledger.packed import runs_of
from towpath.records.lane.progress import Standing
from towpath.records.work import Position


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
        receipt.source_end, receipt.target_end, receipt.sequence, receipt.source_epoch,
        books.generation,
    )  # fmt: skip
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
