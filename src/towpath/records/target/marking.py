"""Filling of target partitions' gaps with markers, which no consumer sees. Blocking.

A marker is appended wherever the log ends, so it may be written only if nobody else can have
written one since we looked. Two rules ensure that (docs/decisions/0017): the leader accepts the
first marker of a copier only if no other marker was written since it was asked (`claims`), and from
then on it refuses markers that earlier copiers still have under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import KnownLeaders
from towpath.cluster.admin.markers import Marker
from towpath.cluster.connect.control import healable
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import ProducerId, TargetOffset, TopicPartition
from towpath.records.target.claims import Claim, ExhaustedError, standing, taken_over
from towpath.runtime.deadline import Deadline

T = TypeVar("T")

AT_ONCE = 2000
"""Most markers in a request: about 0.1 s of work for a broker."""
_TURN = 1.0
"""Seconds after which progress is reported, so that a long gap shows how far it is."""
_OURS = 60.0
"""Seconds for which our own claim counts: a target does not tell when producer state expires."""
_TOGETHER = 5.0
"""Most seconds for a request about several partitions."""
_PAUSE = 0.02
_LEAST = 0.1
_FENCED = frozenset({47, 52})
"""INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED: another copier was faster."""


@dataclass(slots=True, eq=False, kw_only=True)
class Due:
    """Offsets [base, end) of a target partition to fill with markers.

    Everything before `base` is acknowledged, and nothing after `end` is sent until they are filled.

    Attributes:
        first_id: The first producer id for markers.
        alone: Give up if the log does not end at `base`: somebody else writes to it.
        opening: How often the partition was opened. After an opening, earlier claims do not count.
        at_least: How far we have written.
        at: The log end offset, -1 if it must be looked up.
        held: The present claim, if any.
        reached: All offsets before it are on all in-sync replicas.
        error: Why the offsets cannot be filled now.
    """

    tp: TopicPartition
    first_id: ProducerId
    base: TargetOffset
    end: TargetOffset
    opening: int = 0
    alone: bool = False
    at_least: int = -1
    at: int = -1
    held: Claim | None = None
    reached: TargetOffset = TargetOffset(-1)
    error: ClusterError | None = None

    @property
    def open(self) -> bool:
        """Whether offsets are left to fill."""
        return self.error is None and self.reached < self.end


class NotAloneError(ClusterError):
    """Another client writes to the partition."""

    def __init__(self, due: Due, end: int) -> None:
        super().__init__(f"target: the log of {due.tp} ends at offset {end}, not at {due.base}")


class ExhaustedIdsError(ClusterError):
    """All producer ids for markers of a partition are used up until one's state expires."""

    def __init__(self, tp: TopicPartition) -> None:
        super().__init__(f"target: all producer ids for markers of {tp} are used up for a day")


@dataclass(frozen=True, slots=True)
class _Ours:
    """A claim of this slice. While the claim holds, nobody else writes to the log.

    Attributes:
        claim: The last marker of ours that was taken.
        opening: The opening of the partition in which it was taken.
        until: When it counts no longer.
        at_end: Whether the log ended behind it, or may others have written before it, so that only
            the target knows.
    """

    claim: Claim
    opening: int
    until: Deadline
    at_end: bool


