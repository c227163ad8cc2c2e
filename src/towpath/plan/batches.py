"""Which steps are done together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from towpath.plan.kinds import FULL_BATCH, Step, StepKinds

AT_ONCE = 100
"""Steps are done together up to so many; Ctrl-C is heard behind them."""


def batches(steps: Iterable[Step], kinds: StepKinds) -> Iterator[list[Step]]:
    """Return steps in their order, those of a kind together as far as they may be."""

    def alike(step: Step) -> object:
        kind = kinds.of(step)
        return kind.name, kind.apart(step)

    for _, together in groupby(steps, key=alike):
        batch: list[Step] = []
        weight = 0
        for step in together:
            more = kinds.of(step).weight(step)
            if batch and (len(batch) == AT_ONCE or weight + more > FULL_BATCH):
                yield batch
                batch, weight = [], 0
            batch.append(step)
            weight += more
        yield batch
