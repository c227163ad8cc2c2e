"""A restore slice: writes archived records to the target until the slice is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from towpath.archive.log import CommitLog
from towpath.archive.read.feed.feed import SupplyFeed
from towpath.archive.read.feed.late_parts import LateParts
from towpath.archive.read.feed.log_supply import LogSupply
from towpath.archive.read.feed.logged_archive import LoggedArchive
from towpath.archive.read.feed.opening_feed import OpeningFeed
from towpath.archive.read.feed.restore_work import ArchivedRange, KeyedRange, RestoreSlice
from towpath.archive.read.feed.segment_supply import SegmentArchive, SegmentSupply
from towpath.archive.read.feed.supply import Supply
from towpath.archive.read.foreign.broker_logs import find_logs
from towpath.records.copy import land
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.work import Summary, Throttled
from towpath.settings import StoreLayout
from towpath.store import Store, hasty

_OPENERS = 4
"""Threads that open objects ahead."""


def restore(work: RestoreSlice, throttled: Throttled | None = None) -> Iterator[Summary]:
    """Restore the partitions of `work`. Yields a summary of each.

    Args:
        work: The slice.
        throttled: Gets the seconds for which brokers throttled us, at the end.

    Raises:
        ClusterError: The target could not be reached at all.
        RepeatedError: Spark has begun the slice again elsewhere.
        StoreError: The logs of brokers could not be read at all.
    """
    with ExitStack() as stack:
        config = hasty(work.store) if work.follow else work.store
        store = stack.enter_context(Store(config, begun=True))
        if work.store.layout is not StoreLayout.ARCHIVE:
            yield from land(work, feeding_logs(work, store), throttled=throttled)
            return
        yield from land(work, feeding_archive(work, store), throttled=throttled)


def feeding_archive(work: RestoreSlice, store: Store) -> Callable[[Landing], OpeningFeed]:
    """Return a function that makes the feed of a slice that restores an archive."""

    def opened() -> LoggedArchive:
        return LoggedArchive(store, CommitLog.open(store, work.region, arriving=work.follow))

    def made(archive: LoggedArchive) -> Callable[[Landing], SupplyFeed]:
        return feeding(work, archive, GrowingArchive(archive, work) if work.follow else None)

    return lambda landing: OpeningFeed(landing, opened, made, LateParts(work.late, work.looked))


def feeding_logs(work: RestoreSlice, store: Store) -> Callable[[Landing], SupplyFeed]:
    """Return a function that makes the feed of a slice that restores broker logs."""
    logs = find_logs(store, work.region)

    def feed(landing: Landing) -> SupplyFeed:
        def supply(lane: Lane) -> LogSupply:
            wanted = work.ranges[lane.source]
            if isinstance(wanted, KeyedRange):
                raise TypeError("the batches of a broker's log cannot be spread by keys")
            return LogSupply(store, logs[wanted.partition], wanted.end)

        return SupplyFeed(landing, supply, LateParts(work.late, work.looked))

    return feed


def feeding(
    work: RestoreSlice, archive: SegmentArchive, growing: GrowingArchive | None = None
) -> Callable[[Landing], SupplyFeed]:
    """Return a function that makes the feed of a restore slice.

    Args:
        work: The slice.
        archive: The archive.
        growing: The same, if the slice goes on with what is added to it.
    """

    def feed(landing: Landing) -> SupplyFeed:
        openers = ThreadPoolExecutor(_OPENERS, thread_name_prefix="towpath-objects")

        def supply(lane: Lane) -> Supply:
            wanted = work.ranges[lane.source]
            if isinstance(wanted, KeyedRange):
                from towpath.archive.read.feed.keyed_supply import KeyedSupply  # noqa: PLC0415, its loops

                return KeyedSupply(archive, wanted, openers)
            if growing is not None:
                wanted = growing.left(lane, wanted)
            return SegmentSupply(archive, wanted, openers)

        def close() -> None:
            openers.shutdown(wait=False, cancel_futures=True)

        return SupplyFeed(landing, supply, LateParts(work.late, work.looked), close, growing)

    return feed


class GrowingArchive:
    """An archive that a following restore reads while it grows; implements `Growing`.

    Args:
        archive: The archive.
        work: The slice that reads it.
    """

    def __init__(self, archive: LoggedArchive, work: RestoreSlice) -> None:
        self._archive = archive
        self._partitions = {
            tp: each.partition
            for tp, each in work.ranges.items()
            if isinstance(each, ArchivedRange)
        }

    def refresh(self) -> bool:
        """Read new entries of the archive's log. Blocking. Returns whether there were any."""
        return self._archive.refresh()

    def has_more(self, lane: Lane) -> bool:
        """Return whether the archive has records that a lane has not read yet."""
        return self._archive.end(self._partitions[lane.source]) > lane.expected

    def left(self, lane: Lane, wanted: ArchivedRange) -> ArchivedRange:
        """Return the part of a range that a lane has not restored yet."""
        return replace(
            wanted,
            start=max(wanted.start, lane.expected),
            end=self._archive.end(wanted.partition),
        )
