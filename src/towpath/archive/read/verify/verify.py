"""Verification of an archive: all that `towpath archive verify` does."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice

import pyarrow as pa

from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import BrokenLogError, CorruptSegmentError, NewerSegmentError
from towpath.archive.keys import checkpoint_prefix, data_key, log_prefix
from towpath.archive.log import ArchiveReading, ArchiveState, CommitLog, followed_histories
from towpath.archive.model import Segment
from towpath.archive.read.lives import left_out_sentences
from towpath.archive.read.unnamed_objects import Holdings, segments_of
from towpath.archive.read.verify.content import SCHEMA, CheckSlice, check_rows
from towpath.archive.read.verify.findings import (
    ArchiveProblem,
    CheckedArchive,
    CheckedObject,
    VerifyScope,
)
from towpath.archive.read.verify.log_entries import checkpoints, differing, newest, replay
from towpath.archive.read.verify.needed_objects import chosen_rows, look_at, needed, orphans
from towpath.archive.read.verify.tiling import untiled
from towpath.cluster.admin import Admin
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.starting import Starting
from towpath.model.errors import ClusterError, ObjectMissingError, StoppedError, StoreError
from towpath.model.nouns import Side, TopicName
from towpath.settings import ClusterConfig
from towpath.store import Store, StoredObject
from towpath.store.stopping import stoppable

_SLICE_BYTES = 256 << 20
_SLICE_SEGMENTS = 500
_NAMED = 1_000
"""Objects in no entry whose keys are told, at most."""
_LOOKED_AT = 10_000
"""Objects in no entry into which is looked whether the archive has what they hold, at most."""
_WAVE = 200
"""Slices of one Spark job. An archive of any size is verified in jobs of so many."""
_STOPPED = "not all of the archive was verified, so nothing is proven; begin again"
OnDone = Callable[[int, int], None]
"""Gets how many slices have ended, and how many there are."""
ReadObjects = Callable[[Sequence[CheckSlice], OnDone], Iterable[CheckedObject]]
Told = Callable[[str, str, int, int], None]
"""Gets what is being done, with which things, how many of them are done, and how many there are."""


def on_spark(spark: Starting, stop: threading.Event) -> ReadObjects:
    """Return a function that verifies objects on Spark.

    Args:
        spark: The session, which is still starting.
        stop: Set to stop early.
    """

    def read(slices: Sequence[CheckSlice], done: OnDone) -> Iterator[CheckedObject]:
        try:
            rows = run_slices(spark.result(), slices, check_rows, SCHEMA, done, stop)
        except RuntimeError as error:
            if stop.is_set():
                raise StoppedError(_STOPPED) from None
            raise of_spark(error) from error
        return map(CheckedObject.from_json, rows["checked"].to_pylist())

    return read


def verify(
    config: ArchiveConfig,
    scope: VerifyScope,
    read: ReadObjects | None,
    told: Told,
    stop: threading.Event,
) -> CheckedArchive:
    """Verify an archive.

    Args:
        config: The archive.
        scope: What is verified.
        read: Runs slices that read objects; `None` if none is read. `on_spark` returns one.
        told: Told how far it is.
        stop: Set to stop early.

    Raises:
        CommitLogError: There is no archive, or its log is of a newer format.
        StoppedError: The user stopped it.
        StoreError: The store cannot be read.
        SparkStartError: Spark did not start.
        TowpathError: Spark failed.
    """
    with stoppable(stop, _STOPPED), ExitStack() as stack:
        store = stack.enter_context(Store(config.store, stop=stop))
        made = _Verification(config, scope, store, told, stop)
        made.register(stack)
        made.read_log()
        made.look()
        if read is not None:
            made.read_objects(read)
        return made.found


class _Verification:
    def __init__(
        self,
        config: ArchiveConfig,
        scope: VerifyScope,
        store: Store,
        told: Told,
        stop: threading.Event,
    ) -> None:
        self._config, self._scope, self._store = config, scope, store
        self._told, self._stop = told, stop
        self._state = ArchiveState()
        self._reading: ArchiveReading | None = None
        where = f"{store.config.url}/{log_prefix(config.region)}"
        self.found = CheckedArchive(where=where, scope=scope)

    def register(self, stack: ExitStack) -> None:
        """Register as a reader, if the login may write, so that replaced objects are kept."""
        try:
            reading = ArchiveReading(self._store, self._config.region, "verify")
            self._reading = stack.enter_context(reading)
        except StoreError as error:
            self.found.notes.append(
                f"{error}; so objects that a compaction replaces meanwhile may look missing"
            )

    # The log

    def read_log(self) -> None:
        """Replay the log from its first entry, and check that segments are contiguous."""
        found = self.found
        opened = self._opened()
        until = opened.version if opened is not None else newest(self._store, self._config.region)
        progress = partial(self._progress, "reading the commit log", "entries")
        made = replay(self._store, self._config.region, until, progress)
        found.entries, found.unsummed_entries = made.read, made.unsummed
        found.problems += made.problems
        found.unsummed_checkpoints, damaged = checkpoints(self._store, self._config.region)
        found.problems += damaged
        self._state = opened if opened is not None else made.state
        found.version = self._state.version
        wrong = differing(made.state, opened) if opened is not None and not made.problems else ""
        if wrong:
            about = checkpoint_prefix(self._config.region)
            why = f"the newest checkpoint contradicts the entries: {wrong}; delete it"
            self._problem(about, why)
            self._state = made.state
        found.problems += untiled(self._state)
        found.notes += left_out_sentences(self._state)
        if self._reading is not None:
            self._reading.passed(self._state.version)

    def _opened(self) -> ArchiveState | None:
        """Return the newest state; `None` if an entry behind the newest checkpoint is broken."""
        try:
            log = CommitLog.open(self._store, self._config.region)
        except BrokenLogError:
            return None  # found again, entry by entry
        self.found.notes += log.notes
        return log.state

    def _problem(self, about: str, why: str) -> None:
        problem = ArchiveProblem(code=BrokenLogError.code, about=about, why=why)
        self.found.problems.append(problem)

    # Objects

    def look(self) -> None:
        """Check that the objects exist, unless they are read anyway; count orphans."""
        found, scope = self.found, self._scope
        self._rows = chosen_rows(self._state, scope)
        objects = needed(self._rows)
        found.segments, found.objects = len(self._rows), len(objects)
        if not scope.reads:
            progress = partial(self._progress, "looking at objects", "objects")
            found.problems += look_at(self._store, objects, found, progress)
        if not scope.narrowed:
            self._orphans()

    def _orphans(self) -> None:
        """Count the objects in no entry, and name those that hold what the archive lacks."""
        found, region = self.found, self._config.region
        there = orphans(self._store, region, self._state)
        found.orphans = len(there), sum(each.size for each in there)
        found.unnamed = tuple(each.key for each in there[:_NAMED])
        elsewhere = Holdings(CommitLog(self._store, region, self._state), self._state)
        ours = (each for each in there if data_key(region, each.key) is not None)
        found.stranded = tuple(
            each.key for each in islice(ours, _LOOKED_AT) if self._is_stranded(elsewhere, each)
        )

    def _is_stranded(self, elsewhere: Holdings, each: StoredObject) -> bool:
        try:
            return not all(map(elsewhere.is_spare, segments_of(self._store, each)))
        except (CorruptSegmentError, NewerSegmentError, ObjectMissingError, BrokenLogError):
            return False  # what cannot be read is none of it, and a broken log is told anyway

    def read_objects(self, read: ReadObjects) -> None:
        """Verify the content of all objects on Spark."""
        source, compacted = self._source() if self._scope.source else (None, frozenset())
        work = CheckSlice(
            store=self._config.store,
            segments=(),
            source=source,
            compacted=compacted,
            over=followed_histories(self._state) if source is not None else {},
        )
        self._table = self._state.table()
        bounds = list(_bounds(self._rows))
        for first in range(0, len(bounds), _WAVE):
            slices = [
                replace(work, segments=self._segments(*each))
                for each in bounds[first : first + _WAVE]
            ]
            done = partial(self._read_so_far, first, len(bounds))
            for each in read(slices, done):
                self.found.add(each, self._state)

    def _segments(self, first: int, end: int) -> tuple[Segment, ...]:
        return tuple(self._table.taken(self._rows["number"][first:end]))

    def _read_so_far(self, before: int, total: int, number: int, _: int) -> None:
        self._told("reading objects", "slices", before + number, total)

    def _source(self) -> tuple[ClusterConfig | None, frozenset[TopicName]]:
        """Return the source, and which of its topics are compacted, or may be."""
        topics = {self._state.partitions[each].topic for each in self._state.partitions}
        try:
            with Admin(self._config.source, Side.SOURCE) as source:
                configs = source.configs.describe(topics & source.topics.describe().keys())
        except ClusterError as error:
            self.found.notes.append(f"the source was not asked: {error}")
            return None, frozenset()
        policies = defaultdict[TopicName, str](lambda: "compact")
        for name, entries in configs.items():
            if "cleanup.policy" in entries:
                policies[name] = entries["cleanup.policy"].value or "compact"
        return self._config.source, frozenset(
            each for each in topics if "compact" in policies[each]
        )

    def _progress(self, doing: str, things: str, number: int, total: int) -> None:
        if self._stop.is_set():
            raise StoppedError(_STOPPED)
        self._told(doing, things, number, total)


def _bounds(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Yield which segments each slice reads; those of one object stay together."""
    keys, sizes = rows["key"].to_pylist(), rows["raw_bytes"].to_pylist()
    first, size = 0, 0
    for at, (key, more) in enumerate(zip(keys, sizes, strict=True)):
        is_full = size + more > _SLICE_BYTES or at - first >= _SLICE_SEGMENTS
        if at > first and is_full and (key is None or key != keys[at - 1]):
            yield first, at
            first, size = at, 0
        size += more
    if keys:
        yield first, len(keys)
