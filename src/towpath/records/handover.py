"""Handover of partitions from the slices of one round to those of the next.

A slice of the next round connects at once, and begins each partition when its slice has released
it. A partition that is not released it begins when no slice of that round runs any more, as if
another copier had been killed (docs/decisions/0029).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future

from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Attempt, Released
from towpath.ledger.entries.session import by_topic
from towpath.model.errors import TowpathError
from towpath.model.nouns import TopicPartition
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.target.opening import Opener
from towpath.records.work import Assignment, Slice

Begin = Callable[[Sequence[Assignment]], None]
_TOGETHER = 1000
"""Partitions in one entry of the ledger."""


class Handover:
    """The partitions of a slice that slices of the previous round still hold.

    Args:
        work: The slice.
        reactor: Whose thread everything happens in.
        opener: Opens partitions, in a thread of its own.
        landing: Connects to the brokers that lead partitions.
        begin: Begins partitions.
    """

    def __init__(
        self, work: Slice, reactor: Reactor, opener: Opener, landing: Landing, begin: Begin
    ) -> None:
        self._work, self._reactor = work, reactor
        self._opener, self._landing, self._begin = opener, landing, begin
        self._waiting: dict[TopicPartition, Assignment] = {}

    def start(self, ready: Attempt) -> None:
        """Begin copying at once, or connect to all brokers and wait for the handover.

        Args:
            ready: Written to the ledger as soon as everything is connected.
        """
        assignments = self._work.assignments
        if not self._work.follows:
            self._begin(assignments)
            return
        self._waiting = {each.source: each for each in assignments}
        self._landing.connect(assignments)

        def done(future: Future[None]) -> None:
            error = future.exception()
            if error is not None and not isinstance(error, TowpathError):
                raise error  # else partitions begin without connections that stand already

        self._reactor.run(
            lambda: self._opener.rehearse(assignments, ready), done, self._opener.thread
        )

    def released(self, entry: Released) -> None:
        """Begin copying partitions that another slice has released."""
        due = [self._waiting.pop(tp) for tp in entry.tps if tp in self._waiting]
        if due:
            self._opener.settle(due)
            self._begin(due)

    def left(self) -> None:
        """Begin copying the remaining partitions, as no slice of the previous round runs."""
        due, self._waiting = [*self._waiting.values()], {}
        if due:
            self._begin(due)


def rests(lane: Lane) -> bool:
    """Return whether no request of a lane can still reach the target."""
    doubtful = lane.lost or lane.busy or lane.writer is not None
    return not (doubtful or lane.unanswered or lane.queue.in_flight)


def releases(work: Slice, tps: Iterable[TopicPartition]) -> Iterator[Released]:
    """Yield the ledger entries that release a slice's partitions to the next round."""
    tps = [*tps]
    for number, first in enumerate(range(0, len(tps), _TOGETHER)):
        yield Released(
            link=work.link,
            run_id=work.run_id,
            round=work.round,
            slice=work.number,
            number=number,
            partitions=by_topic(tps[first : first + _TOGETHER]),
        )
