"""One partition on its way through a slice. Pure: batches in, batches out, acknowledgements in.

    bytes of batches --intake--> waiting --next_batch--> flying --acknowledge--> progress

Invariants: items keep source order; at most five batches fly, as brokers remember the last five
of a producer id (KIP-98); the first batch after opening, or after a while, flies alone, as a broker
that does not know the producer id (any more) takes any sequence, so a later batch would land where
the first was refused; progress moves only over what was acknowledged.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.produce import Produced
from towpath.model.nouns import Mode, Side, SourceOffset, TargetOffset
from towpath.model.reasons import Reason
from towpath.records.items import Batch, BecomeMapped, Fill, Stop, Wait
from towpath.records.lane.intake import Intake
from towpath.records.lane.progress import LaneProgress
from towpath.records.lane.queue import Queue
from towpath.records.lane.reshape import SMALL, Cutter
from towpath.records.standing import Standing, taken
from towpath.records.work import Assignment
from towpath.wire.aborted import Aborted

FLYING = 5
_REMEMBERED = 10.0
"""Seconds; brokers forget a producer id after `producer.id.expiration.ms`, a day by default."""
LANE_BYTES = 8 << 10
"""What a lane takes without any record in it: 5.7 KiB were counted of 1,000 that were just opened,
and something for requests that name it."""
_TOGETHER = 1000
"""Batches of one transaction, which fly one after the other."""


class Lane:
    """The way of one partition; see the module.

    Attributes:
        unanswered: Batches on their way whose answer did not come yet.
        refused: The first answer that was an error; nothing is sent until it is dealt with.
        overtaken: A batch was taken though one before it was refused: only the log tells now.
        lost: The connection was lost before all answers came.
        bases: Base offsets of taken batches, in order, that are not acknowledged yet.
        looked_to: Nothing of ours that is not counted lies before this target offset.
        busy: A blocking call (opening, fill) is under way for it, so nothing is sent.
        landed_time: Timestamp in ms of the last batch that landed, `None` before the first.
        openings: How often it was opened again; what was put off before is void then (`jobs`).
        failures: Errors in a row, for the back-off.
        writer: Who writes for it in transactions, if the target refuses our producer id.
        level: Gaps are filled where offsets are mapped, too, so that both sides stay as far apart
            as they are.
        cutter: Merges and splits what waits.
    """

    def __init__(self, work: Assignment, standing: Standing, small: int = SMALL) -> None:
        self.work = work
        self.source, self.source_id = work.source, work.source_id
        self.target, self.target_id = work.target, work.target_id
        self.queue = Queue()
        self.cutter = Cutter(self.queue, work.max_batch, small)
        self.progress = LaneProgress(work, standing)
        self._intake = Intake(self.progress, self.queue, standing)
        self.writer = standing.writer
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
        """Whether it moves no more in this round."""
        return self.progress.stopped

    @property
    def has_end(self) -> bool:
        """Whether the run ends where the source ended when it began."""
        return self.work.end is not None

    @property
    def held(self) -> int:
        """Bytes that are queued."""
        return self.queue.bytes

    @property
    def pending(self) -> bool:
        """Whether anything is queued."""
        return bool(self.queue)

    @property
    def fetch_epoch(self) -> int:
        """Leader epoch of the last batch taken in, or -1."""
        return self._intake.epoch

    def resume(self, standing: Standing) -> None:
        """Go on from `standing`; everything queued is dropped, to be fetched again."""
        self.queue.clear()
        self.unanswered, self.refused = 0, None
        self.overtaken = self.lost = False
        self.bases.clear()
        self.progress.resume(standing)
        self._intake.stand(standing)
        self.writer = standing.writer
        self._landed = -_REMEMBERED

    @property
    def untouched(self) -> bool:
        """Whether no record was copied yet, by any run, and none is on its way."""
        progress = self.progress
        done = progress.records or self.queue or self._intake.passes
        return not done and self.expected == progress.position.source

    @property
    def begins_later(self) -> bool:
        """Whether it may begin at a later offset, as no record was copied or skipped."""
        return self.work.from_earliest and self.untouched

    def begin_at(self, source: SourceOffset) -> None:
        """Begin at another source offset; for lanes that are `untouched`."""
        self.progress.begin_at(source)
        self._intake.begin_at(source)

    def jump(self, source: SourceOffset, why: Reason) -> None:
        """Go on at another source offset; the records between cannot be had."""
        self._intake.jump(source, why)

    def shed(self) -> bool:
        """Give back the memory of what was not sent; return whether it is to be fetched again."""
        if self.busy or self._intake.passes or self.progress.stopped:
            return False
        first, sequence = self.queue.shed()
        if first is not None:
            last = self.queue.waiting[-1] if self.queue.waiting else None
            behind = None if last or self.queue.flying else self.progress.position
            self._intake.stand_back(first.base, behind.epoch if behind else -1, sequence)
        self.queue.unpin()
        return first is not None

    def take(self, frame: Frame, start: int, end: int, aborted: Aborted = ()) -> None:
        """Queue the batches at [start, end) of a frame that are new; they are stamped in place.

        Raises:
            CorruptBatchError: The batch at `expected` is none; those before it were queued.
        """
        self._intake.take(frame, start, end, aborted)
        if self.refused is None and self.progress.relieve(Side.SOURCE):
            self.failures = 0

    def again(self, error: int) -> int:
        """Count how often in a row, with nothing landed between, the target said `error`."""
        last, times = self._answer
        self._answer = (error, times + 1 if error == last else 1)
        return self._answer[1]

    def look(self, offset: SourceOffset) -> int:
        """Count how often in a row what came from the source at `offset` was damaged."""
        last, times = self._looked
        self._looked = (offset, times + 1 if offset == last else 1)
        return self._looked[1]

    @property
    def doubted(self) -> int:
        """The source offset at which damage was seen last, -1 if none was seen."""
        return self._looked[0]

    def hinder(self, side: Side, why: Reason) -> None:
        """Tell what keeps the partition from moving now, until `side` works again."""
        self.progress.hinder(side, why)

    def relieve(self, side: Side) -> None:
        """Take back the trouble with a side that works again."""
        self.progress.relieve(side)

    def stop(self, why: Reason) -> None:
        """Move no more in this round."""
        self.progress.stop(why)
        self.queue.drop_waiting()

    def end(self, why: Reason) -> None:
        """Stop behind what is queued: the source has nothing more, and may have that no more."""
        if self.queue:
            self.queue.put(Stop(why))
        else:
            self.stop(why)

    # Sending

    def next_batch(self) -> Batch | None:
        """Return the next batch to send, which flies from now on; `None` when nothing may fly."""
        waiting, flying = self.queue.waiting, self.queue.flying
        while waiting and self._may_send and len(flying) < self._most:
            head = waiting[0]
            if isinstance(head, Batch):
                return self._fly()
            if isinstance(head, Fill) and not self._takes_offsets(head):
                flying.append(head)
                waiting.popleft()
                self._land_fills()
            elif isinstance(head, Wait) and head.over:
                waiting.popleft()
            elif isinstance(head, BecomeMapped) and not flying:
                waiting.popleft()
                self.progress.become_mapped(head.why)
            elif isinstance(head, Stop) and not flying:
                self.stop(head.why)
            else:
                return None
        return None

    @property
    def _most(self) -> int:
        """How many batches may fly."""
        if self.writer is not None:
            return _TOGETHER
        if self._doubtful:
            return 1
        return FLYING if time.monotonic() - self._landed < _REMEMBERED else 1

    @property
    def _doubtful(self) -> bool:
        """Whether the target is likely to refuse a batch for its size: that one flies alone."""
        near = [*self.queue.flying, self.queue.waiting[0]]
        return any(isinstance(item, Batch) and item.size > self.work.max_batch for item in near)

    def send_again(self) -> None:
        """Send everything that flies again, now that every answer is in."""
        self.queue.send_again()
        self.unanswered, self.refused = 0, None
        self.overtaken = False

    @property
    def _may_send(self) -> bool:
        return not (self.refused or self.lost or self.progress.stopped or self.busy)

    def _fly(self) -> Batch:
        self.cutter.merge_head(self.progress.producer, together=self.writer is not None)
        batch = self.queue.waiting.popleft()
        assert isinstance(batch, Batch)  # noqa: S101  # by `next_batch`
        batch.sent = True
        self.queue.flying.append(batch)
        self.unanswered += 1
        return batch

    @property
    def drains(self) -> bool:
        """Whether what is queued is on its way, or will be soon."""
        progress = self.progress
        stuck = progress.stopped or progress.hindered_by(Side.TARGET)
        return bool(self.queue) and not stuck

    @property
    def fill_due(self) -> Fill | None:
        """The fill that must be done before anything else may be sent."""
        return self.next_fill if self._may_send else None

    @property
    def next_fill(self) -> Fill | None:
        """The fill at the head of the queue, everything before it being acknowledged."""
        head = self.queue.waiting[0] if self.queue.waiting and not self.queue.flying else None
        return head if isinstance(head, Fill) and self._takes_offsets(head) else None

    def _takes_offsets(self, fill: Fill) -> bool:
        """Whether a gap takes as many offsets on the target."""
        if self.progress.mode is Mode.IDENTICAL:
            return True
        return self.level and self.writer is None and not (fill.holes or fill.lost)

    # Acknowledging

    def ahead(self, base_offset: TargetOffset) -> int:
        """Return by how many offsets a batch landed behind the place where it should have.

        A negative number means that the target log has become shorter.
        """
        if self.progress.mode is Mode.MAPPED:
            return base_offset - self.progress.position.target
        batch = self.queue.flying[0]
        return base_offset - (batch.base if isinstance(batch, Batch) else base_offset)

    def acknowledge(self, base_offset: TargetOffset) -> None:
        """The first flying batch lies on the target from `base_offset` on."""
        batch = self.queue.flying.pop(0)
        assert isinstance(batch, Batch)  # noqa: S101  # fills land at once
        if self.progress.mode is Mode.IDENTICAL and base_offset != TargetOffset(batch.base):
            self.progress.become_mapped(taken(base_offset, batch.base))
        self._landed, self.landed_time = time.monotonic(), batch.time
        self._answer = (0, 0)
        self.progress.add(batch, base_offset)
        self.queue.done(batch)
        self._land_fills()

    def landed(self, base_offsets: Iterable[TargetOffset]) -> None:
        """The flying batches were committed, each from its base offset on."""
        for base_offset in base_offsets:
            self.unanswered -= 1
            self.acknowledge(base_offset)

    def filled(self, end: SourceOffset) -> None:
        """The due fill is in the target's log up to `end`; it may have grown since it was due."""
        fill = self.queue.waiting.popleft()
        assert isinstance(fill, Fill)  # noqa: S101  # `fill_due` said so
        if fill.end > end:
            fill, rest = fill.cut(end)
            self.queue.waiting.appendleft(rest)
        self.progress.pass_fill(fill, taken=True)

    def _land_fills(self) -> None:
        flying = self.queue.flying
        while flying and isinstance(fill := flying[0], Fill):
            flying.pop(0)
            self.progress.pass_fill(fill)
