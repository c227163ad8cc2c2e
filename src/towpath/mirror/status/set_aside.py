"""Counts of records that could not be changed or delivered, by partition. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Tally
from towpath.model.amounts import counted
from towpath.model.changes import Undeliverable

_IN_QUARANTINE = "quarantined:"
"""Beginning of what a receipt counts of records that went to the quarantine (`Tally`)."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Counts of left-out records by kind of reason, since the partitions were opened.

    Attributes:
        quarantined: Records that were put into the quarantine topic.
        skipped: Records that were left out without a copy.
    """

    quarantined: Tally = ()
    skipped: Tally = ()

    def __bool__(self) -> bool:
        return bool(self.quarantined or self.skipped)

    def __str__(self) -> str:
        quarantined, skipped = (
            f"{counted(sum(dict(each).values()), 'record')} {what} ({', '.join(dict(each))})"
            for each, what in (
                (self.quarantined, "set aside in quarantine"),
                (self.skipped, "skipped"),
            )
        )
        told = [quarantined] if self.quarantined else []
        told += [skipped] if self.skipped else []
        return "; ".join(told) + "; `towpath quarantine ls FILE` counts them"


NOTHING = SetAside()


def set_aside(books: PartitionBooks) -> SetAside:
    """Return the counts of a partition's left-out records, from receipts and decisions."""
    quarantined, skipped = Counter[str](), Counter[str]()
    for what, number in books.receipt.tally if books.receipt is not None else ():
        if what.startswith(_IN_QUARANTINE):
            quarantined[what.removeprefix(_IN_QUARANTINE)] += number
    for each in books.refused:
        found = skipped if each.policy is Undeliverable.SKIP else quarantined
        found[each.why.kind] += each.end - each.first
    return _counted(quarantined, skipped)


def summed(several: Iterable[SetAside]) -> SetAside:
    """Return the counts of left-out records of several partitions."""
    quarantined, skipped = Counter[str](), Counter[str]()
    for each in several:
        quarantined.update(dict(each.quarantined))
        skipped.update(dict(each.skipped))
    return _counted(quarantined, skipped)


def _counted(quarantined: Counter[str], skipped: Counter[str]) -> SetAside:
    return SetAside(tuple(sorted(quarantined.items())), tuple(sorted(skipped.items())))
