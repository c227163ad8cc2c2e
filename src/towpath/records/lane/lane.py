"""The lane of one partition: fetched batches in, batches to send out, answers in. Pure.

    bytes of batches --intake--> waiting --next_batch--> in_flight --acknowledge--> progress

Invariants:

- Items keep the order of the source.
- At most five batches are in flight: brokers remember the last five of a producer id (KIP-98).
- The first batch after an opening, or after a pause, is in flight alone. A broker without producer
  state for our id accepts any sequence, so if it refused the first batch, a second one would be
  appended in its place.
- Progress moves only over acknowledged batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.produce import Produced
from towpath.model.nouns import Mode, Side, SourceOffset, TargetOffset
from towpath.model.reasons import Reason
from towpath.records.change_services import NOTHING, ChangeServices
from towpath.records.items import Batch, BecomeMapped, Fill, Stop, Wait
from towpath.records.lane.intake import Intake
from towpath.records.lane.progress import LaneProgress
from towpath.records.lane.queue import Queue
from towpath.records.lane.reshape import SMALL, Cutter
from towpath.records.modes import why_taken
from towpath.records.standing import Standing
from towpath.records.work import Assignment
from towpath.wire.aborted import Aborted

_IN_FLIGHT = 5
_REMEMBERED = 10.0
"""Seconds after an acknowledgement for which the broker surely has producer state for our id. It
expires after `producer.id.expiration.ms`, a day by default."""
LANE_BYTES = 8 << 10
"""Memory of a lane without records: 5.7 KiB were measured with 1,000 lanes that had just been
opened; the rest is for requests that name its partition."""
_TOGETHER = 1000
"""Upper bound on the batches in flight in a transaction."""


class Lane:
    """A partition's lane between its source leader and its target leader.

    Attributes:
        unanswered: Number of batches in flight that the target has not answered.
        refused: The first answer with an error. Nothing is sent until the error is handled.
        overtaken: A batch was appended after one before it was refused, so that only the target
            log tells where the partition stands.
        lost: The connection was lost before all answers came.
        bases: Base offsets of appended batches, in order, that are not acknowledged here yet.
        looked_to: All records of this link before this target offset are counted.
        busy: A blocking call (an opening, a fill) is running for the lane, so nothing is sent.
        landed_time: Timestamp in ms of the last acknowledged batch, `None` before the first.
        openings: How often the lane was opened again. An opening cancels the jobs put off before
            it (`jobs`).
        failures: Number of errors in a row, for the back-off.
        writer: Writes in transactions, if the target refuses our producer id.
        passed_over: Gaps behind which copying has been decided to go on.
        level: Fill gaps of a mapped partition too, so that the distance between source and target
            offsets stays the same.
        cutter: Merges and splits waiting batches.
    """

    def __init__(
        self,
        work: Assignment,
        standing: Standing,
        small: int = SMALL,
        outside: ChangeServices = NOTHING,
    ) -> None:
        self.work = work
        self.source, self.source_id = work.source, work.source_id
        self.target, self.target_id = work.target, work.target_id
        self.queue = Queue()
        self.cutter = Cutter(self.queue, work.max_batch, small)
        self.progress = LaneProgress(work, standing)
        self._intake = Intake(self.progress, self.queue, standing, self.cutter, outside)
        self.writer = standing.writer
        self.passed_over = standing.passed_over
        self.level = work.fill > 0
        self.unanswered = 0
        self.refused: Produced | None = None
        self.overtaken = self.lost = False
        self.bases: list[TargetOffset] = []
        self.looked_to = TargetOffset(0)
        self.busy = False
        self.openings = 0
        self.failures = 0
        self.landed_time: int | None = None
        self._landed = -_REMEMBERED
        self._answer = (0, 0)
        self._looked = (-1, 0)

    @property
    def expected(self) -> SourceOffset:
        """The next source offset to fetch."""
        return self._intake.expected

    @property
    def stopped(self) -> bool:
        """Whether the lane has stopped for the rest of the round."""
        return self.progress.stopped

    @property
    def has_end(self) -> bool:
        """Whether the lane ends at a fixed source offset, where the run began."""
        return self.work.end is not None

    @property
    def outdated(self) -> bool:
        """Whether the lane must be opened anew, as the file has another change of records now."""
        return self._intake.outdated

    @property
    def holds(self) -> bool:
        """Whether the lane takes nothing in now, so that fetching for it is useless."""
        return self._intake.holds

    @property
    def held(self) -> int:
        """Size of the queue, in bytes."""
        return self.queue.bytes

    @property
    def pending(self) -> bool:
        """Whether the queue holds anything."""
        return bool(self.queue)

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch that was taken in, -1 if unknown."""
        return self._intake.epoch

    def taken_after(self, epoch: int) -> SourceOffset:
        """Return the first offset taken in from a later leader epoch, else `expected`."""
        return SourceOffset(self._intake.epochs.after(epoch, self.expected))

    def resume(self, standing: Standing) -> None:
        """Continue from `standing`. The queue is dropped, to be fetched again."""
        self.queue.clear()
        self.unanswered, self.refused = 0, None
        self.overtaken = self.lost = False
        self.bases.clear()
        self.progress.resume(standing)
        self._intake.stand(standing)
        self.writer = standing.writer
        self.passed_over = standing.passed_over
        self._landed = -_REMEMBERED

    @property
    def untouched(self) -> bool:
        """Whether no run has copied a record yet, and none is queued."""
        progress = self.progress
        done = progress.records or self.queue or self._intake.passes
        return not done and self.expected == progress.position.source

    @property
    def begins_later(self) -> bool:
        """Whether the lane may begin at a later offset: no record was copied or skipped."""
        return self.work.from_earliest and self.untouched

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset. Only for `untouched` lanes."""
        self.progress.begin_at(source)
        self._intake.begin_at(source)

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Continue at another source offset. The records between are lost."""
        self._intake.jump(source, why)

    def shed(self) -> bool:
        """Free the memory of unsent batches. Returns whether they must be fetched again."""
        if self.busy or self._intake.passes or self.progress.stopped:
            return False
        first, sequence = self.queue.shed()
        if first is not None:
            last = self.queue.waiting[-1] if self.queue.waiting else None
            behind = None if last or self.queue.in_flight else self.progress.position
            self._intake.stand_back(first.begin, behind.epoch if behind else -1, sequence)
        self.queue.unpin()
        return first is not None

    def take(self, frame: Frame, start: int, end: int, aborted: Aborted = ()) -> None:
        """Queue the new batches in [start, end) of a frame. They are stamped in place.

        Raises:
            CorruptBatchError: The batch at `expected` is damaged; those before it were queued.
        """
        self._intake.take(frame, start, end, aborted)
        if self.refused is None and self.progress.relieve(Side.SOURCE):
            self.failures = 0

    def again(self, error: int) -> int:
        """Count consecutive answers with the same error, without an append between them."""
        last, times = self._answer
        self._answer = (error, times + 1 if error == last else 1)
        return self._answer[1]

    def look(self, offset: SourceOffset) -> int:
        """Return how often in a row the batch fetched at `offset` was damaged."""
        last, times = self._looked
        self._looked = (offset, times + 1 if offset == last else 1)
        return self._looked[1]

    @property
    def doubted(self) -> int:
        """The source offset of the last damaged batch, -1 if there was none."""
        return self._looked[0]

    def hinder(self, side: Side, why: Reason) -> None:
        """Record what keeps the partition from moving until `side` works again."""
        self.progress.hinder(side, why)

    def relieve(self, side: Side) -> None:
        """Clear the trouble of a side that works again."""
        self.progress.relieve(side)

    def stop(self, why: Reason) -> None:
        """Stop the lane for the rest of the round."""
        self.progress.stop(why)
        self.queue.drop_waiting()

    def end(self, why: Reason) -> None:
        """Stop the lane after its queue: the source has nothing more to fetch."""
        if self.queue:
            self.queue.put(Stop(why))
        else:
            self.stop(why)

    # Sending

    def next_batch(self) -> Batch | None:
        """Return the next batch to send, now counted as in flight; `None` if there is none."""
        self.pass_over()
        head = self.queue.waiting[0] if self._may_take else None
        return self._send() if isinstance(head, Batch) else None

    def pass_over(self) -> None:
        """Remove leading queue items that occupy no offset on the target."""
        waiting, in_flight = self.queue.waiting, self.queue.in_flight
        while self._may_take:
            head = waiting[0]
            if isinstance(head, Fill) and not self._takes_offsets(head):
                in_flight.append(head)
                waiting.popleft()
                self._land_fills()
            elif isinstance(head, Wait) and head.over:
                waiting.popleft()
            elif isinstance(head, BecomeMapped) and not in_flight:
                waiting.popleft()
                self.progress.become_mapped(head.why)
            elif isinstance(head, Stop) and not in_flight:
                self.stop(head.why)
            else:
                return

    @property
    def _may_take(self) -> bool:
        """Whether the head of the queue may be sent or passed over now."""
        queue = self.queue
        return bool(queue.waiting) and self._may_send and len(queue.in_flight) < self._most

    @property
    def _most(self) -> int:
        """Upper bound on the batches in flight."""
        if self.writer is not None:
            return _TOGETHER
        if self._doubtful:
            return 1
        return _IN_FLIGHT if time.monotonic() - self._landed < _REMEMBERED else 1

    @property
    def _doubtful(self) -> bool:
        """Whether the target is likely to refuse a batch as too large: it is sent alone."""
        near = [*self.queue.in_flight, self.queue.waiting[0]]
        return any(isinstance(item, Batch) and item.size > self.work.max_batch for item in near)

    def send_again(self) -> None:
        """Send all batches in flight again, once all answers have come."""
        self.queue.send_again()
        self.unanswered, self.refused = 0, None
        self.overtaken = False

    @property
    def _may_send(self) -> bool:
        return not (self.refused or self.lost or self.progress.stopped or self.busy)

    def _send(self) -> Batch:
        self.cutter.merge_head(self.progress.producer, together=self.writer is not None)
        batch = self.queue.waiting.popleft()
        assert isinstance(batch, Batch)  # noqa: S101  # by `next_batch`
        batch.sent = True
        self.queue.in_flight.append(batch)
        self.unanswered += 1
        return batch

    @property
    def drains(self) -> bool:
        """Whether the queue is being sent, or will be soon."""
        progress = self.progress
        stuck = progress.stopped or progress.hindered_by(Side.TARGET)
        return bool(self.queue) and not stuck

    @property
    def fill_due(self) -> Fill | None:
        """The fill that must be done before anything else is sent."""
        return self.next_fill if self._may_send else None

    @property
    def next_fill(self) -> Fill | None:
        """The fill at the head of the queue, if everything before it is acknowledged."""
        head = self.queue.waiting[0] if self.queue.waiting and not self.queue.in_flight else None
        return head if isinstance(head, Fill) and self._takes_offsets(head) else None

    def _takes_offsets(self, fill: Fill) -> bool:
        """Whether a gap takes the same number of offsets on the target."""
        if self.progress.mode is Mode.IDENTICAL:
            return True
        return self.level and self.writer is None and not (fill.holes or fill.lost)

    # Acknowledging

    def ahead(self, base_offset: TargetOffset) -> int:
        """Return the offsets between where a batch was appended and where it was expected.

        A negative number means that the target log has become shorter.
        """
        if self.progress.mode is Mode.MAPPED:
            return base_offset - self.progress.position.target
        batch = self.queue.in_flight[0]
        return base_offset - (batch.base if isinstance(batch, Batch) else base_offset)

    def acknowledge(self, base_offset: TargetOffset) -> None:
        """Acknowledge the first batch in flight, appended at `base_offset`."""
        batch = self.queue.in_flight.pop(0)
        assert isinstance(batch, Batch)  # noqa: S101  # fills land at once
        if self.progress.mode is Mode.IDENTICAL and base_offset != TargetOffset(batch.base):
            self.progress.become_mapped(why_taken(base_offset, batch.base))
        self._landed, self.landed_time = time.monotonic(), batch.time
        self._answer = (0, 0)
        self.progress.add(batch, base_offset)
        self.queue.done(batch)
        self._land_fills()

    def landed(self, base_offsets: Iterable[TargetOffset]) -> None:
        """Acknowledge the batches of a committed transaction, with their base offsets."""
        for base_offset in base_offsets:
            self.unanswered -= 1
            self.acknowledge(base_offset)

    def filled(self, end: SourceOffset) -> None:
        """Acknowledge the due fill, which the target log holds up to `end`.

        The fill may have grown since it was due.
        """
        fill = self.queue.waiting.popleft()
        assert isinstance(fill, Fill)  # noqa: S101  # `fill_due` said so
        if fill.end > end:
            fill, rest = fill.cut(end)
            self.queue.waiting.appendleft(rest)
        self.progress.pass_fill(fill, taken=True)

    def _land_fills(self) -> None:
        in_flight = self.queue.in_flight
        while in_flight and isinstance(fill := in_flight[0], Fill):
            in_flight.pop(0)
            self.progress.pass_fill(fill)
