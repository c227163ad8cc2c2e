"""Source offsets from before `records.start`, which a link leaves where they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.mirror.status.deleted import Stretch
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.amounts import count, counted
from towpath.model.errors import ClusterError
from towpath.model.findings import Note
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.settings.sections.records import Start, StartAt


def never_copied(start: Start, books: PartitionBooks, earliest: int) -> Stretch | None:
    """Return the source offsets from before the start that the file asks for, `None` for none.

    Args:
        start: `records.start` of the file; with `earliest` nothing lies before it.
        books: What the ledger knows of the partition.
        earliest: The log start offset at the source.
    """
    if start is StartAt.EARLIEST or books.opened is None:
        return None
    first = SourceOffset(earliest)
    return (first, books.start) if first < books.start else None


def with_before_start(
    rows: Iterable[PartitionStatus],
    start: Start,
    books: LinkBooks,
    source: Admin,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the rows with the offsets that the source has from before `records.start`.

    Args:
        rows: The partitions.
        start: `records.start` of the file; with `earliest` nobody is asked.
        books: What the ledger knows of the link.
        source: Asked for first offsets. If it does not answer, that is not known.
        patience: As for `ask_leaders`.
    """
    kept = tuple(rows)
    wanted = {
        row.tp
        for row in kept
        if row.state is not State.EXCLUDED and not row.error and books.of(row.tp).start > 0
    }
    if start is StartAt.EARLIEST or not wanted:
        return kept
    try:
        firsts = source.offsets.earliest(wanted, patience=patience)
    except ClusterError:
        return kept
    return tuple(
        replace(row, before=never_copied(start, books.of(row.tp), firsts[row.tp]))
        if row.tp in firsts
        else row
        for row in kept
    )


def sentence(before: Stretch) -> str:
    """Return a sentence about what a partition of the source has from before the start."""
    first, end = before
    return (
        f"source offsets {first} to {end - 1} ({count(end - first)}) are from before"
        " `records.start`: this link neither copies nor compares them"
    )


def note(before: Mapping[TopicPartition, Stretch]) -> Note | None:
    """Return one note about all that a plan leaves where it is, `None` if there is nothing."""
    if not before:
        return None
    offsets = sum(end - first for first, end in before.values())
    example = min(before)
    first, end = before[example]
    return Note(
        "records.start",
        f"{counted(offsets, 'source offset')} in {counted(len(before), 'partition')} (such as"
        f" {first} to {end - 1} of {example}) from before `records.start` will not be copied;"
        " neither does `verify` compare them",
    )
