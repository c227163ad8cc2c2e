"""`towpath archive forget`: erase the records with a key; their offsets become gaps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import Capture, CommitLog, Draft, EntryKind, living_readers
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import PartitionId, Segment
from towpath.archive.read.listing import require_topics
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import CompactionProgress
from towpath.archive.upkeep.slice.forget_slice import (
    SCHEMA,
    ForgetResult,
    ForgetSlice,
    forget_rows,
)
from towpath.archive.upkeep.slice.merge_plan import shared_out
from towpath.archive.upkeep.tidying import tidy
from towpath.engine.slots import following
from towpath.engine.starting import Starting
from towpath.model.errors import StoreAwayError, TowpathError
from towpath.model.nouns import SourceOffset, TopicName
from towpath.runtime.clock import now_ms
from towpath.settings.naming import fits
from towpath.store import Store
from towpath.store.stopping import given_up, stoppable

AUDIT = "forget"
"""The kind of capture that tells of each erasure; it never has the key."""
_NOTHING = "nothing was erased; begin again"
_SLICE_BYTES = 4 << 30

RunSlices = Callable[[Sequence[ForgetSlice], Callable[[int, int], None]], list[ForgetResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetWishes:
    """The options of `archive forget`.

    Attributes:
        key: The key of the records, as bytes.
        topics: Regular expressions; only topics whose whole name matches one.
        writes: Whether it is done; otherwise it is only looked for.
        reason: Why, for the log, such as the number of a request; never the key.
    """

    key: bytes
    topics: tuple[str, ...] = (".*",)
    writes: bool = False
    reason: str = ""


@dataclass(slots=True)
class Forgetting:
    """The progress of `archive forget`.

    Attributes:
        version: The newest version of the archive.
        planned: Segments to look at; `done`, those that were.
        found: Records with the key, by topic and partition.
        segments: Segments that have any; `replaced`, those that were written without them.
        erased: Records that are not in the archive any more.
        failed: Sentences about segments that could not be read or replaced, by object.
        waiting: Replaced objects that still hold what they held, until they are deleted.
        readers: Readers that may keep them.
        tidied: What was deleted; `None` where it was only looked, or stopped.
        unanswered: Why what was begun was not ended when the user stopped, "" if it was.
    """

    version: int = 0
    planned: int = 0
    done: int = 0
    found: dict[tuple[TopicName, int], int] = field(default_factory=dict)
    segments: int = 0
    replaced: int = 0
    erased: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    waiting: int = 0
    readers: int = 0
    tidied: CompactionProgress | None = None
    unanswered: str = ""

    @property
    def records(self) -> int:
        """Number of records found with the key."""
        return sum(self.found.values())


def forget(
    config: ArchiveConfig,
    wishes: ForgetWishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[Forgetting], None],
    parallelism: int | None = None,
) -> Forgetting:
    """Find the records with a key, and erase them from the archive if `writes` is set.

    Args:
        config: The archive.
        wishes: What is forgotten.
        spark: The Spark session, which is still starting.
        stop: Set to stop; what was committed stays so.
        show: Shows the progress.
        parallelism: Number of slices at a time; by default as many as Spark can run.

    Raises:
        ArchiveHeldError: Another process compacts, prunes or forgets.
        ConfigError: The archive has none of the topics that are named.
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
        require_topics(log.state, wishes.topics, "--topic")
        lease = None
        if wishes.writes:
            lease = stack.enter_context(archive_lease(config, store, "forget", stop))
            log.follow()
        work = ForgetWork(config, wishes, log, lease, run_on(spark.result, stop), stop, show)
        try:
            work.go(following(spark.result(), parallelism).number)
        except StoreAwayError as error:
            work.done.unanswered = given_up(error, stop)
        return work.done


