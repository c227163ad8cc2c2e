"""`towpath archive run`: cycles on Spark and commits, until stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import CommitLog
from towpath.archive.log.happenings import recording_run
from towpath.archive.log.lease import RUN_WORK, HeldArchive
from towpath.archive.metrics.run_meter import ArchiveMeter
from towpath.archive.upkeep.compacting import ScheduledCompaction
from towpath.archive.write.commits import Commits
from towpath.archive.write.goal import ArchiveGoal
from towpath.archive.write.histories.beginning import Histories
from towpath.archive.write.histories.fork_searches import HistorySearches
from towpath.archive.write.metered import reading, telling_archive
from towpath.archive.write.newest_objects import missing_sentence
from towpath.archive.write.news import SourceNews
from towpath.archive.write.progress import ArchivePhase, ArchiveProgress, ArchiveWishes, rows_of
from towpath.archive.write.progress_group import ArchivePositions
from towpath.archive.write.run_trouble import Trouble
from towpath.archive.write.scheduling import Scheduler
from towpath.archive.write.standings import Standings
from towpath.archive.write.unread_records import UnreadRecords
from towpath.archive.write.waiting import BeginningWaits
from towpath.cluster.admin import Admin
from towpath.engine.slots import Slots, following
from towpath.engine.starting import Starting
from towpath.model.errors import ClusterError, StoreError
from towpath.model.nouns import Side
from towpath.runtime import log as logging
from towpath.runtime.deadline import Deadline
from towpath.runtime.garbage import CycleSearch
from towpath.runtime.sparing import Sparing
from towpath.store import Store, hasty

ARCHIVING = ("towpath.archive.write.slice.archive_slice",)
"""Modules that Python workers import before the first archiving slice comes."""
_NEW = (
    "nothing was archived there so far, and a new archive is begun; if there should be one, stop"
    " this run, and look at `store.url` and `region`, and whether the disk of a folder is mounted"
)
_SHOWN = 0.05
"""Share of a core for showing partitions: with 5,000 of them it takes a tenth of a second."""
_DRAIN = 30.0
"""Seconds for which a run that is stopped waits for its slices."""


def run(
    config: ArchiveConfig,
    wishes: ArchiveWishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[ArchiveProgress], None],
) -> ArchiveProgress:
    """Archive until `stop` is set, or until caught up with the source's state at the start.

    Args:
        config: The archive.
        wishes: How to run.
        spark: The Spark session, which is still starting.
        stop: Set to stop the run at a safe point.
        show: Shows the progress.

    Raises:
        ArchiveHeldError: Another run of the archive is alive.
        ClusterError: The source refused access, or could not be reached when the run began and
            `wishes` do not ask to wait for it.
        CommitLogError: The commit log cannot be used.
        StoreError: The store could not be used when the run began.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
    """
    # What follows the last commit must not wait for a store that is away: a stop takes a minute.
    leaving = threading.Event()
    with ExitStack() as stack:
        meter = stack.enter_context(telling_archive(config))
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        store = stack.enter_context(Store(hasty(config.store), stop=leaving))
        spark.require_allowed()
        made = _Run(config, wishes, source, store, stop, show, meter)
        stack.callback(made.close)
        try:
            if made.prepare(stack):
                made.enter(ArchivePhase.STARTING)
                made.go(spark.result())
        finally:
            leaving.set()
        return made.progress


class _Run:
    """The state of a run."""

    def __init__(
        self,
        config: ArchiveConfig,
        wishes: ArchiveWishes,
        source: Admin,
        store: Store,
        stop: threading.Event,
        show: Callable[[ArchiveProgress], None],
        meter: ArchiveMeter,
    ) -> None:
        self._meter = meter
        self._cycles = CycleSearch()
        self._config, self._wishes, self._source, self._store = config, wishes, source, store
        self._stop, self._show = stop, show
        self.progress = ArchiveProgress()
        self._closing: list[Callable[[], None]] = []
        self._positions = ArchivePositions(source, config.group)
        self._woken = threading.Event()
        self._missing = ""
        self._source_trouble, self._store_trouble = Trouble(), Trouble()
        self._showing = Sparing(_SHOWN)
        self._told_notes: dict[str, None] = {}

    def close(self) -> None:
        """Cancel everything that is running."""
        for each in reversed(self._closing):
            each()

    def enter(self, phase: ArchivePhase) -> None:
        """Show the current phase."""
        self.progress.phase = phase
        self._show(self.progress)

    # The beginning

    def prepare(self, stack: ExitStack) -> bool:
        """Open the log, take the lease and observe the source. Returns whether to go on."""
        self._show(self.progress)
        waits = BeginningWaits(
            wanted=self._wishes.wait, stop=self._stop, meter=self._meter, tell=self._tell_wait
        )
        log = waits.answered(lambda: CommitLog.open_or_begin(self._store, self._config.region))
        if log is None:
            return False
        lease = HeldArchive(
            self._store, self._config.archive, self._config.region, RUN_WORK, RUN_WORK, self._stop
        )
        stack.enter_context(lease)
        caught_up = self._wishes.until_caught_up
        events = stack.enter_context(
            recording_run(self._store, self._config, lease, until_caught_up=caught_up)
        )
        log.follow()  # the run before this one may have committed until now
        self._log, self._lease = log, lease
        self._standings = Standings(log.state)
        self._commits = Commits(log, lease, self._standings)
        self._unread = UnreadRecords(self._standings, events, self._say)
        self._news = SourceNews(
            self._config, self._source, self._store, log, self._standings, self._woken.set
        )
        self._closing.append(self._news.close)
        searches = HistorySearches(self._config.source, self._source, log, self._woken)
        self._histories = Histories(searches, self._commits, self._standings, self._say)
        self._closing.append(self._histories.close)
        self._compaction = ScheduledCompaction(self._config, log, self._say)
        self._closing.append(self._compaction.close)
        self.progress.notes = self._notes()
        missing = waits.answered(lambda: missing_sentence(log))
        if missing is None:
            return False
        if missing:
            self._missing = missing
            self._say("archive.objects_missing", {"why": missing}, "", True)
        if waits.answered(self._news.look) is None:
            return False
        self._news.require_decided()
        self._goal = ArchiveGoal(self._standings)
        return not self._stop.is_set()

    def _notes(self) -> tuple[str, ...]:
        replaced = self._lease.replaced
        taken = (
            f"the lease was taken over from another process ({replaced.command}, {replaced.where}),"
            " which ended without giving it back"
            if replaced is not None
            else ""
        )
        new = ""
        if not self._log.state.version:
            new = f"{self._log.where}: {_NEW}"
            self._say("archive.new", {"where": self._log.where}, "", True)
        return tuple(text for text in (taken, new, *self._log.notes) if text)

    def _tell_wait(self, trouble: str) -> None:
        self.progress.trouble = trouble
        self._show(self.progress)

    # The loop

    def go(self, spark: Any) -> None:
        """Run cycles until the run ends."""
        slots = following(spark, self._wishes.parallelism)
        all_due = self._wishes.until_caught_up
        self._scheduler = Scheduler(
            self._config,
            self._standings,
            spark,
            self._woken,
            self._say,
            all_due=all_due,
            left_out=self._news.left_out,
        )
        self._closing.append(self._scheduler.cycles.close)
        if not all_due:
            self._compaction.begin(spark, slots)
        self.enter(ArchivePhase.ARCHIVING)
        while not self._stop.is_set() and not self._is_done():
            self._turn(slots)
            self._woken.wait(self._pause())
            self._woken.clear()
        self._drain()

    def _turn(self, slots: Slots) -> None:
        self._lease.require()
        slots.look()
        self.progress.slots = slots.number
        if self._scheduler.take():
            self._store_trouble.again = 0.0
        self._attempt(self._source_trouble, self._look_when_due)
        self._scheduler.begin(slots.number)
        self._news.hear()
        self._attempt(self._store_trouble, self._commit_when_due)
        self._attempt(self._store_trouble, self._begin_histories)
        self._showing.attempt(self._tell)
        self._cycles.when_due()
        self._meter.turned()

    def _pause(self) -> float:
        left = max(0.0, self._look_due - time.monotonic())
        return min(1.0, left) if not self._stop.is_set() else 0.0

    def _attempt(self, side: Trouble, work: Callable[[], bool]) -> None:
        """Do what is due with a side, which returns whether anything was; keep its trouble."""
        try:
            done = work()
        except (ClusterError, StoreError) as error:
            self._scheduler.failures[error.code] += 1
            if side.failed(error, time.monotonic()):
                self._say("run.trouble", {"why": str(error), "code": error.code}, "", True)
        else:
            if done and side.passed():
                self._say("run.trouble_over", {})
        both = self._source_trouble.why, self._store_trouble.why
        self.progress.trouble = self._lease.trouble = "; ".join(filter(None, both))

    @property
    def _look_due(self) -> float:
        return max(self._news.due, self._source_trouble.again)

    def _look_when_due(self) -> bool:
        if time.monotonic() < self._look_due:
            return False
        self._news.look()
        return True

    def _is_done(self) -> bool:
        """Whether a run that ends has archived all that was there, or as much as can be had."""
        if not self._wishes.until_caught_up or self._scheduler.cycles.running:
            return False
        return not self._histories.running and self._news.settled and self._goal.reached

    def _begin_histories(self) -> bool:
        """Begin histories of logs that were cut. Returns whether the store was asked."""
        return time.monotonic() >= self._store_trouble.again and self._histories.begin()

    # Commits

    def _commit_when_due(self) -> bool:
        """Commit, or give a sign of life. Returns whether the store was asked for anything."""
        now = time.monotonic()
        if now < self._store_trouble.again:
            return False
        if self._has_news:
            return self._commit()
        is_due = now - self._commits.last >= self._config.run.heartbeat
        # A store in trouble is asked for a sign of life to see whether it is over.
        if (is_due or self._store_trouble.failures) and not self._source_trouble.failures:
            self._commits.beat()
            return True
        return False

    @property
    def _has_news(self) -> bool:
        """Whether there is anything to commit."""
        ready = any(each.ahead and each.ready() for each in self._standings)
        return bool(ready or self._news.changed or self._news.new)

    def _commit(self) -> bool:
        """Commit what is ready. Returns that the store was asked."""
        added = self._commits.commit(self._news.changed, self._news.new)
        self._news.committed()
        self._unread.take(added)
        self._positions.commit({each.partition_id for each in added}, self._standings)
        self._say("archive.committed", {"version": self._commits.version, "segments": len(added),
                  "records": sum(each.records for each in added)})  # fmt: skip
        return True

    # The end

    def _drain(self) -> None:
        """Wait until slices have ended, and commit what they wrote."""
        self.enter(ArchivePhase.DRAINING)
        until = Deadline.after(_DRAIN)
        while self._scheduler.cycles.running and not until.over:
            self._woken.wait(min(1.0, until.left()))
            self._woken.clear()
            self._scheduler.take()
            self._showing.attempt(self._tell)
            self._meter.turned()
        self._scheduler.take()
        self._news.hear()
        if self._has_news:
            self._attempt(self._store_trouble, self._commit)
        if self._wishes.until_caught_up and not self._stop.is_set():
            self.progress.incomplete = self._goal.incomplete
        self._log.settle()
        self._tell()

    def _tell(self) -> None:
        progress, running = self.progress, self._scheduler.cycles.running
        progress.cycles = self._scheduler.ended
        progress.slices = sum(each.slices for each in running), sum(each.done for each in running)
        progress.version = self._commits.version
        progress.rows = rows_of(self._standings, self._standings)
        progress.hidden, progress.unread = self._news.hidden, self._unread.sentences
        progress.beside = self._beside()
        self._told_notes |= dict.fromkeys(
            (*progress.notes, *self._histories.notes, *self._news.notes)
        )
        progress.notes = tuple(self._told_notes)
        done = self._compaction.counts
        self._meter.tell(reading(progress, self._standings, self._commits, self._scheduler, done))
        self._show(progress)

    def _beside(self) -> tuple[str, ...]:
        """Return what keeps from being archived, or told, what goes beside records."""
        group, positions = self._config.group, self._positions.trouble
        told = (
            f"group {group} is not at what is archived: {positions}" if positions else "",
            f"compaction: {self._compaction.trouble}" if self._compaction.trouble else "",
        )
        return (*self._news.beside, *filter(None, (*told, self._missing)))

    def _say(
        self, what: str, facts: dict[str, Any], about: str = "", trouble: bool = False
    ) -> None:
        logging.event(what, self._config.archive, about, facts, trouble=trouble)