class MarkerFiller:
    """Fills gaps in the partitions of one slice; different partitions in several threads."""

    def __init__(self, admin: Admin, timeout: float) -> None:
        self._admin, self._timeout = admin, timeout
        self._ours: dict[TopicPartition, _Ours] = {}
        self._leaders: KnownLeaders = {}
        self._closed = False

    def close(self) -> None:
        """Stop writing; a running fill ends by itself."""
        self._closed = True

    def fill(self, dues: Sequence[Due]) -> None:
        """Fill gaps for about a second; occupied offsets stay.

        Each of `dues` then says how far it was filled, or why it was not. One of several may say
        neither, because it must not delay the others. A log that ends after the gap is fine:
        another copier was faster, or another writer has written, and then the next records show
        that because they are appended elsewhere.
        """
        turn, deadline = Deadline.after(_TURN), Deadline.after(self._timeout)
        for due in dues:
            due.at = due.base if self._owned(due) and self._ours[due.tp].at_end else -1
        while not self._closed and (left := [due for due in dues if due.open]):
            if turn.over and (len(left) < len(dues) or all(map(_moved, left))):
                return
            if deadline.over:
                _give_up(left)
                return
            self._look([due for due in left if due.at < 0], deadline)
            ready = [due for due in left if due.open and due.at >= 0]
            if ready:
                self._write(ready, deadline)
            elif any(due.open for due in left):
                time.sleep(_PAUSE)

    # Looking

    def _look(self, dues: Sequence[Due], deadline: Deadline) -> None:
        """Find the log end offsets at which a marker may be written.

        The order matters: claims are read first, so that the leader refuses us if one has changed
        since. If the last marker is not ours, the whole log must be on all in-sync replicas;
        otherwise a new leader may lack what we read.
        """
        foreign = [due for due in dues if not self._owned(due)]
        states = self._asked(foreign, deadline, self._admin.producers.states)
        ends = self._asked(dues, deadline, self._admin.offsets.log_ends)
        doubtful = [due for due in dues if due in foreign or ends.get(due.tp, -1) >= due.end]
        marks = self._asked(doubtful, deadline, self._marks)
        for due in dues:
            due.reached = TargetOffset(max(due.reached, min(due.end, marks.get(due.tp, -1))))
            if due.tp in ends and (due not in foreign or due.tp in states):
                self._see(due, ends[due.tp], replicated=due not in doubtful)
        for due in foreign:
            try:
                due.held = standing(states.get(due.tp, ()), due.first_id)
            except ExhaustedError:
                due.error = ExhaustedIdsError(due.tp)

    def _see(self, due: Due, end: int, *, replicated: bool) -> None:
        if end < due.base:
            where = f"at offset {end}, before the gap at offset {due.base}"
            due.error = ClusterError(f"target: the log of {due.tp} ends {where}")
        elif due.alone and end != max(due.base, due.at_least):
            due.error = NotAloneError(due, end)
        elif replicated or due.reached >= min(end, due.end):
            due.at = end

    def _owned(self, due: Due) -> bool:
        """Whether the last marker is ours, so that nobody else can have written a marker since."""
        ours = self._ours.get(due.tp)
        if ours is None or ours.until.over or ours.opening != due.opening or not ours.claim.lasts:
            self._ours.pop(due.tp, None)
            return False
        due.held = ours.claim
        return True

    # Writing

    def _write(self, dues: Sequence[Due], deadline: Deadline) -> None:
        room = max(1, AT_ONCE // len(dues))
        plans = {due.tp: self._plan(due, min(due.end - due.at, room)) for due in dues}
        markers = {tp: plan.markers for tp, plan in plans.items()}
        answers = self._asked(dues, deadline, lambda _, patience: self._written(markers, patience))
        several = [due for due in dues if due.tp in answers and plans[due.tp].count > 1]
        marks = self._asked(several, deadline, self._marks)
        for due in dues:
            plan, tp = plans[due.tp], due.tp
            # Only one error is returned for several markers, so an earlier one may be missing.
            sure = tp in answers and (plan.count == 1 or marks.get(tp, -1) >= plan.end)
            self._landed(due, plan) if sure else self._doubt(due)

    def _written(
        self, markers: Mapping[TopicPartition, Sequence[Marker]], patience: float
    ) -> Answers[TopicPartition, None]:
        return self._admin.producers.write_markers(
            markers, leaders=self._leaders, patience=patience
        )

    def _marks(
        self, tps: Iterable[TopicPartition], *, patience: float
    ) -> Answers[TopicPartition, int]:
        return self._admin.offsets.latest(tps, leaders=self._leaders, patience=patience)

    def _plan(self, due: Due, count: int) -> _Plan:
        held, whole = due.held, due.at + count == due.end
        if self._owned(due) and held is not None:
            last = held.next() if whole else held
            return _Plan(due.first_id, count, due.at + count, last, held)
        # One marker only: until it is accepted, others may have filled more of the gap.
        claim = taken_over(held)
        return _Plan(due.first_id, 1, due.at + 1, claim, claim)

    def _landed(self, due: Due, plan: _Plan) -> None:
        # Others may have written before the marker with which we took over.
        at_end = self._owned(due) or plan.end == due.end
        self._ours[due.tp] = _Ours(plan.last, due.opening, Deadline.after(_OURS), at_end)
        due.at = plan.end if at_end else -1
        due.held, due.at_least, due.reached = plan.last, plan.end, TargetOffset(plan.end)

    def _doubt(self, due: Due) -> None:
        self._ours.pop(due.tp, None)
        due.at = -1

    def _asked(
        self,
        dues: Sequence[Due],
        deadline: Deadline,
        ask: Callable[..., Answers[TopicPartition, T]],
    ) -> Mapping[TopicPartition, T]:
        """Ask about partitions. Those with an error that does not pass are given up."""
        if not dues:
            return {}
        patience = max(
            _LEAST, deadline.left() if len(dues) == 1 else min(_TOGETHER, deadline.left())
        )
        answers = ask([due.tp for due in dues], patience=patience)
        for due in dues:
            error = answers.failed.get(due.tp)
            fenced = isinstance(error, RefusedError) and error.error in _FENCED
            if error is not None and not fenced and not healable(error):
                due.error = error
        return answers


@dataclass(frozen=True, slots=True)
class _Plan:
    """Markers to write up to offset `end`: the last one contains `last`, the others `before`."""

    first_id: ProducerId
    count: int
    end: int
    last: Claim
    before: Claim

    @property
    def markers(self) -> list[Marker]:
        alike = [self.before.marker(self.first_id)] * (self.count - 1)
        return [*alike, self.last.marker(self.first_id)]


def _give_up(dues: Iterable[Due]) -> None:
    for due in dues:
        if not _moved(due):
            text = f"target: the gap of {due.tp} at offset {due.base} was not filled in time"
            due.error = ClusterError(text)


def _moved(due: Due) -> bool:
    return due.reached > due.base
