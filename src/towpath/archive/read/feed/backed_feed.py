"""The feed of a mirror that also reads an archive, for records that the source deleted.

A lane is fed by the source. Where the source has deleted records, the archive feeds it up to the
place from which the source has them, or up to where the archive ends; then the source goes on. What
neither has is a gap, as without an archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from towpath.archive.errors import WithheldError
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.feed import SupplyFeed
from towpath.archive.read.feed.gap_supply import FilledFrom, GapSupply, Taken
from towpath.archive.read.feed.late_parts import LateParts, LatePolicy
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.cluster.admin import Admin
from towpath.ledger.entries import Gap
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.copy import source_side
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.source.reader import Feed
from towpath.records.source.trouble import SourceLoss, cut
from towpath.records.work import CopySlice
from towpath.settings import GapArchive
from towpath.store import Store

_LOOKS = 8
_OPENERS = 2
"""Threads that open objects ahead."""
_BATCH = 512 << 10


def backed(work: CopySlice, source: Admin) -> Callable[[Landing], Feed[Lane]]:
    """Return a function that makes the feed of a copy slice with an archive behind its source.

    Args:
        work: The slice.
        source: The control plane of the source.
    """
    archive = work.archive
    assert archive is not None  # noqa: S101  # callers ask only then
    return lambda landing: BackedFeed(work, source, archive, landing)


class BackedFeed:
    """Feeds lanes from the source, and from an archive what the source has deleted.

    Args:
        work: The slice.
        source: The control plane of the source.
        archive: What the file says of the archive.
        landing: Whose lanes are fed.

    Attributes:
        ended: No lane is fed any more.
    """

    def __init__(
        self, work: CopySlice, source: Admin, archive: GapArchive, landing: Landing
    ) -> None:
        self._work, self._landing = work, landing
        self._side = source_side(work, source, landing, elsewhere=self)
        self._source = self._side.fetcher
        self._store = Store(archive.store, begun=True)
        self._from = FilledFrom(self._store, archive.region)
        self._openers = ThreadPoolExecutor(_OPENERS, thread_name_prefix="towpath-objects")
        self._archive = SupplyFeed(
            landing,
            self._supply,
            LateParts(LatePolicy(_LOOKS, float(archive.wait))),
            self._close,
            on_over=self._go_on,
            on_lost=self._lost,
        )
        self.ended = False
        self._missing: dict[TopicPartition, SourceLoss] = {}
        """What the source has deleted, of each lane that the archive feeds now."""

    # Which of both feeds a lane

    def take(self, lane: Lane, what: SourceLoss) -> bool:
        """Read missing offsets from the archive; offsets passed over before count as lost."""
        passed = next((gap for gap in lane.passed_over if _has(gap, lane.expected)), None)
        if passed is not None:
            end = passed.end
            self._side.lose(lane, replace(what, end=end, go_on=end, why=passed.why))
        else:
            self._missing[lane.source] = what
            self._archive.add(lane)
        return True

    def add(self, lane: Lane) -> None:
        """Feed a lane from the source again; gaps are then reported once more."""
        self._leave_archive(lane)
        self._source.add(lane)

    def remove(self, lane: Lane) -> None:
        """Stop feeding `reader`."""
        self._leave_archive(lane)
        self._source.remove(lane)

    def _leave_archive(self, lane: Lane) -> None:
        if self._missing.pop(lane.source, None) is not None:
            self._archive.remove(lane)

    def _of(self, lane: Lane) -> Feed[Lane]:
        return self._archive if lane.source in self._missing else self._source

    def _go_on(self, lane: Lane) -> None:
        """Let the source go on with a lane that has all that was taken from the archive."""
        if lane.source in self._missing:
            self.add(lane)

    # What both do

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Connect to the brokers of partitions that are added later."""
        self._source.connect(tps)

    def park(self, lane: Lane) -> None:
        """Feed `reader`, whose `expected` has changed, when it moves again or after a while."""
        self._of(lane).park(lane)

    def doubt(self, lane: Lane) -> None:
        """Stop feeding `reader` after a damaged batch, and use another source next time."""
        self._of(lane).doubt(lane)

    def room(self, lane: Lane) -> None:
        """Continue to fill the paused queue of a lane, if it has room again."""
        self._of(lane).room(lane)

    def refill(self) -> None:
        """Continue with lanes that waited for memory, as far as there is memory now."""
        self._source.refill()
        self._archive.refill()

    def news(self) -> None:
        """Do nothing: brokers and the refresh of the archive report new data themselves."""

    def end(self) -> None:
        """Feed no reader any more, even if one is added later."""
        self.ended = True
        self._archive.end()
        self._source.end()

    def close(self) -> None:
        """Close all connections."""
        self._archive.close()
        self._source.close()

    def _close(self) -> None:
        self._openers.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    @property
    def throttled(self) -> float:
        """Seconds for which brokers of the source throttled this client."""
        return self._source.throttled

    @property
    def share(self) -> int:
        """Bytes that each reader may always hold in memory."""
        return self._source.share

    @share.setter
    def share(self, share: int) -> None:
        self._source.share = self._archive.share = share

    # What the archive gives

    def _supply(self, lane: Lane) -> GapSupply:
        missing = self._missing[lane.source]
        tp = lane.source
        wanted = ArchivedRange(
            partition=PartitionId(self._work.source_cluster, lane.source_id, tp.partition),
            start=lane.expected,
            end=missing.end,
            batch_bytes=min(_BATCH, lane.work.max_batch),
        )
        valid = self._landing.jobs.counting(lane)

        def tell(taken: Taken) -> None:
            self._landing.reactor.soon(lambda: self._note(lane, taken) if valid() else None)

        return GapSupply(self._from, wanted, self._openers, tell, lane.fetch_epoch)

    def _note(self, lane: Lane, taken: Taken) -> None:
        """Note what is taken from the archive, and what is missing there, too."""
        lane.progress.comes_from_archive(taken.first, taken.end)
        for loss in taken.losses:
            why = Reason.of(ReasonCode.ARCHIVE_GAP, kind=str(loss.kind))
            self._landing.note_gap(lane, SourceLoss(loss.first, loss.end, loss.end, why), True)

    # What it does not give

    def _lost(self, lane: Lane, error: WithheldError) -> None:
        """Stop a lane, or let it go on behind what the archive does not give either.

        Where what was copied is of a log that was cut, it goes on where the logs differ.

        That it goes on is in the ledger first: else another copier, which reaches the archive,
        could write records that this one left out.
        """
        self._missing.pop(lane.source, None)
        if error.why.code is ReasonCode.SOURCE_CUT:
            self._side.lose(lane, cut(error.first, lane.expected))
            return
        first = SourceOffset(max(error.first, lane.expected))
        why = Reason.of(ReasonCode.NOT_IN_ARCHIVE, why=error.why)
        loss = SourceLoss(first, error.end, error.end, why)
        if self._work.stops_on_gap(lane.source):
            self._side.lose(lane, loss)
            return
        self._landing.note_gap(lane, loss, True)
        self._landing.receipts.when_written(lane, lambda: self._pass_over(lane, loss))

    def _pass_over(self, lane: Lane, loss: SourceLoss) -> None:
        if lane.expected == loss.first:
            self._side.lose(lane, loss)
        else:
            self.add(lane)  # it gave back what it had taken in before the gap


def _has(gap: Gap, offset: SourceOffset) -> bool:
    return gap.first <= offset < gap.end
