"""The effect of a failover on each partition, as frozen values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from towpath.groups.model import SyncReport
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut
from towpath.model.nouns import Mode, SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import readable

UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """The effect of a failover on one partition: its cut, and the records that are lost.

    Attributes:
        tp: The source partition.
        target: The target partition.
        mode: `identical` or `mapped`; "" where nothing was copied.
        source_end: The source offset behind the last copied record.
        target_end: The target offset behind it, from which on clients write.
        missing: How many source offsets behind it are not copied; `UNKNOWN` if the source does not
            tell.
        at_least: How many they are at least, by what groups have read and what the source told.
        as_of: When the link last told of the partition, in ms since 1970; 0 if never.
        log_end: Where the target log ends; `UNKNOWN` if its leader does not tell.
        beyond: Records on the target that no receipt tells of yet.
        receded: Offsets that were copied, and that the target does not have any more: its leader
            lacks them.
        trouble: Why the target's partition cannot be used, `None` if it can.
        silent: Why the source tells nothing of this partition, `None` if it does, or if nobody
            answers there at all.
        cut: Clients write there already, since this cutover.
    """

    tp: TopicPartition
    target: TopicPartition
    mode: str
    source_end: SourceOffset
    target_end: TargetOffset
    missing: int = UNKNOWN
    at_least: int = 0
    as_of: int = 0
    log_end: int = UNKNOWN
    beyond: int = 0
    receded: int = 0
    trouble: Reason | None = None
    silent: Reason | None = None
    cut: Cut | None = None

    @property
    def passed(self) -> int:
        """Number of records on the target whose source offsets are unknown."""
        if self.mode == Mode.IDENTICAL:
            return 0
        return self.beyond if self.cut is None else self.cut.passed

    @property
    def sentence(self) -> str:
        """A sentence for people about the records that are not mirrored."""
        if self.trouble is not None and self.trouble.code is ReasonCode.TARGET_REPLACED:
            return (
                f"{self.tp}: mirror topic {self.target.topic} was deleted on the target, or made"
                " again, so clients find no mirrored records there; leave it out (`topics.exclude`)"
                " to fail over the rest"
            )
        if self.trouble is not None:
            return f"{self.tp}: {self.trouble}"
        if self.receded:
            last = self.target_end + self.receded - 1
            return (
                f"{self.tp}: the target lost offsets {self.target_end} to {last} that were copied,"
                f" as its leader lacks them; at least {self.at_least or self.missing} offsets of"
                f" the source from {self.source_end} on are not mirrored"
            )
        if self.missing == UNKNOWN:
            least = f"at least {self.at_least} offsets" if self.at_least else "nothing known"
            why = "the source does not answer" if self.silent is None else str(self.silent)
            return (
                f"{self.tp}: {least} not mirrored, as of {readable(self.as_of)}; {why}, so what was"
                " written there since is unknown"
            )
        first = self.source_end
        return f"{self.tp}: offsets {first} to {first + self.missing - 1} are not mirrored"


def partition_plan(
    tp: TopicPartition,
    books: PartitionBooks,
    log_end: int,
    source_end: int,
    ahead: int | None = None,
    trouble: Reason | None = None,
    fences: int = 0,
    back: Callable[[TargetOffset], SourceOffset] = SourceOffset,
) -> PartitionPlan:
    """Return the effect of a failover on an opened partition. Pure.

    Args:
        tp: The source partition.
        books: What the ledger knows of it.
        log_end: Where the target log ends, `UNKNOWN` if its leader does not tell.
        source_end: Where the source log ends for consumers of committed records, likewise.
        ahead: Records of the link behind the last receipt by the leader's producer state, `None`
            if it does not know. What else is there others have written.
        trouble: Why the target's partition cannot be used.
        fences: How many fences stand at the end of the log, of an attempt that was killed.
        back: Returns the source offset of a mirrored target offset, where offsets differ.
    """
    opened, receipt, cut = books.opened, books.receipt, standing_cut(books)
    assert opened is not None  # noqa: S101  # by the caller
    source, target = opened.source_start, opened.target_start
    if receipt is not None:
        source, target = receipt.source_end, receipt.target_end
    copied = log_end - fences
    receded = max(0, target - copied) if cut is None and log_end >= 0 else 0
    beyond = max(0, copied - target) if ahead is None or ahead else 0
    if ahead is not None and books.mode is not Mode.IDENTICAL:
        beyond = min(beyond, ahead)  # markers and records of others lie between
    if cut is not None:
        if books.receded is not None:
            receded, source = target - cut.target_end, cut.source_end
        source, target, beyond = max(source, cut.source_end), cut.target_end, 0
    elif receded:
        target = TargetOffset(copied)
        source = SourceOffset(copied) if books.mode is Mode.IDENTICAL else back(target)
    elif beyond:
        target = TargetOffset(copied)
        source = SourceOffset(copied) if books.mode is Mode.IDENTICAL else source
    # Where offsets are mapped, records behind the last receipt have no source offset that is known.
    passed = 0 if books.mode is Mode.IDENTICAL else beyond if cut is None else cut.passed
    return PartitionPlan(
        tp=tp,
        target=opened.target,
        mode=str(books.mode or ""),
        source_end=source,
        target_end=target,
        missing=max(0, source_end - source - passed) if source_end >= 0 else UNKNOWN,
        at_least=max(0, receipt.source_end - source) if receipt is not None and receded else 0,
        as_of=receipt.at if receipt is not None else opened.at,
        log_end=log_end,
        beyond=beyond,
        receded=receded,
        trouble=trouble,
        cut=cut,
    )


def standing_cut(books: PartitionBooks) -> Cut | None:
    """Return the partition's cut, `None` if records were copied after it."""
    cut, receipt = books.cut, books.receipt
    later = cut is not None and receipt is not None and receipt.records > cut.records
    return None if later else cut


def with_known(
    partitions: Iterable[PartitionPlan], groups: SyncReport | None
) -> tuple[PartitionPlan, ...]:
    """Return the partitions, with losses that the offsets of groups prove.

    Args:
        partitions: The partitions.
        groups: What becomes of the groups.
    """
    furthest: dict[TopicPartition, int] = {}
    for each in groups.positions if groups is not None else ():
        furthest[each.tp] = max(furthest.get(each.tp, 0), each.source)
    return tuple(
        replace(
            each,
            at_least=max(each.at_least, furthest.get(each.tp, 0) - each.source_end - each.passed),
        )
        for each in partitions
    )
