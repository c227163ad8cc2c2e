"""The records of a link in target partitions, by the source partitions that they were made of.

Whoever writes them has a producer of its own for each source partition, so its id says what a
record was made of. The epoch says whether the position that is known covers it already.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.cursor import Cursor, Piece, Reader
from towpath.compare.row_sums import RowCollector, RowLook, to_json
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire import batch as wire
from towpath.wire.digest import opened_hashes
from towpath.wire.opened import OpenedBatches, open_batches

SCHEMA = "found string"
_EPOCH_AT = 51
"""Position of the producer epoch in the header of a batch, a big-endian int16 (KIP-98)."""
_FETCH_BYTES = 8 << 20
NO_LIMIT = 1 << 15
"""An epoch after every other one."""

Writers = Mapping[int, tuple[TopicPartition, int]]
"""By producer id, the source partition and the last epoch that counts."""


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """The offsets [first, end) of a target partition, and who wrote there.

    Attributes:
        target: The cluster.
        tp: The partition.
        first: The first offset.
        end: The offset behind the last one.
        writers: The producers of the link.
        look: What is wanted of the rows.
    """

    target: ClusterConfig
    tp: TopicPartition
    first: int
    end: int
    writers: Writers
    look: RowLook


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What a slice found beside its sums.

    Attributes:
        tp: The target partition.
        first: The first offset of the slice.
        others: Records of other producers, by producer id.
        later: Records behind the positions that are known, by producer id of the link and epoch.
        bytes: Bytes that were read.
        untimed: Whether the broker sets timestamps.
    """

    tp: TopicPartition
    first: int
    others: Mapping[int, int]
    later: Mapping[tuple[int, int], int]
    bytes: int
    untimed: bool


def written_rows(work: WrittenSlice) -> Iterator[pa.RecordBatch]:
    """Read a slice for Spark. Yields one row of `SCHEMA`.

    Raises:
        ClusterError: The target could not be reached, or refused to be read.
        CorruptBatchError: A batch is damaged.
    """
    with Admin(work.target, Side.TARGET) as admin, Client(work.target, Side.TARGET, admin) as to:
        reader = Reader(Side.TARGET, to, admin, _FETCH_BYTES, work.target.request_timeout)
        found = _Reading(work).all(reader)
    yield pa.RecordBatch.from_pydict({"found": [found]})


def read_rows(text: str) -> tuple[WrittenRows, str]:
    """Return what a slice found, and the text of its sums (`row_sums.from_json`)."""
    told = json.loads(text)
    others = {int(producer): count for producer, count in told["others"].items()}
    later = {(producer, epoch): count for producer, epoch, count in told["later"]}
    tp = TopicPartition(TopicName(told["topic"]), told["partition"])
    found = WrittenRows(tp, told["first"], others, later, told["bytes"], told["untimed"])
    return found, told["sums"]


class _Reading:
    def __init__(self, work: WrittenSlice) -> None:
        self._work = work
        self._rows = RowCollector(work.look)
        self._others = Counter[int]()
        self._later = Counter[tuple[int, int]]()
        self._untimed = False

    def all(self, reader: Reader) -> str:
        work = self._work
        cursor = Cursor(reader, work.tp, work.first, work.end, None)
        while not cursor.done:
            cursor.fill()
            for piece in cursor.before(cursor.have):
                self._take(piece)
            cursor.advance(cursor.have)
        return json.dumps(
            {
                "topic": work.tp.topic,
                "partition": work.tp.partition,
                "first": work.first,
                "others": self._others,
                "later": [[*who, count] for who, count in self._later.items()],
                "bytes": cursor.bytes,
                "untimed": self._untimed,
                "sums": to_json(work.first, self._rows.found),
            }
        )

    def _take(self, piece: Piece) -> None:
        """Take up the records of some batches, those of one source partition after the other."""
        rows = piece.rows
        epochs = np.array([_epoch(piece.buffer, at) for at in rows[:, wire.POSITION].tolist()])
        masks = dict[TopicPartition, wire.Mask]()
        for producer in np.unique(rows[:, wire.PRODUCER]).tolist():
            own = rows[:, wire.PRODUCER] == producer
            source, last = self._work.writers.get(producer, (None, -1))
            if source is None:
                self._others[producer] += self._records(piece.buffer, rows[own])
                continue
            known = own & (epochs <= last)
            for epoch in np.unique(epochs[own & ~known]).tolist():
                behind = own & (epochs == epoch)
                self._later[producer, epoch] += self._records(piece.buffer, rows[behind])
            masks[source] = masks.get(source, np.zeros(len(rows), np.bool_)) | known
        for source, mask in masks.items():
            if mask.any():
                self._hash(source, piece.buffer, rows[mask])

    def _hash(self, source: TopicPartition, buffer: wire.Buffer, rows: wire.Table) -> None:
        opened = _opened(buffer, rows)
        offsets, plain = opened_hashes(opened, timed=False)
        _, timed = opened_hashes(opened)
        here = (offsets >= self._work.first) & (offsets < self._work.end)
        self._untimed |= bool((rows[:, wire.ATTRIBUTES] & wire.LOG_APPEND_TIME).any())
        self._rows.take((source, self._work.tp), plain[here], timed[here], offsets[here])

    def _records(self, buffer: wire.Buffer, rows: wire.Table) -> int:
        """Return how many records of batches lie in the slice.

        Compaction leaves gaps between offsets. So batches at the ends of the slice are opened.
        """
        first, end = self._work.first, self._work.end
        inside = (rows[:, wire.BASE] >= first) & (rows[:, wire.LAST] < end)
        whole = int(rows[inside, wire.COUNT].sum())
        rest = rows[~inside]
        if not len(rest):
            return whole
        offsets, _ = opened_hashes(_opened(buffer, rest), timed=False)
        return whole + int(((offsets >= first) & (offsets < end)).sum())


def _opened(buffer: wire.Buffer, rows: wire.Table) -> OpenedBatches:
    positions, lengths = (np.ascontiguousarray(rows[:, at]) for at in (wire.POSITION, wire.LENGTH))
    return open_batches(buffer, positions, lengths)


def _epoch(buffer: wire.Buffer, at: int) -> int:
    high, low = buffer[at + _EPOCH_AT : at + _EPOCH_AT + 2].tolist()
    return int((high << 8 | low) - (1 << 16 if high >> 7 else 0))
