"""Translation of group offsets by the ledger's offset maps."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Cut, Receipt
from towpath.ledger.offsets import OffsetMap, TranslatedOffset
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

NOT_YET = Reason.of(ReasonCode.NOT_MIRRORED_YET)
_MOST_RUNS = 500_000
"""Runs of all offset maps that are kept: 16 MB."""
_Stamp = tuple[Receipt | None, Cut | None, int, int, TargetOffset | None]

Answer = TranslatedOffset[TargetOffset]


class Positions:
    """Translates offsets; keeps offset maps until their entries change, as far as there is room.

    The books hold runs packed, in a byte or less each; an offset map takes 32 bytes for each.

    Args:
        books: What the ledger knows of the link, with the runs.
    """

    def __init__(self, books: LinkBooks) -> None:
        self._books = books
        self._maps: dict[TopicPartition, tuple[_Stamp, OffsetMap]] = {}
        self._answers: dict[tuple[TopicPartition, SourceOffset], Answer] = {}
        self._starts: Mapping[TopicPartition, int] = {}

    def begin(self, starts: Mapping[TopicPartition, int]) -> None:
        """Begin a sync; takes the log start offset of each target partition."""
        self._starts = starts
        self._answers = {}

    def mirror_of(self, tp: TopicPartition) -> TopicPartition | None:
        """Return the mirror partition of a source partition, `None` if it was never mirrored."""
        books = self._books.partitions.get(tp)
        return books.opened.target if books is not None and books.opened is not None else None

    def answer(self, tp: TopicPartition, offset: SourceOffset) -> Answer:
        """Return the target offset of a source offset of a partition that was mirrored.

        Raises:
            LedgerError: The ledger's runs are damaged.
        """
        key = tp, offset
        found = self._answers.get(key)
        if found is None:  # many groups stand at the same place
            found = self._answers[key] = self._map(tp).to_target(offset)
        return found

    def _map(self, tp: TopicPartition) -> OffsetMap:
        books = self._books.of(tp)
        start = self._starts.get(books.opened.target) if books.opened is not None else None
        log_start = None if start is None else TargetOffset(start)
        stamp = _stamp(books, log_start)
        known = self._maps.pop(tp, None)
        if known is None or known[0] != stamp:
            known = stamp, books.offsets(log_start)
        self._maps[tp] = known  # behind those that were asked for before
        self._make_room()
        return known[1]

    def _make_room(self) -> None:
        """Let go of the maps that were not asked for the longest, but not of the last one."""
        held = sum(each.count for _, each in self._maps.values())
        while held > _MOST_RUNS and len(self._maps) > 1:
            _, gone = self._maps.pop(next(iter(self._maps)))
            held -= gone.count


def _stamp(books: PartitionBooks, log_start: TargetOffset | None) -> _Stamp:
    size = sum(map(len, books.runs.values()))
    told = len(books.noted) + len(books.repairs)
    return books.receipt, books.cut, told, size, log_start
