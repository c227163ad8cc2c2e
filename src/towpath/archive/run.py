"""`towpath archive run`: cycles on Spark, and a commit of what they wrote, until stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from towpath.archive.capturing import GroupCaptures, TopicCaptures
from towpath.archive.capturing_access import AccessCaptures
from towpath.archive.capturing_schemas import SchemaCaptures
from towpath.archive.commits import WORK, Commits
from towpath.archive.compacting import ScheduledCompaction
from towpath.archive.events import told_run
from towpath.archive.histories.searching import HistorySearches
from towpath.archive.lease import HeldArchive
from towpath.archive.look import SourceLook, SourceLooks
from towpath.archive.positions import ArchivePositions
from towpath.archive.progress import ArchivePhase, ArchiveProgress, ArchiveWishes, rows_of
from towpath.archive.restored import RestoredHere
from towpath.archive.scheduling import Scheduler
from towpath.archive.standing import PartitionStanding
from towpath.archive.standings import Standings
from towpath.archive.telling import reading, telling_archive
from towpath.archive.trouble import Trouble
from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import healable
from towpath.config import ArchiveConfig, Duration, StoreConfig
from towpath.engine.slots import Slots, following
from towpath.engine.starting import Starting
from towpath.metrics import log as logging
from towpath.metrics.archive import ArchiveMeter
from towpath.model.backoff import BackOff
from towpath.model.clock import now_ms, readable
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, StoreAwayError, StoreError
from towpath.model.nouns import Side, SourceOffset
from towpath.segments.log import Capture, CommitLog
from towpath.segments.model import PartitionId
from towpath.store import Store

ARCHIVING = ("towpath.segments.egress.slice",)
"""Modules that Python workers import before the first archiving slice comes."""
_DRAIN = 30.0
"""Seconds for which a run that is stopped waits for its slices."""
_GIVEN_UP = 4
"""Failures in a row after which a run that ends leaves a partition behind."""
_AGAIN = BackOff(first=1.0, longest=15.0)
_PATIENCE = 10.0
"""Seconds for which the run itself repeats a request to the store before it does other things."""


def run(
    config: ArchiveConfig,
    wishes: ArchiveWishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[ArchiveProgress], None],
) -> ArchiveProgress:
    """Archive until `stop` is set, or until all is archived that the source has at the start.

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
    with ExitStack() as stack:
        meter = stack.enter_context(telling_archive(config))
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        store = stack.enter_context(Store(_hasty(config.store)))
        spark.require_allowed()
        made = _Run(config, wishes, source, store, stop, show, meter)
        stack.callback(made.close)
        if made.prepare(stack):
            made.enter(ArchivePhase.STARTING)
            made.go(spark.result())
        return made.progress


