"""Decompression of fetched batches, some at a time, in reused memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from towpath.wire import opened, sifting
from towpath.wire.batch import CODEC_MASK, LEADER_EPOCH, LENGTH, POSITION, Buffer, Table
from towpath.wire.codec import LIMIT, NONE
from towpath.wire.opened import OpenedBatches, read_headers, read_only
from towpath.wire.spare import Spares
from towpath.wire.streams import decompress, into

_CHUNK = 1 << 20
"""Bytes that are opened together, unless a single batch is larger."""
_SPARE_CHUNKS: Spares[Buffer] = Spares(72)
"""Enough for a row group of 64 MiB."""


def open_some(buffer: Buffer, table: Table, kinds: Table) -> Iterator[tuple[OpenedBatches, Table]]:
    """Yield opened batches with the arguments for `Collector.add`, some at a time.

    Their bytes are copies, so the buffer may be used again.

    Args:
        buffer: Bytes as a broker sent them.
        table: Some batches in it, as `batch.scan` found them.
        kinds: What each of them holds, as `sifting.sift` says.

    Raises:
        CorruptBatchError: A batch has a wrong checksum or size, or cannot be decompressed.
    """
    positions, lengths = (np.ascontiguousarray(table[:, at]) for at in (POSITION, LENGTH))
    data, batches = read_headers(buffer, positions, lengths)
    told = np.stack([kinds, table[:, LEADER_EPOCH]], axis=1)
    batches[kinds != sifting.RECORDS, opened.COUNT] = 0
    filling, first = _Filling(), 0
    for index, row in enumerate(batches):
        place: tuple[int, int] | None = (filling.size, filling.size)
        if kinds[index] == sifting.RECORDS:
            packed = data[int(row[opened.START]) : int(row[opened.END])]
            codec = int(row[opened.ATTRIBUTES]) & CODEC_MASK
            place = filling.put(codec, packed)
            if place is None:
                yield filling.opened(batches[first:index]), told[first:index]
                filling, first = _Filling(filling.ratio, filling.left), index
                place = filling.put(codec, packed)
        assert place is not None  # noqa: S101  # what is empty takes everything
        row[opened.START], row[opened.END] = place
    if first < len(batches):
        yield filling.opened(batches[first:]), told[first:]


def give_back(data: Buffer) -> None:
    """Return the memory chunk that holds some data to the pool."""
    base: Any = data
    while isinstance(base.base, np.ndarray):
        base = base.base
    if len(base) == _CHUNK and base.flags.writeable:
        _SPARE_CHUNKS.give(base)


class _Filling:
    """Opened batches, one behind the other in a chunk; a batch that is larger stands alone.

    Args:
        ratio: See `ratio`.
        left: What the chunk before it left.

    Attributes:
        size: Bytes of all of them.
        ratio: How many times larger the last batch became when it was opened.
        left: The batch that comes next, opened, if there was no room for it.
    """

    def __init__(self, ratio: float = 0.0, left: Buffer | None = None) -> None:
        self.size, self.ratio, self.left = 0, ratio, left
        spare = _SPARE_CHUNKS.take()
        self._data: Buffer = np.empty(_CHUNK, np.uint8) if spare is None else spare

    def put(self, codec: int, packed: Buffer) -> tuple[int, int] | None:
        """Decompress a batch into free memory. Returns its range, `None` if it does not fit.

        Raises:
            CorruptBatchError: It cannot be decompressed.
        """
        first, room = self.size, len(self._data) - self.size
        if first and max(1.0, self.ratio) * len(packed) > room:
            return None
        size = -1 if self.left is not None else into(codec, packed, self._data[first:])
        if size < 0:
            part = decompress(codec, packed, LIMIT) if self.left is None else self.left
            size = len(part)
            if size > room and first:
                self.left = part
                return None
            if size > room:
                self._stand_alone(part.copy() if codec == NONE else part)
            else:
                self._data[first : first + size] = part
        self.left, self.ratio = None, size / max(1, len(packed))
        self.size += size
        return first, self.size

    def opened(self, batches: Table) -> OpenedBatches:
        """Return the batches opened so far; no further ones are added."""
        data = self._data[: self.size]
        if len(self._data) == _CHUNK and self.size <= _CHUNK // 2:
            data = data.copy()  # much of a chunk would be idle
            _SPARE_CHUNKS.give(self._data)
        return OpenedBatches(read_only(data), batches)

    def _stand_alone(self, part: Buffer) -> None:
        _SPARE_CHUNKS.give(self._data)
        self._data = part
