"""The handling of fetch responses: data goes to readers, errors are resolved.

Trouble concerns one reader. The others go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.codes import code, refused
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import ClusterError, CorruptBatchError, RefusedError, TowpathError
from towpath.model.nouns import Side, SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.jobs import Jobs
from towpath.records.source.events import SourceEvents
from towpath.records.source.fetcher import Fetcher
from towpath.records.source.pace import Pace
from towpath.records.source.reader import R
from towpath.records.source.resting import RestingFetcher
from towpath.records.source.trouble import (
    LOOKS,
    SourceLoss,
    SourceTrouble,
    damage,
    forked,
    source_loss,
    source_trouble,
)
from towpath.records.trouble import AGAIN, DELETED, RECREATED, hopeless
from towpath.settings import ClusterConfig

_SURE = 3
"""Failures after which a leader of an older epoch is surely not one that was just replaced."""


class SourceSide(Generic[R]):
    """Fetches for readers; retries errors, reports gaps, and continues or stops at them.

    Args:
        reactor: Everything happens in its thread.
        config: The source cluster.
        source: Its control plane.
        pool: Memory for responses.
        jobs: Does blocking work.
        events: Is called with what happens to readers.
        share: Bytes that each reader may always hold.
        many: Whether there are so many readers that those without new records must cost nothing.
        pace: Limits on the bytes per second; by default there are none.

    Attributes:
        fetcher: Readers are added to it and removed from it.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        source: Admin,
        pool: BufferPool,
        jobs: Jobs,
        events: SourceEvents[R],
        *,
        share: int,
        many: bool = False,
        pace: Pace | None = None,
    ) -> None:
        self._source, self._jobs, self._events = source, jobs, events
        # A follower near us would have to be found anew with each change.
        make = RestingFetcher[R] if many and not config.rack else Fetcher[R]
        self.fetcher = make(
            reactor,
            config,
            source,
            pool,
            share=share,
            on_data=self._came,
            on_trouble=self._unreachable,
            pace=pace,
        )

    def _came(self, reader: R, frame: Frame, said: Fetched) -> None:
        if source_trouble(said) is not SourceTrouble.NONE:
            self._answered(reader, said)
            return
        try:
            reader.take(frame, said.start, said.end, said.aborted)
        except CorruptBatchError as error:
            self.damaged(reader, error.why)
        self._events.taken(reader)

    def _answered(self, reader: R, said: Fetched) -> None:
        """Handle a fetch answer without data."""
        match source_trouble(said):
            case SourceTrouble.RETRY:
                self._refused(reader, said)
                self.fetcher.moved(reader, AGAIN.after(reader.failures))
            case SourceTrouble.FORBIDDEN:
                error = self._refused(reader, said)
                self.fetcher.remove(reader)
                self._ask_later(reader, error)
            case SourceTrouble.CUT:
                epoch, end = said.diverging or (-1, reader.expected)
                lost = forked(end, reader.taken_after(epoch), reader.expected)
                self._look(reader, said, lambda: lost)
            case SourceTrouble.DAMAGED:
                self.damaged(reader, code(said.error).name)
            case SourceTrouble.RANGE:
                self._look(reader, said, partial(self._range, reader, said.tp, reader.expected))
            case SourceTrouble.GONE:
                self._look(reader, said, lambda: None)
            case SourceTrouble.NONE:
                pass

    def damaged(self, reader: R, why: str) -> None:
        """Fetch the damaged batch at `expected` again, several times, then stop."""
        damaged = damage(reader.source, reader.expected, why)
        looks = reader.look(reader.expected)
        self.fetcher.doubt(reader)
        if looks < LOOKS:
            reader.hinder(Side.SOURCE, damaged)
            self._jobs.later(reader, AGAIN.after(looks + 1), lambda: self.fetcher.add(reader))
        else:
            self._end(reader, damaged)

    def _unreachable(self, reader: R, error: ClusterError, hopeless: bool) -> None:
        """Handle an unreachable leader. A reader with an end gives up if there is no hope."""
        if reader.stopped:
            return
        if hopeless and reader.has_end:
            self._end(reader, error.reason)
        else:
            reader.hinder(Side.SOURCE, error.reason)

    def _refused(self, reader: R, said: Fetched) -> RefusedError:
        acl = f"Read on topic {said.tp.topic}"
        error = refused(Side.SOURCE, f"fetching {said.tp}", said.error, acl=acl)
        reader.failures += 1
        reader.hinder(Side.SOURCE, error.reason)
        return error

    def _ask_later(self, reader: R, error: TowpathError) -> None:
        if hopeless(error, reader.failures, has_end=reader.has_end):
            self._end(reader, error.reason)
        else:
            pause = AGAIN.after(reader.failures)
            self._jobs.later(reader, pause, lambda: self.fetcher.add(reader))

    # Finding out what happened

    def _look(self, reader: R, said: Fetched, lost: Callable[[], SourceLoss | None]) -> None:
        """Look whether the topic was replaced or deleted, then which records are lost.

        Before Kafka 3.1, topics are fetched by name. Another topic with the same name looks like
        the old one after retention or truncation, so its id is read after the offsets.
        """

        def work() -> Reason | SourceLoss | None:
            what = lost()
            return self._identity(reader) or what

        def found(what: Reason | SourceLoss | None) -> None:
            if isinstance(what, SourceLoss):
                self._lost(reader, what)
            elif what is not None:
                at = reader.expected
                self._events.gap(reader, SourceLoss(at, at, at, what), goes_on=False)
                self._end(reader, what)
            else:
                asking = f"fetching {said.tp} at {reader.expected}"
                self._nothing_found(reader, refused(Side.SOURCE, asking, said.error))

        self.fetcher.remove(reader)
        self._jobs.look(reader, work, found, lambda error: self._nothing_found(reader, error))

    def _range(self, reader: R, tp: TopicPartition, expected: SourceOffset) -> SourceLoss | None:
        earliest, latest = (
            SourceOffset(self._source.offsets.earliest([tp])[tp]),
            SourceOffset(self._source.offsets.latest([tp])[tp]),
        )
        lost = source_loss(expected, earliest, latest) or self._older(reader, tp, latest)
        if lost is None or lost.go_on <= expected or reader.begins_later:
            return lost
        return self._events.explained(reader, lost)

    def _older(self, reader: R, tp: TopicPartition, latest: SourceOffset) -> SourceLoss | None:
        """Return the loss if the leader only knows epochs older than that of the last batch.

        Such a log was set back, for example to a backup. Its leader answers that the offset is out
        of range, although it is in range (`Partition.readRecords` of Kafka, KIP-595).
        """
        epoch, expected = reader.fetch_epoch, reader.expected
        if epoch < 0 or reader.failures < _SURE:
            return None
        info = self._source.topics.describe([tp.topic]).get(tp.topic)
        partitions = info.partitions if info is not None else ()
        leads = next((each.epoch for each in partitions if each.partition == tp.partition), -1)
        is_older = (
            0 <= leads < epoch and self._source.offsets.epoch_answers({tp: epoch})[tp].end < 0
        )
        return forked(latest, reader.taken_after(leads), expected) if is_older else None

    def _identity(self, reader: R) -> Reason | None:
        """Return why the topic is no longer the one to read, `None` if it is."""
        topic = reader.source.topic
        found = self._source.topics.describe([topic]).get(topic)
        if found is None:
            return DELETED
        if found.error is not None:
            raise found.error
        return None if found.id == reader.source_id else RECREATED

    def _nothing_found(self, reader: R, error: TowpathError) -> None:
        reader.hinder(Side.SOURCE, error.reason)
        reader.failures += 1
        self._ask_later(reader, error)

    # Lost records

    def _lost(self, reader: R, what: SourceLoss) -> None:
        deleted = what.go_on > reader.expected
        if deleted and reader.begins_later:
            self._events.begins_later(reader, what.go_on)
        elif deleted and reader.expected < what.first:
            self.fetcher.add(reader)  # it gave back what it had taken in, for lack of memory
        elif not (deleted and self._events.taken_elsewhere(reader, what)):
            self.lose(reader, what)

    def lose(self, reader: R, what: SourceLoss) -> None:
        """Stop a reader where records are lost for good, or let it continue after them."""
        stops = what.is_loss and self._events.stops_on_gap(reader)
        self._events.gap(reader, what, goes_on=not stops)
        first, last = what.first, what.end - 1
        if stops:
            gap = Reason.of(ReasonCode.GAP, first=first, last=last, why=what.why)
            if first < reader.expected:
                self._events.stopped(reader, gap)  # the log was truncated below what was read
            else:
                self._end(reader, gap)
            return
        why = Reason.of(ReasonCode.RECORDS_MISSING, first=first, last=last, why=what.why)
        reader.jump(what.go_on, why)
        self._events.taken(reader)
        self.fetcher.add(reader)

    def _end(self, reader: R, why: Reason) -> None:
        """Fetch no more, and stop after everything that was taken in."""
        self.fetcher.remove(reader)
        reader.end(why)
        self._events.taken(reader)