class ForgetWork:
    """One pass of `archive forget` over an archive.

    Args:
        config: The archive.
        wishes: What is forgotten.
        log: Its log.
        lease: The right to replace segments; `None` where it is only looked.
        run_slices: Runs slices.
        stop: Set to stop.
        show: Shows the progress.

    Attributes:
        done: What was found and done.
    """

    def __init__(
        self,
        config: ArchiveConfig,
        wishes: ForgetWishes,
        log: CommitLog,
        lease: HeldArchive | None,
        run_slices: RunSlices,
        stop: threading.Event,
        show: Callable[[Forgetting], None],
    ) -> None:
        self._config, self._wishes, self._log, self._lease = config, wishes, log, lease
        self._run, self._stop, self._show = run_slices, stop, show
        self.done = Forgetting(version=log.state.version)

    def go(self, slots: int) -> None:
        """Read all segments, replace those that have the key, and delete the replaced objects."""
        left = [each for each in self._segments() if each.place is not None]
        self.done.planned = len(left)
        while left and not self._stop.is_set():
            slices, left = shared_out(left, _size, slots, _SLICE_BYTES)
            self._round(slices)
        self._end()

    def _segments(self) -> Iterable[Segment]:
        state = self._log.state
        for partition, known in sorted(state.partitions.items()):
            if fits(known.topic, self._wishes.topics):
                yield from state.segments(partition)

    def _round(self, slices: Sequence[tuple[Segment, ...]]) -> None:
        segments = {(each.partition_id, each.start): each for some in slices for each in some}
        try:
            results = self._run([self._slice(each) for each in slices], lambda *_: None)
        except TowpathError:
            if self._stop.is_set():
                return
            raise
        self._take(segments, results)
        self.done.done += len(segments)
        self._show(self.done)

    def _slice(self, segments: tuple[Segment, ...]) -> ForgetSlice:
        config, wishes = self._config, self._wishes
        return ForgetSlice(
            store=config.store,
            region=config.region,
            segments=segments,
            key=wishes.key,
            writes=wishes.writes,
        )

    def _take(
        self,
        segments: dict[tuple[PartitionId, SourceOffset], Segment],
        results: Iterable[ForgetResult],
    ) -> None:
        done, made = self.done, list[tuple[Segment, Segment]]()
        for each in results:
            before = segments[each.id, each.start]
            if each.trouble is not None:
                assert before.place is not None  # noqa: S101  # only these are looked at
                done.failed[before.place.key] = str(each.trouble)
                continue
            at = before.topic, before.partition
            done.found[at] = done.found.get(at, 0) + each.records
            done.segments += 1
            if each.made is not None:
                made.append((before, each.made))
        if made:
            self._commit(made)

    def _commit(self, made: Sequence[tuple[Segment, Segment]]) -> None:
        assert self._lease is not None  # noqa: S101  # else nothing was written
        self._lease.require()
        erased = sum(before.records - after.records for before, after in made)
        draft = Draft(
            writer=self._lease.writer,
            kind=EntryKind.FORGET,
            add=tuple(after for _, after in made),
            remove=tuple(before.id for before, _ in made),
            captures=(self._audit(made, erased),),
        )
        self._log.append(draft)
        self.done.replaced += len(made)
        self.done.erased += erased
        self.done.version = self._log.state.version

    def _audit(self, made: Sequence[tuple[Segment, Segment]], erased: int) -> Capture:
        topics: dict[str, int] = {}
        for before, after in made:
            topics[before.topic] = topics.get(before.topic, 0) + before.records - after.records
        told: dict[str, Any] = {"time": now_ms(), "records": erased, "topics": topics}
        return Capture(kind=AUDIT, name=uuid4().hex, value=told | {"reason": self._wishes.reason})

    def _end(self) -> None:
        """Delete what may go now, and say what stays."""
        done, log = self.done, self._log
        if self._lease is not None and not self._stop.is_set():
            done.tidied = CompactionProgress()
            tidy(self._config, log, self._lease, done.tidied)
            done.readers = len(living_readers(log.store, log.region))
        done.waiting = len(log.state.unused_objects())
        done.version = log.state.version


def _size(segment: Segment) -> int:
    return segment.raw_bytes


def run_on(spark: Callable[[], Any], stop: threading.Event) -> RunSlices:
    """Return a function that runs `forget` slices on Spark."""

    def run(slices: Sequence[ForgetSlice], told: Callable[[int, int], None]) -> list[ForgetResult]:
        from towpath.engine.batch import run as run_slices  # noqa: PLC0415  # it imports PySpark
        from towpath.engine.failure import of_spark  # noqa: PLC0415

        try:
            rows = run_slices(spark(), slices, forget_rows, SCHEMA, told, stop)
        except RuntimeError as error:
            raise of_spark(error) from error
        return [ForgetResult.from_json(each) for each in rows["forgotten"].to_pylist()]

    return run
