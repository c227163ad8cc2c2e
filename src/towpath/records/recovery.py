"""What a copier does about trouble of one partition; the others go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.codes import refused
from towpath.cluster.fetch import Fetched
from towpath.cluster.metadata import TopicInfo
from towpath.cluster.reactor import Reactor
from towpath.ledger.entries import Gap
from towpath.model.clock import now_ms
from towpath.model.errors import (
    ClusterError,
    GapError,
    RefusedError,
    TargetReplacedError,
    TowpathError,
)
from towpath.model.nouns import LinkName, Side
from towpath.records.fetcher import Fetcher
from towpath.records.lane import Lane
from towpath.records.opening import Opener
from towpath.records.producers import Producers
from towpath.records.progress import Standing
from towpath.records.queue import Batch
from towpath.records.reshape import split
from towpath.records.trouble import (
    DELETED,
    RECREATED,
    UNKNOWN_TOPIC,
    Loss,
    SourceTrouble,
    TargetTrouble,
    cut_text,
    hopeless,
    is_gone,
    loss,
    passes,
    refuses_ids,
    source_trouble,
    target_trouble,
)
from towpath.records.work import Slice
from towpath.records.writing import TooLargeError

T = TypeVar("T")
_BACK_OFF = 0.1
_LONGEST = 10.0
_ENOUGH = 5
"""The same answer in a row."""
_GONE_AFTER, _GONE_PAUSE = 3, 1.0
"""Looks at a topic that is not there, and seconds between them: it may just have been made."""


def back_off(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return float(min(_LONGEST, _BACK_OFF * 2 ** min(failures, 10)))


class Recovery:
    """Brings lanes back: retries, reopens, splits, records gaps, or stops them.

    Everything that blocks runs in the reactor's pool.
    """

    def __init__(
        self,
        work: Slice,
        reactor: Reactor,
        source: Admin,
        target: Admin,
        opener: Opener,
        fetcher: Fetcher,
        producers: Producers,
        note_gap: Callable[[Gap], None],
        go: Callable[[Lane], None],
        start: Callable[[Lane, int | None], None],
    ) -> None:
        self._work, self._reactor = work, reactor
        self._source, self._target, self._opener = source, target, opener
        self._fetcher, self._producers = fetcher, producers
        self._note_gap, self._go, self._start = note_gap, go, start

    # Target

    def answered(self, lane: Lane) -> None:
        """All batches of a lane with a refused one have been answered: deal with it."""
        said = lane.refused
        if said is None or lane.unanswered or lane.busy or lane.progress.stopped:
            return
        tp = lane.work.target
        acl = f"Write on topic {tp.topic}"
        error = refused(Side.TARGET, f"producing to {tp}", said.error, said.text, acl)
        lane.progress.hinder(str(error))
        # One that forgot us takes any sequence next; if it does not, it takes no id of ours.
        fresh = not lane.progress.records or lane.again(said.error) > _ENOUGH
        match target_trouble(said.error, fresh=fresh):
            case TargetTrouble.REOPEN:
                self.reopen(lane)
            case TargetTrouble.FOREIGN_ID:
                self._opener.refused(lane.work, error.name)
                self.reopen(lane)
            case TargetTrouble.SPLIT:
                self._split(lane)
            case TargetTrouble.GONE:
                self._producers.of(lane).remove(lane)
                self._gone(lane)
            case TargetTrouble.STOP:
                self.stop(lane, str(error))
            case TargetTrouble.FORBIDDEN:
                self._wait_to_send(lane, error)
            case TargetTrouble.RETRY:
                self.retry(lane)

    def retry(self, lane: Lane) -> None:
        """Send the same batches again, to the leader of then."""
        lane.failures += 1
        lane.send_again()
        self._producers.of(lane).moved(lane, back_off(lane.failures - 1))

    def _wait_to_send(self, lane: Lane, error: RefusedError) -> None:
        lane.failures += 1
        self._producers.of(lane).remove(lane)
        if not self._left_out(lane, error):
            self._send_later(lane)

    def _gone(self, lane: Lane) -> None:
        """Look whether the copy is still there, beside all else that the pool does."""
        topic = lane.work.target.topic

        def work() -> TopicInfo | None:
            return self._target.topics([topic]).get(topic)

        self._reactor.run(work, lambda future: self._saw_copy(lane, future))

    def _saw_copy(self, lane: Lane, future: Future[TopicInfo | None]) -> None:
        if lane.progress.stopped:
            return
        found, known = self._result(lane, future), future.exception() is None
        if found is not None and not found.error and found.id != lane.work.target_id:
            self.stop(lane, str(TargetReplacedError(lane.work.target.topic)))
        elif found is not None:
            lane.failures += 1
            self._send_later(lane)
        elif known and lane.again(UNKNOWN_TOPIC) >= _GONE_AFTER:
            what = f"looking for topic {lane.work.target.topic}"
            self.stop(lane, str(refused(Side.TARGET, what, UNKNOWN_TOPIC)))
        else:
            self._reactor.later(_GONE_PAUSE, lambda: self._gone(lane))

    def _send_later(self, lane: Lane) -> None:
        lane.send_again()
        self._reactor.later(back_off(lane.failures - 1), lambda: self._send(lane))

    def _send(self, lane: Lane) -> None:
        if not lane.progress.stopped:
            self._producers.of(lane).add(lane)

    def _split(self, lane: Lane) -> None:
        lane.queue.send_again()
        lane.refused = None
        batch = next(item for item in lane.queue.waiting if isinstance(item, Batch))
        if batch.count == 1:
            self._too_large(lane, batch)
            return
        lane.queue.waiting.popleft()
        made = split(batch, max(batch.size // 2, 1024), lane.work.producer_id)
        lane.queue.replace_head([batch], made)
        self._producers.of(lane).mark(lane)

    def _too_large(self, lane: Lane, batch: Batch) -> None:
        self.stop(
            lane,
            f"target: the record at offset {batch.base} of {lane.work.source} has {batch.size}"
            f" bytes, more than the target takes; raise max.message.bytes of"
            f" {lane.work.target.topic} there",
        )

    def failed(self, lane: Lane, error: ClusterError | TooLargeError) -> None:
        """A fill or a transaction failed; only the target knows whether it is there even so."""
        if isinstance(error, TooLargeError):
            if error.batch.count == 1:
                self._too_large(lane, error.batch)
                return
            lane.largest = max(error.batch.size // 2, 1024)
        elif isinstance(error, RefusedError) and (
            target_trouble(error.error) is TargetTrouble.STOP
        ):
            self.stop(lane, str(error))
            return
        else:
            lane.progress.hinder(str(error))
            if self._left_out(lane, error):
                return
        self.reopen(lane)

    def unfilled(self, lane: Lane, error: ClusterError) -> None:
        """The front of a fresh partition could not be filled."""
        if isinstance(error, RefusedError) and refuses_ids(error.error, fresh=True):
            self._opener.refused(lane.work, error.name)
        self.failed(lane, error)

    def reopen(self, lane: Lane) -> None:
        """Ask the target where the lane stands, and go on from there."""
        lane.busy = True
        lane.failures += 1
        self._fetcher.remove(lane)

        def work() -> Standing | TowpathError:
            return self._opener.open([lane.work])[lane.work.source]

        self._reactor.later(
            back_off(lane.failures - 1),
            lambda: self._reactor.run(work, lambda future: self._reopened(lane, future)),
        )

    def _reopened(self, lane: Lane, future: Future[Standing | TowpathError]) -> None:
        lane.busy = False
        answer, error = self._result(lane, future), future.exception()
        if isinstance(answer, ClusterError) and passes(answer):
            lane.progress.hinder(str(answer))
            answer, error = None, answer
        if answer is None:
            if not self._left_out(lane, error):
                self.reopen(lane)
        elif isinstance(answer, TowpathError):
            self.stop(lane, str(answer))
        elif not lane.progress.stopped:
            lane.unanswered, lane.refused = 0, None
            lane.resume(answer)
            self._start(lane, answer.front)

    # Source

    def source(self, lane: Lane, said: Fetched) -> None:
        """Deal with a fetch answer that is no data."""
        match source_trouble(said):
            case SourceTrouble.RETRY:
                self._refused(lane, said)
                self._fetcher.moved(lane, back_off(lane.failures - 1))
            case SourceTrouble.FORBIDDEN:
                error = self._refused(lane, said)
                self._fetcher.remove(lane)
                if not self._left_out(lane, error):
                    self._reactor.later(back_off(lane.failures - 1), lambda: self._back(lane))
            case SourceTrouble.CUT:
                end = said.diverging[1] if said.diverging else lane.expected
                self._lost(lane, Loss(end, lane.expected, end, cut_text(end)))
            case SourceTrouble.RANGE:
                self._look(lane, lambda: self._range(lane))
            case SourceTrouble.GONE:
                self._look(lane, lambda: self._identity(lane))
            case SourceTrouble.NONE:
                pass

    def _refused(self, lane: Lane, said: Fetched) -> RefusedError:
        acl = f"Read on topic {said.tp.topic}"
        error = refused(Side.SOURCE, f"fetching {said.tp}", said.error, acl=acl)
        lane.failures += 1
        lane.progress.hinder(str(error))
        return error

    def _look(self, lane: Lane, work: Callable[[], Loss | str | None]) -> None:
        self._fetcher.remove(lane)
        self._reactor.run(work, lambda future: self._looked(lane, future))

    def _range(self, lane: Lane) -> Loss | None:
        tp = lane.work.source
        earliest, latest = self._source.earliest([tp])[tp], self._source.latest([tp])[tp]
        return loss(lane.expected, earliest, latest)

    def _identity(self, lane: Lane) -> str | None:
        """Return why the topic is not ours any more, or `None` when it is."""
        found = self._source.topics([lane.work.source.topic]).get(lane.work.source.topic)
        if found is None:
            return DELETED
        if found.error is not None:
            raise found.error
        return None if found.id == lane.work.source_id else RECREATED

    def _looked(self, lane: Lane, future: Future[Loss | str | None]) -> None:
        if future.exception() is None:
            answer = future.result()
            if isinstance(answer, Loss):
                self._lost(lane, answer)
                return
            if isinstance(answer, str):
                self._gap(lane, lane.expected, lane.expected, answer, went_on=False)
                self.stop(lane, f"{lane.work.source}: {answer}")
                return
        else:
            self._result(lane, future)
        lane.failures += 1
        if not self._left_out(lane, future.exception()):
            self._reactor.later(back_off(lane.failures), lambda: self._back(lane))

    def _back(self, lane: Lane) -> None:
        if not lane.progress.stopped:
            self._fetcher.add(lane)

    def _lost(self, lane: Lane, what: Loss) -> None:
        stop = self._work.stop_on_gap
        self._gap(lane, what.first, what.end, what.cause, went_on=not stop)
        if stop:
            tp = str(lane.work.source)
            self.stop(lane, str(GapError(tp, what.first, what.end, what.cause)))
            return
        self._fetcher.remove(lane)
        lane.jump(what.go_on, f"offsets {what.first} to {what.end - 1} are missing: {what.cause}")
        self._go(lane)
        self._fetcher.add(lane)

    def _gap(self, lane: Lane, first: int, end: int, cause: str, *, went_on: bool) -> None:
        tp, producer = lane.work.source, lane.work.producer_id
        link: LinkName = self._work.link
        self._note_gap(
            Gap(link, tp.topic, tp.partition, producer, first, end, cause, went_on, now_ms())
        )

    def _left_out(self, lane: Lane, error: BaseException | None) -> bool:
        """Stop a lane whose copy is gone, or that lacks a right for too long; tell if it was so."""
        if isinstance(error, RefusedError) and is_gone(error):
            if lane.again(error.error) < _GONE_AFTER:
                return False
        elif not hopeless(error, lane.failures, lane.work):
            return False
        self.stop(lane, str(error))
        return True

    def stop(self, lane: Lane, error: str) -> None:
        """Move the lane no more; its error stays in the ledger."""
        lane.stop(error)
        self._fetcher.remove(lane)
        self._producers.of(lane).remove(lane)

    def _result(self, lane: Lane, future: Future[T]) -> T | None:
        """Return what a blocking call found, or note its error, which must be one of ours."""
        error = future.exception()
        if error is None:
            return future.result()
        if not isinstance(error, TowpathError):
            raise error
        lane.progress.hinder(str(error))
        return None
