"""What is kept aside at a time, and the ledger's entry about it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from towpath.ledger.entries import Salvaged
from towpath.mirror.failback.salvaging import Lone

PORTION = 20_000
"""Offsets of a partition that are copied and compared before the ledger is told."""


def portions(lone: Lone) -> Iterator[Lone]:
    """Yield so many offsets of each partition at a time as one entry of the ledger tells of. Pure.

    What is noted there is looked at no more, also by whoever goes on after a kill.
    """
    left = [*lone]
    while left:
        ends = [min(own.end, max(own.first, own.log_start) + PORTION) for _, own in left]
        pairs = [*zip(left, ends, strict=True)]
        yield [(one, replace(own, end=end)) for (one, own), end in pairs]
        left = [(one, replace(own, first=end)) for (one, own), end in pairs if end < own.end]


def joined(before: Sequence[Salvaged], entry: Salvaged) -> Salvaged:
    """Return an entry about what was kept now, and what was kept just before it. Pure.

    So the ledger has one entry of a partition, however often something came to it.
    """
    alike = [
        each
        for each in before
        if (each.side, each.place, each.producer_id) == (entry.side, entry.place, entry.producer_id)
    ]
    last = max(alike, key=lambda each: each.end, default=None)
    if last is None or last.end != entry.first:
        return entry
    return replace(
        entry,
        first=last.first,
        records=last.records + entry.records,
        deleted=last.deleted + entry.deleted,
    )
