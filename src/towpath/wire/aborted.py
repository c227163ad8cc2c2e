"""The filter for aborted transactions in a fetch response (KIP-98). Pure.

Nothing here loads numba, so that commands that read single topics start quickly; the same for a
whole table of batches is `visible` in `wire/batch.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from towpath.wire.header import CONTROL, TRANSACTIONAL

Aborted = Sequence[tuple[int, int]]
"""The aborted transactions of some batches: producer id and first offset of each.

Whoever hands on batches names all of these, so nothing is kept for the next ones.
"""


class AbortedTransactions:
    """Tracks aborted transactions from batch to batch."""

    def __init__(self, told: Iterable[tuple[int, int]]) -> None:
        self._to_come = deque(sorted(told, key=lambda pair: pair[1]))
        self._under_way: set[int] = set()

    def void(self, last: int, attributes: int, producer: int) -> bool:
        """Return whether consumers see nothing of a batch; call for each batch in order.

        Args:
            last: The last offset of the batch.
            attributes: Its attributes.
            producer: Its producer id.
        """
        while self._to_come and self._to_come[0][1] <= last:
            self._under_way.add(self._to_come.popleft()[0])
        if attributes & CONTROL:
            self._under_way.discard(producer)
            return True
        return bool(attributes & TRANSACTIONAL and producer in self._under_way)
