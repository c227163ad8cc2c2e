"""The handling of read errors in a restore: retry later, stop, or skip a lost part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from towpath.archive.errors import WithheldError
from towpath.archive.read.feed.encoding import nothing
from towpath.archive.read.feed.late_parts import LateParts, lost
from towpath.model.errors import StoreAwayError, StoreRefusedError, TowpathError
from towpath.model.nouns import Side, SourceOffset, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.source.trouble import LOOKS, SourceLoss, damage
from towpath.records.trouble import AGAIN

_GIVEN_UP = 6
"""Failures in a row after which a partition is given up whose objects the store refuses. A store
that is away is waited for, and any other error would come again."""
OnLost = Callable[[Lane, WithheldError], None]


class SupplyTrouble:
    """Handles lanes whose archive cannot be read at present.

    Args:
        landing: Whose lanes are fed.
        late: The parts that are missing.
        resume: Reads for a lane again.
        on_lost: Gets each part that stays missing; by default, it is lost as `late` says.
    """

    def __init__(
        self,
        landing: Landing,
        late: LateParts,
        resume: Callable[[Lane], None],
        on_lost: OnLost | None = None,
    ) -> None:
        self._landing, self._late, self._resume = landing, late, resume
        self._on_lost = on_lost or self._lose
        self._pausing: dict[TopicPartition, object] = {}
        """Lanes that are read for again after a pause, unless they are removed before."""
        self._missing: set[Lane] = set()
        """Those of which an object is not in the store yet."""

    @property
    def missing(self) -> list[Lane]:
        """The lanes that wait for an object that is not in the store yet."""
        return [*self._missing]

    def forget(self, lane: Lane) -> None:
        """Cancel a lane's waiting."""
        self._pausing.pop(lane.source, None)
        self._missing.discard(lane)

    def damaged(self, lane: Lane, why: str) -> None:
        """Read a damaged batch again, several times, then stop the lane."""
        trouble, looks = damage(lane.source, lane.expected, why), lane.look(lane.expected)
        if looks < LOOKS:
            lane.hinder(Side.SOURCE, trouble)
            self.again(lane, AGAIN.after(looks + 1))
        else:
            lane.end(trouble)

    def failed(self, lane: Lane, error: TowpathError) -> None:
        """Handle an error of a lane's supply."""
        if isinstance(error, WithheldError):
            self._withheld(lane, error)
        else:
            self._refused(lane, error)

    def again(self, lane: Lane, pause: float) -> None:
        """Read for a lane again after a pause, in seconds."""
        this = self._pausing[lane.source] = object()
        self._landing.jobs.later(lane, pause, lambda: self._go_on(lane, this))

    def _go_on(self, lane: Lane, pause: object) -> None:
        if self._pausing.get(lane.source) is pause:
            self._resume(lane)

    def _refused(self, lane: Lane, error: TowpathError) -> None:
        """Ask again later; give up where nothing but a person can help."""
        lane.failures += 1
        most = _GIVEN_UP if isinstance(error, StoreRefusedError) else 1
        if lane.failures >= most and not isinstance(error, StoreAwayError):
            lane.end(error.reason)
        else:
            lane.hinder(Side.SOURCE, error.reason)
            self.again(lane, AGAIN.after(lane.failures))

    def _withheld(self, lane: Lane, error: WithheldError) -> None:
        """Wait for a missing part, then stop there, or go on behind it."""
        missed = None if error.is_final else self._late.missed(lane.source, error.first)
        if missed is not None:
            pause, look = missed
            lane.hinder(Side.SOURCE, self._late.policy.waiting(error.why, look))
            self.again(lane, pause)
            if error.why.code is ReasonCode.ARCHIVE_MISSING:
                self._missing.add(lane)
            return
        self._on_lost(lane, error)

    def _lose(self, lane: Lane, error: WithheldError) -> None:
        """Stop in front of a lost part, or go on behind it."""
        policy = self._late.policy
        first = max(error.first, lane.expected)
        loss = SourceLoss(first, error.end, error.end, error.why)
        self._landing.note_gap(lane, loss, policy.skip)
        if policy.skip:
            self._skip(lane, error.end)
        else:
            lane.end(lost(first, error.end, error.why))

    def _skip(self, lane: Lane, end: SourceOffset) -> None:
        """Go on behind a lost part: its offsets are filled like those that compaction emptied."""
        data = nothing(end - 1, end)
        frame = self._landing.pool.adopt(np.frombuffer(data, np.uint8))
        lane.take(frame, 0, len(data))
        frame.release()
        self._resume(lane)
