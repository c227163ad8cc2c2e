"""A copy slice: copies whole batches from source leaders to target leaders.

One thread moves the bytes (the reactor), a small pool does blocking work, and one thread waits for
the end of the round. A receipt of every partition that moved goes to the ledger about once a
second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.connect.control import healable
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.cluster.data.client import Client
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.model.errors import ClusterError, RepeatedError, TowpathError
from towpath.model.nouns import Side, SourceOffset
from towpath.model.reasons import Reason
from towpath.records.arrivals import Arrivals
from towpath.records.change_services import NOTHING, ChangeServices
from towpath.records.handover import Handover, releases, rests
from towpath.records.ids import SliceIds
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.reports import PaceReports
from towpath.records.source.beginnings import Beginnings
from towpath.records.source.deletions import why_deleted
from towpath.records.source.events import SourceEvents
from towpath.records.source.reader import Elsewhere, Feed
from towpath.records.source.resting import RESTING
from towpath.records.source.side import SourceSide
from towpath.records.source.trouble import SourceLoss
from towpath.records.target.opening import Opener
from towpath.records.twins import SliceTwins
from towpath.records.watch import SessionWatch, SliceEnd
from towpath.records.work import CopySlice, Slice, Summary, Throttled
from towpath.runtime.garbage import collect_seldom

_TURN = 0.25
_AGAIN = 1.0
"""Seconds before this attempt is announced again to a target that is away."""
_DRAIN = 15.0
Feeding = Callable[[CopySlice, Admin], Callable[[Landing], Feed[Lane]]]


def copy(
    work: CopySlice,
    throttled: Throttled | None = None,
    outside: Callable[[CopySlice], ChangeServices] = ChangeServices.of,
    feeding: Feeding | None = None,
) -> Iterator[Summary]:
    """Copy the partitions of `work` until its round ends. Yields the summary of each.

    Args:
        work: The slice.
        throttled: Gets the seconds for which brokers throttled us, at the end.
        outside: Returns what lanes need that change records.
        feeding: Returns what makes the feed of the lanes; by default a fetcher alone.

    Raises:
        ClusterError: The source or the target could not be reached at all.
        RepeatedError: Spark has begun the slice again elsewhere.
    """
    waits: Throttled = {} if throttled is None else throttled
    known = ClusterIdentity(Side.SOURCE, work.source_cluster)
    with Admin(work.source, Side.SOURCE, known) as source:
        feed, services = (feeding or fetching)(work, source), outside(work)
        with ExitStack() as stack:
            if work.twin:
                twins = SliceTwins(work, source)
                stack.callback(twins.close)
                services = replace(services, twins=twins)
            yield from land(work, feed, finding(work, source), waits, services)
        waits[Side.SOURCE] = waits.get(Side.SOURCE, 0.0) + source.throttled


def land(
    work: Slice,
    feed: Callable[[Landing], Feed[Lane]],
    beginnings: Callable[[Landing], Beginnings] | None = None,
    throttled: Throttled | None = None,
    outside: ChangeServices | None = None,
) -> Iterator[Summary]:
    """Write the batches of any feed to the target until the round ends.

    Args:
        work: The slice.
        feed: Makes the feed of the lanes.
        beginnings: As for a `Copier`.
        throttled: Gets the seconds for which brokers throttled us, at the end.
        outside: What lanes need that change records; by default what the ledger has.

    Yields:
        The summary of each partition.

    Raises:
        ClusterError: The target could not be reached at all.
        RepeatedError: Spark has begun the slice again elsewhere.
    """
    collect_seldom()
    with ExitStack() as stack:
        known = ClusterIdentity(Side.TARGET, work.target_cluster, work.ledger)
        target = stack.enter_context(Admin(work.target, Side.TARGET, known))
        client = stack.enter_context(Client(work.target, Side.TARGET, target))
        ledger = Ledger(target, client)
        books = LinkBooks(work.link, frozenset(each.source for each in work.assignments))
        opener = Opener(work, target, client, ledger, books)
        stack.callback(opener.close)
        ids = SliceIds(work, target)
        asked = outside or ChangeServices.of(work)
        needed = asked if asked.ids is not None else replace(asked, ids=ids)
        copier = Copier(work, target, opener, feed, beginnings, needed)
        stack.callback(copier.close)
        stack.callback(ids.close)
        ids.listen(copier.ask_again)
        copier.run()
        if throttled is not None:
            throttled[Side.SOURCE] = copier.landing.feed.throttled
            throttled[Side.TARGET] = copier.landing.throttled
        yield from copier.summaries()


def fetching(work: CopySlice, source: Admin) -> Callable[[Landing], Feed[Lane]]:
    """Return a factory of the fetcher that feeds a copy slice."""
    return lambda landing: source_side(work, source, landing).fetcher


def source_side(
    work: CopySlice, source: Admin, landing: Landing, elsewhere: Elsewhere[Lane] | None = None
) -> SourceSide[Lane]:
    """Return the fetching side of a copy slice.

    Args:
        work: The slice.
        source: The control plane of the source.
        landing: Whose lanes are fed.
        elsewhere: Another place that may have what the source has deleted.
    """
    return SourceSide[Lane](
        landing.reactor,
        work.source,
        source,
        landing.pool,
        landing.jobs,
        _LandingEvents(work, source, landing, elsewhere),
        share=work.memory,
        many=len(work.assignments) >= RESTING,
        pace=landing.pace,
    )


class _LandingEvents(SourceEvents[Lane]):
    """Hands what happens at the source to the landing of the lanes."""

    def __init__(
        self, work: CopySlice, source: Admin, landing: Landing, elsewhere: Elsewhere[Lane] | None
    ) -> None:
        self._work, self._source = work, source
        self._landing, self._elsewhere = landing, elsewhere

    def taken(self, reader: Lane) -> None:
        self._landing.go(reader)

    def stopped(self, reader: Lane, why: Reason) -> None:
        self._landing.stop(reader, why)

    def gap(self, reader: Lane, lost: SourceLoss, *, goes_on: bool) -> None:
        self._landing.note_gap(reader, lost, goes_on)

    def begins_later(self, reader: Lane, start: SourceOffset) -> None:
        self._landing.begin_later(reader, start)

    def stops_on_gap(self, reader: Lane) -> bool:
        return self._work.stops_on_gap(reader.source)

    def explained(self, reader: Lane, lost: SourceLoss) -> SourceLoss:
        return why_deleted(self._source, reader.source, lost, reader.progress.last_time)

    def taken_elsewhere(self, reader: Lane, lost: SourceLoss) -> bool:
        return self._elsewhere is not None and self._elsewhere.take(reader, lost)


def finding(work: CopySlice, source: Admin) -> Callable[[Landing], Beginnings]:
    """Return a factory of the finder of start offsets that are not known yet."""
    patience = work.source.request_timeout
    return lambda landing: Beginnings(landing.reactor, landing.jobs, source, patience)


class Copier:
    """Moves the lanes of one slice until the slice ends.

    Args:
        work: The slice.
        target: The control plane of the target.
        opener: Opens partitions.
        feed: Makes the feed of the lanes.
        beginnings: Makes what finds offsets that are not known yet, `None` if all are known.
        outside: What lanes need that change records.
    """

    def __init__(
        self,
        work: Slice,
        target: Admin,
        opener: Opener,
        feed: Callable[[Landing], Feed[Lane]],
        beginnings: Callable[[Landing], Beginnings] | None = None,
        outside: ChangeServices = NOTHING,
    ) -> None:
        self._work, self._opener, self._reactor = work, opener, Reactor()
        self.landing = Landing(work, self._reactor, target, opener, feed, outside)
        self._beginnings = beginnings(self.landing) if beginnings is not None else None
        self._arrivals = Arrivals(self._reactor, opener, self.landing, self._beginnings)
        self._arrivals.assign(work.assignments)
        self._watch_client = Client(work.target, Side.TARGET, target)
        self._handover = Handover(work, self._reactor, opener, self.landing, self._arrivals.begin)
        self._watch = SessionWatch(
            Ledger(target, self._watch_client),
            work,
            self.landing.permit,
            self.end,
            self._reactor,
            self._arrivals.dealt,
            self._handover,
            lambda share: self.landing.pace.follow(share.rates),
            self.landing.feed.news,
        )
        landing = self.landing
        self._reports = PaceReports(work, target, self._reactor, landing.jobs, landing.pace)
        self._ended: SliceEnd | None = None

    def run(self) -> None:
        """Copy until the round ends, then drain and write the last receipts."""
        limit = time.monotonic() + self._work.seconds
        if not self._announce(limit):
            return
        self.landing.permit.restart()
        self._watch.start()
        self._handover.start(self._watch.attempt(ready=True))
        self.landing.receipts.begin()
        self._reports.begin()
        while not self._ended and time.monotonic() < limit and not self.finished:
            self.landing.turn(_TURN)
        self._drain()
        if self._ended is SliceEnd.REPEATED:
            raise RepeatedError

    def _announce(self, limit: float) -> bool:
        """Announce this attempt before any partition is opened, as soon as the target answers.

        Returns:
            Whether there is anything to do. Once the round has ended, other slices go on.
        """
        while time.monotonic() < limit:
            try:
                if self._watch.announce() or self._work.attempt:
                    self._opener.preceded()
            except ClusterError as error:
                if not healable(error):
                    raise
                time.sleep(_AGAIN)
            else:
                return not self._watch.too_late
        return False

    def close(self) -> None:
        """Close every connection and thread."""
        if self._beginnings is not None:
            self._beginnings.close()
        self._watch.finish()
        self._watch_client.close()
        if self._watch.is_alive():
            self._watch.join()
        self.landing.close()
        self._reports.close()

    def summaries(self) -> Iterator[Summary]:
        """Yield the summary of each partition."""
        for tp, lane in self.landing.lanes.items():
            done = lane.progress
            yield Summary(
                tp=tp,
                source_end=done.position.source,
                target_end=done.position.target,
                records=done.copied_records,
                bytes=done.copied_bytes,
                mode=done.mode,
                reasons=done.reasons,
                trouble=done.trouble,
                under_way=lane.unanswered > 0,
            )
        yield from self._arrivals.summaries()

    def ask_again(self) -> None:
        """Check the conditions that lanes wait for now; other threads may call this."""
        self._reactor.soon(self.landing.ask_again)

    @property
    def finished(self) -> bool:
        """Whether the slice has an end and all its partitions have reached it or stopped."""
        partitions = self._arrivals.assigned.values()
        if not self._work.ends or any(each.end is None for each in partitions):
            return False
        return self._arrivals.settled and all(
            lane.progress.stopped or (lane.progress.done and not lane.busy)
            for lane in self.landing.lanes.values()
        )

    def end(self, end: SliceEnd) -> None:
        """End the slice soon; other threads may call this."""
        self._ended = end
        self._reactor.soon(lambda: None)  # wakes up the reactor

    def _drain(self) -> None:
        """Let queued batches reach the target, then write the last receipts."""
        landing = self.landing
        landing.feed.end()
        # After a pause, other slices may have taken over what this one has in its queues.
        outdated = landing.permit.lost or landing.permit.pauses() > 0
        deadline = time.monotonic() + (0.0 if outdated else _DRAIN)
        while time.monotonic() < deadline and any(lane.drains for lane in landing.lanes.values()):
            landing.turn(0.05)
        if not outdated and (self._ended is SliceEnd.RUN or self.finished):
            landing.leave_remembered()
        while landing.receipts.busy:  # until its client gives up
            landing.turn(0.05)
        landing.receipts.write_last()
        if not outdated and not landing.permit.lost and self._ended is SliceEnd.ROUND:
            self._release()

    def _release(self) -> None:
        """Let slices of the next round begin what nothing of this one can arrive for any more."""
        resting = [tp for tp, lane in self.landing.lanes.items() if rests(lane)]
        free = [*resting, *self._arrivals.left_out]
        entries = releases(self._work, filter(self._opener.settled, free))
        with suppress(TowpathError):  # then they wait until this slice has ended
            self.landing.receipts.tell(entries)
