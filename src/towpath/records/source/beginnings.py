"""The lookup of start and end offsets for partitions that had no leader at planning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import KnownLeaders
from towpath.cluster.data.reactor import Reactor
from towpath.cluster.metadata import Answers
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.records.jobs import Jobs
from towpath.records.work import UNKNOWN, Assignment, Beginning
from towpath.runtime.deadline import Deadline

Offsets = Answers[TopicPartition, SourceOffset]

PATIENCE = 5.0
"""Seconds for all leaders. Partitions without a leader fail at once."""
_AGAIN = 1.0


class Beginnings:
    """Looks up missing start and end offsets repeatedly, without holding up others.

    Args:
        reactor: Answers are handled in its thread.
        jobs: Does the blocking calls.
        source: The source cluster.
        patience: Seconds after which a run with an end gives up a partition.
    """

    def __init__(self, reactor: Reactor, jobs: Jobs, source: Admin, patience: float) -> None:
        self._reactor, self._jobs, self._source = reactor, jobs, source
        self._until = Deadline.after(patience)
        self._closed = False

    def close(self) -> None:
        """Stop the lookups."""
        self._closed = True

    def find(
        self,
        assignments: Sequence[Assignment],
        on_found: Callable[[Sequence[Assignment]], None],
        on_failed: Callable[[Assignment, ClusterError], None],
    ) -> None:
        """Look up offsets until all are known.

        Args:
            assignments: Assignments that lack an offset.
            on_found: Gets the assignments whose offsets are known, those of one look together.
            on_failed: Gets each assignment that was given up, and why.
        """
        if assignments and not self._closed:
            self._jobs.run(
                lambda: complete(self._source, assignments),
                partial(self._told, assignments, on_found, on_failed),
            )

    def _told(
        self,
        asked: Sequence[Assignment],
        on_found: Callable[[Sequence[Assignment]], None],
        on_failed: Callable[[Assignment, ClusterError], None],
        answers: Answers[TopicPartition, Assignment] | TowpathError,
    ) -> None:
        if self._closed:
            return
        if isinstance(answers, ClusterError):
            answers = Answers({}, dict.fromkeys((a.source for a in asked), answers))
        elif isinstance(answers, TowpathError):
            raise answers
        found, later = [], []
        for assignment in asked:
            failed = answers.failed.get(assignment.source)
            if assignment.source in answers:
                found.append(answers[assignment.source])
            elif failed is not None and assignment.end is not None and self._until.over:
                on_failed(assignment, failed)
            else:
                later.append(assignment)
        if found:
            on_found(found)
        if later:
            self._reactor.later(_AGAIN, lambda: self.find(later, on_found, on_failed))


def complete(
    source: Admin, assignments: Sequence[Assignment]
) -> Answers[TopicPartition, Assignment]:
    """Return assignments with their missing offsets, as far as partitions have leaders."""
    wanted = {a.source: a.begin for a in assignments if a.start == UNKNOWN}
    starts = find_starts(source, wanted)
    endless = [a.source for a in assignments if a.end == UNKNOWN]
    ends = source.offsets.latest(endless, committed=True, patience=PATIENCE)
    failed = {**starts.failed, **ends.failed}
    found = {
        a.source: replace(
            a,
            start=starts.get(a.source, a.start),
            end=SourceOffset(ends[a.source]) if a.source in ends else a.end,
        )
        for a in assignments
        if a.source not in failed
    }
    return Answers(found, failed)


def find_starts(
    source: Admin,
    wanted: Mapping[TopicPartition, Beginning],
    leaders: KnownLeaders | None = None,
) -> Offsets:
    """Return the first source offset to copy of each partition that has a leader.

    Args:
        source: The source cluster.
        wanted: The partitions.
        leaders: Leaders that have just answered.
    """
    exact = {tp: begin.offset for tp, begin in wanted.items() if begin.exact}
    epochs = {tp: begin.epoch for tp, begin in wanted.items() if begin.epoch >= 0}
    times: dict[int, list[TopicPartition]] = defaultdict(list)
    for tp, begin in wanted.items():
        if begin.time is not None:
            times[begin.time].append(tp)
    parts: list[Answers[TopicPartition, int]] = [
        source.offsets.epoch_ends(epochs, patience=PATIENCE)
    ]
    parts += [source.offsets.at_time(tps, time, patience=PATIENCE) for time, tps in times.items()]
    found = exact | {
        tp: SourceOffset(offset) for part in parts for tp, offset in part.items() if offset >= 0
    }
    failed = {tp: error for part in parts for tp, error in part.failed.items()}
    left = [tp for tp in wanted if tp not in found and tp not in failed]
    earliest = source.offsets.earliest(left, patience=PATIENCE, leaders=leaders)
    found |= {tp: max(SourceOffset(first), wanted[tp].offset) for tp, first in earliest.items()}
    return Answers(found, {**failed, **earliest.failed})
