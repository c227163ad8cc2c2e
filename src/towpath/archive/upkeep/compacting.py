"""`towpath archive compact`, and scheduled compaction during an archive's run."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.errors import ArchiveHeldError
from towpath.archive.log import CommitLog
from towpath.archive.log.lease import HeldArchive
from towpath.archive.metrics.compaction import CompactionCounts
from towpath.archive.read.listing import require_partitions, require_topics
from towpath.archive.upkeep.compaction_rounds import (
    WORK,
    Compaction,
    CompactionProgress,
    Wanted,
    run_on,
)
from towpath.archive.upkeep.last_compaction import last_compaction, recording_compaction, some_of
from towpath.archive.upkeep.tidying import tidy
from towpath.engine.slots import Slots, following
from towpath.engine.starting import Starting
from towpath.model.errors import SparkLostError, StoreAwayError, StoreError, TowpathError
from towpath.runtime.clock import now_ms
from towpath.settings.naming import fits
from towpath.settings.sections.topics import Count
from towpath.settings.units import Duration, Size
from towpath.store import Store
from towpath.store.stopping import given_up, stoppable

_RUN = "run"
"""The command of `towpath archive` that compacts by schedules."""
Say = Callable[[str, dict[str, Any], str, bool], None]
_NOTHING = "nothing was merged; begin again"
_LONGEST = 60.0
"""Seconds between two looks at the clock: it may be set meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionWishes:
    """The options of a manual compaction.

    Attributes:
        now: Merge whatever has a neighbour, however young, small or few it is.
        topics: Regular expressions; only topics whose whole name matches one.
        partitions: Only partitions with these numbers; empty for all.
        level: Only segments of this level; `None` for those that the rules name.
        parallelism: Number of slices at a time; by default as many as Spark can run.
    """

    now: bool = False
    topics: tuple[str, ...] = (".*",)
    partitions: frozenset[int] = frozenset()
    level: int | None = None
    parallelism: int | None = None


def rules_of(
    rules: Sequence[CompactionConfig], wishes: CompactionWishes
) -> tuple[CompactionConfig, ...]:
    """Return the rules to apply: those of the file or the defaults, narrowed by the options."""
    found = tuple(rules) or (CompactionConfig(),)
    changes: dict[str, Any] = {}
    if wishes.level is not None:
        level = Count(wishes.level)
        changes = {"min_level": level, "max_level": level}
        found = tuple(each for each in found if each.min_level <= level <= each.max_level)
        found = found or (CompactionConfig(),)
    if wishes.now:
        changes |= {"min_age": Duration(0), "min_count": Count(2), "min_size": Size(1)}
    return tuple(each.model_copy(update=changes) for each in found)


def wanted_by(wishes: CompactionWishes) -> Wanted:
    """Return a filter for the partitions to compact."""
    return lambda each: (
        fits(each.topic, wishes.topics)
        and (not wishes.partitions or each.id.partition in wishes.partitions)
    )


def compact(
    config: ArchiveConfig,
    wishes: CompactionWishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[CompactionProgress], None],
) -> CompactionProgress:
    """Merge segments until nothing qualifies, and delete unused objects.

    Args:
        config: The archive.
        wishes: What to compact.
        spark: The Spark session, which is still starting.
        stop: Set to stop; the round that goes on is cancelled.
        show: Shows the progress.

    Raises:
        ArchiveHeldError: Another process compacts, prunes or forgets.
        ConfigError: The archive has none of the topics or partitions that are named.
        CommitLogError: The log cannot be used, or there is no archive.
        StoreError: The store cannot be used.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
        StoppedError: The user asked to stop while the store was away, before anything was done.
    """
    with stoppable(stop, _NOTHING), ExitStack() as stack:
        store = stack.enter_context(Store(config.store, stop=stop))
        spark.require_allowed()
        log = CommitLog.open(store, config.region)
        require_topics(log.state, wishes.topics, "--topics")
        require_partitions(log.state, wishes.topics, wishes.partitions)
        lease = stack.enter_context(archive_lease(config, store, WORK, stop))
        log.follow()
        progress = CompactionProgress(version=log.state.version)
        stack.enter_context(recording_compaction(store, config.region, WORK, progress, stop))
        work = Compaction(
            config,
            log,
            lease,
            run_on(spark.result, stop),
            lambda: following(spark.result(), wishes.parallelism).number,
            stop,
            progress,
            show,
        )
        try:
            work.go(rules_of(config.compaction, wishes), wanted_by(wishes))
            if not stop.is_set():
                tidy(config, log, lease, progress)
        except StoreAwayError as error:
            progress.unanswered = given_up(error, stop)
        return progress


def archive_lease(
    config: ArchiveConfig, store: Store, command: str, stop: threading.Event
) -> HeldArchive:
    """Take the lease for replacing and removing segments."""
    return HeldArchive(store, config.archive, config.region, command, WORK, stop)


