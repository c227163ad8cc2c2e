"""Handling of one lane's trouble on the target, while all other lanes go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from towpath.cluster.admin import Admin
from towpath.cluster.codes import (
    MESSAGE_TOO_LARGE,
    NETWORK_EXCEPTION,
    TOO_LARGE,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.data.produce import Produced
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import (
    ClusterError,
    CorruptBatchError,
    RefusedError,
    TargetReplacedError,
    TowpathError,
)
from towpath.model.nouns import Mode, Side, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch
from towpath.records.jobs import Jobs
from towpath.records.landing.refusals import Refusals, refusal
from towpath.records.landing.reopening import GONE_AFTER, LaneReopening, given_up
from towpath.records.lane.lane import Lane
from towpath.records.lane.reshape import divide, split
from towpath.records.permit import AskedAt, WritePermit
from towpath.records.target.error_codes import TargetTrouble, refuses_ids, target_trouble
from towpath.records.target.opening import Opener
from towpath.records.target.producer import Producers
from towpath.records.target.tail import Underway
from towpath.records.target.writing import BadRecordsError, DamagedError, TooLargeError
from towpath.records.trouble import AGAIN, FENCED
from towpath.runtime.deadline import Deadline
from towpath.wire import batch as wire

_ENOUGH = 5
"""Equal answers in a row after which the target is taken to refuse our producer ids."""
WRONG = "its checksum is wrong"
_NEWS_PAUSE = 0.2
"""Seconds between checks whether the ledger has been read again."""
_GONE_PAUSE = 1.0
"""Seconds between looks for a missing mirror topic."""


class TargetSide:
    """Handles trouble: sends batches again, splits them, opens lanes again, or stops them."""

    def __init__(
        self,
        target: Admin,
        jobs: Jobs,
        opener: Opener,
        producers: Producers[Lane],
        reopening: LaneReopening,
        permit: WritePermit,
        refusals: Refusals,
    ) -> None:
        self._refusals = refusals
        self._target, self._jobs, self._opener = target, jobs, opener
        self._producers, self._reopening, self._permit = producers, reopening, permit
        self._ways: Mapping[TargetTrouble, Callable[[Lane], None]] = {
            TargetTrouble.REOPEN: reopening.reopen,
            TargetTrouble.FENCED: self._fenced,
            TargetTrouble.FOREIGN_ID: self._fenced,
            TargetTrouble.SPLIT: self._split,
            TargetTrouble.REFUSED: self._refused,
            TargetTrouble.DAMAGED: self._damaged,
            TargetTrouble.GONE: self._gone,
            TargetTrouble.RETRY: self.retry,
        }

    def answered(self, lane: Lane) -> None:
        """Handle a refused batch of a lane, once all its batches in flight are answered."""
        said = lane.refused
        if said is None or lane.unanswered or lane.busy or lane.progress.stopped:
            return
        tp = lane.work.target
        acl = f"Write on topic {tp.topic}"
        error = refused(Side.TARGET, f"producing to {tp}", said.error, said.text, acl)
        lane.progress.hinder(Side.TARGET, error.reason)
        trouble = _trouble(lane, said)
        if trouble is TargetTrouble.FOREIGN_ID:
            self._opener.refused(lane.work, lane.progress.position.generation, error.name)
        elif trouble is TargetTrouble.STOP:
            self._reopening.stop(lane, error.reason)
        elif trouble is TargetTrouble.FORBIDDEN:
            self._wait_to_send(lane, error)
        if trouble in self._ways:
            self._ways[trouble](lane)

    def _fenced(self, lane: Lane) -> None:
        """Open a lane again as soon as it is certain that no other run has taken over."""
        lane.busy = True
        self._await_news(lane, self._permit.ask())

    def _await_news(self, lane: Lane, asked: AskedAt) -> None:
        if self._permit.heard_since(asked):
            self._reopening.reopen(lane)
        else:
            self._jobs.later(lane, _NEWS_PAUSE, lambda: self._await_news(lane, asked))

    def lost(self, lane: Lane, node: int) -> None:
        """Handle a lost connection: batches in flight may have arrived, or may still arrive."""
        if lane.progress.stopped:
            return
        if lane.unanswered:
            lane.lost = True
            self._may_arrive(lane, node)
            self.find_again(lane)
        elif not lane.busy:
            self.retry(lane)

    def _may_arrive(self, lane: Lane, node: int) -> None:
        """Note that broker `node` has not answered all batches of the lane."""
        read_from = Deadline.after(self._producers.of(lane).mute_left(node))
        sent = Underway(node, lane.queue.sent_end, lane.queue.sent_oldest, read_from)
        self._opener.may_arrive(lane.work, sent)

    def find_again(self, lane: Lane) -> None:
        """Reopen a lane after a lost connection, unless a blocking call is running for it."""
        if lane.lost and not lane.busy:
            self._reopening.reopen(lane)

    def landed_elsewhere(self, lane: Lane, error: TowpathError) -> None:
        """Stop a lane: the target holds records twice, or has lost some."""
        self._reopening.stop(lane, error.reason)

    def unreachable(self, lane: Lane, error: ClusterError, hopeless: bool) -> None:
        """Handle an unreachable leader. A run with an end gives up if there is no hope."""
        if lane.stopped:
            return
        if hopeless and lane.has_end:
            self._reopening.stop(lane, error.reason)
        else:
            lane.hinder(Side.TARGET, error.reason)

    def failed(self, lane: Lane, error: TowpathError) -> None:
        """Handle a failed fill or transaction, which may be in the target log nevertheless."""
        if isinstance(error, DamagedError):
            self._reopening.fetch_anew(lane, error.batch.base, WRONG)
            return
        if isinstance(error, TooLargeError):
            if not self._halves(lane, error.batch, error.config):
                return
        elif isinstance(error, BadRecordsError):
            self._leave_out(lane, error.batch, error.refusal)
            return
        elif isinstance(error, RefusedError) and (
            target_trouble(error.error) is TargetTrouble.STOP
        ):
            self._reopening.stop(lane, error.reason)
            return
        else:
            lane.progress.hinder(Side.TARGET, error.reason)
            if given_up(lane, error):
                self._reopening.stop(lane, error.reason)
                return
        self._reopening.reopen(lane)

    def not_looked(self, lane: Lane, error: TowpathError) -> None:
        """Handle a failed check of the records before an appended batch.

        The answers that are still due come first: after an opening they would be taken for answers
        to later batches.
        """
        if lane.unanswered and not lane.lost:
            lane.progress.hinder(Side.TARGET, error.reason)
            unknown = Produced(lane.work.target, NETWORK_EXCEPTION, -1, str(error))
            lane.refused = lane.refused or unknown
        else:
            self.failed(lane, error)

    def unfilled(self, lane: Lane, error: TowpathError) -> None:
        """Handle a failed fill at the beginning of a new target partition."""
        if isinstance(error, RefusedError) and refuses_ids(error.error, fresh=True):
            self._opener.refused(lane.work, lane.progress.position.generation, error.name)
        self.failed(lane, error)

    def retry(self, lane: Lane) -> None:
        """Send the same batches again, to whichever broker leads the partition then."""
        lane.failures += 1
        lane.send_again()
        self._producers.of(lane).moved(lane, AGAIN.after(lane.failures))

    def _wait_to_send(self, lane: Lane, error: RefusedError) -> None:
        lane.failures += 1
        self._producers.of(lane).remove(lane)
        if given_up(lane, error):
            self._reopening.stop(lane, error.reason)
        else:
            self._send_later(lane)

    def _send_later(self, lane: Lane) -> None:
        lane.send_again()
        self._jobs.later(
            lane, AGAIN.after(lane.failures), lambda: self._producers.of(lane).add(lane)
        )

    def _damaged(self, lane: Lane) -> None:
        batch = next(item for item in lane.queue.in_flight if isinstance(item, Batch))
        if wire.sound(batch.data):
            self.retry(lane)  # it was damaged on its way to the target
        else:
            self._reopening.fetch_anew(lane, batch.base, WRONG)

    # The mirror topic does not exist

    def _gone(self, lane: Lane) -> None:
        """Look whether the mirror topic still exists."""
        self._producers.of(lane).remove(lane)
        topic = lane.work.target.topic
        self._jobs.look(
            lane,
            lambda: self._target.topics.describe([topic]).get(topic),
            lambda found: self._looked(lane, found),
            lambda error: self._not_found_out(lane, error),
        )

    def _looked(self, lane: Lane, found: TopicInfo | None) -> None:
        topic = lane.work.target.topic
        if found is None and lane.again(UNKNOWN_TOPIC_OR_PARTITION) >= GONE_AFTER:
            error = refused(Side.TARGET, f"looking for topic {topic}", UNKNOWN_TOPIC_OR_PARTITION)
            self._reopening.stop(lane, error.reason)
        elif found is None:
            self._look_again(lane)
        elif not found.error and found.id != lane.work.target_id:
            self._reopening.stop(lane, TargetReplacedError(topic).reason)
        else:
            self._reopening.reopen(lane)

    def _not_found_out(self, lane: Lane, error: TowpathError) -> None:
        lane.progress.hinder(Side.TARGET, error.reason)
        self._look_again(lane)

    def _look_again(self, lane: Lane) -> None:
        self._jobs.later(lane, _GONE_PAUSE, lambda: self._gone(lane))

    # A batch is too large

    def _split(self, lane: Lane) -> None:
        code = lane.refused.error if lane.refused else MESSAGE_TOO_LARGE
        lane.queue.send_again()
        lane.refused = None
        batch = next(item for item in lane.queue.waiting if isinstance(item, Batch))
        halves = self._halves(lane, batch, TOO_LARGE.get(code, ""))
        if halves:
            lane.queue.replace_head([batch], halves)
            self._producers.of(lane).mark(lane)

    def _halves(self, lane: Lane, batch: Batch, config: str) -> list[Batch]:
        """Split a batch that is too large for a config. Returns nothing if that is impossible."""
        if batch.count == 1:
            self._too_large(lane, batch, config)
            return []
        lane.cutter.too_large(batch)
        try:
            return split(batch, lane.cutter.largest, lane.progress.producer)
        except CorruptBatchError as error:
            self._reopening.fetch_anew(lane, batch.base, error.why)
            return []

    def _too_large(self, lane: Lane, batch: Batch, config: str) -> None:
        """Handle a record that is too large, and others in the queue that are as large."""

        def why(offset: SourceOffset, size: int) -> Reason:
            return Reason.of(
                ReasonCode.RECORD_TOO_LARGE,
                partition=str(lane.work.source),
                offset=offset,
                size=size,
                target=lane.work.target.topic,
                config=config,
            )

        if self._refusals.may(lane):
            large = [
                (each, (0,))
                for each in lane.queue.waiting
                if isinstance(each, Batch) and each.count == 1 and each.size > batch.size
            ]
            self._refusals.go(lane, refusal([(batch, (0,)), *large], why))
        else:
            self._reopening.stop(lane, why(batch.base, batch.size))

    # Some records of a batch are refused

    def _refused(self, lane: Lane) -> None:
        said = lane.refused
        batch = next(item for item in lane.queue.in_flight if isinstance(item, Batch))
        if said is not None:
            what, records = f"producing to {said.tp}", said.records
            error = refused(Side.TARGET, what, said.error, said.text, records=records)
            self._leave_out(lane, batch, error)

    def _leave_out(self, lane: Lane, batch: Batch, error: RefusedError) -> None:
        """Leave out the records of a batch that the target refuses."""

        def why(offset: SourceOffset, size: int) -> Reason:
            del size
            return Reason.of(
                ReasonCode.RECORD_REFUSED,
                partition=str(lane.work.source),
                offset=offset,
                target=lane.work.target.topic,
                error=error.name,
                why=error.advice,
            )

        first = min(error.records, default=0)
        if not self._refusals.may(lane):
            self._reopening.stop(lane, error.reason)
        elif first and lane.progress.mode is Mode.IDENTICAL:
            # The decision is fenced where the log ends, so the records before must be there.
            self._send_in_parts(lane, batch, divide(batch, first, lane.progress.producer))
        elif error.records or batch.count == 1:
            self._refusals.go(lane, refusal([(batch, error.records or (0,))], why))
        elif lane.writer is None:  # one by one, to see which of them the target refuses
            self._send_in_parts(lane, batch, split(batch, 1, lane.progress.producer))
        else:
            self._reopening.stop(lane, error.reason)

    def _send_in_parts(self, lane: Lane, batch: Batch, parts: list[Batch]) -> None:
        lane.send_again()
        for each in parts:
            each.sent = True  # so that they are not joined again
        lane.queue.replace_head([batch], parts)
        self._producers.of(lane).mark(lane)


def _trouble(lane: Lane, said: Produced) -> TargetTrouble:
    """Return what must be done about an answer."""
    if said.error == FENCED and lane.again(FENCED) == 1:
        return TargetTrouble.FENCED
    # A broker without producer state accepts any sequence; if it does not, it refuses our ids.
    fresh = not lane.progress.records or lane.again(said.error) > _ENOUGH
    trouble = target_trouble(said.error, fresh=fresh)
    if lane.overtaken and trouble is not TargetTrouble.FOREIGN_ID:
        return TargetTrouble.REOPEN
    return trouble
