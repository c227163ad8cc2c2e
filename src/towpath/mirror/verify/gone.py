"""Copied records that are missing on either side, and who removed them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.compare.work import Comparison, Counts
from towpath.ledger.books import PartitionBooks
from towpath.mirror.status.deleted import Stretch, WhyDeleted, deleted_records
from towpath.model.amounts import count
from towpath.model.deleted import DeletedRecords, Deleter
from towpath.model.nouns import SourceOffset
from towpath.model.reasons import ReasonCode


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenConfigs:
    """Topic configs that could not be read, and so may explain a missing record.

    Attributes:
        source: Why the source topic's configs are not known, "" if they are.
        target: The same for the mirror topic.
        cleaner: Why it is not known whether the source's brokers run a cleaner, "" if it is.
    """

    source: str = ""
    target: str = ""
    cleaner: str = ""

    @property
    def configs(self) -> str:
        """Why it is not known whether both topics are compacted, "" if it is."""
        return self.source or self.target

    @property
    def any(self) -> str:
        """The first of these, "" if all is known."""
        return self.configs or self.cleaner


SEEN = UnseenConfigs()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Copied records of one partition that are missing on either side.

    Attributes:
        target: Those that the target deleted and the source still has, `None` for none.
        source: The number of those that the source deleted and the target still has.
        both: The number of those that neither side has; `None` if not all was compared.
        compacted_target: The number of those that the target's cleaner removed and the source still
            has; a later record of the same key is there.
        compacted_source: The same, with the sides exchanged.
        cleaned: The first of these as deleted records, where the source is not compacted and would
            have kept them; `None` elsewhere.
        unseen: What could not be read that decides whether these may be missing.
        meant: Whether the file or an option allows the target to keep less.
    """

    target: DeletedRecords | None = None
    source: int = 0
    both: int | None = None
    compacted_target: int = 0
    compacted_source: int = 0
    cleaned: DeletedRecords | None = None
    unseen: UnseenConfigs = SEEN
    meant: bool = False

    def __bool__(self) -> bool:
        numbers = self.source, self.both, self.compacted_target, self.compacted_source
        return self.target is not None or any(numbers)

    @property
    def unwanted(self) -> bool:
        """Whether the target deleted records that it should have kept."""
        return any(each.unwanted for each in self._deleted)

    @property
    def _deleted(self) -> tuple[DeletedRecords, ...]:
        return tuple(each for each in (self.target, self.cleaned) if each is not None)

    @property
    def deleted(self) -> int:
        """Number of records that the target deleted and the source still has."""
        return sum(each.records for each in self._deleted)

    def reasons(self) -> Iterator[str]:
        """Yield a sentence for each kind of missing record that is a difference."""
        yield from (str(each) for each in self._deleted if each.unwanted)

    @property
    def _of_target(self) -> str:
        """Why it is not known whether the source removes what the target's cleaner did."""
        asked = self.compacted_target and self.cleaned is None and not self.meant
        return self.unseen.any if asked else ""

    @property
    def _of_source(self) -> str:
        """Why it is not known whether the source's cleaner removed what the target still has."""
        return self.unseen.source if self.compacted_source else ""

    def unproven(self) -> Iterator[str]:
        """Yield a sentence for each kind of record that may be missing or may not."""
        texts = (
            (
                self.compacted_target,
                self._of_target,
                "missing on the target may be gone at the source, too, or be kept there for good",
            ),
            (
                self.compacted_source,
                self._of_source,
                "missing at the source may have been compacted away there, or never been there",
            ),
        )
        for number, why, text in texts:
            if why:
                yield f"{_counted(number)} {text}: {why}"

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind of missing record that is not a difference."""
        there = 0 if self.cleaned is not None or self._of_target else self.compacted_target
        here = 0 if self._of_source else self.compacted_source
        yield from (str(each) for each in self._deleted if not each.unwanted)
        texts = (
            (self.source, "on the target only: the source has deleted them since"),
            (self.both or 0, "that were copied are gone on both sides"),
            (there, "left out: compacted away on the target"),
            (here, "left out: compacted away on the source"),
        )
        for number, text in texts:
            if number:
                yield f"{_counted(number)} {text}"


def _counted(number: int) -> str:
    return f"{count(number)} record{'' if number == 1 else 's'}"


NOTHING = Gone()


def missing_records(
    books: PartitionBooks,
    found: Comparison | None,
    target: DeletedRecords | None,
    *,
    whole: bool,
    alone: bool = False,
    meant: bool = False,
    unseen: UnseenConfigs = SEEN,
) -> Gone:
    """Return the records of a partition that are missing on either side.

    Args:
        books: What the ledger knows.
        found: The result of the comparison, if there was one.
        target: What the target deleted.
        whole: Whether all of the partition was compared, or counted.
        alone: Whether the target compacts and the source does not.
        meant: Whether the file or an option allows the target to keep less.
        unseen: What could not be read that decides whether records may be missing.
    """
    if found is None:
        return Gone(target=target)
    counts = found.counts
    cleaned = None
    if alone and counts.compacted_there:
        cleaned = DeletedRecords(
            first=SourceOffset(found.first),
            end=SourceOffset(found.end),
            records=counts.compacted_there,
            exact=not found.stopped,
            why=(Deleter.CLEANER,),
            meant=meant,
        )
    return Gone(
        target=target,
        source=counts.expired,
        both=_both(books, found, target) if whole else None,
        compacted_target=counts.compacted_there,
        compacted_source=counts.compacted - counts.compacted_there,
        cleaned=cleaned,
        unseen=unseen,
        meant=meant,
    )


def _both(books: PartitionBooks, found: Comparison, target: DeletedRecords | None) -> int | None:
    """Return how many records neither side has: those copied, without those that one still has."""
    receipt = books.receipt
    if receipt is None or books.repairs or found.stopped or (target and not target.exact):
        return None
    if any(gap.why.code is ReasonCode.SOURCE_CUT for gap in books.gaps):
        return None  # the target has, or had, records of a log that is no more
    there = target.records if target is not None else 0
    return max(0, receipt.records - _seen(found.counts) - there)


def _seen(counts: Counts) -> int:
    return (
        counts.equal
        + counts.changed
        + counts.missing
        + counts.extra
        + counts.compacted
        + counts.expired
        + counts.replaced
    )


def counted(
    stretch: Stretch | None,
    judged: WhyDeleted | None,
    comparisons: tuple[Comparison | None, Comparison | None],
    *,
    meant: bool,
) -> DeletedRecords | None:
    """Return the counted deleted records of a partition; `None` if there are none.

    Args:
        stretch: The source offsets of which the target has nothing.
        judged: Why it was deleted.
        comparisons: What was counted of records that were gone before, and what was compared.
        meant: Whether the file or an option allows it.
    """
    each = [one for one in comparisons if one is not None and one.counts.deleted]
    number = sum(one.counts.deleted for one in each)
    if not number or stretch is None:
        return None
    judged = judged or WhyDeleted((Deleter.UNKNOWN,), SourceOffset(0))
    before = comparisons[0]
    due = number if judged.due_until >= stretch[1] else sum(one.counts.due for one in each)
    first, end = stretch
    if before in each and before is not None:
        first = SourceOffset(before.first)
        end = SourceOffset(before.end) if len(each) == 1 else end
    return DeletedRecords(
        first=first,
        end=end,
        records=number,
        exact=not any(one.stopped for one in each),
        due=due,
        why=judged.why,
        meant=meant,
    )


def bounded(
    books: PartitionBooks, stretch: Stretch | None, judged: WhyDeleted | None, *, meant: bool
) -> DeletedRecords | None:
    """Return the deleted records of a partition by offsets, where nothing was counted."""
    if stretch is None:
        return None
    unknown = WhyDeleted((Deleter.UNKNOWN,), SourceOffset(0))
    return deleted_records(books, stretch, judged or unknown, meant=meant)
