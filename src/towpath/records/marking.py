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
from towpath.cluster.control import healable
from towpath.cluster.markers import Marker
from towpath.cluster.metadata import Answers
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import ProducerId, TopicPartition
from towpath.records.claims import Claim, ExhaustedError, standing, taken_over

T = TypeVar("T")

AT_ONCE = 2000
"""Markers of one request: about 0.1 s of work for a broker."""
_TURN = 1.0
"""Seconds after which what is filled so far is told, so that a long gap shows how far it is."""
_OURS = 60.0
_PAUSE = 0.02
_FENCED = frozenset({47, 52})
"""INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED: another copier was faster."""


@dataclass(slots=True)
class Due:
    """Offsets [base, end) of a target partition that hold nothing; `first_id` serves for them.

    Attributes:
        reached: All before it is on all in-sync replicas.
        error: Why it cannot be filled now.
    """

    tp: TopicPartition
    first_id: ProducerId
    base: int
    end: int
    reached: int = -1
    error: ClusterError | None = None

    @property
    def open(self) -> bool:
        """Whether there is more to do."""
        return self.error is None and self.reached < self.end


class ExhaustedIdsError(ClusterError):
    """No id of ours is left for markers of a partition until the target forgets one."""

    def __init__(self, tp: TopicPartition) -> None:
        text = f"target: all producer ids for markers of {tp} are used up for a day"
        super().__init__(text)


class MarkerFiller:
    """Fills gaps of the partitions of one slice. Threads may share it, not for one partition."""

    def __init__(self, admin: Admin, timeout: float) -> None:
        self._admin, self._timeout = admin, timeout
        self._claims: dict[TopicPartition, tuple[Claim, Deadline]] = {}
        """Of partitions whose last marker is ours, as far as we know, and until when we go by it:
        not for so long that the target may have forgotten it."""

    def fill(self, dues: Sequence[Due]) -> None:
        """Fill gaps for about a second; offsets taken already are left as they are.

        Each of them tells then how far it was filled, or why it was not. A log that ends beyond
        the gap is well: another copier was faster, or another writer stepped in, and then the next
        records show it by landing elsewhere.
        """
        turn, deadline = Deadline.after(_TURN), Deadline.after(self._timeout)
        while left := [due for due in dues if due.open]:
            if turn.over and all(due.reached > due.base for due in left):
                return
            if deadline.over:
                self._give_up(left)
                return
            if not self._go_on(left, deadline):
                time.sleep(_PAUSE)

    def _give_up(self, dues: Iterable[Due]) -> None:
        for due in dues:
            text = f"target: the gap of {due.tp} at {due.base} could not be filled in time"
            due.error = due.error or (None if due.reached > due.base else ClusterError(text))

    def _go_on(self, dues: Sequence[Due], deadline: Deadline) -> bool:
        """Look, and write what may be written; return whether something was."""
        held = self._standing(dues, deadline)
        ends = self._ends(dues, deadline)
        room = max(1, AT_ONCE // len(dues))
        plans = {
            due.tp: self._plan(due, held[due.tp], min(due.end - ends[due.tp], room), ends)
            for due in dues
            if due.error is None and ends.get(due.tp, due.end) < due.end and due.tp in held
        }
        return bool(plans) and self._write(dues, plans, deadline)

    def _standing(
        self, dues: Sequence[Due], deadline: Deadline
    ) -> Mapping[TopicPartition, Claim | None]:
        """Return the claim that holds for each partition: ours, or whose the target tells."""
        found: dict[TopicPartition, Claim | None] = {}
        unknown = []
        for due in dues:
            claim = self._ours(due.tp)
            if claim is not None:
                found[due.tp] = claim
            else:
                unknown.append(due)
        states = self._asked(unknown, deadline, self._admin.producer_states)
        for due in unknown:
            if due.tp in states:
                try:
                    found[due.tp] = standing(states[due.tp], due.first_id)
                except ExhaustedError:
                    due.error = ExhaustedIdsError(due.tp)
        return found

    def _ours(self, tp: TopicPartition) -> Claim | None:
        claim, until = self._claims.pop(tp, (None, None))
        if claim is None or until is None or until.over or not claim.lasts:
            return None
        self._claims[tp] = claim, until
        return claim

    def _ends(self, dues: Sequence[Due], deadline: Deadline) -> Mapping[TopicPartition, int]:
        """Return where the logs end in which something may be written.

        Where we did not write the last marker, all of the log must be on all in-sync replicas:
        else a new leader may lack what we saw.
        """
        ends = self._asked(dues, deadline, self._admin.log_ends)
        doubtful = [
            due
            for due in dues
            if due.tp in ends and (due.tp not in self._claims or ends[due.tp] >= due.end)
        ]
        self._confirm(doubtful, deadline)
        for due in dues:
            if ends.get(due.tp, due.base) < due.base:
                where = f"at {ends[due.tp]}, before the gap at {due.base}"
                due.error = ClusterError(f"target: the log of {due.tp} ends {where}")
        waiting = {due.tp for due in doubtful if due.reached < min(ends[due.tp], due.end)}
        return {tp: end for tp, end in ends.items() if tp not in waiting}

    def _confirm(self, dues: Sequence[Due], deadline: Deadline) -> None:
        """Note what is on all in-sync replicas."""
        marks = self._asked(dues, deadline, self._admin.latest)
        for due in dues:
            due.reached = max(due.reached, min(due.end, marks.get(due.tp, -1)))

    def _plan(
        self, due: Due, held: Claim | None, count: int, ends: Mapping[TopicPartition, int]
    ) -> _Plan:
        whole = ends[due.tp] + count == due.end
        if due.tp in self._claims and held is not None:
            last = held.next() if whole else held
            return _Plan([held.marker(due.first_id)] * (count - 1), last, due.first_id)
        # Alone: until it is taken, others may have written more of the gap than we saw.
        return _Plan([], taken_over(held), due.first_id)

    def _write(
        self, dues: Sequence[Due], plans: Mapping[TopicPartition, _Plan], deadline: Deadline
    ) -> bool:
        markers = {tp: plan.markers for tp, plan in plans.items()}
        answers = self._admin.write_markers(markers, patience=_some(deadline))
        written = [due for due in dues if due.tp in answers]
        for due in dues:
            if due.tp in answers:
                self._claims[due.tp] = plans[due.tp].last, Deadline.after(_OURS)
            elif due.tp in plans:
                self._claims.pop(due.tp, None)
                _judge(due, answers.failed.get(due.tp))
        self._confirm(written, deadline)
        return bool(written)

    def _asked(
        self,
        dues: Sequence[Due],
        deadline: Deadline,
        ask: Callable[..., Answers[TopicPartition, T]],
    ) -> Mapping[TopicPartition, T]:
        """Ask about partitions; what cannot be answered now is asked again, or told."""
        if not dues:
            return {}
        answers = ask([due.tp for due in dues], patience=_some(deadline))
        for due in dues:
            if due.tp not in answers:
                _judge(due, answers.failed.get(due.tp))
        return answers


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to write to one partition: some markers of `others`, then that of the claim `last`."""

    others: Sequence[Marker]
    last: Claim
    first_id: ProducerId

    @property
    def markers(self) -> list[Marker]:
        return [*self.others, self.last.marker(self.first_id)]


def _judge(due: Due, error: ClusterError | None) -> None:
    """Give up a gap for an error that time does not heal."""
    if error is None or healable(error):
        return
    if not (isinstance(error, RefusedError) and error.error in _FENCED):
        due.error = error


def _some(deadline: Deadline) -> float:
    return max(0.1, deadline.left())
