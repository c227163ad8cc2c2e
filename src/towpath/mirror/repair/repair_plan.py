"""The partitions that `towpath repair` can copy again exactly, and advice for others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Counted, Entry, Opened, Receipt, Repaired
from towpath.ledger.producers import producer_id
from towpath.mirror.status.losses import LostRecords
from towpath.model.nouns import (
    ClusterId,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicPartition,
)
from towpath.runtime.clock import now_ms

_RECREATE = "delete the topic on the target; the next run copies all of it again"


class Unrepairable(StrEnum):
    """The reasons why a partition cannot be repaired exactly."""

    MAPPED = "mapped"
    REPLICAS = "replicas"
    UNSETTLED = "unsettled"
    TRANSACTION = "transaction"
    SOURCE_GONE = "source gone"
    SOURCE_CUT = "source cut"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Ahead:
    """A consumer group on the target whose committed offset is beyond the log end offset."""

    group: str
    offset: int


@dataclass(frozen=True, slots=True)
class Repair:
    """A partition that is copied again from `offset`, up to which both clusters are equal."""

    tp: TopicPartition
    target: TopicPartition
    lost: LostRecords
    offset: SourceOffset
    ahead: tuple[Ahead, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.tp}: copy offsets {self.offset} to {self.lost.source_end - 1} to {self.target}"
            f" again, at most {self.lost.records} records"
        )


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """A partition that cannot be repaired, with the cause and advice."""

    tp: TopicPartition
    cause: Unrepairable
    text: str

    def __str__(self) -> str:
        return f"{self.tp}: {self.text}"


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The plan of a repair.

    Attributes:
        repairs: Partitions to copy again from an offset.
        unfinished: Partitions of an earlier repair, each with the source offset up to which copying
            must still go on.
        left: Partitions that cannot be repaired.
    """

    repairs: tuple[Repair, ...]
    unfinished: tuple[tuple[TopicPartition, SourceOffset], ...]
    left: tuple[Unrepaired, ...]

    @property
    def ends(self) -> dict[TopicPartition, SourceOffset]:
        """The source offset up to which each partition is to be copied."""
        return dict(self.unfinished) | {each.tp: each.lost.source_end for each in self.repairs}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """Facts of both clusters about one partition that lost records.

    Attributes:
        replicas: The broker ids of the target partition's replicas.
        in_sync: The broker ids of its ISR.
        high_watermark: Its high watermark.
        log_end: The log end offset of its leader.
        open_since: The first offset of its oldest open transaction, -1 if none is open.
        source_first: The log start offset of the source partition.
        source_end: The log end offset of the source partition.
    """

    replicas: Sequence[int]
    in_sync: Sequence[int]
    high_watermark: int
    log_end: int
    open_since: int
    source_first: int
    source_end: int


def begin_at(books: PartitionBooks, lost: LostRecords) -> SourceOffset:
    """Return the offset from which an identical partition is copied again.

    If a mirror partition that begins at a later offset lost everything, its front is filled again.
    """
    return max(SourceOffset(lost.target_end), books.start)


def hindered(
    tp: TopicPartition, books: PartitionBooks, lost: LostRecords, facts: PartitionFacts
) -> Unrepaired | None:
    """Return why a partition cannot be repaired, without reading its records."""
    why = next(_hindrances(books, lost, facts), None)
    return None if why is None else Unrepaired(tp, *why)


def _hindrances(
    books: PartitionBooks, lost: LostRecords, facts: PartitionFacts
) -> Iterator[tuple[Unrepairable, str]]:
    receipt = books.receipt
    first, missing = begin_at(books, lost), set(facts.replicas) - set(facts.in_sync)
    if receipt is None or receipt.mode is Mode.MAPPED or books.writers:
        yield (
            Unrepairable.MAPPED,
            "its offsets are mapped, so the same records would get other offsets than before;"
            f" {_RECREATE}",
        )
    if missing:
        ids = ", ".join(map(str, sorted(missing)))
        yield (
            Unrepairable.REPLICAS,
            f"replicas on brokers {ids} of the target are not in sync, and may hold the lost"
            " records; start these brokers, or reassign the replicas, then repair again",
        )
    if facts.open_since >= 0:
        yield (
            Unrepairable.TRANSACTION,
            f"a transaction is open on the target since offset {facts.open_since}; abort it with"
            " `kafka-transactions.sh abort`, then repair again",
        )
    if not facts.log_end == facts.high_watermark == lost.target_end:
        yield (
            Unrepairable.UNSETTLED,
            f"the target log is still changing: it ended at {lost.target_end}, now its high"
            f" watermark is {facts.high_watermark} and its log end offset {facts.log_end}; find out"
            " who writes to it, then repair again",
        )
    yield from _hindrances_at_source(first, lost, facts)


