"""Conversion of fetched bytes into collected batches, independent of the segment's format."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from towpath.model.errors import CorruptBatchError
from towpath.wire.aborted import Aborted
from towpath.wire.batch import BASE, LAST, MAGIC, NO_END, Buffer, Table, scan
from towpath.wire.collector import Collector
from towpath.wire.legacy import modernise
from towpath.wire.opening import open_some
from towpath.wire.sifting import sift

_MAGIC_AT = 16


class CollectedBatches(NamedTuple):
    """Batches collected from fetched bytes.

    Attributes:
        buffer: Where they are, one behind the other.
        table: The batches, as `batch.scan` found them.
        kinds: What each of them holds (`wire/sifting.py`).
    """

    buffer: Buffer
    table: Table
    kinds: Table


def collect(
    collector: Collector,
    buffer: Buffer,
    start: int,
    end: int,
    aborted: Aborted = (),
    left_out: Collection[int] = (),
    until: int = NO_END,
) -> Iterator[CollectedBatches]:
    """Collect the batches between two positions, yielding some at a time.

    Records before the collector's next offset, and those from its end on, are left out.

    Args:
        collector: Collects them.
        buffer: Bytes as a broker sent them.
        start: Position of the first batch.
        end: Position after the last byte of this partition.
        aborted: Producer id and first offset of each aborted transaction among them.
        left_out: Producer ids whose records are filtered out.
        until: Batches that begin at this offset or behind it are left out.

    Yields:
        The batches that were just collected.

    Raises:
        CorruptBatchError: A batch is damaged; those before it were collected.
    """
    if end - start > _MAGIC_AT and buffer[start + _MAGIC_AT] < MAGIC:
        buffer = np.frombuffer(modernise(memoryview(buffer.data)[start:end]), np.uint8)
        start, end = 0, len(buffer)
    damaged: CorruptBatchError | None = None
    try:
        table = scan(buffer, start, end)
    except CorruptBatchError as error:
        table, damaged = scan(buffer, start, start + error.at), error
    kinds = sift(table, aborted, left_out)
    collector.begin()
    wanted = table[:, BASE] < until
    yield from _collect(collector, buffer, table[wanted], kinds[wanted])
    if damaged and wanted.all():
        raise damaged


def _collect(
    collector: Collector, buffer: Buffer, table: Table, kinds: Table
) -> Iterator[CollectedBatches]:
    wanted = (table[:, LAST] >= collector.expected) & (table[:, BASE] < collector.end)
    table, kinds, done = table[wanted], kinds[wanted], 0
    try:
        for opened, told in open_some(buffer, table, kinds):
            collector.add(opened, told)
            done += len(told)
            yield CollectedBatches(buffer, table[done - len(told) : done], told[:, 0])
    except CorruptBatchError:
        if len(table) == 1:
            raise
        # One of several is damaged, and those before it are wanted.
        for row in range(done, len(table)):
            yield from _collect(collector, buffer, table[row : row + 1], kinds[row : row + 1])
