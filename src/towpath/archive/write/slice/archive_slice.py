"""An archiving slice: reads ranges from the source's leaders, and writes segments.

One thread reads, decodes and writes files; another one writes objects to the store. Small ranges,
which share objects, are read together. Of large ranges one is written at a time, while the next one
is fetched already. A range that does not move is passed, and left for another cycle in the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import pyarrow as pa

from towpath.archive.format.uploads import Uploads
from towpath.archive.model import STREAMING
from towpath.archive.write.slice.archive_work import SCHEMA, EgressResult, EgressSlice
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.patience import WaitingClock
from towpath.archive.write.slice.range_reader import FetchedPart, RangeReader
from towpath.archive.write.slice.range_writing import RangeWriting
from towpath.archive.write.slice.segment_objects import SharedObject, WritingTerms
from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import CorruptBatchError, UnreachableError
from towpath.model.nouns import Side, SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.source.events import SourceEvents
from towpath.records.source.side import SourceSide
from towpath.store import Store

__all__ = ["SCHEMA", "archive", "archive_rows"]

_TURN = 0.1
_LARGE_AT_ONCE = 2
"""Large ranges that are read at a time: one is written, the other one fetched ahead."""
_SMALL_AT_ONCE = 256
_PARTITION_BYTES = 4 << 20
"""Most bytes of a partition in an answer: a range has few of them, so they may be large."""
_STALLED = 1.0
"""Seconds without a record after which other ranges are written, and the log is looked at."""
_PROBE_BYTES, _PROBE_WAIT = 1 << 20, 0.5


def archive(work: EgressSlice) -> Iterator[EgressResult]:
    """Archive the ranges of a slice. Yields the result of each.

    Raises:
        ClusterError: The source could not be reached at all.
    """
    with ExitStack() as stack:
        source = stack.enter_context(Admin(work.source, Side.SOURCE))
        store = stack.enter_context(Store(work.store, begun=True))
        uploads = Uploads(store, work.store.class_of(STREAMING))
        stack.callback(uploads.close)
        egress = _Egress(work, source, uploads)
        stack.callback(egress.close)
        egress.run()
        yield from egress.results()


def archive_rows(work: EgressSlice) -> Iterator[pa.RecordBatch]:
    """Archive the ranges of a slice for Spark. Yields one row of `SCHEMA` per range."""
    for each in archive(work):
        yield pa.RecordBatch.from_pydict({"archived": [each.to_json()]})


class _Egress:
    """The state of a slice."""

    def __init__(self, work: EgressSlice, source: Admin, uploads: Uploads) -> None:
        self._work, self._uploads = work, uploads
        self._terms = WritingTerms(
            work.region, work.store.spread, work.format, work.left_out, work.again
        )
        self._reactor = Reactor()
        self._jobs = Jobs(self._reactor)
        self._pool = BufferPool(work.memory)
        self._clients = ClientPool(work.source, Side.SOURCE, source)
        self._side = SourceSide[RangeReader](
            self._reactor,
            work.source,
            source,
            self._pool,
            self._jobs,
            _RangeEvents(self._over_once_fetched),
            share=work.memory // _LARGE_AT_ONCE,
        )
        self._feed = self._side.fetcher
        self._feed.budget.partition_bytes = _PARTITION_BYTES
        # Small ones first: they free their memory soon, and the objects that they share are sooner
        # complete.
        self._waiting = sorted(work.ranges, key=lambda each: (not each.shares, each.topic))
        self._active: dict[TopicPartition, RangeReader] = {}
        self._writings: dict[RangeReader, RangeWriting] = {}
        self._fetched: dict[RangeReader, int] = {}
        self._shared: dict[TopicName, SharedObject] = {}
        self._front: RangeReader | None = None
        """The large range that is written now."""
        self._waited = WaitingClock()
        self._throttled = 0.0
        self._muted_until = 0.0
        self._looked_at: set[RangeReader] = set()

    def run(self) -> None:
        """Archive all ranges, as far as possible."""
        self._feed.connect({TopicPartition(r.topic, r.id.partition) for r in self._waiting})
        for each in self._waiting:
            if each.shares:
                self._share(each)
        self._begin()
        while reading := len(self._active):
            wait = 0.0 if self._due() else _TURN
            self._waited.turn(partial(self._reactor.turn, wait))
            self._write()
            self._look_after()
            if len(self._active) < reading:
                self._begin()

    def results(self) -> Iterator[EgressResult]:
        """Yield the result of each range, once its objects are in the store."""
        throttled = self._feed.throttled
        for reader, writing in self._writings.items():
            segments, unwritten = writing.result()
            yield EgressResult(
                id=reader.work.id,
                start=reader.work.start,
                segments=segments,
                trouble=unwritten or reader.trouble,
                fetched=self._fetched[reader],
                throttled=throttled,
                tails=tuple(each.tail for each in writing.made[: len(segments)]),
                behind=reader.behind,
                diverged=reader.diverged,
            )
            throttled = 0.0

    def close(self) -> None:
        """Close all connections and threads, and discard incomplete segments."""
        self._jobs.close()
        self._feed.close()
        self._clients.close()
        self._reactor.close()
        for reader, writing in self._writings.items():
            if reader in self._active.values():
                writing.drop()
        self._pool.close()

    # Which ranges are read

    def _share(self, work: PlannedRange) -> SharedObject:
        shared = self._shared.setdefault(work.topic, SharedObject(work.topic, self._terms))
        shared.open += 1
        return shared

    def _begin(self) -> None:
        """Begin to read further ranges, as far as there is memory for them."""
        later = []
        for work in self._waiting:
            tp = TopicPartition(work.topic, work.id.partition)
            if tp in self._active or not self._has_room(work):
                later.append(work)
                continue
            reader = RangeReader(work, lambda: self._waited.seconds)
            shared = self._shared[work.topic] if work.shares else None
            limits = self._work.limits[work.topic]
            self._active[tp] = reader
            self._writings[reader] = RangeWriting(work, limits, self._uploads, self._terms, shared)
            self._fetched[reader] = 0
            self._feed.add(reader)
        self._waiting = later

    def _has_room(self, work: PlannedRange) -> bool:
        theirs = [each.work for each in self._active.values() if each.work.shares == work.shares]
        if not work.shares:
            return len(theirs) < _LARGE_AT_ONCE
        held = sum(each.bytes for each in theirs)
        is_little = held + work.bytes <= self._work.memory // 2
        return not theirs or (is_little and len(theirs) < _SMALL_AT_ONCE)

    def _over(self, reader: RangeReader, *, whole: bool) -> None:
        """Complete the segments of a range, and read it no more."""
        self._writings[reader].finish(whole=whole)
        self._feed.remove(reader)
        del self._active[reader.source]
        if self._front is reader:
            self._front = None

    # Writing

    def _due(self) -> bool:
        return any(reader.pending and self._may_write(reader) for reader in self._active.values())

    def _may_write(self, reader: RangeReader) -> bool:
        return reader.work.shares or self._front in {None, reader}

    def _write(self) -> None:
        """Write one item of each range that may be written, then end those that are complete."""
        for reader in [*self._active.values()]:
            if reader.pending and self._may_write(reader):
                if not reader.work.shares:
                    self._front = reader
                self._write_one(reader)
            if not reader.pending and reader.fetched:
                self._over(reader, whole=not reader.is_short)
        self._feed.refill()

    def _write_one(self, reader: RangeReader) -> None:
        item, writing = reader.next(), self._writings[reader]
        try:
            writing.write(item)
        except CorruptBatchError as error:
            reader.stand_back(writing.next)
            self._side.damaged(reader, error.why)
        finally:
            if isinstance(item, FetchedPart):
                self._fetched[reader] += item.size
                item.frame.release()
        if reader.work.probe:
            self._probe(reader, writing)
        self._feed.room(reader)

    def _probe(self, reader: RangeReader, writing: RangeWriting) -> None:
        """End a range of unknown density with its first segment; fetch little that is not used."""
        if writing.made:
            reader.leave()
        elif not reader.fetched and writing.will_be_full(reader.held):
            reader.suffice()
            self._feed.remove(reader)

    def _over_once_fetched(self, reader: RangeReader) -> None:
        if reader.fetched:
            self._feed.remove(reader)

    # Ranges that do not move

    def _look_after(self) -> None:
        throttled = self._feed.throttled
        if throttled > self._throttled:
            self._muted_until = time.monotonic() + throttled - self._throttled
            self._throttled = throttled
        for reader in [*self._active.values()]:
            if reader.fetched or reader.pending or reader.idle < _STALLED:
                continue
            if self._front is reader:
                self._writings[reader].flush()
                self._front = None
            if reader not in self._looked_at and reader.trouble is None:
                self._look(reader)
            is_muted = time.monotonic() < self._muted_until + _STALLED
            if reader.idle > self._work.patience and not is_muted:
                self._leave(reader)

    def _leave(self, reader: RangeReader) -> None:
        """Leave the rest of a range that does not move for another cycle."""
        reader.end(reader.trouble or self._nothing_came(reader))

    def _nothing_came(self, reader: RangeReader) -> Reason:
        doing = f"fetching {reader.source} at {reader.expected}"
        nothing = f"nothing came in {self._work.patience:g} s"
        advice = (
            "look whether its leader answers, and whether it or this machine has too much to do"
        )
        return UnreachableError(Side.SOURCE, doing, nothing, advice).reason

    def _look(self, reader: RangeReader) -> None:
        """Look whether the rest of a range holds nothing: the log cleaner removed it."""
        self._looked_at.add(reader)
        at, end = reader.expected, reader.work.end
        self._jobs.look(
            reader,
            lambda: self._is_empty(reader.source, at, end),
            partial(self._seen, reader, at),
            lambda _: self._looked_at.discard(reader),
        )

    def _is_empty(self, tp: TopicPartition, at: SourceOffset, end: SourceOffset) -> bool:
        with self._clients.one() as client:
            found = client.fetch(tp, at, max_bytes=_PROBE_BYTES, wait=_PROBE_WAIT, committed=True)
        return found.start == found.end and found.said.last_stable >= end

    def _seen(self, reader: RangeReader, at: SourceOffset, is_empty: bool) -> None:
        self._looked_at.discard(reader)
        if is_empty and reader.expected == at and not reader.fetched:
            reader.empty()
            self._feed.remove(reader)


class _RangeEvents(SourceEvents[RangeReader]):
    """Events of ranges: the gaps of segments tell what is missing, and no range begins later."""

    def __init__(self, taken: Callable[[RangeReader], None]) -> None:
        self._taken = taken

    def taken(self, reader: RangeReader) -> None:
        self._taken(reader)

    def stopped(self, reader: RangeReader, why: Reason) -> None:
        reader.stop(why)
