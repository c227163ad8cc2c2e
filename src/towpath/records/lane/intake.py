"""Turning fetched bytes of one partition into items of its queue. Pure.

A whole batch without holes is stamped in place and sent unopened, unless it is small: small batches
are joined. Any other batch is opened. Records that the target holds already are counted here
instead of being queued.
"""

from __future__ import annotations

from collections.abc import Sequence

from towpath.cluster.data.buffers import Frame
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import Mode, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch, BecomeMapped, Fill
from towpath.records.lane.progress import LaneProgress
from towpath.records.lane.queue import Queue
from towpath.records.lane.reshape import Cutter, open_row
from towpath.records.modes import taken
from towpath.records.passed import NotHereError
from towpath.records.standing import Standing
from towpath.wire import batch as wire
from towpath.wire.aborted import Aborted, AbortedTransactions
from towpath.wire.digest import Hashes, record_hashes
from towpath.wire.legacy import modernise


class Intake:
    """Turns fetched bytes into queue items, in the order of the source.

    Attributes:
        expected: The next source offset to take in.
        epoch: Leader epoch of the last batch that was taken in, -1 if unknown.
    """

    def __init__(
        self, progress: LaneProgress, queue: Queue, standing: Standing, cutter: Cutter
    ) -> None:
        self._work = progress.work
        self._progress, self._queue, self._cutter = progress, queue, cutter
        self.stand(standing)

    def stand(self, standing: Standing) -> None:
        """Continue from `standing`."""
        self.expected = standing.position.source
        self.epoch = standing.position.epoch
        self._sequence = standing.position.sequence
        self._passed, self._tail_end = standing.passed, standing.tail_end
        self._holes = 0

    @property
    def passes(self) -> bool:
        """Whether the target holds records that were not yet found at the source again."""
        return bool(self._passed)

    def stand_back(self, source: SourceOffset, epoch: int, sequence: int) -> None:
        """Continue from an earlier offset, from which on the queue was dropped.

        Args:
            source: The offset.
            epoch: The leader epoch before it, -1 if unknown.
            sequence: The sequence of the first dropped record, -1 if no record was dropped.
        """
        self._at(source, epoch)
        self._sequence = self._sequence if sequence < 0 else sequence
        self._holes = 0

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset, before any batch was taken in."""
        self._at(source, -1)

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Continue at another source offset. The records between are lost."""
        self._queue.put(BecomeMapped(self.expected, why))
        self._queue.put(Fill(self.expected, source, lost=True))
        if self._passed:
            self._settle()
        self._at(source, -1)

    def take(self, frame: Frame, start: int, end: int, aborted: Aborted = ()) -> None:
        """Queue the new batches in [start, end) of a frame.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were queued.
        """
        if start == end:
            return
        if frame.buffer[start + 16] < wire.MAGIC:
            self._take_old(frame, start, end, aborted)
            return
        try:
            table = wire.scan(frame.buffer, start, end)
        except CorruptBatchError as error:
            table = wire.scan(frame.buffer, start, start + error.at)
            self._take_new(frame, table, AbortedTransactions(aborted))
            raise
        self._take_new(frame, table, AbortedTransactions(aborted))

    def _take_new(self, frame: Frame, table: wire.Table, transactions: AbortedTransactions) -> None:
        at = 0
        while at < len(table) and not self._progress.stopped:
            plain = 0 if self._passed else wire.plain_prefix(table[at:], self.expected)
            if plain:
                self._send_on(frame, table[at : at + plain])
            else:
                self._take_odd(frame, table[at : at + 1], transactions)
            at += plain or 1

    def _take_old(self, frame: Frame, start: int, end: int, aborted: Aborted) -> None:
        """Take in messages of an old format as batches of the present one."""
        data = modernise(frame.view[start:end])
        newer = frame.instead(data)
        self.take(newer, 0, len(data), aborted)
        newer.release()

    def _at(self, expected: SourceOffset, epoch: int) -> None:
        self.expected, self.epoch = expected, epoch

    def _send_on(self, frame: Frame, table: wire.Table) -> None:
        """Queue whole batches without holes: small ones joined, others unopened."""
        producer = self._progress.producer
        for rows, small in self._cutter.runs(table):
            made = self._cutter.join(frame, rows, producer, self._sequence) if small else []
            for batch in made:
                self._queue.put(batch)
                self._advance(batch.count)
            if not made:
                self._send_unchanged(frame, rows)
        self._at(SourceOffset(int(table[-1, wire.LAST]) + 1), int(table[-1, wire.LEADER_EPOCH]))

    def _send_unchanged(self, frame: Frame, table: wire.Table) -> None:
        wire.stamp(frame.buffer, table, self._progress.producer, self._sequence)
        view = frame.buffer.data
        for position, length, base, last, count, _, _, time, epoch, crc in table.tolist():
            self._queue.put(
                Batch(
                    data=view[position : position + length],
                    frame=frame.hold(),
                    base=base,
                    end=last + 1,
                    count=count,
                    sequence=self._sequence,
                    crc=crc,
                    epoch=epoch,
                    time=time,
                )
            )
            self._advance(count)

    def _take_odd(self, frame: Frame, table: wire.Table, transactions: AbortedTransactions) -> None:
        row: list[int] = table[0].tolist()
        base, last = SourceOffset(row[wire.BASE]), row[wire.LAST]
        void = transactions.void(last, row[wire.ATTRIBUTES], row[wire.PRODUCER])
        if last < self.expected:
            return
        if base > self.expected:
            self._hole(base)
        if void:
            self._nothing_until(SourceOffset(last + 1), row[wire.LEADER_EPOCH])
        elif self._passed:
            self._pass_over(frame, row)
        elif base == self.expected and self._whole(row):
            self._send_on(frame, table)
        else:
            self._open(frame, row, self.expected)

    def _whole(self, row: Sequence[int]) -> bool:
        dense = row[wire.LAST] - row[wire.BASE] + 1 == row[wire.COUNT]
        by_clock = row[wire.ATTRIBUTES] & wire.LOG_APPEND_TIME
        return dense and (not by_clock or self._work.keep_append_time)

    def _hole(self, end: SourceOffset) -> None:
        """Queue the offsets before `end`, which compaction left empty."""
        if self._progress.mode is Mode.IDENTICAL and not self._may_fill(end - self.expected):
            fill = self._work.fill
            self._shift(Reason.of(ReasonCode.HOLES, first=self.expected, last=end - 1, fill=fill))
        self._nothing_until(end, -1, end - self.expected)

    def _may_fill(self, holes: int) -> bool:
        """Whether `holes` more offsets may be filled."""
        if not self._holes:
            self._holes = self._progress.holes + self._queue.holes
        self._holes += holes
        return self._holes <= self._work.fill

    def _shift(self, why: Reason) -> None:
        self._queue.put(BecomeMapped(self.expected, why))

    def _nothing_until(self, end: SourceOffset, epoch: int, holes: int = 0) -> None:
        progress = self._progress
        identical = progress.mode is Mode.IDENTICAL
        if identical and self._passed and self._passed.first < end:
            progress.become_mapped(taken(self._passed.first, self.expected))
        self._queue.put(Fill(self.expected, end, epoch, holes))
        self._at(end, epoch)
        if self._passed:
            self._settle()

    def _open(self, frame: Frame, row: Sequence[int], first: SourceOffset) -> None:
        end, epoch = SourceOffset(row[wire.LAST] + 1), row[wire.LEADER_EPOCH]
        made = self._opened(frame, row, first)
        held = sum(batch.count for batch in made)
        apart = held != end - first and self._progress.mode is Mode.IDENTICAL
        if apart and not self._may_fill(end - first - held):
            self._shift(Reason.of(ReasonCode.HOLES_IN_BATCH, offset=first, fill=self._work.fill))
            apart = False
        if apart:
            self._put_apart(frame, self._opened(frame, row, first, apart=True), first, end, epoch)
        elif made:
            for batch in made:
                batch.frame = frame.instead(batch.data)
                self._queue.put(batch)
        else:
            self._queue.put(Fill(self.expected, end, epoch))
        self._advance(held)
        self._at(end, epoch)

    def _opened(
        self, frame: Frame, row: Sequence[int], first: SourceOffset, *, apart: bool = False
    ) -> list[Batch]:
        producer, most = self._progress.producer, self._work.max_batch
        return open_row(frame.buffer, row, first, most, producer, self._sequence, apart=apart)

    def _put_apart(
        self,
        frame: Frame,
        made: Sequence[Batch],
        first: SourceOffset,
        end: SourceOffset,
        epoch: int,
    ) -> None:
        """Queue batches without holes, and fills for the holes between them."""
        for batch in made:
            batch.frame = frame.instead(batch.data)
            if batch.base > first:
                self._queue.put(Fill(first, batch.base, epoch, batch.base - first))
            first = batch.end = SourceOffset(batch.base + batch.count)
            self._queue.put(batch)
        if end > first:
            self._queue.put(Fill(first, end, epoch, end - first))

    def _advance(self, count: int) -> None:
        self._sequence = (self._sequence + count) % wire.SEQUENCES

    # Records that the target holds already

    def _pass_over(self, frame: Frame, row: Sequence[int]) -> None:
        """Count the records that an earlier copier wrote, and queue the rest of the batch."""
        end = row[wire.POSITION] + row[wire.LENGTH]
        batch = frame.buffer[row[wire.POSITION] : end].data
        held = record_hashes(batch, timed=self._passed.timed)
        try:
            self._pass(*self._fresh(*held))
        except NotHereError as error:
            self._progress.become_mapped(taken(error.first, self.expected))
            if self._progress.stopped:
                return
            self._pass(*self._fresh(*held))
        offsets, _ = self._fresh(*held)
        if self._progress.mode is Mode.IDENTICAL:
            self._rest(frame, row, any_record=bool(len(offsets)))
        elif len(offsets):
            first = SourceOffset(int(offsets[0]))
            self._progress.move(first, row[wire.LEADER_EPOCH])
            self._open(frame, row, first)
        else:
            self._at(SourceOffset(row[wire.LAST] + 1), row[wire.LEADER_EPOCH])
            self._progress.move(self.expected, self.epoch)

    def _rest(self, frame: Frame, row: Sequence[int], *, any_record: bool) -> None:
        """Queue the rest of a batch after the records that the target holds, if there is any."""
        end = SourceOffset(row[wire.LAST] + 1)
        if any_record:
            self._open(frame, row, self.expected)
        elif self.expected < end:
            self._hole(end)
        else:
            self._at(end, row[wire.LEADER_EPOCH])
            self._progress.move(self.expected, self.epoch)

    def _fresh(self, offsets: wire.Table, hashes: Hashes) -> tuple[wire.Table, Hashes]:
        fresh = offsets >= self.expected
        return offsets[fresh], hashes[fresh]

    def _pass(self, offsets: wire.Table, hashes: Hashes) -> None:
        """Count the leading records that the target holds."""
        identical = self._progress.mode is Mode.IDENTICAL
        for step in self._passed.match(offsets, hashes, identical=identical):
            self._progress.vanish(step.vanished)
            self._advance(step.vanished + step.count)
            if step.count and step.target < 0:
                self._progress.vanish(step.count)
            elif step.count:
                self._progress.note(step.source, step.target, step.count)
            if step.count:
                self.expected = SourceOffset(step.source + step.count)
        if not self._passed:
            self._progress.reach(self._tail_end)

    def _settle(self) -> None:
        """Apply the waiting items at once: they come before records that the target holds."""
        while self._queue.waiting and not self._progress.stopped:
            item = self._queue.waiting.popleft()
            if isinstance(item, BecomeMapped):
                self._progress.become_mapped(item.why)
            elif isinstance(item, Fill):
                self._progress.pass_fill(item)
