"""A restore slice: archived records go to the leaders of the target until all are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from towpath.records.copy import land
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.work import Summary, Throttled
from towpath.segments.ingress.archive import LoggedArchive
from towpath.segments.ingress.feed import SupplyFeed
from towpath.segments.ingress.segment_supply import SegmentArchive, SegmentSupply
from towpath.segments.ingress.supply import Supply
from towpath.segments.ingress.work import KeyedRange, RestoreSlice
from towpath.segments.log import CommitLog
from towpath.store import Store

_OPENERS = 4
"""Threads that open objects ahead."""


def restore(work: RestoreSlice, throttled: Throttled | None = None) -> Iterator[Summary]:
    """Restore the partitions of `work`. Yields the summary of each.

    Args:
        work: The slice.
        throttled: Gets the seconds for which brokers throttled us, at the end.

    Raises:
        ClusterError: The target could not be reached at all.
        CommitLogError: The commit log of the archive is of no use.
        RepeatedError: Spark has begun the slice again elsewhere.
        StoreError: The store could not be read at all.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(work.store))
        archive = LoggedArchive(store, CommitLog.open(store, work.region))
        yield from land(work, feeding(work, archive), throttled=throttled)


def feeding(work: RestoreSlice, archive: SegmentArchive) -> Callable[[Landing], SupplyFeed]:
    """Return the function that makes the feed of a restore slice."""

    def feed(landing: Landing) -> SupplyFeed:
        openers = ThreadPoolExecutor(_OPENERS, thread_name_prefix="towpath-objects")

        def supply(lane: Lane) -> Supply:
            wanted = work.ranges[lane.source]
            if isinstance(wanted, KeyedRange):
                from towpath.segments.ingress.keyed import KeyedSupply  # noqa: PLC0415, its loops

                return KeyedSupply(archive, wanted, openers)
            return SegmentSupply(archive, wanted, openers)

        def close() -> None:
            openers.shutdown(wait=False, cancel_futures=True)

        return SupplyFeed(landing, supply, work.late, close)

    return feed
