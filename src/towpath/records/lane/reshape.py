"""Merging, splitting and cutting of batches, which must be opened for that."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from towpath.cluster.data.buffers import Frame
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import SourceOffset
from towpath.records.items import Batch
from towpath.records.lane.queue import APART, Queue
from towpath.wire import batch as wire
from towpath.wire.codec import NONE
from towpath.wire.opened import OpenedBatches, open_batches
from towpath.wire.reencode import Dense, reencode_opened
from towpath.wire.tally import OffsetTally, tallied

SMALL = 4096
"""Size in bytes below which batches are worth merging."""
SMALL_TOGETHER = 64 << 10
"""The same where each batch costs much: in a transaction, whose batches are sent one by one, and
with many partitions, because the broker creates index files of 10 MiB at the second batch of a
partition."""
_MERGED = 256 << 10
_LEAST = 1024
_MANY = 16
"""Small batches of any codec in one answer that are joined at once, as they would queue."""
_RUN = 4
"""Uncompressed small batches between others that are worth joining before they queue: fewer cost
more than they save."""


@dataclass(frozen=True, slots=True)
class SourceStretch:
    """Source offsets [first, end), and the leader epoch of the last of them.

    Attributes:
        joined: They come from small uncompressed batches that are joined.
    """

    first: SourceOffset
    end: SourceOffset
    epoch: int
    joined: bool = False


def opened_rows(buffer: wire.Buffer, table: wire.Table) -> OpenedBatches:
    """Check and decompress source batches.

    Raises:
        CorruptBatchError: One of them is damaged.
    """
    positions = np.ascontiguousarray(table[:, wire.POSITION])
    return open_batches(buffer, positions, np.ascontiguousarray(table[:, wire.LENGTH]))


def stamped_records(
    source: OpenedBatches,
    where: SourceStretch,
    most: int,
    producer: int,
    sequence: int,
    *,
    apart: bool = False,
) -> list[Batch]:
    """Return the records of a stretch as stamped batches.

    Args:
        source: The opened source batches.
        where: The source offsets of the stretch, and their leader epoch.
        most: How many bytes a batch has at most, unless it has a single record.
        producer: The producer id to stamp.
        sequence: The sequence of the first record.
        apart: Whether no batch may have a hole between its records.
    """
    dense = reencode_opened(
        source,
        first_offset=where.first,
        end_offset=where.end,
        max_bytes=most,
        apart=apart,
    )
    made = _stamped(dense, where.first, where.end, producer, sequence, where.epoch)
    for batch in made:
        batch.joined = where.joined
    return made


def merge(batches: Sequence[Batch], most: int, producer: int) -> list[Batch]:
    """Join adjacent batches of one partition. Records keep their sequences.

    What is made has one codec: of the codecs that compress, the one in which most bytes came.
    """
    joined = np.frombuffer(bytearray(b"".join(batch.data for batch in batches)), np.uint8)
    positions = np.zeros(len(batches), np.int64)
    lengths = np.zeros(len(batches), np.int64)
    position = records = 0
    for index, batch in enumerate(batches):
        positions[index], lengths[index] = position, batch.size
        struct.pack_into(">q", joined.data, position, records)
        position += batch.size
        records += batch.count
    opened = open_batches(joined, positions, lengths)
    dense = reencode_opened(opened.in_codec(_most_common(batches)), max_bytes=most)
    first, last = batches[0], batches[-1]
    made = _stamped(
        dense, SourceOffset(0), SourceOffset(records), producer, first.sequence, last.epoch
    )
    offsets = _SourceOffsets(batches)
    for batch in made:
        batch.base, batch.end, batch.pieces = offsets.take(batch.count)
    made[-1].end, made[0].dropped_from = last.end, first.dropped_from
    deal(tallied(batch.tally for batch in batches), made)
    return made


def _most_common(batches: Sequence[Batch]) -> int:
    codecs = np.fromiter((batch.codec for batch in batches), np.int64)
    return _most_of(codecs, np.fromiter((batch.size for batch in batches), np.int64))


def deal(done: OffsetTally, made: Sequence[Batch]) -> None:
    """Distribute counts of changed records to the adjacent batches they belong to."""
    for batch, part in zip(made, done.cut([batch.end for batch in made]), strict=True):
        batch.tally = part


def join_rows(
    buffer: wire.Buffer, table: wire.Table, most: int, producer: int, sequence: int
) -> list[Batch]:
    """Join consecutive source batches without holes into as few stamped batches as possible.

    Args:
        buffer: Holds the batches.
        table: A row for each batch, as `wire.scan` returns them.
        most: How many bytes a batch has at most, unless it has a single record.
        producer: The producer id to stamp.
        sequence: The sequence of the first record.
    """
    positions = np.ascontiguousarray(table[:, wire.POSITION])
    lengths = np.ascontiguousarray(table[:, wire.LENGTH])
    codec = _most_of(table[:, wire.ATTRIBUTES] & wire.CODEC_MASK, lengths)
    opened = open_batches(buffer, positions, lengths).in_codec(codec)
    dense = reencode_opened(opened, max_bytes=most)
    first, end = SourceOffset(int(table[0, wire.BASE])), SourceOffset(int(table[-1, wire.LAST]) + 1)
    made = _stamped(dense, first, end, producer, sequence, int(table[-1, wire.LEADER_EPOCH]))
    for batch in made:
        batch.joined = codec == NONE
    return made


def _most_of(codecs: wire.Table, sizes: wire.Table) -> int:
    """Return the compressing codec in which most bytes are; none if none is compressed."""
    held = np.bincount(codecs, sizes)
    held[NONE] = 0
    return int(held.argmax())


def split(batch: Batch, most: int, producer: int) -> list[Batch]:
    """Split a batch into batches of at most `most` bytes, or of one record."""
    return merge([batch], most, producer)


def divide(batch: Batch, at: int, producer: int) -> list[Batch]:
    """Split a batch after its first `at` records."""
    single = split(batch, 1, producer)
    return [
        part for some in (single[:at], single[at:]) for part in merge(some, sys.maxsize, producer)
    ]


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
        """Lower the batch size limit, as the target rejected `batch` as too large."""
        self.largest = min(self.largest, max(batch.size // 2, _LEAST))

    def runs(self, table: wire.Table) -> Iterator[tuple[wire.Table, bool]]:
        """Divide rows of batches into runs worth joining and runs that are not.

        Yields:
            The rows of a run, and whether they are worth joining.
        """
        if len(table) == 1:
            yield table, False
            return
        small = table[:, wire.LENGTH] < self._small
        codecs = table[:, wire.ATTRIBUTES] & wire.CODEC_MASK
        plain = small & (codecs == NONE)
        if plain.all():
            yield table, True
            return
        # Few between others are joined with these, while they queue. Many will queue anyway.
        joined = _in_long_runs(small, _MANY) | _in_long_runs(plain, _RUN)
        for start, end in pairwise(_apart(table[:, wire.LENGTH], codecs, joined)):
            if joined[start] and codecs[start:end].any():
                for rows in _pieces(table[start:end], self.merged):
                    yield rows, len(rows) > 1
            else:
                yield table[start:end], bool(joined[start])

    def join(self, frame: Frame, table: wire.Table, producer: int, sequence: int) -> list[Batch]:
        """Join small source batches. Returns nothing if they must be sent unchanged."""
        if frame.room < int(table[:, wire.LENGTH].sum()):
            return []
        try:
            made = join_rows(frame.buffer, table, self.merged, producer, sequence)
        except CorruptBatchError:
            return []
        for batch in made:
            batch.frame = frame.instead(batch.data)
        return made

    @property
    def merged(self) -> int:
        """Upper bound on the size of a batch made of small ones."""
        return min(_MERGED, self._most // 2, self.largest)

    def merge_head(self, producer: int, *, together: bool) -> None:
        """Merge the leading small batches; `together` if they are sent in a transaction."""
        below = SMALL_TOGETHER if together else self._small
        small = self._queue.small_head(below, self.merged)
        if small:
            self._remake(small, self._most, producer)

    def split_head(self, producer: int) -> None:
        """Split the first batch if it is above the batch size limit."""
        head = self._queue.head
        if isinstance(head, Batch) and head.size > self.largest and head.count > 1:
            self._remake([head], self.largest, producer)

    def _remake(self, head: list[Batch], most: int, producer: int) -> None:
        try:
            made = merge(head, most, producer)
        except CorruptBatchError:
            for batch in head:  # else each of them would be opened again before the next is sent
                batch.settled = True
        else:
            self._queue.replace_head(head, made)


def _cuts(*marks: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return where runs of equal marks begin, and where the last one ends."""
    changes = np.logical_or.reduce([each[1:] != each[:-1] for each in marks])
    return np.concatenate(([0], np.flatnonzero(changes) + 1, [len(marks[0])]))


