"""The sifting of batches into those with visible records, and others by reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from towpath.wire.aborted import AbortedTransactions
from towpath.wire.batch import ATTRIBUTES, CONTROL, LAST, PRODUCER, TRANSACTIONAL, Table

RECORDS, MARKER, ABORTED, COMPACTED, RETENTION, FILTERED, ERASED, LOST = range(-1, 7)
"""What an offset holds: records, or the reason why it holds none."""


def sift(table: Table, aborted: Iterable[tuple[int, int]], left_out: Collection[int] = ()) -> Table:
    """Return `RECORDS` for each batch with visible records, else the reason why not.

    Args:
        table: Batches of one fetch response, all of them in its order, as `batch.scan` found them.
        aborted: Producer id and first offset of each aborted transaction among them.
        left_out: Producer ids whose records are filtered out.
    """
    kinds = np.full(len(table), RECORDS, np.int64)
    if left_out:
        kinds[np.isin(table[:, PRODUCER], np.array(sorted(left_out), np.int64))] = FILTERED
    special = table[:, ATTRIBUTES] & (TRANSACTIONAL | CONTROL) != 0
    transactions = AbortedTransactions(aborted)
    for index in np.flatnonzero(special).tolist():
        row = table[index].tolist()
        if transactions.void(row[LAST], row[ATTRIBUTES], row[PRODUCER]):
            kinds[index] = MARKER if row[ATTRIBUTES] & CONTROL else ABORTED
    return kinds
