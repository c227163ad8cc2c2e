"""Gaps of target partitions, filled with markers that no consumer sees. Blocking.

A marker lands wherever the log ends, so it may be written only where nobody else can have written
one since we looked. Two things see to that (docs/decisions/0017): the leader takes the first marker
of a copier only if no other was written since it was asked (`claims`), and it refuses what earlier
copiers still have under way from then on.
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
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import ProducerId, TargetOffset, TopicPartition
from towpath.records.target.claims import Claim, ExhaustedError, standing, taken_over

T = TypeVar("T")

AT_ONCE = 2000
"""Markers of one request: about 0.1 s of work for a broker."""
_TURN = 1.0
"""Seconds after which what is filled so far is told, so that a long gap shows how far it is."""
_OURS = 60.0
"""Seconds for which we go by a claim: a target that forgets an id says nothing."""
_TOGETHER = 5.0
"""Seconds for a request about several partitions."""
_PAUSE = 0.02
_LEAST = 0.1
_FENCED = frozenset({47, 52})
"""INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED: another copier was faster."""


@dataclass(slots=True, eq=False, kw_only=True)
class Due:
    """Offsets [base, end) of a target partition that hold nothing; `first_id` serves for them.

    All before `base` is acknowledged, and what is sent behind `end` waits.

    Attributes:
        alone: Give up where the log does not end at `base`: somebody else writes to it.
        opening: How often the partition was opened: behind an opening nothing is known any more.
        at_least: How far we have written.
        at: Where the log ends, -1 where that must be looked up.
        held: The claim that holds now, if any.
        reached: All before it is on all in-sync replicas.
        error: Why it cannot be filled now.
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
        """Whether there is more to do."""
        return self.error is None and self.reached < self.end


class NotAloneError(ClusterError):
    """Somebody else writes to a partition."""

    def __init__(self, due: Due, end: int) -> None:
        super().__init__(f"target: the log of {due.tp} ends at {end}, not at {due.base}")


class ExhaustedIdsError(ClusterError):
    """No id of ours is left for markers of a partition until the target forgets one."""

    def __init__(self, tp: TopicPartition) -> None:
        super().__init__(f"target: all producer ids for markers of {tp} are used up for a day")


@dataclass(frozen=True, slots=True)
class _Ours:
    """A claim of ours: while it holds, nobody but us writes to the log."""

    claim: Claim
    opening: int
    until: Deadline


class MarkerFiller:
    """Fills gaps of the partitions of one slice. Threads may share it, not for one partition."""

    def __init__(self, admin: Admin, timeout: float) -> None:
        self._admin, self._timeout = admin, timeout
        self._ours: dict[TopicPartition, _Ours] = {}
        self._leaders: KnownLeaders = {}
        self._closed = False

    def close(self) -> None:
        """Write no more; what is under way ends by itself."""
        self._closed = True

    def fill(self, dues: Sequence[Due]) -> None:
        """Fill gaps for about a second; offsets taken already are left as they are.

        Each of them tells then how far it was filled, or why it was not; one of several may tell
        neither, as it must not hold up the others. A log that ends beyond
        the gap is well: another copier was faster, or another writer stepped in, and then the next
        records show it by landing elsewhere.
        """
        turn, deadline = Deadline.after(_TURN), Deadline.after(self._timeout)
        for due in dues:
            due.at = due.base if self._owned(due) else -1
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
        """Find where logs end in which a marker may be written.

        The order matters: the claims first, so that we are refused where one changed since. Where
        the last marker is not ours, all of the log must be on all in-sync replicas, or else a new
        leader may lack what we saw.
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
            where = f"at {end}, before the gap at {due.base}"
            due.error = ClusterError(f"target: the log of {due.tp} ends {where}")
        elif due.alone and end != max(due.base, due.at_least):
            due.error = NotAloneError(due, end)
        elif replicated or due.reached >= min(end, due.end):
            due.at = end

    def _owned(self, due: Due) -> bool:
        """Whether the last marker is ours, so that nobody else can have written one since."""
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
            # Of several markers one error is told, so an earlier one may be missing.
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
        # Alone: until it is taken, others may have written more of the gap than we saw.
        claim = taken_over(held)
        return _Plan(due.first_id, 1, due.at + 1, claim, claim)

    def _landed(self, due: Due, plan: _Plan) -> None:
        took_over = not self._owned(due)
        self._ours[due.tp] = _Ours(plan.last, due.opening, Deadline.after(_OURS))
        due.held, due.at_least = plan.last, plan.end
        if not took_over or plan.end == due.end:
            due.at = due.reached = TargetOffset(plan.end)
        else:
            due.at = -1  # what others had written meanwhile came before it

    def _doubt(self, due: Due) -> None:
        self._ours.pop(due.tp, None)
        due.at = -1

    def _asked(
        self,
        dues: Sequence[Due],
        deadline: Deadline,
        ask: Callable[..., Answers[TopicPartition, T]],
    ) -> Mapping[TopicPartition, T]:
        """Ask about partitions; give up those whose error time does not heal."""
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
    """Markers to write up to the offset `end`: the last one says `last`, those before `before`."""

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
            text = f"target: the gap of {due.tp} at {due.base} could not be filled in time"
            due.error = ClusterError(text)


def _moved(due: Due) -> bool:
    return due.reached > due.base