def _in_long_runs(marks: wire.Mask, least: int) -> wire.Mask:
    """Return which marked rows are in a run of at least so many."""
    cuts = _cuts(marks)
    return np.repeat(marks[cuts[:-1]] & (np.diff(cuts) >= least), np.diff(cuts))


def _apart(sizes: wire.Table, codecs: wire.Table, joined: wire.Mask) -> list[int]:
    """Return where rows end that may be joined: also beside many bytes in one codec."""
    cuts = _cuts(codecs, joined)
    large = np.repeat(np.add.reduceat(sizes, cuts[:-1]) >= APART, np.diff(cuts))
    found: list[int] = _cuts(joined, np.where(large, codecs, -1)).tolist()
    return found


def _pieces(table: wire.Table, most: int) -> Iterator[wire.Table]:
    """Yield rows of at most so many bytes together, or a single one that has more."""
    piece = np.cumsum(table[:, wire.LENGTH]) // max(1, most)
    for start, end in pairwise(_cuts(piece).tolist()):
        yield table[start:end]


class _SourceOffsets:
    """Assigns the source offsets of some batches to the batches made of them."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        first, last = batches[0], batches[-1]
        whole = all(batch.pieces is None for batch in batches)
        count = sum(batch.count for batch in batches)
        dense = whole and last.base + last.count - first.base == count
        self._next = first.base if dense else None
        if not dense:
            self._pieces = np.concatenate([batch.places for batch in batches])
            self._ends = np.cumsum(self._pieces[:, 1])
            self._taken = 0

    def take(self, count: int) -> tuple[SourceOffset, SourceOffset, wire.Table | None]:
        """Return the first offset, end, and pieces of the next records."""
        if self._next is not None:
            start, self._next = self._next, SourceOffset(self._next + count)
            return start, self._next, None
        begin, self._taken = self._taken, self._taken + count
        first, last = np.searchsorted(self._ends, (begin + 1, self._taken))
        rows = self._pieces[first : last + 1].copy()
        rows[-1, 1] -= self._ends[last] - self._taken
        skipped = begin - (self._ends[first] - self._pieces[first, 1])
        rows[0] += (skipped, -skipped)
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = rows[1:, 0] != rows[:-1].sum(axis=1)
        where = np.flatnonzero(begins)
        runs = np.stack((rows[where, 0], np.add.reduceat(rows[:, 1], where)), 1)
        start, end = SourceOffset(int(runs[0, 0])), SourceOffset(int(runs[-1].sum()))
        return start, end, runs if len(runs) > 1 else None


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
        table = wire.scan(buffer, 0, len(buffer), 1)
        wire.stamp(buffer, table, producer, sequence)
        begins = SourceOffset(int(one.offsets[0, 0]))
        last = index + 1 == len(dense)
        following = end if last else SourceOffset(int(dense[index + 1].offsets[0][0]))
        made.append(
            Batch(
                data=memoryview(one.batch),
                frame=None,
                base=begins if index else max(first, begins),
                end=following,
                count=one.count,
                sequence=sequence % wire.SEQUENCES,
                crc=int(table[0, wire.CRC]),
                epoch=epoch,
                time=int(table[0, wire.MAX_TIME]),
                pieces=one.offsets if len(one.offsets) > 1 else None,
            )
        )
        sequence += one.count
    return made
