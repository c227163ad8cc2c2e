"""What the chunks of a supply hold, read as a lane reads them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tests.support.logs.batches import from_arrow
from towpath.archive.read.feed.supply import Chunk
from towpath.wire import batch as wire
from towpath.wire.aborted import AbortedTransactions
from towpath.wire.plain import Record
from towpath.wire.records import decode


def told(chunks: Iterable[Chunk], first: int = 0) -> tuple[list[Record], set[int], int]:
    """Return the records of chunks, the offsets of void batches, and the end of it all.

    As a lane does, offsets before the expected one are passed over.
    """
    records: list[Record] = []
    voids: set[int] = set()
    at = first
    for chunk in chunks:
        buffer = np.frombuffer(chunk.data, np.uint8)
        transactions = AbortedTransactions(chunk.aborted)
        for row in wire.scan(buffer, 0, len(buffer)).tolist():
            last, attributes = row[wire.LAST], row[wire.ATTRIBUTES]
            void = transactions.void(last, attributes, row[wire.PRODUCER])
            if void:
                voids |= {*range(max(at, row[wire.BASE]), last + 1)}
            else:
                position = row[wire.POSITION]
                found = from_arrow(decode(chunk.data[position : position + row[wire.LENGTH]]))
                records += [each for each in found if each.offset >= at]
            at = max(at, last + 1)
        assert at <= chunk.end
    return records, voids, at