def _hindrances_at_source(
    first: int, lost: LostRecords, facts: PartitionFacts
) -> Iterator[tuple[Unrepairable, str]]:
    if facts.source_first > first:
        yield (
            Unrepairable.SOURCE_GONE,
            f"the source log now begins at offset {facts.source_first}, so neither cluster has"
            f" offsets {first} to {facts.source_first - 1}; {_RECREATE} that the source still has",
        )
    if facts.source_end < lost.source_end:
        yield (
            Unrepairable.SOURCE_CUT,
            f"the source log ends at offset {facts.source_end}, so the source lost records, too;"
            f" restore the source first, or {_RECREATE}",
        )


def different(tp: TopicPartition, why: str) -> Unrepaired:
    """Return the result for a target log that is not a prefix of the source log."""
    return Unrepaired(
        tp,
        Unrepairable.DIFFERENT,
        f"the records that the target still has are not the first ones of the source ({why});"
        f" {_RECREATE}",
    )


def new_incarnation(
    repair: Repair, books: PartitionBooks, cluster: ClusterId, run_id: str
) -> list[Entry]:
    """Return the ledger entries with which copying continues from the offset.

    Args:
        repair: The partition and the offset.
        books: What the ledger knows of the partition.
        cluster: The id of the source cluster.
        run_id: The run id of this repair.
    """
    opened, receipt, at = books.opened, books.receipt, now_ms()
    if opened is None or receipt is None:
        raise ValueError(f"{repair.tp} was never copied")
    successor = producer_id(
        opened.link,
        cluster,
        opened.source_topic_id,
        opened.target_topic_id,
        repair.tp,
        purpose=f"data {len(books.repairs) + 1}",
    )
    repaired = _repaired(repair, books, opened, successor, run_id, at)
    again = _reopened(repair, books, opened, successor, run_id, at)
    if repair.offset > repair.lost.target_end:
        return [repaired, again]
    # Without a receipt, records that the target still has would be deleted as filler.
    return [repaired, again, _standing(repair, books, receipt, again)]


def _repaired(
    repair: Repair,
    books: PartitionBooks,
    opened: Opened,
    successor: ProducerId,
    run_id: str,
    at: int,
) -> Repaired:
    """Return the entry that ends the old incarnation."""
    return Repaired(
        link=opened.link,
        topic=opened.topic,
        partition=opened.partition,
        producer_id=opened.producer_id,
        successor=successor,
        start=books.start,
        offset=repair.offset,
        acknowledged=repair.lost.source_end,
        run_id=run_id,
        at=at,
    )


def _reopened(
    repair: Repair,
    books: PartitionBooks,
    opened: Opened,
    successor: ProducerId,
    run_id: str,
    at: int,
) -> Opened:
    """Return the entry that begins the new incarnation."""
    return replace(
        opened,
        producer_id=successor,
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=repair.offset,
        target_start=TargetOffset(repair.offset),
        run_id=run_id,
        at=at,
        # That of the first records which the target kept, if it kept any.
        change=books.change if repair.offset > repair.lost.target_end else opened.change,
    )


def _standing(repair: Repair, books: PartitionBooks, receipt: Receipt, opened: Opened) -> Receipt:
    """Return the first receipt of the new incarnation; its totals include the records kept."""
    kept = repair.offset - books.start
    share = kept / max(1, receipt.source_end - books.start)
    changed = tuple(each for each in books.changed if each[0] < repair.offset)
    return replace(
        receipt,
        producer_id=opened.producer_id,
        source_end=repair.offset,
        source_epoch=-1,
        target_end=TargetOffset(repair.offset),
        sequence=0,
        records=max(0, receipt.records - repair.lost.records),
        bytes=int(receipt.bytes * share),
        digest=0,
        run=(repair.offset, TargetOffset(repair.offset), 0),
        trouble=None,
        at=opened.at,
        copier=opened.run_id[:16],
        packed="",
        claim=False,
        # What is copied again is changed as the file says now: the lane goes over to that at once.
        change=changed[-1][-1] if changed else opened.change,
        changed=changed,
        counted=_counted(repair, books, receipt),
    )


def _counted(repair: Repair, books: PartitionBooks, receipt: Receipt) -> tuple[Counted, ...]:
    """Return which of the records that are copied again the receipt's tally counts."""
    first = books.opened.change if books.opened is not None else ""
    begins = [(books.start, first), *((source, digest) for source, _, digest in books.changed)]
    ends = [*(source for source, _ in begins[1:]), receipt.source_end]
    parts = [(start, end, digest) for (start, digest), end in zip(begins, ends, strict=True)]
    again = [(max(start, repair.offset), end, digest) for start, end, digest in parts]
    return tuple(each for each in (*again, *receipt.counted) if each[0] < each[1])
