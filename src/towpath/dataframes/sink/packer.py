"""Rows of one partition as record batches of a producer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.dataframes.errors import RowError
from towpath.wire.batch import HEADER_SIZE, SEQUENCES, TRANSACTIONAL, Buffer
from towpath.wire.codec import NONE, compress_into, most_compressed
from towpath.wire.opened import read_only
from towpath.wire.packing import Rows, put_header
from towpath.wire.row_loop import (
    BASE,
    COUNT,
    EPOCH,
    LAST,
    NAMELESS,
    NEEDED,
    TO,
    nothing_yet,
    put_rows,
)

Sealed = tuple[memoryview, int]
"""A record batch, and how many records it has."""

_FIRST_ROOM = 64 << 10
"""Bytes for a first batch; many partitions get few rows."""


class BatchPacker:
    """Packs rows that come in pieces into batches with consecutive sequences.

    A batch is compressed while its bytes are in the cache of the processor; one that stays as it is
    lies at once in the memory from which it is sent.

    Args:
        who: The producer.
        codec: Number of the codec.
        most: Uncompressed bytes of a batch, unless a single record is larger.
        transactional: Whether the batches belong to a transaction.
    """

    def __init__(self, who: ProducerEpoch, codec: int, most: int, *, transactional: bool) -> None:
        self._who, self._codec, self._most = who, codec, most
        self._attributes = codec | (TRANSACTIONAL if transactional else 0)
        self._room: Buffer = np.empty(HEADER_SIZE + min(most, _FIRST_ROOM), np.uint8)
        self._made = nothing_yet()
        self._made[TO] = HEADER_SIZE
        self._next = 0

    @property
    def waiting(self) -> int:
        """Bytes of the records that are not yet in a batch."""
        return int(self._made[TO]) - HEADER_SIZE

    def take(self, rows: Rows) -> Iterator[Sealed]:
        """Pack rows; yield each batch that is full.

        Raises:
            RowError: A header has no name.
        """
        count = len(rows.times)
        numbers = np.arange(self._next, self._next + count)
        zeros = np.zeros(count, np.int32)
        self._next += count
        rows = replace(rows, offsets=numbers, types=zeros, epochs=zeros)
        first = 0
        while first < count:
            first = self._put(rows, first)
            if first < count:
                yield from self._end_or_grow()

    def flush(self) -> Iterator[Sealed]:
        """Yield a batch of the remaining rows, if any."""
        if self._made[COUNT]:
            yield self._end()

    def _put(self, rows: Rows, first: int) -> int:
        columns = (
            read_only(rows.offsets), read_only(rows.times), read_only(rows.types),
            read_only(rows.epochs), rows.keys, rows.values, rows.lists, rows.names, rows.contents,
        )  # fmt: skip
        done = int(
            put_rows(first, *columns, self._most, False, self._room, HEADER_SIZE, self._made)
        )
        if done == NAMELESS:
            raise RowError("a header has no name: its `key` is null")
        return done

    def _end_or_grow(self) -> Iterator[Sealed]:
        """Make room for the next row, by more memory if the batch may still grow."""
        needed = int(self._made[NEEDED])  # by a record alone
        if needed or len(self._room) < HEADER_SIZE + self._most:
            self._grow(max(needed, min(HEADER_SIZE + self._most, 4 * len(self._room))))
        else:
            yield self._end()

    def _grow(self, size: int) -> None:
        end = int(self._made[TO])
        larger = np.empty(size, np.uint8)
        larger[:end] = self._room[:end]
        self._room = larger

    def _end(self) -> Sealed:
        out, end, count = self._room, int(self._made[TO]), int(self._made[COUNT])
        size = len(out)
        if self._codec == NONE:
            self._room = np.empty(size, np.uint8)
        else:
            raw = read_only(out[HEADER_SIZE:end])
            out = np.empty(HEADER_SIZE + most_compressed(len(raw)), np.uint8)
            end = HEADER_SIZE + compress_into(self._codec, raw, out[HEADER_SIZE:])
        self._head(out, end)
        self._made[COUNT], self._made[TO] = 0, HEADER_SIZE
        return out.data[:end], count

    def _head(self, out: Buffer, end: int) -> None:
        """Write the header: its offsets begin at 0, as those of all that is produced."""
        made = self._made.copy()
        first = int(made[BASE])
        made[LAST], made[BASE], made[EPOCH] = made[LAST] - first, 0, -1
        who = self._who.producer_id, self._who.epoch, first % SEQUENCES
        put_header(out, 0, end, made, self._attributes, who)
