"""A later start for a partition whose first records were deleted before the fetch.

No record was copied, so none is missing: the mirror partition begins where the source log begins
now, as if the run had begun a moment later. An identical target partition is filled up to there and
cut, as at its opening (`fronts`). Only then does a receipt say where it begins. A log that holds
records of others is never cut; there the partition becomes mapped.
"""

from __future__ import annotations

from collections.abc import Callable

from towpath.cluster.admin import Admin
from towpath.model.errors import TowpathError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.records.jobs import Jobs
from towpath.records.landing.log_starts import LogStarts
from towpath.records.lane.lane import Lane
from towpath.records.modes import why_mapped
from towpath.settings import OffsetsPolicy
from towpath.wire import batch as wire


class MovedBeginnings:
    """Moves the start of lanes that have copied nothing to a later source offset."""

    def __init__(
        self,
        jobs: Jobs,
        target: Admin,
        fronts: LogStarts,
        *,
        on_moved: Callable[[Lane], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._jobs, self._target, self._fronts = jobs, target, fronts
        self._on_moved, self._on_failed = on_moved, on_failed

    def go(self, lane: Lane, start: SourceOffset) -> None:
        """Let a lane begin at source offset `start`."""
        if lane.progress.mode is Mode.MAPPED:
            self._moved(lane, start)
            return
        end = lane.progress.position.target
        self._jobs.hold(
            lane,
            lambda: self._ours_up_to(lane, end),
            lambda at: self._fill(lane, at, start),
            lambda error: self._on_failed(lane, error),
        )

    def _ours_up_to(self, lane: Lane, end: TargetOffset) -> tuple[TargetOffset, bool]:
        """Return the target's log end offset, and whether the log holds nothing but our fillers.

        The log of a compacted topic is not cut, so there it counts what lies behind the beginning.
        """
        tp = lane.work.target
        first, last = (
            self._target.offsets.earliest([tp]).sure(tp),
            self._target.offsets.log_ends([tp]).sure(tp),
        )
        end_now = TargetOffset(last)
        if last == first or (last == end and lane.work.compacted):
            return end_now, True
        filler = self._target.producers.sequences([tp]).sure(tp).get(lane.work.filler_id, -1)
        return end_now, filler == (last - 1) % wire.SEQUENCES

    def _fill(self, lane: Lane, at: tuple[TargetOffset, bool], start: SourceOffset) -> None:
        end, ours = at
        compacted = lane.work.compacted
        why = why_mapped(
            OffsetsPolicy.AUTO,
            start,
            TargetOffset(0) if ours else end,
            compacted=compacted,
            fill=lane.work.fill,
            change=lane.progress.change,
        )
        if why is not None:
            lane.progress.become_mapped(why)
            self._moved(lane, start)
        else:
            self._fronts.fill(lane, end, TargetOffset(start), lambda lane: self._moved(lane, start))

    def _moved(self, lane: Lane, start: SourceOffset) -> None:
        if not lane.progress.stopped:
            lane.begin_at(start)
            self._on_moved(lane)
