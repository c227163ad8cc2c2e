"""The schedule of cycles: when each begins, and how its results are used."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.model import PartitionId, gap_segment
from towpath.archive.write.cycles import Cycle, Cycles
from towpath.archive.write.histories.evidence import Doubt
from towpath.archive.write.slice.archive_work import EgressSlice
from towpath.archive.write.slice.cycle_plan import CyclePlan, CycleTerms, PlannedRange, plan_cycle
from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.model.errors import SparkLostError, StoreAwayError, UnreachableError
from towpath.model.nouns import ProducerId, SegmentFormat, TopicId

_RETRIED = 500
"""Most partitions of a cycle of partitions in trouble; small ones are one task."""
_SUSPECTS = 64
"""Most of them where one may kill its slice."""
_AWAY = frozenset({UnreachableError.code, StoreAwayError.code})
"""Errors of whole slices that say nothing against their partitions."""

Say = Callable[[str, dict[str, Any], str, bool], None]
"""Logs an event: what, facts, about what, and whether it is trouble."""
LeftOut = Callable[[Collection[TopicId]], Mapping[TopicId, frozenset[ProducerId]]]
"""Returns the producer ids whose records are left out of topics, for those that have any."""


class Scheduler:
    """Begins cycles for partitions that are due, and collects their results.

    Args:
        config: The archive.
        standings: The partitions.
        spark: The session.
        news: Set whenever a cycle has ended.
        all_due: Whether everything is due, whatever its age.
        say: Logs an event.
        left_out: Returns whose records are left out of topics.

    Attributes:
        cycles: The cycles that go on.
        ended: Number of cycles that have ended.
        failed: Those of them that failed as a whole, by the code of the error.
        failures: Errors of partitions and of cycles so far, by their codes; the run adds its own.
        throttled: Seconds for which brokers throttled slices.
    """

    def __init__(
        self,
        config: ArchiveConfig,
        standings: Standings,
        spark: Any,
        news: threading.Event,
        say: Say,
        *,
        all_due: bool,
        left_out: LeftOut = lambda _: {},
    ) -> None:
        self._left_out = left_out
        self._config, self._standings, self._say, self._all_due = config, standings, say, all_due
        self.cycles = Cycles(spark, news)
        self.ended = 0
        self.failed = Counter[str]()
        self.failures = Counter[str]()
        self.throttled = 0.0

    def begin(self, slots: int) -> None:
        """Begin cycles for due partitions, as far as the limit of running cycles allows.

        Args:
            slots: Number of slices that Spark can run at a time.
        """
        now = time.monotonic()
        free = [
            each
            for each in self._standings.present
            if not each.busy
            and each.has_news
            and each.id.source not in self._standings.failed
            and not each.cut_by
            and each.doubt is None
        ]
        if self.cycles.may_begin(retry=False):
            self._begin([each for each in free if not each.failures], slots)
        if self.cycles.may_begin(retry=True):
            due = [each for each in free if each.failures and now >= each.again]
            due.sort(key=lambda each: each.again)
            self._begin(_tried_again(due), slots, retry=True)

    def take(self) -> bool:
        """Collect the results of ended cycles. Returns whether there were any.

        Raises:
            SparkLostError: Spark's JVM ended.
        """
        found = self.cycles.ended()
        for cycle in found:
            if isinstance(cycle.error, SparkLostError):
                raise cycle.error
            self._take(cycle)
        return bool(found)

    def _begin(
        self, standings: Iterable[PartitionStanding], slots: int, *, retry: bool = False
    ) -> None:
        now = time.monotonic()
        terms = CycleTerms(
            limits=self._config.segments.of,
            share=self._share,
            slots=slots,
            all_due=self._all_due or retry,
        )
        plan = plan_cycle((each.view(now) for each in standings), terms)
        for partition, gap in plan.gaps.items():
            standing = self._standings[partition]
            standing.took([gap_segment(partition, standing.topic, gap)])
            facts = {"first": gap.first, "end": gap.end, "kind": str(gap.kind)}
            about = f"{standing.topic}-{partition.partition}"
            self._say("partition.gap", facts, about, True)
        if plan.tasks:
            self._start(plan, retry=retry)

    @property
    def _share(self) -> int:
        is_parquet = self._config.format is SegmentFormat.PARQUET
        return int(self._config.segments.share) if is_parquet else 0

    def _start(self, plan: CyclePlan, *, retry: bool) -> None:
        partitions = frozenset(each.id for each in plan.ranges)
        for each in partitions:
            self._standings[each].begins(self._standings.looked)
        # Asked once for all tasks, as both look at everything that the run knows.
        left_out = self._left_out({each.source.topic_id for each in partitions})
        again = self._standings.again(partitions)
        slices = [self._slice(task, left_out, again) for task in plan.tasks]
        self.cycles.begin(slices, partitions, retry=retry)

    def _slice(
        self,
        ranges: tuple[PlannedRange, ...],
        left_out: Mapping[TopicId, frozenset[ProducerId]],
        again: frozenset[PartitionId],
    ) -> EgressSlice:
        config = self._config
        return EgressSlice(
            source=config.source,
            store=config.store,
            region=config.region,
            format=config.format,
            ranges=ranges,
            limits={each.topic: config.segments.of(each.topic) for each in ranges},
            memory=config.run.memory,
            left_out={
                each: left_out[each]
                for each in {of.id.source.topic_id for of in ranges}
                if each in left_out
            },
            again=again & {of.id for of in ranges},
        )

    def _take(self, cycle: Cycle) -> None:
        now = time.monotonic()
        self.ended += 1
        error = cycle.error
        if error is not None:
            self.failed[error.code] += 1
            self.failures[error.code] += 1
            self._say("cycle.failed", {"why": str(error), "code": error.code}, "", True)
        trouble = dict.fromkeys(cycle.partitions, error.reason) if error is not None else {}
        for result in cycle.results:
            self.throttled += result.throttled
            standing = self._standings[result.id]
            standing.took(result.segments, result.tails, result.behind)
            if result.diverged:
                standing.doubts(Doubt(sure=True))
            if result.trouble is not None:
                trouble[result.id] = result.trouble
                self.failures[result.trouble.codes[-1]] += 1
        for each in cycle.partitions:
            standing = self._standings[each]
            # Where the log differs is found at once; it is no failure to be tried again later.
            told = None if standing.doubt is not None else trouble.get(each)
            standing.ended(told, now, suspect=error is not None and error.code not in _AWAY)
            if standing.doubt is not None:
                standing.doubts(standing.doubt)


def _tried_again(due: Sequence[PartitionStanding]) -> list[PartitionStanding]:
    """Return the partitions of one cycle, given those in trouble that are due, the first first."""
    if due and due[0].suspect:
        # Halves find out which partition kills its slice.
        suspects = [each for each in due if each.suspect]
        return suspects[: min(_SUSPECTS, -(-len(suspects) // 2))]
    return [each for each in due if not each.suspect][:_RETRIED]
