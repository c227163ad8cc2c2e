"""Compaction rounds on Spark: rules are applied until nothing qualifies, one commit a round."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.errors import CorruptSegmentError
from towpath.archive.log import CommitLog, Draft, EntryKind
from towpath.archive.log.columns import TabledPartition
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import PartitionId, Segment
from towpath.archive.upkeep.slice.compact_slice import SCHEMA, compact_rows
from towpath.archive.upkeep.slice.compact_work import CompactResult, CompactSlice
from towpath.archive.upkeep.slice.merge_plan import (
    Bundle,
    PlannedMerge,
    bundled,
    next_slices,
    plan_merges,
)
from towpath.model.errors import SparkLostError, TowpathError
from towpath.runtime.clock import now_ms

WORK = "compact"
"""The kind of work in leases and in the commit log: all that replaces or removes segments."""
_MOST = 20_000
"""Segments of one entry, unless a single merge has more."""

RunSlices = Callable[[Sequence[CompactSlice], Callable[[int, int], None]], list[CompactResult]]
"""Runs slices, and tells how many have ended."""


@dataclass(slots=True)
class CompactionProgress:
    """The progress of a compaction; other threads may read it.

    Attributes:
        began: When it began, by the monotonic clock.
        planned: Merges that were planned so far; `done`, those that have ended.
        read: Segments that were merged; `written`, what they became.
        bytes: Bytes of the objects that were merged.
        records: Records in them.
        failed: Sentences about merges that failed, by partition.
        damaged: Number of merges that failed as an object was damaged.
        redundant: Merges whose segments another process had replaced or removed.
        version: The newest version of the archive.
        swept: Objects of replaced segments that were deleted; `waiting`, those that stay for now.
        orphans: Objects in no entry that were deleted, with `orphan_bytes`.
        unsettled: Objects in no entry that stay: a writer may still commit them, or they are young.
        unreadable: Keys of such objects that cannot be read.
        stranded: Keys of such objects that are old and hold what the archive lacks: their entry
            may be lost.
        uploads: Unfinished uploads of dead writers that were removed.
        unanswered: Why what was begun was not ended when the user stopped, "" if it was.
    """

    began: float = field(default_factory=time.monotonic)
    planned: int = 0
    done: int = 0
    read: int = 0
    written: int = 0
    bytes: int = 0
    records: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    redundant: int = 0
    version: int = 0
    swept: int = 0
    waiting: int = 0
    orphans: int = 0
    orphan_bytes: int = 0
    unsettled: int = 0
    unreadable: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()
    uploads: int = 0
    unanswered: str = ""


Wanted = Callable[[TabledPartition], bool]


class Compaction:
    """Merges the segments of an archive.

    Args:
        config: The archive.
        log: Its log.
        lease: The right to replace segments.
        run_slices: Runs slices on Spark.
        slots: Returns how many slices may run at a time.
        stop: Set to stop between two rounds; the present one is cancelled.
        progress: Told what is done.
        show: Called when there is something new.
    """

    def __init__(
        self,
        config: ArchiveConfig,
        log: CommitLog,
        lease: HeldArchive,
        run_slices: RunSlices,
        slots: Callable[[], int],
        stop: threading.Event,
        progress: CompactionProgress,
        show: Callable[[CompactionProgress], None],
    ) -> None:
        self._config, self._log, self._lease, self._stop = config, log, lease, stop
        self._run_slices, self._slots = run_slices, slots
        self.progress, self._show = progress, show
        self._in_trouble: set[PartitionId] = set()

    def go(
        self, rules: Sequence[CompactionConfig], wanted: Wanted = lambda _: True
    ) -> CompactionProgress:
        """Apply rules until nothing qualifies. Returns the progress.

        Raises:
            ArchiveHeldError: Another process has taken the lease.
            CommitLogError: The log cannot be used.
            StoreError: The log could not be read or written.
            SparkLostError: Spark's JVM ended.
        """
        while not self._stop.is_set():
            found = [self._apply(rule, wanted) for rule in rules]
            if not any(found):
                break
        self._log.settle()
        self.progress.version = self._log.state.version
        return self.progress

    def _apply(self, rule: CompactionConfig, wanted: Wanted) -> bool:
        """Apply a rule once. Returns whether there was anything to merge."""
        self._log.follow()
        merges = plan_merges(
            self._log.state.table(),
            rule,
            now_ms(),
            lambda each: each.id not in self._in_trouble and wanted(each),
        )
        self.progress.planned += len(merges)
        left = bundled(merges, int(self._config.segments.share), self._config.format)
        while left and not self._stop.is_set():
            slots = min(self._slots(), rule.parallelism or self._slots())
            slices, left = next_slices(left, slots)
            self._round(slices, rule)
        return bool(merges)

    def _round(self, slices: Sequence[tuple[Bundle, ...]], rule: CompactionConfig) -> None:
        """Do some merges and commit them; if a slice dies, halves find out which one kills it."""
        try:
            results = self._run_slices([self._slice(each, rule) for each in slices], self._told)
        except SparkLostError:
            raise
        except TowpathError as error:
            if self._stop.is_set():
                return
            bundles = [each for some in slices for each in some]
            if len(bundles) == 1:
                self._failed(bundles[0], str(error))
                return
            half = len(bundles) // 2
            for some in (bundles[:half], bundles[half:]):
                self._round([(each,) for each in some], rule)
            return
        self._take(slices, results)

    def _slice(self, bundles: tuple[Bundle, ...], rule: CompactionConfig) -> CompactSlice:
        config = self._config
        return CompactSlice(
            store=config.store,
            region=config.region,
            format=config.format,
            bundles=bundles,
            rows=int(rule.batch),
        )

    def _told(self, _done: int, _slices: int) -> None:
        self._show(self.progress)

    def _take(self, slices: Sequence[tuple[Bundle, ...]], results: Iterable[CompactResult]) -> None:
        merges = [merge for some in slices for bundle in some for merge in bundle]
        planned = {(each.id, each.start): each for each in merges}
        made: list[tuple[PlannedMerge, Segment]] = []
        for each in results:
            merge = planned[each.id, each.start]
            if each.made is not None:
                made.append((merge, each.made))
            else:
                self._failed((merge,), str(each.trouble))
                codes = each.trouble.codes if each.trouble is not None else ()
                self.progress.damaged += CorruptSegmentError.code in codes
        for some in _portions(made):
            self._commit(some)
        self._show(self.progress)

    def _failed(self, bundle: Bundle, why: str) -> None:
        for each in bundle:
            self._in_trouble.add(each.id)
            self.progress.failed[f"{each.topic}-{each.id.partition}"] = why
            self.progress.done += 1

    def _commit(self, made: Sequence[tuple[PlannedMerge, Segment]]) -> None:
        self._lease.require()
        draft = Draft(
            writer=self._lease.writer,
            kind=EntryKind.COMPACT,
            add=tuple(segment for _, segment in made),
            remove=tuple(each.id for merge, _ in made for each in merge.segments),
        )
        done = self._log.append(draft)
        progress, dropped = self.progress, {each.id for each in done.dropped}
        progress.version = self._log.state.version
        for merge, segment in made:
            progress.done += 1
            if segment.id in dropped:
                progress.redundant += 1
                continue
            progress.read += len(merge.segments)
            progress.written += 1
            progress.bytes += merge.bytes
            progress.records += segment.records


def run_on(spark: Any, stop: threading.Event) -> RunSlices:
    """Return a function that runs compaction slices on Spark.

    Args:
        spark: Returns the session; asked for when there is something to run.
        stop: Set to cancel what runs.
    """

    def run(
        slices: Sequence[CompactSlice], told: Callable[[int, int], None]
    ) -> list[CompactResult]:
        from towpath.engine.batch import run as run_slices  # noqa: PLC0415  # it imports PySpark
        from towpath.engine.failure import of_spark  # noqa: PLC0415

        try:
            rows = run_slices(spark(), slices, compact_rows, SCHEMA, told, stop)
        except RuntimeError as error:
            raise of_spark(error) from error
        return [CompactResult.from_json(each) for each in rows["compacted"].to_pylist()]

    return run


def _portions(
    made: Sequence[tuple[PlannedMerge, Segment]],
) -> Iterable[list[tuple[PlannedMerge, Segment]]]:
    """Yield merges, not too many together."""
    held: list[tuple[PlannedMerge, Segment]] = []
    count = 0
    for merge, segment in made:
        if held and count + len(merge.segments) > _MOST:
            yield held
            held, count = [], 0
        held.append((merge, segment))
        count += len(merge.segments)
    if held:
        yield held
