"""Periodic checks for records that the target deleted, by partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.mirror.status.deleted import (
    DeletionLook,
    Stretch,
    WhyDeleted,
    deleted_records,
    may_lack,
    stretch_deleted,
)
from towpath.mirror.status.foretold import with_foretold
from towpath.mirror.status.kept_answer import KeptAnswer
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.deleted import DeletedRecords, Deleter
from towpath.model.errors import ClusterError
from towpath.model.nouns import Mode, SourceOffset, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.settings import LinkConfig

_UNKNOWN = WhyDeleted((Deleter.UNKNOWN,), SourceOffset(0))


@dataclass(slots=True)
class DeletionWatch:
    """Finds deleted records on the target; caches the answer for frequent callers.

    Attributes:
        every: Seconds for which an answer is used again.
    """

    every: float = 0.0
    _found: KeptAnswer[dict[TopicPartition, DeletedRecords]] = field(default_factory=KeptAnswer)

    def told_in(
        self,
        rows: Iterable[PartitionStatus],
        config: LinkConfig,
        books: LinkBooks,
        sides: tuple[Admin, Admin],
        read_runs: Callable[[], None],
        patience: float | None = None,
    ) -> tuple[PartitionStatus, ...]:
        """Return the rows with the records that the target deleted of each.

        Args:
            rows: The status of each partition.
            config: The link.
            books: What the ledger knows.
            sides: The source and the target.
            read_runs: Adds the runs to the books. It is called where offsets are mapped and the
                target may have deleted something.
            patience: Seconds for the leaders of each side; see `ask_leaders`.
        """
        known = tuple(rows)
        wanted = {row.tp: row for row in known if _is_asked(row)}
        found = self._found.get(
            lambda: _find(wanted, config, books, sides, read_runs, patience), self.every
        )
        return tuple(_with(row, found.get(row.tp)) for row in known)


def _is_asked(row: PartitionStatus) -> bool:
    return row.records > 0 and not row.error and row.state is not State.EXCLUDED


def _with(row: PartitionStatus, found: DeletedRecords | None) -> PartitionStatus:
    if found is None:
        return row
    code = [str(ReasonCode.TARGET_DELETED)] if found.unwanted else []
    return replace(row, deleted=found, codes=(*row.codes, *code))


def _find(
    wanted: Mapping[TopicPartition, PartitionStatus],
    config: LinkConfig,
    books: LinkBooks,
    sides: tuple[Admin, Admin],
    read_runs: Callable[[], None],
    patience: float | None,
) -> dict[TopicPartition, DeletedRecords]:
    targets = {tp: opened.target for tp in wanted if (opened := books.of(tp).opened) is not None}
    starts = _starts(targets, sides, patience)
    lacking = {tp: each for tp, each in starts.items() if may_lack(books.of(tp), each[1])}
    if any(books.of(tp).mode is not Mode.IDENTICAL for tp in lacking) and not books.runs_read:
        read_runs()
    stretches: dict[TopicPartition, Stretch] = {}
    for tp, (here, there) in lacking.items():
        if found := stretch_deleted(books.of(tp), here, there):
            stretches[tp] = found
    try:
        judged = DeletionLook(*sides, patience).judge(stretches, targets)
    except ClusterError:  # that they are gone is told in any case, only not why
        judged = {}
    return {
        tp: with_foretold(
            books,
            tp,
            deleted_records(
                books.of(tp), each, judged.get(tp, _UNKNOWN), meant=is_meant(wanted[tp], config)
            ),
        )
        for tp, each in stretches.items()
    }


def is_meant(row: PartitionStatus, config: LinkConfig) -> bool:
    """Return whether the target may delete records of a partition.

    The file may say so, and a topic that was promoted is its clients' own there. Pure.
    """
    return row.state is State.PROMOTED or config.topics.lets_delete(row.topic)


def _starts(
    targets: Mapping[TopicPartition, TopicPartition],
    sides: tuple[Admin, Admin],
    patience: float | None,
) -> dict[TopicPartition, tuple[int, int]]:
    """Return where both logs begin, of partitions of which both sides tell it."""
    if not targets:
        return {}
    source, target = sides
    try:
        here = source.offsets.earliest(targets, patience=patience)
        there = target.offsets.earliest(targets.values(), patience=patience)
    except ClusterError:  # nobody answers, which the state of the partitions tells
        return {}
    return {tp: (here[tp], there[to]) for tp, to in targets.items() if tp in here and to in there}
