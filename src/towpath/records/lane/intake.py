"""Conversion of a partition's fetched bytes into items of its queue. Pure.

A whole batch without holes is stamped in place and sent unopened, unless it is small: small batches
are joined. Any other batch is opened, and so is each batch whose records are changed. Records that
the target holds already are counted here instead of being queued.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from towpath.cluster.data.buffers import Frame
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import Mode, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.change_services import ChangeServices
from towpath.records.epochs import EpochStarts
from towpath.records.items import Batch, BecomeMapped, Fill, Wait
from towpath.records.lane.change import LaneChange
from towpath.records.lane.found import Found
from towpath.records.lane.progress import LaneProgress
from towpath.records.lane.queue import Queue
from towpath.records.lane.reshape import (
    Cutter,
    SourceStretch,
    deal,
    opened_rows,
    stamped_records,
)
from towpath.records.lane.twin import LaneTwin
from towpath.records.modes import why_taken
from towpath.records.standing import Standing
from towpath.wire import batch as wire
from towpath.wire.aborted import Aborted, AbortedTransactions
from towpath.wire.digest import opened_hashes
from towpath.wire.legacy import modernise
from towpath.wire.opened import OpenedBatches
from towpath.wire.tally import NOTHING_DONE, OffsetTally

if TYPE_CHECKING:
    from towpath.wire.change import ChangedRecords


class Intake:
    """Turns fetched bytes into queue items, in the order of the source.

    Attributes:
        expected: The next source offset to take in.
        epoch: Leader epoch of the last batch that was taken in, -1 if unknown.
        epochs: Where the leader epochs began of what was taken in.
    """

    def __init__(
        self,
        progress: LaneProgress,
        queue: Queue,
        standing: Standing,
        cutter: Cutter,
        outside: ChangeServices,
    ) -> None:
        self._work = progress.work
        self._progress, self._queue, self._cutter = progress, queue, cutter
        self._changing = LaneChange(progress.work, outside)
        self._twin = LaneTwin(progress.work, outside)
        self.epochs = EpochStarts()
        self._found = Found(progress, standing)
        self.stand(standing)

    def stand(self, standing: Standing) -> None:
        """Continue from the position in `standing`."""
        self.expected = standing.position.source
        self.epoch = standing.position.epoch
        self._sequence = standing.position.sequence
        self._found.stand(standing)
        self._holes = 0
        self._apart = False
        self._changing.stand(standing)
        self._outdated = standing.change.digest != self._work.change.digest
        self._wait: Wait | None = None
        self._halted = False

    @property
    def passes(self) -> bool:
        """Whether the target holds records not yet fetched again from the source."""
        return bool(self._found)

    @property
    def outdated(self) -> bool:
        """Whether all records copied under an earlier change are taken in."""
        return self._outdated and not self._found

    @property
    def holds(self) -> bool:
        """Whether the intake is paused."""
        waits = self._wait is not None and not self._wait.over
        return waits or self._halted or self.outdated

    def stand_back(self, source: SourceOffset, epoch: int, sequence: int) -> None:
        """Continue from an earlier offset, as the queue was dropped from there on.

        Args:
            source: The offset.
            epoch: The leader epoch before it, -1 if unknown.
            sequence: The sequence of the first dropped record, -1 if no record was dropped.
        """
        self._at(source, epoch)
        self._sequence = self._sequence if sequence < 0 else sequence
        self._holes = 0
        self._halted = False

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset, before any batch was taken in."""
        self._at(source, -1)

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Continue at another source offset. The records between are lost."""
        self._queue.put(BecomeMapped(self.expected, why))
        self._queue.put(Fill(self.expected, source, lost=True))
        if self._found:
            self._settle()
        if source < self.expected:
            self.epochs.forget()
        self._at(source, -1)

    def take(self, frame: Frame, start: int, end: int, aborted: Aborted = ()) -> None:
        """Queue the new batches in [start, end) of a frame.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were queued.
        """
        if start == end or self.holds:
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
        self.epochs.saw(table)
        writers, at = self._twin.sort(table, self.expected), 0
        table = writers.table
        while at < len(table) and not (self._progress.stopped or self.holds):
            clients = writers.clients_until(at)
            plain = 0 if self._found else wire.plain_prefix(table[at:clients], self.expected)
            if plain:
                self._send_on(frame, table[at : at + plain])
            else:
                row = table[at : at + 1]
                self._take_odd(frame, row, transactions, skip=clients == at)
            at += plain or 1
        if writers.unknown and not (self._progress.stopped or self.holds):
            self._wait = self._twin.wait(self.expected, writers.unknown)
            self._queue.put(self._wait)

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
        if self._changing.concerns(table):
            self._send_changed(frame, table)
            return
        producer = self._progress.producer
        for rows, small in self._cutter.runs(table):
            made = self._cutter.join(frame, rows, producer, self._sequence) if small else []
            for batch in made:
                self._queue.put(batch)
                self._advance(batch.count)
            if not made:
                self._send_unchanged(frame, rows)
        self._at(SourceOffset(int(table[-1, wire.LAST]) + 1), int(table[-1, wire.LEADER_EPOCH]))

    def _send_changed(self, frame: Frame, table: wire.Table) -> None:
        """Queue whole batches without holes, with changed records: small ones joined."""
        for rows, small in self._cutter.runs(table):
            room = small and frame.room >= int(rows[:, wire.LENGTH].sum())
            try:
                parts = [rows] if room else _each(rows)
                self._change_all(frame, parts)
            except CorruptBatchError:
                if len(rows) == 1 or not room:
                    raise
                self._change_all(frame, _each(rows))

    def _change_all(self, frame: Frame, parts: Iterable[wire.Table]) -> None:
        for rows in parts:
            if not self.holds:
                self._open(frame, rows, self.expected)

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

    def _take_odd(
        self, frame: Frame, table: wire.Table, transactions: AbortedTransactions, *, skip: bool
    ) -> None:
        row: list[int] = table[0].tolist()
        base, last = SourceOffset(row[wire.BASE]), row[wire.LAST]
        void = transactions.void(last, row[wire.ATTRIBUTES], row[wire.PRODUCER])
        if last < self.expected:
            return
        if base > self.expected:
            self._hole(base)
        if skip:
            self._leave_to_twin(row)
        elif void:
            self._nothing_until(SourceOffset(last + 1), row[wire.LEADER_EPOCH])
        elif self._found:
            self._pass_over(frame, table)
        elif base == self.expected and self._whole(row):
            self._send_on(frame, table)
        else:
            self._open(frame, table, self.expected)

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

    def _leave_to_twin(self, row: list[int]) -> None:
        """Leave out a batch of the twin. It takes no offset on the target.

        If it did, the filler would be in the source of the twin, which would fill in turn.
        """
        if self._progress.mode is Mode.IDENTICAL and not self._apart:
            self._shift(Reason.of(ReasonCode.TWO_WAYS))
            self._apart = True
        end = SourceOffset(row[wire.LAST] + 1)
        tally = self._twin.tally(row)
        self._nothing_until(end, row[wire.LEADER_EPOCH], end - self.expected, tally)

    def _nothing_until(
        self, end: SourceOffset, epoch: int, holes: int = 0, tally: OffsetTally = NOTHING_DONE
    ) -> None:
        progress = self._progress
        identical = progress.mode is Mode.IDENTICAL
        if identical and self._found and self._found.first < end:
            progress.become_mapped(why_taken(self._found.first, self.expected))
        self._queue.put(Fill(self.expected, end, epoch, holes, tally=tally))
        self._at(end, epoch)
        if self._found:
            self._settle()

    # Batches that are opened

    def _open(self, frame: Frame, table: wire.Table, first: SourceOffset) -> None:
        """Queue the records of batches from offset `first` on, changed if they must be."""
        end, epoch = SourceOffset(int(table[-1, wire.LAST]) + 1), int(table[-1, wire.LEADER_EPOCH])
        source = opened_rows(frame.buffer, table)
        if not self._changing.concerns(table):
            self._put(frame, source, SourceStretch(first, end, epoch))
            return
        changed = self._changing.apply(source, first)
        if changed.unknown:
            self._await_ids(changed)
            return
        stop = self._changing.stop(changed)
        end = end if stop is None else SourceOffset(stop[0])
        where = SourceStretch(first, end, epoch, joined=len(table) > 1)
        wait = self._changing.wait_for_quarantine(changed)
        if wait is not None:
            self._queue.put(wait)
        if where.end > self.expected:
            self._put(frame, changed.opened, where, changed.tally.between(first, end))
        if stop is not None:
            self._queue.put(stop[1])
            self._halted = True

    def _await_ids(self, changed: ChangedRecords) -> None:
        """Take in nothing more before it is decided what becomes of unknown ids."""
        self._wait = self._changing.wait_for_ids(changed)
        self._queue.put(self._wait)

    def _put(
        self,
        frame: Frame,
        source: OpenedBatches,
        where: SourceStretch,
        tally: OffsetTally = NOTHING_DONE,
    ) -> None:
        """Queue the records of a stretch, and fills for the holes between them."""
        made = self._stamped(source, where)
        held = sum(batch.count for batch in made)
        left = where.end - where.first - held
        apart = bool(left) and self._progress.mode is Mode.IDENTICAL
        if apart and not self._may_fill(left):
            fill = self._work.fill
            self._shift(Reason.of(ReasonCode.HOLES_IN_BATCH, offset=where.first, fill=fill))
            apart = False
        if apart:
            self._put_apart(frame, self._stamped(source, where, apart=True), where, tally)
        elif made:
            deal(tally, made)
            made[0].dropped_from = where.first
            for batch in made:
                batch.frame = frame.instead(batch.data)
                self._queue.put(batch)
        else:
            # Markers that keep the distance of mapped offsets are for transactions alone.
            holes = left if self._changing.always else 0
            self._queue.put(Fill(self.expected, where.end, where.epoch, holes, tally=tally))
        self._advance(held)
        self._at(where.end, where.epoch)

    def _stamped(
        self, source: OpenedBatches, where: SourceStretch, *, apart: bool = False
    ) -> list[Batch]:
        producer = self._progress.producer
        most = self._cutter.merged if where.joined else self._work.max_batch
        return stamped_records(source, where, most, producer, self._sequence, apart=apart)

    def _put_apart(
        self, frame: Frame, made: Sequence[Batch], where: SourceStretch, tally: OffsetTally
    ) -> None:
        """Queue batches without holes, and fills for the holes between them."""
        first, epoch = where.first, where.epoch
        for batch in made:
            batch.frame = frame.instead(batch.data)
            if batch.base > first:
                self._put_hole(first, batch.base, epoch, tally)
            first = batch.end = SourceOffset(batch.base + batch.count)
            batch.tally = tally.between(batch.base, first)
            self._queue.put(batch)
        if where.end > first:
            self._put_hole(first, where.end, epoch, tally)

    def _put_hole(
        self, first: SourceOffset, end: SourceOffset, epoch: int, tally: OffsetTally
    ) -> None:
        self._queue.put(Fill(first, end, epoch, end - first, tally=tally.between(first, end)))

    def _advance(self, count: int) -> None:
        self._sequence = (self._sequence + count) % wire.SEQUENCES

    # Records that the target holds already

    def _pass_over(self, frame: Frame, table: wire.Table) -> None:
        """Count the records that an earlier copier wrote, and queue the rest of the batch."""
        source, begun = opened_rows(frame.buffer, table), self.expected
        changes, made, done = self._changing.concerns(table), source, NOTHING_DONE
        if changes:
            changed = self._changing.apply(source, begun)
            if changed.unknown:
                self._await_ids(changed)
                return
            made, done = changed.opened, changed.tally
        timed = self._found.timed
        offsets, hashes = opened_hashes(made, timed=timed)
        others = (opened_hashes(each, timed=timed) for each in self._changing.others(source, begun))
        hashes = self._found.reconcile(offsets, hashes, others)
        self.expected, count = self._found.count(offsets, hashes, begun)
        self._advance(count)
        if self._progress.stopped:
            return
        more = bool(len(offsets)) and int(offsets[-1]) >= self.expected
        rest = self.outdated or more or not self._found
        until = self.expected if rest else SourceOffset(int(table[0, wire.LAST]) + 1)
        self._progress.count(done.between(begun, until))
        self._rest(frame, table, any_record=more, changes=changes)

    def _rest(self, frame: Frame, table: wire.Table, *, any_record: bool, changes: bool) -> None:
        """Queue the rest of a batch after the records that the target holds, if there is any."""
        end, epoch = SourceOffset(int(table[0, wire.LAST]) + 1), int(table[0, wire.LEADER_EPOCH])
        if self.outdated:
            self._progress.move(self.expected, epoch)
        elif any_record or (changes and not self._found and self.expected < end):
            self._progress.move(self.expected, epoch)
            self._open(frame, table, self.expected)
        elif self._progress.mode is Mode.IDENTICAL and self.expected < end:
            self._progress.move(self.expected, epoch)
            self._hole(end)
        else:
            self._at(end, epoch)
            self._progress.move(self.expected, self.epoch)

    def _settle(self) -> None:
        """Apply the waiting items at once: they come before records that the target holds."""
        while self._queue.waiting and not self._progress.stopped:
            item = self._queue.waiting.popleft()
            if isinstance(item, BecomeMapped):
                self._progress.become_mapped(item.why)
            elif isinstance(item, Fill):
                self._progress.pass_fill(item)
            elif isinstance(item, Wait):
                item.over = True  # nobody asks again; if it is still due, a new one is queued


def _each(table: wire.Table) -> list[wire.Table]:
    """Return a table for each row."""
    return [table[at : at + 1] for at in range(len(table))]