class ScheduledCompaction:
    """Applies compaction rules by their schedules, in a thread beside the archive's run.

    It uses half of the slots, so that what is new is archived all the same.

    Args:
        config: The archive.
        log: Its log, which the run uses, too.
        say: Logs an event.

    Attributes:
        counts: What was done so far.
        trouble: Why the last compaction failed, "" if it did not; also one of another process.
    """

    def __init__(self, config: ArchiveConfig, log: CommitLog, say: Say) -> None:
        self._config, self._log, self._say = config, log, say
        self._rules = [rule for rule in config.compaction if rule.schedule is not None]
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts = Counter[str]()
        self._now = CompactionProgress()
        self._runs = self._failed = False
        self._told = 0
        self.trouble = ""

    @property
    def counts(self) -> CompactionCounts:
        """The counts so far, including the running compaction."""
        done, now = self._counts, self._now
        return CompactionCounts(
            running=self._runs,
            failed=self._failed,
            success=done["success"],
            skipped=done["skipped"],
            stopped=done["stopped"],
            errors=done["errors"],
            seconds=float(done["ms"]) / 1000,
            read=done["read"] + now.read,
            written=done["written"] + now.written,
            bytes=done["bytes"] + now.bytes,
            deleted=done["deleted"] + now.swept,
            orphans=done["orphans"] + now.orphans,
            unsettled=now.unsettled + len(now.stranded),
            damaged=done["damaged"] + now.damaged,
        )

    def begin(self, spark: Any, slots: Slots) -> None:
        """Start the scheduler thread, if the file has a schedule."""
        if self._rules:
            self._thread = threading.Thread(
                target=self._go, args=(spark, slots), name="towpath-compaction", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Cancel the running compaction, and wait for the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _go(self, spark: Any, slots: Slots) -> None:
        due = [_next(rule) for rule in self._rules]
        while not self._stop.is_set():
            now = [rule for rule, at in zip(self._rules, due, strict=True) if _is_past(at)]
            if now:
                self._compact(now, spark, slots)
                due = [
                    _next(rule) if rule in now else at
                    for rule, at in zip(self._rules, due, strict=True)
                ]
            if not self._stop.is_set():
                self._recall()
            self._stop.wait(_pause(due))

    def _recall(self) -> None:
        """Take over how the last compaction ended, if that was one of another process.

        So a run that begins again knows that the last one failed, and hears of one by hand.
        """
        with suppress(StoreError):  # asked again after the next pause
            last = last_compaction(self._log.store, self._config.region)
            if last is not None and last.ended > self._told:
                self._told, self._failed, self.trouble = last.ended, last.failing, last.trouble

    def _compact(self, rules: Sequence[CompactionConfig], spark: Any, slots: Slots) -> None:
        began, before = datetime.now().astimezone(), self.trouble
        self._now, self._runs, self.trouble = CompactionProgress(), True, ""
        try:
            how = self._tried(rules, spark, slots)
        finally:
            self._runs = False
        if how in {"success", "errors"}:
            self._failed = how == "errors"
        if how != "skipped":
            self._told = now_ms()
        now, self._now = (
            self._now,
            CompactionProgress(unsettled=self._now.unsettled, stranded=self._now.stranded),
        )
        took = datetime.now().astimezone() - began
        self._counts.update(
            {
                how: 1,
                "ms": round(took.total_seconds() * 1000),
                "read": now.read,
                "written": now.written,
                "bytes": now.bytes,
                "deleted": now.swept,
                "orphans": now.orphans,
                "damaged": now.damaged,
            }
        )
        facts = {
            "read": now.read,
            "written": now.written,
            "deleted": now.swept,
            "why": self.trouble,
        }
        self._say(f"compaction.{how}", facts, "", bool(self.trouble))
        if how == "skipped":
            self.trouble = before

    def _tried(self, rules: Sequence[CompactionConfig], spark: Any, slots: Slots) -> str:
        """Compact. Returns how it ended, as kafka-replicator counts it."""
        try:
            store, region = self._log.store, self._config.region
            with (
                archive_lease(self._config, store, WORK, self._stop) as lease,
                recording_compaction(store, region, _RUN, self._now, self._stop),
            ):
                work = Compaction(
                    self._config,
                    self._log,
                    lease,
                    run_on(lambda: spark, self._stop),
                    lambda: max(1, slots.number // 2),
                    self._stop,
                    self._now,
                    lambda _: None,
                )
                work.go(rules)
                if not self._stop.is_set():
                    tidy(self._config, self._log, lease, self._now)
        except ArchiveHeldError as error:
            if self._stop.is_set():
                return "stopped"
            self._say("compaction.elsewhere", {"why": str(error)}, "", False)
            return "skipped"
        except SparkLostError as error:
            self.trouble = str(error)  # the run ends by it, too
            return "errors"
        except TowpathError as error:
            self.trouble = str(error)
            return "stopped" if self._stop.is_set() else "errors"
        self.trouble = some_of(self._now.failed)
        if self._stop.is_set():
            return "stopped"
        return "errors" if self._now.failed else "success"


def _next(rule: CompactionConfig) -> datetime | None:
    assert rule.schedule is not None  # noqa: S101  # only these rules are kept
    return rule.schedule.after(datetime.now(rule.time_zone))


def _is_past(at: datetime | None) -> bool:
    return at is not None and at <= datetime.now(at.tzinfo)


def _pause(due: Sequence[datetime | None]) -> float:
    left = [(at - datetime.now(at.tzinfo)).total_seconds() for at in due if at is not None]
    return max(0.0, min([_LONGEST, *left]))
