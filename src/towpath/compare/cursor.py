"""One side of a comparison: its visible batches, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client, Records
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.compare.doubled import SequenceCheck
from towpath.compare.named import IdLook
from towpath.compare.others import OtherRecords
from towpath.ledger.producers import GENERATIONS
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import ProducerId, Side, TopicPartition
from towpath.records.target.written import Undone, undone
from towpath.runtime.deadline import Deadline
from towpath.wire import batch as wire
from towpath.wire.legacy import modernise

_MAGIC_AT = 16
_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class Reader:
    """Connections to one cluster, and the settings for reading."""

    side: Side
    client: Client
    admin: Admin
    max_bytes: int
    patience: float


@dataclass(slots=True)
class Piece:
    """Some batches of one response, with their rows from `wire.batch.scan`."""

    buffer: wire.Buffer
    rows: wire.Table

    def batches(self) -> Iterator[memoryview]:
        """Yield the bytes of each batch."""
        view: memoryview = self.buffer.data
        for position, length in self.rows[:, : wire.LENGTH + 1].tolist():
            yield view[position : position + length]


class Cursor:
    """Reads the committed data batches in offsets [first, end), optionally of some producers.

    Attributes:
        position: The offset up to which batches were consumed.
        have: The offset up to which batches were read. `pieces` hold the batches between.
        log_start: The log start offset, as far as it is known.
        log_end: The log end offset, if that is before `end`.
        others: Records of other producers, which were passed over.
        behind_cut: Further ones of these, from the offset `cut` on, if that is not -1.
        left_to_twin: Number of records that the twin of the link wrote, which were passed over.
        uncommitted: Number of records that only consumers with isolation.level=read_uncommitted
            see.
        uncommitted_at: Offset of the first of these, -1 if there is none.
        bytes: Number of bytes read.
    """

    def __init__(
        self,
        reader: Reader,
        tp: TopicPartition,
        first: int,
        end: int,
        only: AbstractSet[ProducerId] | None,
        check: SequenceCheck | None = None,
        cut: int = -1,
        ids: IdLook | None = None,
        twin: AbstractSet[ProducerId] = frozenset(),
    ) -> None:
        self._reader, self._tp, self._cut = reader, tp, cut
        self._only = None if only is None else [*only]
        self._check, self._ids, self._first = check, ids, first
        self._twin, self.left_to_twin = sorted(twin), 0
        self.position = self.have = first
        self.end = end
        self.pieces: deque[Piece] = deque()
        self.log_start = 0
        self.log_end: int | None = None
        self.others, self.behind_cut = OtherRecords(), OtherRecords()
        self.uncommitted, self.uncommitted_at = 0, -1
        self.bytes = 0
        self._undone: list[Undone] | None = None

    @property
    def done(self) -> bool:
        """Whether all offsets were consumed."""
        return self.position >= self.end

    def fill(self) -> None:
        """Read more batches if all are consumed.

        Raises:
            ClusterError: The cluster did not answer.
            CorruptBatchError: The answer holds a damaged batch.
        """
        deadline = Deadline.after(self._reader.patience)
        while self.have <= self.position < self.end:
            before = self.have
            self._read()
            if self.have == before and deadline.over:
                raise UnreachableError(
                    self._reader.side,
                    f"fetching {self._tp} at {before}",
                    f"no records came within {self._reader.patience:.0f} s",
                    "check the health of the partition's leader",
                )

    def advance(self, position: int) -> None:
        """Consume all batches before `position`."""
        self.position = position
        while self.pieces:
            rows = self.pieces[0].rows
            rows = rows[np.searchsorted(rows[:, wire.LAST], position) :]
            if len(rows):
                self.pieces[0].rows = rows
                return
            self.pieces.popleft()

    def before(self, end: int) -> list[Piece]:
        """Return the batches that hold offsets in [position, end)."""
        found = []
        for piece in self.pieces:
            rows = piece.rows[: np.searchsorted(piece.rows[:, wire.BASE], end)]
            if len(rows):
                found.append(Piece(piece.buffer, rows))
        return found

    def _read(self) -> None:
        try:
            chunk = self._reader.client.fetch(
                self._tp,
                self.have,
                max_bytes=self._reader.max_bytes,
                wait=_WAIT,
                committed=self._undone is None,
            )
        except RefusedError as error:
            if error.error != OFFSET_OUT_OF_RANGE:
                raise
            self._out_of_range()
            return
        self.log_start = max(self.log_start, chunk.said.log_start)
        self.bytes += chunk.end - chunk.start
        buffer, table = _scan(chunk)
        if len(table):
            self._take(chunk.said, buffer, table)
        else:
            self._nothing(chunk.said)

    def _take(self, said: Fetched, buffer: wire.Buffer, table: wire.Table) -> None:
        seen = wire.visible(table, self._aborted(said))
        here = (table[:, wire.LAST] >= self.have) & (table[:, wire.BASE] < self.end)
        here &= table[:, wire.COUNT] > 0
        self._note(table[here & ~seen & (table[:, wire.ATTRIBUTES] & wire.CONTROL == 0)])
        seen &= here
        if self._only is not None:
            if self._check is not None:
                self._check.look(buffer, table[table[:, wire.LAST] >= self.have])
            ours = np.isin(table[:, wire.PRODUCER], self._only)
            self._pass_over(table[seen & ~ours])
            seen &= ours
        if self._twin:
            theirs = seen & _of(table[:, wire.PRODUCER], self._twin)
            self.left_to_twin += self._records(table[theirs])
            seen &= ~theirs
        if seen.any():
            self.pieces.append(Piece(buffer, table[seen]))
            if self._ids is not None:
                self._ids.look(buffer, table[seen], self._first, self.end)
        self.have = min(self.end, max(self.have, int(table[-1, wire.LAST]) + 1))

    def _pass_over(self, rows: wire.Table) -> None:
        """Count batches of other producers."""
        late = (rows[:, wire.BASE] >= self._cut) & (self._cut >= 0)
        self.others = self.others.then(OtherRecords.of(rows[~late]))
        self.behind_cut = self.behind_cut.then(OtherRecords.of(rows[late]))

    def _note(self, aborted: wire.Table) -> None:
        """Count records of aborted transactions."""
        if not len(aborted):
            return
        self.uncommitted += self._records(aborted)
        if self.uncommitted_at < 0:
            self.uncommitted_at = max(int(aborted[0, wire.BASE]), self.have)

    def _records(self, rows: wire.Table) -> int:
        """Return how many offsets of batches lie in what was asked for."""
        first = np.maximum(rows[:, wire.BASE], self.have)
        last = np.minimum(rows[:, wire.LAST], self.end - 1)
        return int((last - first + 1).sum())

    def _nothing(self, said: Fetched) -> None:
        if self.have >= said.high_watermark >= 0:
            self._ends(said.high_watermark)
        elif self._undone is None and self.have >= said.last_stable >= 0:
            # Another transaction is open here. Our records after it count nevertheless, unless our
            # own transactions were not committed.
            client, writers = self._reader.client, self._only or []
            self._undone = undone(client, self._tp, self.have, writers) if writers[1:] else []

    def _aborted(self, said: Fetched) -> Iterable[tuple[int, int]]:
        if self._undone is None:
            return said.aborted
        return [(each.producer, each.first) for each in self._undone if each.marker >= self.have]

    def _out_of_range(self) -> None:
        """Handle offsets that retention has deleted, or a truncated log."""
        earliest = self._reader.admin.offsets.earliest([self._tp])[self._tp]
        latest = self._reader.admin.offsets.latest([self._tp])[self._tp]
        if self.have < earliest:
            self.log_start = earliest
            self.have = min(self.end, earliest)
        elif self.have > latest:
            self._ends(latest)

    def _ends(self, at: int) -> None:
        self.log_end = at
        self.have = self.end


def _of(ids: wire.Table, firsts: Sequence[ProducerId]) -> wire.Mask:
    """Return which producer ids are of a generation of some of generation 0."""
    low = np.array(firsts, np.int64)
    at = np.searchsorted(low, ids, "right") - 1
    found: wire.Mask = (at >= 0) & (ids - low[np.maximum(at, 0)] < GENERATIONS)
    return found


def _scan(chunk: Records) -> tuple[wire.Buffer, wire.Table]:
    """Find the batches of a response. Messages of old formats become batches of magic 2 first."""
    buffer, start, end = chunk.buffer, chunk.start, chunk.end
    if end - start > _MAGIC_AT and buffer[start + _MAGIC_AT] < wire.MAGIC:
        buffer = np.frombuffer(modernise(buffer[start:end].data), np.uint8)
        start, end = 0, len(buffer)
    return buffer, wire.scan(buffer, start, end)
