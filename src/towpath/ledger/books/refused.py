"""Decisions to leave records out, merged into ranges of source offsets. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from towpath.ledger.entries import RefusedRecords


def disjoint(decisions: Iterable[RefusedRecords]) -> tuple[RefusedRecords, ...]:
    """Return decisions about ranges without common offsets, sorted by their first offsets.

    Args:
        decisions: In the order of the ledger: of several about one offset, the first holds.
    """
    held: list[RefusedRecords] = []
    for each in decisions:
        if not held or each.first >= held[-1].end:
            held.append(each)
            continue
        free = [(each.first, each.end)]
        for other in held:
            parts = (
                part
                for first, end in free
                for part in ((first, min(end, other.first)), (max(first, other.end), end))
            )
            free = [(first, end) for first, end in parts if first < end]
        held += [replace(each, first=first, end=end) for first, end in free]
        held.sort(key=lambda one: one.first)
    return tuple(held)