def _hasty(store: StoreConfig) -> StoreConfig:
    """Return the config of the run's own requests, which its loop repeats.

    A store that is away must not hold up the loop: it looks at the source, and listens to people.
    """
    timeout = min(store.timeout, Duration(_PATIENCE))
    return store.model_copy(update={"timeout": timeout})


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
        self._config, self._wishes, self._source, self._store = config, wishes, source, store
        self._stop, self._show = stop, show
        self.progress = ArchiveProgress()
        self._looks = SourceLooks(source, config.topics)
        self._restored = RestoredHere(source, config.source, config.restored)
        self._closing: list[Callable[[], None]] = [self._restored.close]
        self._positions = ArchivePositions(source, config.group)
        self._news = threading.Event()
        self._look: SourceLook | None = None
        self._next_look = 0.0
        self._source_trouble, self._store_trouble = Trouble(), Trouble()
        self._goal: dict[PartitionId, SourceOffset] = {}
        self._changed: list[Capture] = []
        self._new: set[PartitionId] = set()

    def close(self) -> None:
        """Cancel what goes on."""
        for each in reversed(self._closing):
            each()

    def enter(self, phase: ArchivePhase) -> None:
        """Show what the run does now."""
        self.progress.phase = phase
        self._show(self.progress)

    # The beginning

    def prepare(self, stack: ExitStack) -> bool:
        """Open the log, take the lease and look at the source. Returns whether to go on."""
        self._show(self.progress)
        log = self._tried(lambda: CommitLog.open_or_begin(self._store, self._config.region))
        if log is None:
            return False
        lease = HeldArchive(
            self._store, self._config.archive, self._config.region, WORK, WORK, self._stop
        )
        stack.enter_context(lease)
        caught_up = self._wishes.until_caught_up
        stack.enter_context(told_run(self._store, self._config, lease, until_caught_up=caught_up))
        log.follow()  # the run before this one may have committed until now
        self._log, self._lease = log, lease
        self._standings = Standings(log.state)
        self._commits = Commits(log, lease, self._standings)
        self._searches = HistorySearches(self._config.source, self._source, log, self._news)
        self._closing.append(self._searches.close)
        self._compaction = ScheduledCompaction(self._config, log, self._say)
        self._closing.append(self._compaction.close)
        config = self._config
        self._topics = TopicCaptures(self._source, log.state, log.where)
        self._groups = GroupCaptures(self._source, config.groups, config.group, log.state)
        self._access = AccessCaptures(self._source, log.state, wanted=config.access)
        self._schemas = SchemaCaptures(
            config.schemas, self._store, config.region, log.state, log.where, self._news.set
        )
        self._closing.append(self._schemas.close)
        self.progress.notes = self._notes()
        if self._tried(self._look_now) is None or self._look is None:
            return False
        self._restored.require_decided(self._look.topics)
        self._goal = {each.id.source: each.ends.stable_end for each in self._standings.present}
        return not self._stop.is_set()

    def _notes(self) -> tuple[str, ...]:
        replaced = self._lease.replaced
        taken = (
            f"the lease was taken over from another process ({replaced.command}, {replaced.where}),"
            " which ended without giving it back"
            if replaced is not None
            else ""
        )
        return tuple(text for text in (taken, *self._log.notes) if text)

    def _tried(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns; `None` if the user stops before the source answers."""
        failures, since = 0, readable(now_ms())
        while not self._stop.is_set():
            try:
                found = work()
            except (ClusterError, StoreAwayError) as error:
                is_healable = isinstance(error, StoreAwayError) or healable(error)
                if not (self._wishes.wait and is_healable):
                    raise
                failures += 1
                self.progress.trouble = f"waiting for an answer since {since}: {error}"
                self._show(self.progress)
                self._stop.wait(_AGAIN.after(failures))
            else:
                self.progress.trouble = ""
                return True if found is None else found
        return None

    # The loop

    def go(self, spark: Any) -> None:
        """Run cycles until the run ends."""
        slots = following(spark, self._wishes.parallelism)
        all_due = self._wishes.until_caught_up
        self._scheduler = Scheduler(
            self._config,
            self._standings,
            spark,
            self._news,
            self._say,
            all_due=all_due,
            left_out=self._restored.ids,
        )
        self._closing.append(self._scheduler.cycles.close)
        if not all_due:
            self._compaction.begin(spark, slots)
        self.enter(ArchivePhase.ARCHIVING)
        while not self._stop.is_set() and not self._is_done():
            self._turn(slots)
            self._news.wait(self._pause())
            self._news.clear()
        self._drain()

    def _turn(self, slots: Slots) -> None:
        self._lease.require()
        slots.look()
        self.progress.slots = slots.number
        if self._scheduler.take():
            self._store_trouble.again = 0.0
        self._attempt(self._source_trouble, self._look_when_due)
        self._scheduler.begin(slots.number)
        self._changed += self._schemas.changed()
        self._attempt(self._store_trouble, self._commit_when_due)
        self._attempt(self._store_trouble, self._begin_histories)
        self._tell()

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
        self.progress.trouble = "; ".join(filter(None, both))

    @property
    def _look_due(self) -> float:
        return max(self._next_look, self._source_trouble.again)

    def _look_when_due(self) -> bool:
        if time.monotonic() < self._look_due:
            return False
        self._look_now()
        return True

    def _look_now(self) -> None:
        """Look at the source.

        Raises:
            ClusterError: It could not be reached.
        """
        look = self._looks.look(self._standings.epochs)
        self._restored.look()  # behind it, so that it names the writers of all that was seen
        self._look = look
        self._next_look = time.monotonic() + self._config.run.discover
        self._new |= {each.id for each in self._standings.saw(look)}
        for gap in self._standings.lost_with_topics(look):
            self._standings[gap.partition_id].took([gap])
        self._changed += self._topics.changed(look)
        self._changed += self._groups.changed(look)
        self._changed += self._access.changed(look)

    def _is_done(self) -> bool:
        """Whether a run that ends has archived all that was there, or as much as can be had."""
        if not self._wishes.until_caught_up or self._scheduler.cycles.running or self._look is None:
            return False
        if self._searches.running:
            return False
        left = [each for each in self._left() if each.failures < _GIVEN_UP]
        is_known = self._schemas.settled and not self._changed
        return not left and is_known and not any(each.ready() for each in self._standings)

    def _left(self) -> list[PartitionStanding]:
        standings = (self._standings.newest(each) for each in self._goal)
        return [
            each
            for each in standings
            if not each.gone and (each.archived_to < self._goal_of(each) or each.doubt is not None)
        ]

    def _goal_of(self, standing: PartitionStanding) -> SourceOffset:
        """Return up to where a partition is archived by a run that ends; its log may be cut."""
        return min(self._goal[standing.id.source], standing.ends.stable_end)

    # Logs that were cut at the source

    def _begin_histories(self) -> bool:
        """Look where logs differ from what is archived, and begin histories where they do.

        Returns:
            Whether the store was asked for anything.

        Raises:
            ArchiveHeldError: Another process holds the lease.
            CommitLogError: The log cannot be used.
            StoreError: The store could not be written; the search is repeated.
        """
        if time.monotonic() < self._store_trouble.again:
            return False
        begun = False
        for partition, fork in self._searches.found(self._standings):
            standing = self._standings[partition]
            if standing.over:
                continue  # another writer began the next one
            if fork is None:
                standing.trusts()
                continue
            self._commits.begin_history(partition, fork)
            self._tell_history(standing, fork)
            begun = True
        self._searches.begin(self._standings)
        return begun

    def _tell_history(self, standing: PartitionStanding, fork: SourceOffset) -> None:
        about, number = f"{standing.topic}-{standing.id.partition}", standing.id.history + 1
        facts = {"fork": fork, "archived": standing.archived_to, "history": number}
        self._say("partition.history_begun", facts, about, True)
        self.progress.notes += (
            f"{about}: the source's log was cut, and has other records from offset {fork} on; they"
            f" are archived as history {number}, and what was archived up to offset"
            f" {standing.archived_to} is kept",
        )

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
        return bool(ready or self._changed or self._new)

    def _commit(self) -> bool:
        """Commit what is ready. Returns that the store was asked."""
        added = self._commits.commit(self._changed, self._new)
        self._changed, self._new = [], set()
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
            self._news.wait(min(1.0, until.left()))
            self._news.clear()
            self._scheduler.take()
            self._tell()
        self._scheduler.take()
        self._changed += self._schemas.changed()
        if self._has_news:
            self._attempt(self._store_trouble, self._commit)
        if self._wishes.until_caught_up and not self._stop.is_set():
            self.progress.incomplete = tuple(
                f"{each.topic}-{each.id.partition}: archived up to offset {each.archived_to} of"
                f" {self._goal_of(each)}"
                for each in self._left()
                if each.trouble is None
            )
        self._log.settle()
        self._tell()

    def _tell(self) -> None:
        progress, running = self.progress, self._scheduler.cycles.running
        progress.cycles = self._scheduler.ended
        progress.slices = sum(each.slices for each in running), sum(each.done for each in running)
        progress.version = self._commits.version
        progress.rows = rows_of(self._standings, self._standings)
        hidden = {**self._standings.hidden, **self._topics.failed}
        progress.hidden = tuple(f"{name}: {error}" for name, error in sorted(hidden.items()))
        progress.beside = self._beside()
        if self._look is not None:
            untold = self._access.untold.items()
            told = [
                *self._schemas.notes,
                *self._restored.told(self._look.topics),
                *(f"{what} are not archived: {why}" for what, why in untold),
            ]
            progress.notes += tuple(each for each in told if each not in progress.notes)
        done = self._compaction.counts
        self._meter.tell(reading(progress, self._standings, self._commits, self._scheduler, done))
        self._meter.turned()
        self._show(progress)

    def _beside(self) -> tuple[str, ...]:
        """Return what keeps from being archived, or told, what goes beside records."""
        groups, positions = self._groups.trouble, self._positions.trouble
        told = (
            f"positions of groups are not archived: {groups}" if groups else "",
            f"group {self._config.group} is not at what is archived: {positions}"
            if positions
            else "",
            f"compaction: {self._compaction.trouble}" if self._compaction.trouble else "",
            f"schemas are not archived: {self._schemas.trouble}" if self._schemas.trouble else "",
            *self._schemas.untold,
        )
        return tuple(text for text in told if text)

    def _say(
        self, what: str, facts: dict[str, Any], about: str = "", trouble: bool = False
    ) -> None:
        logging.event(what, self._config.archive, about, facts, trouble=trouble)
