"""The log start of new mirror partitions: filled up to the source's log start, then cut.

The log of a new partition is filled with records up to its first source offset, then these are
deleted with DeleteRecords. A compacted topic accepts neither DeleteRecords nor records without
keys. There the front is filled with markers, which no consumer sees and the cleaner removes.

One filler batch at a time is written for each partition, in the reactor's pool, so that a long
front delays neither other partitions nor receipts. Filler batches have an idempotent producer id of
their own and the same sequences for every copier, so a second copier appends nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from towpath.cluster.admin import Admin
from towpath.model.errors import TowpathError
from towpath.model.nouns import TargetOffset
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.lane.lane import Lane
from towpath.records.target.marking import Due, MarkerFiller
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms
from towpath.wire import batch as wire
from towpath.wire.filler import LARGEST, filler


class LogStarts:
    """Fills new partitions up to the source's log start before anything else is written."""

    def __init__(
        self,
        jobs: Jobs,
        target: Admin,
        clients: ClientPool,
        markers: MarkerFiller,
        *,
        on_filled: Callable[[Lane], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._jobs, self._target, self._clients = jobs, target, clients
        self._markers = markers
        self._on_filled, self._on_failed = on_filled, on_failed

    def go(self, lane: Lane, at: TargetOffset) -> None:
        """Fill the target log from its end `at` up to the lane's position, then cut it there."""
        self.fill(lane, at, lane.progress.position.target, self._on_filled)

    def fill(
        self, lane: Lane, at: TargetOffset, end: TargetOffset, on_filled: Callable[[Lane], None]
    ) -> None:
        """Fill the target log from its end `at` up to `end`, then cut it there."""
        if lane.work.compacted and at >= end:
            lane.progress.holes = end
            on_filled(lane)
            return
        step = self._fill if at < end else self._cut
        step = self._mark if lane.work.compacted else step
        self._jobs.hold(
            lane,
            lambda: step(lane.work, at, end),
            lambda reached: self._done(lane, reached, end, on_filled),
            lambda error: self._on_failed(lane, error),
        )

    def _mark(self, work: Assignment, at: TargetOffset, end: TargetOffset) -> TargetOffset:
        due = Due(tp=work.target, first_id=work.marker_id, base=at, end=end)
        self._markers.fill([due])
        if due.error is not None:
            raise due.error
        return due.reached

    def _fill(self, work: Assignment, at: TargetOffset, end: TargetOffset) -> TargetOffset:
        count = min(LARGEST - at % LARGEST, end - at)
        records = filler(
            count,
            now_ms=now_ms(),
            producer_id=work.filler_id,
            epoch=0,
            sequence=at % wire.SEQUENCES,
        )
        with self._clients.one() as client:
            client.produce(work.target, records)
        return TargetOffset(at + count)

    def _cut(self, work: Assignment, at: TargetOffset, end: TargetOffset) -> TargetOffset:
        answer = self._target.offsets.delete_records({work.target: end})
        if work.target in answer.failed:
            raise answer.failed[work.target]
        return TargetOffset(at + 1)

    def _done(
        self,
        lane: Lane,
        reached: TargetOffset,
        end: TargetOffset,
        on_filled: Callable[[Lane], None],
    ) -> None:
        if reached > end:
            on_filled(lane)
        else:
            self.fill(lane, reached, end, on_filled)
