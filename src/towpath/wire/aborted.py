"""Which batches of a fetch response a consumer of committed records sees (KIP-98). Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from towpath.wire import batch as wire

Mask = npt.NDArray[np.bool_]
Aborted = Sequence[tuple[int, int]]
"""The aborted transactions of some batches: producer id and first offset of each.

Whoever hands on batches names all of these, so nothing is kept for the next ones.
"""


class AbortedTransactions:
    """Which transactions are aborted, batch by batch."""

    def __init__(self, told: Iterable[tuple[int, int]]) -> None:
        self._to_come = deque(sorted(told, key=lambda pair: pair[1]))
        self._under_way: set[int] = set()

    def void(self, row: Sequence[int]) -> bool:
        """Whether a batch holds nothing for consumers; must be asked for each in turn."""
        while self._to_come and self._to_come[0][1] <= row[wire.LAST]:
            self._under_way.add(self._to_come.popleft()[0])
        if row[wire.ATTRIBUTES] & wire.CONTROL:
            self._under_way.discard(row[wire.PRODUCER])
            return True
        return bool(
            row[wire.ATTRIBUTES] & wire.TRANSACTIONAL and row[wire.PRODUCER] in self._under_way
        )


def visible(table: wire.Table, aborted: Iterable[tuple[int, int]]) -> Mask:
    """Return which batches hold records that a consumer of committed records sees.

    Args:
        table: Batches of one fetch response.
        aborted: Its aborted transactions.
    """
    special = table[:, wire.ATTRIBUTES] & (wire.TRANSACTIONAL | wire.CONTROL) != 0
    seen = np.ones(len(table), np.bool_)
    transactions = AbortedTransactions(aborted)
    for index in np.flatnonzero(special).tolist():
        seen[index] = not transactions.void(table[index].tolist())
    return seen
