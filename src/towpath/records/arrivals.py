"""The opening of a slice's partitions: each gets a lane, or is left out with a reason.

A partition that the slice has already may be assigned again, to be tried again or because something
changed (its topic was created again, a config of the mirror topic changed). Its lane leaves first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from towpath.cluster.connect.control import healable
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Dealt
from towpath.ledger.entries.session import named_partitions
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.landing.landing import Landing
from towpath.records.source.beginnings import Beginnings
from towpath.records.source.trouble import SourceLoss
from towpath.records.standing import Standing
from towpath.records.target.opening import Opener, Openings
from towpath.records.trouble import hopeless
from towpath.records.work import UNKNOWN, Assignment, Summary, from_data

_AGAIN = 1.0
"""Seconds before a failed opening is tried again."""
_AT_FIRST, _TOGETHER = 100, 500
"""Partitions to open together, at first and later, so that the first of thousands do not wait for
the last. Those with the most new records are the first."""


class Arrivals:
    """Opens partitions and hands them to the landing; retries, or records why that failed.

    Args:
        reactor: Everything happens in its thread.
        opener: Opens partitions, in a thread of its own.
        landing: Gets the opened partitions.
        beginnings: Finds offsets that are not known yet, `None` if all are known.

    Attributes:
        assigned: All partitions of the slice.
    """

    def __init__(
        self, reactor: Reactor, opener: Opener, landing: Landing, beginnings: Beginnings | None
    ) -> None:
        self._reactor, self._opener, self._landing = reactor, opener, landing
        self._beginnings = beginnings
        self.assigned: dict[TopicPartition, Assignment] = {}
        self._left_out: dict[TopicPartition, Reason] = {}
        self._unopened: dict[TopicPartition, Reason] = {}
        """Why partitions could not be opened yet."""
        self._withdrawn: set[TopicPartition] = set()
        """Partitions that the slice leaves once their lanes have left."""

    @property
    def settled(self) -> bool:
        """Whether each partition has a lane or was left out."""
        return len(self._landing.lanes) + len(self._left_out) >= len(self.assigned)

    @property
    def left_out(self) -> Collection[TopicPartition]:
        """The partitions that cannot be copied now."""
        return self._left_out.keys()

    def summaries(self) -> Iterator[Summary]:
        """Yield the summary of each partition that has no lane."""
        for tp in self.assigned.keys() - self._landing.lanes.keys():
            why = self._left_out.get(tp) or self._unopened.get(tp)
            yield Summary(
                tp=tp,
                source_end=SourceOffset(-1),
                target_end=TargetOffset(-1),
                records=0,
                bytes=0,
                mode=Mode.MAPPED,
                reasons=(),
                trouble=why,
                under_way=not self._opener.settled(tp),
            )

    def assign(self, assignments: Iterable[Assignment]) -> None:
        """Count partitions as part of the slice from now on."""
        fresh = {each.source: each for each in assignments}
        self.assigned |= fresh
        self._withdrawn -= fresh.keys()
        self._landing.share_out(len(self.assigned))

    def begin(self, assignments: Iterable[Assignment]) -> None:
        """Open partitions; those with unknown offsets only after the offsets are looked up."""
        known: list[Assignment] = []
        unknown: list[Assignment] = []
        for each in assignments:
            (unknown if UNKNOWN in (each.start, each.end) else known).append(each)
        if self._beginnings is not None:
            self._beginnings.find(unknown, self._open, self._close_out)
        self._open(known)

    def dealt(self, dealt: Dealt) -> None:
        """Add partitions to the running slice or remove some, as the driver says."""
        self._withdraw(named_partitions(dealt.withdrawn))
        fresh = [each for each in from_data(dealt.partitions) if not self._goes_on(each)]
        if not fresh or self._landing.feed.ended:
            return
        for each in fresh:
            self._left_out.pop(each.source, None)
        self.assign(fresh)
        lanes = self._landing.lanes
        going = [lanes[each.source] for each in fresh if each.source in lanes]
        self._landing.leaving.let_go(going, lambda: self._learn(dealt, fresh))

    def _withdraw(self, tps: Iterable[TopicPartition]) -> None:
        """Leave partitions, once the target has answered what was sent for them."""
        going = [] if self._landing.feed.ended else [tp for tp in tps if tp in self.assigned]
        for tp in going:
            self._left_out.pop(tp, None)
            self._unopened.pop(tp, None)
        self._withdrawn.update(going)
        lanes = [lane for tp in going if (lane := self._landing.lanes.get(tp)) is not None]
        self._forget(tp for tp in going if tp not in self._landing.lanes)
        if lanes:
            there = [lane.source for lane in lanes]
            self._landing.leaving.let_go(lanes, lambda: self._forget(there))

    def _forget(self, tps: Iterable[TopicPartition]) -> None:
        """Count partitions as part of the slice no more, if they were not dealt to it again."""
        for tp in [tp for tp in tps if tp in self._withdrawn]:
            self._withdrawn.remove(tp)
            del self.assigned[tp]

    def _goes_on(self, a: Assignment) -> bool:
        """Whether a partition is copied or being opened already, on the same terms."""
        known, lane = self.assigned.get(a.source), self._landing.lanes.get(a.source)
        if known is None or known.terms != a.terms:
            return False
        if a.source in self._left_out or a.source in self._withdrawn:
            return False
        return lane is None or not lane.stopped

    def _wanted(self, assignments: Iterable[Assignment]) -> list[Assignment]:
        """Return the partitions that are still to be opened, none at the end of the round."""
        if self._landing.feed.ended:
            return []
        return [each for each in assignments if self._is_awaited(each)]

    def _is_awaited(self, a: Assignment) -> bool:
        """Whether a partition has no lane yet and belongs to the slice on the same terms."""
        known = self.assigned.get(a.source)
        if known is None or a.source in self._landing.lanes:
            return False
        return known is a or known.terms == a.terms

    def _learn(self, dealt: Dealt, fresh: Sequence[Assignment]) -> None:
        wanted = self._wanted(fresh)
        if wanted:
            self._landing.jobs.run(
                lambda: self._opener.add(wanted, dealt.facts_from, settled=dealt.settled),
                lambda failed: self._learnt(dealt, wanted, failed),
                self._opener.thread,
            )

    def _learnt(
        self, dealt: Dealt, fresh: Sequence[Assignment], failed: TowpathError | None
    ) -> None:
        if failed is None:
            self.begin(fresh)
        else:
            self._reactor.later(_AGAIN, lambda: self._learn(dealt, fresh))

    def _open(self, assignments: Sequence[Assignment], failures: int = 0) -> None:
        for part in _parts(self._wanted(assignments)):
            self._landing.jobs.run(
                partial(self._opener.open, part),
                partial(self._opened, part, failures),
                self._opener.thread,
            )

    def _opened(
        self,
        asked: Sequence[Assignment],
        failures: int,
        answers: Openings | TowpathError,
    ) -> None:
        assignments = self._wanted(asked)
        if not assignments:
            return
        if isinstance(answers, ClusterError) and not (self._landing.lanes or healable(answers)):
            raise answers
        later = []
        for a in assignments:
            answer = answers if isinstance(answers, TowpathError) else answers[a.source]
            self._unopened.pop(a.source, None)
            if isinstance(answer, Standing):
                self._landing.begin(a, answer)
            elif hopeless(answer, failures, has_end=a.end is not None):
                self._close_out(a, answer)
            elif isinstance(answer, ClusterError):
                later.append(a)
                self._unopened[a.source] = answer.reason
            else:
                self._leave_out(a, answer.reason)
        if later:
            self._reactor.later(_AGAIN, lambda: self._open(later, failures + 1))

    def _close_out(self, a: Assignment, error: TowpathError) -> None:
        if a.source in self.assigned:
            self._left_out[a.source] = error.reason

    def _leave_out(self, a: Assignment, why: Reason) -> None:
        self._left_out[a.source] = why
        self._landing.note(a, SourceLoss(a.start, a.start, a.start, why), went_on=False)


def _parts(assignments: Sequence[Assignment]) -> Iterator[list[Assignment]]:
    """Split partitions into parts. A topic stays whole, because brokers describe whole topics."""
    topics: dict[TopicName, list[Assignment]] = {}
    for each in assignments:
        topics.setdefault(each.target.topic, []).append(each)
    ordered = [each for together in topics.values() for each in together]
    first, end = 0, _AT_FIRST
    while first < len(ordered):
        yield ordered[first:end]
        first, end = end, end + _TOGETHER
