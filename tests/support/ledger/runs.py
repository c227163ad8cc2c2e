"""Runs of the ledger, as values."""

from __future__ import annotations

import random

from towpath.ledger.entries import Run
from towpath.model.nouns import SourceOffset, TargetOffset


def run(source: int, target: int, length: int) -> Run:
    """Return a run."""
    return SourceOffset(source), TargetOffset(target), length


def transactions(count: int, sizes: range) -> list[Run]:
    """Return the runs of transactions, each with a marker behind it."""
    rng, made, source, target = random.Random(3), [], 10**9, 10**8
    for _ in range(count):
        size = rng.choice(sizes)
        made.append(run(source, target, size))
        source, target = source + size + 1, target + size
    return made
