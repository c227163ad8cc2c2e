"""The verdict of `towpath verify` on each partition. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from towpath.compare.named import SeenIds
from towpath.compare.work import Comparison
from towpath.ledger.books import PartitionBooks
from towpath.mirror.status.before_start import sentence as before_start
from towpath.mirror.status.deleted import Stretch
from towpath.mirror.status.open_transaction import HANGING, OpenTransaction
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.verify.changes import change_sentences
from towpath.mirror.verify.gone import NOTHING, Gone
from towpath.mirror.verify.surplus import NOBODY, OthersRule, OtherWriter
from towpath.model.at_risk import AtRisk, unforeseen_text
from towpath.model.nouns import Mode, TopicName
from towpath.model.reasons import ReasonCode


class Verdict(StrEnum):
    """The possible results for a partition."""

    EQUAL = "equal"
    DIFFERENT = "different"
    DELETED = "deleted"
    """Equal as far as both sides have the records; the target deleted others without leave."""
    NOT_PROVEN = "not proven"
    """Records are missing on one side, and what tells whether they may be could not be read."""
    LEFT_OUT = "left out"
    AT_RISK = "at risk"
    """Equal now; the target deletes what the source has, by settings that nothing holds back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionVerdict:
    """The verdict on a source partition; `why` is "" if everything was compared and is equal.

    `late` tells that the only reason is that the source has newer records. `codes` are those of
    the reasons, for the runbook. `others` are those who wrote to the target partition beside the
    link, `clients` those who wrote there after a cutover. `ids` are the schema ids that the records
    on the target name, `None` if nothing was compared. `gone` is what not both sides have any more,
    `risk` what the target is going to delete, `None` for nothing. `open` is the
    transaction at the source behind which nothing is copied or compared, `None` for none.
    `counted_only` tells that the number of records was compared but not their values, as a query
    cannot make these again, and that nothing else is wrong but new records at the source.
    """

    topic: TopicName
    partition: int
    target_topic: TopicName
    mode: str
    verdict: Verdict
    why: str
    behind: int
    comparison: Comparison | None
    late: bool
    codes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    others: tuple[OtherWriter, ...] = ()
    clients: tuple[OtherWriter, ...] = ()
    ids: SeenIds | None = None
    gone: Gone = NOTHING
    risk: AtRisk | None = None
    open: OpenTransaction | None = None
    counted_only: bool = False


def verdict(
    row: PartitionStatus,
    books: PartitionBooks,
    comparison: Comparison | None,
    trouble: str,
    *,
    uncommitted: bool = False,
    others: OthersRule = NOBODY,
    gone: Gone = NOTHING,
    risk: AtRisk | None = None,
    unforeseen: str = "",
    before: Stretch | None = None,
) -> PartitionVerdict:
    """Return the verdict on a partition.

    Args:
        row: The status of the partition.
        books: What the ledger knows of the partition.
        comparison: The result of the comparison, if there was one.
        trouble: Why the partition could not be compared, "" if it could.
        uncommitted: Whether consumers with isolation.level=read_uncommitted must see the same.
        others: Who else may write to the target partition.
        gone: What not both sides have any more.
        risk: What the target is going to delete of the topic.
        unforeseen: Why that is not known, "" if it is.
        before: Source offsets from before the start that the file asks for, `None` for none.
    """
    beside = others.judge(comparison, mapped=row.mode == Mode.MAPPED)
    clients = others.judge_clients(comparison, books.cut)
    judged = beside, clients
    surplus = any(each.surplus for each in judged)
    ids = comparison.ids if comparison is not None else None
    if comparison is not None and comparison.empty:
        comparison = None
    seen = comparison.counts.uncommitted if comparison is not None and uncommitted else 0
    reasons = [trouble] if trouble else []
    reasons += [each.text for each in judged if each.surplus]
    reasons += _differences(row, comparison, seen)
    unproven = list(gone.unproven())
    reasons += [*gone.reasons(), *unproven]
    reasons += _behind(row) if not trouble else []
    unequal = comparison is not None and not comparison.equal
    different = bool(row.lost or seen or surplus or unequal)
    judgement = _verdict(
        different=different, deleted=gone.unwanted, unproven=bool(unproven), left_out=bool(reasons)
    )
    reasons += [str(risk)] if risk is not None else []
    if risk is not None and judgement is Verdict.EQUAL:
        judgement = Verdict.AT_RISK
    return PartitionVerdict(
        topic=row.topic,
        partition=row.partition,
        target_topic=row.target_topic,
        mode=row.mode,
        verdict=judgement,
        why="; ".join(reasons),
        behind=max(0, row.lag_records),
        comparison=comparison,
        late=not (different or gone.unwanted or unproven or trouble or row.error or row.unread)
        and risk is None
        and row.lag_records > 0,
        codes=(
            *_codes(row, comparison, different=different),
            *_codes_of_missing(gone, risk, unproven=bool(unproven)),
        ),
        notes=(
            *_left_at_source(row, before),
            *_notes(books, comparison),
            *_unseen(gone, unforeseen),
            *gone.notes(),
            *(each.text for each in judged if each.text and not each.surplus),
            *([beside.replayed] if beside.replayed else []),
        ),
        others=beside.writers,
        clients=clients.writers,
        ids=ids,
        gone=gone,
        risk=risk,
        open=row.open,
    )


