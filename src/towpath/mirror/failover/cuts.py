"""The ledger entry for the offset at which a failover cuts a partition. Pure."""

from __future__ import annotations

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut
from towpath.mirror.failover.partitions import PartitionPlan
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset


def cut_of(
    link: LinkName,
    books: PartitionBooks,
    plan: PartitionPlan,
    at: int,
    end: TargetOffset | None = None,
    fences: int = 0,
    epoch: int = -1,
) -> Cut:
    """Return the ledger entry for the cut of a partition.

    Args:
        link: The link.
        books: What the ledger knows of the partition, which was opened.
        plan: What becomes of it.
        at: The time, in ms since 1970.
        end: Where the fence stands on the target; by default the copy ends as foretold. What came
            between the look and the fence is the link's.
        fences: How many offsets the fences took from there on.
        epoch: The leader epoch of the last batch on the target.
    """
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # by the caller
    # Where the log seems to end too early, the place of the fence says what is really there.
    same = end is None or (end == plan.log_end and not plan.receded)
    target = plan.target_end if same else TargetOffset(end or 0)
    told = receipt.target_end if receipt is not None else opened.target_start
    source = receipt.source_end if receipt is not None else opened.source_start
    if target < told:  # the target's leader lacks what the ledger tells
        told, source = target, _source_of(books, plan, target)
    more = max(0, target - told)
    identical = books.mode is Mode.IDENTICAL
    passed = 0 if identical else plan.passed if same else more
    return Cut(
        link=link,
        topic=plan.tp.topic,
        partition=plan.tp.partition,
        producer_id=opened.producer_id,
        source_end=SourceOffset(max(source, target)) if identical and more else source,
        target_end=target,
        records=(receipt.records if receipt is not None else 0) + (more if identical else passed),
        at=at,
        fences=fences,
        passed=passed,
        target_epoch=epoch,
    )


def _source_of(books: PartitionBooks, plan: PartitionPlan, target: TargetOffset) -> SourceOffset:
    """Return the source offset of a target offset that was mirrored."""
    if target == plan.target_end:
        return plan.source_end
    if books.mode is Mode.IDENTICAL:
        return SourceOffset(target)
    return books.offsets().to_source(target).offset
