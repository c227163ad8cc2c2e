"""Merging, splitting and cutting batches, which must be opened for it."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

import numpy as np

from towpath.cluster.data.buffers import Frame
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import SourceOffset
from towpath.records.items import Batch
from towpath.records.lane.queue import Queue
from towpath.wire import batch as wire
from towpath.wire.reencode import Dense, reencode

SMALL = 4096
"""Size in bytes below which batches are worth merging."""
SMALL_TOGETHER = 64 << 10
"""The same where each batch costs much: in a transaction, whose batches are sent one by one, and
with many partitions, because the broker creates index files of 10 MiB at the second batch of a
partition."""
_MERGED = 256 << 10
_LEAST = 1024
Pieces = tuple[tuple[SourceOffset, int], ...]
"""Runs of source offsets: the first offset and the length of each."""


def open_row(
    buffer: wire.Buffer,
    row: Sequence[int],
    first: SourceOffset,
    most: int,
    producer: int,
    sequence: int,
    *,
    apart: bool = False,
) -> list[Batch]:
    """Return the records of a source batch from offset `first` on as stamped batches.

    With `apart`, no batch has a hole between its records.
    """
    positions = np.array([row[wire.POSITION]], np.int64)
    lengths = np.array([row[wire.LENGTH]], np.int64)
    dense = reencode(buffer, positions, lengths, first_offset=first, max_bytes=most, apart=apart)
    end = SourceOffset(row[wire.LAST] + 1)
    return _stamped(dense, first, end, producer, sequence, row[wire.LEADER_EPOCH])


def merge(batches: Sequence[Batch], most: int, producer: int) -> list[Batch]:
    """Join adjacent batches of one partition. Records keep their sequences."""
    joined = np.frombuffer(bytearray(b"".join(batch.data for batch in batches)), np.uint8)
    positions = np.zeros(len(batches), np.int64)
    lengths = np.zeros(len(batches), np.int64)
    position = records = 0
    for index, batch in enumerate(batches):
        positions[index], lengths[index] = position, batch.size
        struct.pack_into(">q", joined.data, position, records)
        position += batch.size
        records += batch.count
    dense = reencode(joined, positions, lengths, max_bytes=most)
    first, last = batches[0], batches[-1]
    made = _stamped(
        dense, SourceOffset(0), SourceOffset(records), producer, first.sequence, last.epoch
    )
    offsets = _SourceOffsets(batches)
    for batch in made:
        batch.base, batch.end, batch.pieces = offsets.take(batch.count)
    made[-1].end = last.end
    return made


def join_rows(
    buffer: wire.Buffer, table: wire.Table, most: int, producer: int, sequence: int
) -> list[Batch]:
    """Join consecutive source batches without holes into as few stamped batches as possible."""
    positions = np.ascontiguousarray(table[:, wire.POSITION])
    lengths = np.ascontiguousarray(table[:, wire.LENGTH])
    dense = reencode(buffer, positions, lengths, max_bytes=most)
    first, end = SourceOffset(int(table[0, wire.BASE])), SourceOffset(int(table[-1, wire.LAST]) + 1)
    made = _stamped(dense, first, end, producer, sequence, int(table[-1, wire.LEADER_EPOCH]))
    for batch in made:
        batch.joined = True
    return made


def split(batch: Batch, most: int, producer: int) -> list[Batch]:
    """Split a batch into batches of at most `most` bytes, or of one record."""
    return merge([batch], most, producer)


class Cutter:
    """Merges and splits the batches at the head of a queue.

    A damaged batch stays as it is, for the target to refuse.

    Args:
        queue: The queue.
        most: Size in bytes of a batch that the target surely accepts.
        small: Size in bytes below which batches are merged.

    Attributes:
        largest: Upper bound on the size of a batch, halved when the target refuses one.
    """

    def __init__(self, queue: Queue, most: int, small: int) -> None:
        self._queue, self._most, self._small = queue, most, small
        self.largest = sys.maxsize

    def too_large(self, batch: Batch) -> None:
        """Lower the batch size limit after the target refused `batch` as too large."""
        self.largest = min(self.largest, max(batch.size // 2, _LEAST))

    def runs(self, table: wire.Table) -> Iterator[tuple[wire.Table, bool]]:
        """Split rows of batches into runs that are worth joining and runs that are not.

        Yields:
            The rows of a run, and whether they are worth joining.
        """
        if len(table) == 1:
            yield table, False
            return
        small = table[:, wire.LENGTH] < self._small
        small &= table[:, wire.ATTRIBUTES] & wire.CODEC_MASK == 0
        cuts = [0, *(np.flatnonzero(small[1:] != small[:-1]) + 1).tolist(), len(table)]
        for start, end in pairwise(cuts):
            yield table[start:end], bool(small[start]) and end - start > 1

    def join(self, frame: Frame, table: wire.Table, producer: int, sequence: int) -> list[Batch]:
        """Join small source batches. Returns nothing if they must be sent unchanged."""
        if frame.room < int(table[:, wire.LENGTH].sum()):
            return []
        try:
            made = join_rows(frame.buffer, table, self._merged, producer, sequence)
        except CorruptBatchError:
            return []
        for batch in made:
            batch.frame = frame.instead(batch.data)
        return made

    @property
    def _merged(self) -> int:
        """Upper bound on the size of a batch made of small ones."""
        return min(_MERGED, self._most // 2, self.largest)

    def merge_head(self, producer: int, *, together: bool) -> None:
        """Merge the leading small batches; `together` if they are sent in a transaction."""
        below = SMALL_TOGETHER if together else self._small
        small = self._queue.small_head(below, self._merged)
        if small:
            self._remake(small, self._most, producer)

    def split_head(self, producer: int) -> None:
        """Split the first batch if it is above the batch size limit."""
        head = self._queue.head
        if isinstance(head, Batch) and head.size > self.largest and head.count > 1:
            self._remake([head], self.largest, producer)

    def _remake(self, head: list[Batch], most: int, producer: int) -> None:
        with suppress(CorruptBatchError):
            self._queue.replace_head(head, merge(head, most, producer))


class _SourceOffsets:
    """Assigns the source offsets of some batches to the batches made of them."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._pieces = [
            piece for batch in batches for piece in batch.pieces or ((batch.base, batch.count),)
        ]
        self._pieces.reverse()

    def take(self, count: int) -> tuple[SourceOffset, SourceOffset, Pieces | None]:
        taken: list[tuple[SourceOffset, int]] = []
        while count:
            start, length = self._pieces.pop()
            used = min(length, count)
            if used < length:
                self._pieces.append((SourceOffset(start + used), length - used))
            count -= used
            if taken and sum(taken[-1]) == start:
                taken[-1] = (taken[-1][0], taken[-1][1] + used)
            else:
                taken.append((start, used))
        pieces = tuple(taken) if len(taken) > 1 else None
        return taken[0][0], SourceOffset(sum(taken[-1])), pieces


def _stamped(
    dense: Sequence[Dense],
    first: SourceOffset,
    end: SourceOffset,
    producer: int,
    sequence: int,
    epoch: int,
) -> list[Batch]:
    made = []
    for index, one in enumerate(dense):
        buffer = np.frombuffer(one.batch, np.uint8)
        table = wire.scan(buffer, 0, len(buffer))
        wire.stamp(buffer, table, producer, sequence)
        runs = tuple((SourceOffset(int(start)), int(length)) for start, length in one.offsets)
        last = index + 1 == len(dense)
        following = end if last else SourceOffset(int(dense[index + 1].offsets[0][0]))
        made.append(
            Batch(
                data=memoryview(one.batch),
                frame=None,
                base=runs[0][0] if index else max(first, runs[0][0]),
                end=following,
                count=one.count,
                sequence=sequence % wire.SEQUENCES,
                crc=int(table[0, wire.CRC]),
                epoch=epoch,
                time=int(table[0, wire.MAX_TIME]),
                pieces=runs if len(runs) > 1 else None,
            )
        )
        sequence += one.count
    return made
