"""Records that the target rejects permanently, left out if the file allows it.

First the records are in the quarantine topic, or nowhere (`skip`). Then the decision to leave them
out is in the ledger. Then the lane is opened again and goes on behind them, as every later copier
does: the sequence does not count them. A crash in between repeats what was not reached, and a
decision is never taken back (docs/decisions/0036).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.ledger.entries import RefusedRecords
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.model.changes import Undeliverable
from towpath.model.errors import ClusterError, NotSetAsideError, TowpathError, UnreachableError
from towpath.model.nouns import LinkName, Side, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.items import Batch
from towpath.records.jobs import ClientPool, Jobs
from towpath.records.landing.quarantining import SliceQuarantine
from towpath.records.landing.reopening import LaneReopening, given_up
from towpath.records.lane.lane import Lane
from towpath.records.permit import WritePermit
from towpath.records.trouble import passes
from towpath.runtime.clock import now_ms
from towpath.wire import plain


@dataclass(frozen=True, slots=True)
class Refusal:
    """Records of one partition that the target rejects.

    Attributes:
        records: The records with their source offsets.
        why: Why each is refused, by its source offset and its size in bytes.
    """

    records: tuple[plain.Record, ...]
    why: Callable[[SourceOffset, int], Reason]


def refusal(
    batches: Sequence[tuple[Batch, Sequence[int]]], why: Callable[[SourceOffset, int], Reason]
) -> Refusal:
    """Return the rejected records in some batches.

    Args:
        batches: Batches, and the places in each of the records that are refused, from 0.
        why: Why each is refused, by its source offset and its size in bytes.

    Raises:
        CorruptBatchError: A batch is damaged.
    """
    found = tuple(
        replace(records[place], offset=offsets[place])
        for batch, places in batches
        for records, offsets in [(plain.decode(batch.data), source_offsets(batch))]
        for place in places
    )
    return Refusal(found, why)


def source_offsets(batch: Batch) -> tuple[SourceOffset, ...]:
    """Return the source offset of each record of a batch."""
    return tuple(
        SourceOffset(first + number)
        for first, length in batch.places.tolist()
        for number in range(length)
    )


class Refusals:
    """Leaves out records that the target rejects."""

    def __init__(
        self,
        link: LinkName,
        jobs: Jobs,
        target: Admin,
        clients: ClientPool,
        asides: SliceQuarantine,
        reopening: LaneReopening,
        permit: WritePermit,
    ) -> None:
        self._link, self._jobs, self._target, self._clients = link, jobs, target, clients
        self._asides, self._reopening, self._permit = asides, reopening, permit

    @staticmethod
    def may(lane: Lane) -> bool:
        """Return whether the file permits leaving out records of the lane."""
        return lane.work.change.undeliverable is not Undeliverable.STOP

    def go(self, lane: Lane, refused: Refusal) -> None:
        """Leave records out, then let the lane continue after them."""
        self._jobs.hold(
            lane,
            lambda: self._leave_out(lane, refused),
            lambda _: self._left_out(lane),
            lambda error: self._failed(lane, refused, error),
        )

    def _leave_out(self, lane: Lane, refused: Refusal) -> None:
        a, policy = lane.work, lane.work.change.undeliverable
        if policy is Undeliverable.QUARANTINE:
            digest = lane.progress.change.digest
            self._asides.put(a, refused.records, lambda r: _why(refused, r), digest)
        if not self._permit.good:  # another run may have begun: it decides
            what = f"leaving out records of {a.source}"
            raise UnreachableError(Side.TARGET, what, "another run of the link may have begun")
        with self._clients.one() as client:
            Ledger(self._target, client).append(self._decisions(lane, refused))

    def _decisions(self, lane: Lane, refused: Refusal) -> Iterator[RefusedRecords]:
        """Yield a decision for each run of offsets."""
        a, name, at = lane.work, new_name(), now_ms()
        for first, end, why in runs(refused):
            yield RefusedRecords(
                link=self._link,
                topic=a.source.topic,
                partition=a.source.partition,
                producer_id=a.producer_id,
                first=first,
                end=end,
                why=why,
                policy=a.change.undeliverable,
                # Transactions have one writer at a time, without generations.
                generation=lane.progress.position.generation if lane.writer is None else -1,
                name=name,
                at=at,
            )

    def _left_out(self, lane: Lane) -> None:
        lane.failures = 0
        self._reopening.reopen(lane)

    def _failed(self, lane: Lane, refused: Refusal, error: TowpathError) -> None:
        """Try again where that may help, else stop the lane."""
        passing = isinstance(error, ClusterError) and passes(error)
        if passing and not given_up(lane, error):
            lane.hinder(Side.TARGET, error.reason)
            self._reopening.reopen(lane)
        elif isinstance(error, NotSetAsideError):
            self._reopening.stop(lane, error.reason)
        else:
            first = refused.records[0].offset
            why = Reason.of(ReasonCode.NOT_SET_ASIDE, offset=first, why=error.reason)
            self._reopening.stop(lane, why)


def runs(refused: Refusal) -> Iterator[tuple[SourceOffset, SourceOffset, Reason]]:
    """Yield the runs of source offsets [first, end), each with the reason of its first record."""
    first: plain.Record | None = None
    end = -1
    for record in refused.records:
        if first is not None and record.offset != end:
            yield SourceOffset(first.offset), SourceOffset(end), _why(refused, first)
            first = None
        first, end = first or record, record.offset + 1
    if first is not None:
        yield SourceOffset(first.offset), SourceOffset(end), _why(refused, first)


def _why(refused: Refusal, record: plain.Record) -> Reason:
    return refused.why(SourceOffset(record.offset), record.size)