def _left_at_source(row: PartitionStatus, before: Stretch | None) -> Iterator[str]:
    """Yield a note on each stretch of the source that the link does not copy, or not yet."""
    if before is not None:
        yield before_start(before)
    if row.open is not None:
        yield row.open.sentence(row.topic, row.partition)


def _differences(row: PartitionStatus, comparison: Comparison | None, seen: int) -> Iterator[str]:
    """Yield how the records of both sides differ, and what was not compared."""
    if comparison is not None and not comparison.equal:
        yield from _told(comparison)
    if comparison is not None and comparison.stopped:
        yield f"not compared {comparison.stopped}"
    if seen:
        yield f"{seen} records on the target are seen with read_uncommitted only"
    if row.lost is not None:
        yield str(row.lost)


def _behind(row: PartitionStatus) -> Iterator[str]:
    """Yield that the partition is behind, if it is."""
    if row.lag_records:
        behind = row.behind if row.lag_records > 0 else "the source did not tell where it ends"
        yield behind if row.lost or not row.error else f"{behind}: {row.error}"
    elif row.error and ReasonCode.SOURCE_CUT in row.codes:
        yield row.error  # the source may have nothing new, and the target has what is no more there


def _verdict(*, different: bool, deleted: bool, unproven: bool, left_out: bool) -> Verdict:
    if different:
        return Verdict.DIFFERENT
    if deleted:
        return Verdict.DELETED
    if unproven:
        return Verdict.NOT_PROVEN
    return Verdict.LEFT_OUT if left_out else Verdict.EQUAL


def _codes(
    row: PartitionStatus, comparison: Comparison | None, *, different: bool
) -> tuple[str, ...]:
    """Return what `towpath explain` is asked for: the status's codes, and those of a difference."""
    doubled = comparison is not None and comparison.doubled.records > 0
    found = [ReasonCode.DOUBLED] if doubled else ["DIFFERENT"] if different else []
    hanging = [HANGING] if row.open is not None and row.open.hangs else []
    known = row.codes if row.error or row.unread else hanging
    return (*known, *map(str, found))


def _codes_of_missing(gone: Gone, risk: AtRisk | None, *, unproven: bool) -> Iterator[str]:
    """Yield codes of what is gone on one side, of what may be, and of what will be."""
    if gone.unwanted:
        yield str(ReasonCode.TARGET_DELETED)
    if unproven:
        yield str(Verdict.NOT_PROVEN.name)
    for reason in risk.reasons if risk else ():
        yield from reason.codes


def _told(comparison: Comparison) -> Iterator[str]:
    doubled = comparison.doubled
    if comparison.difference or not doubled.records:
        yield difference(comparison)
    if doubled.records:
        places = ", ".join(f"{each.first} to {each.end - 1}" for each in doubled.stretches)
        yield (
            f"the target holds {doubled.records:,} records twice: the second copies lie at target"
            f" offsets {places}; a copier sent them again after the target had forgotten its"
            " producer id"
        )


def difference(comparison: Comparison) -> str:
    """Return a sentence about the first difference."""
    place = comparison.difference
    if place is None:
        return "the digests differ"
    source = f"source offset {place.source_offset}" if place.source_offset >= 0 else ""
    target = f"target offset {place.target_offset}" if place.target_offset >= 0 else ""
    return f"first at {' and '.join(filter(None, (source, target)))}: {place.what}"


def _unseen(gone: Gone, unforeseen: str) -> Iterator[str]:
    """Yield what could not be read, where that decides nothing now."""
    if unforeseen:
        yield unforeseen_text(unforeseen)
    elif gone.unseen.configs and not any(gone.unproven()):
        yield f"{gone.unseen.configs}; records that this decides on are not missing now"


def _notes(books: PartitionBooks, comparison: Comparison | None) -> Iterator[str]:
    for gap in books.gaps:
        if books.opened is not None and gap.producer_id == books.opened.producer_id:
            empty = gap.end <= gap.first
            copied = f"source offsets {gap.first} to {gap.end - 1} were never copied: "
            yield ("" if empty else copied) + gap.cause
    if comparison is None:
        if books.receipt is not None and books.receipt.records:
            yield "nothing of what was copied is in range on both sides any more"
        return
    counts = comparison.counts
    texts = (
        (counts.replaced, "left out: on the target from before the source log was cut"),
        (counts.untimed, "compared without timestamps, which the target sets by its own clock"),
        (counts.twin, "left out at the source: the twin of this link wrote them"),
    )
    for number, text in texts:
        if number:
            yield f"{number:,} records {text}"
    yield from change_sentences(comparison.tally)
    yield from comparison.notes
    if comparison.beyond:
        yield (
            f"{comparison.beyond:,} records of this link lie behind what the ledger tells of: a run"
            " writes them now, or ended before it could tell; the next round or run finds them"
        )
