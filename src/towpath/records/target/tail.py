"""Records of the link in the target log after the last receipt. Blocking.

If the leader has producer state for our id and its last sequence fits the receipt, that sequence
tells how many records there are. Otherwise only the log tells. It is read up to the log end offset
(not the high watermark), once no earlier request can still arrive (docs/decisions/0003).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from towpath.cluster.data.client import Client
from towpath.ledger.producers import generations, of_generation
from towpath.model.errors import DoubledError, TargetLostError, TowpathError, UnreachableError
from towpath.model.nouns import ProducerId, Side, TargetOffset, TopicPartition
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.records.standing import Position
from towpath.records.target.state import ANY_NODE, TargetState
from towpath.records.target.written import OwnRecords, Sought, Span, find
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.wire import batch as wire

BACKWARDS = wire.SEQUENCES // 2
"""A sequence that seems this far ahead is behind."""
_AGAIN = 15.0
"""Seconds after which a second look for missing records counts as a first one: the target was away
meanwhile, and a new leader does not show all its records at once."""
_AT_ONCE = Deadline(0.0)


@dataclass(frozen=True, slots=True)
class Underway:
    """Batches that were sent to a broker and are not answered yet.

    Attributes:
        node: The broker, `ANY_NODE` if an earlier copier sent them.
        end: The sequence after the last record, -1 if unknown.
        oldest: The oldest timestamp in ms, `None` if unknown.
        read_from: When the broker reads them at the earliest: it throttles us until then.
    """

    node: int = ANY_NODE
    end: int = -1
    oldest: int | None = None
    read_from: Deadline = _AT_ONCE


@dataclass(frozen=True, slots=True)
class Tail:
    """The records that the link wrote to a target log after a position.

    Attributes:
        passed: These records.
        end: How far the target log was read for them, -1 if it was not read.
        retained: How many records before them retention on the target has deleted since.
    """

    passed: BeyondReceipt
    end: TargetOffset = TargetOffset(-1)
    retained: int = 0


class Tails:
    """Finds records of the link after the last receipt; callers retry instead of waiting."""

    def __init__(self, client: Client, timeout: float, memory_ms: int) -> None:
        self._client, self._timeout, self._memory_ms = client, timeout, memory_ms
        self._missing: dict[TopicPartition, tuple[Deadline, Deadline]] = {}
        """Until when missing records are waited for, if callers ask again in time."""
        self._underway: dict[TopicPartition, Underway] = {}
        self._quiet: dict[TopicPartition, Deadline] = {}

    def may_arrive(self, tp: TopicPartition, sent: Underway) -> None:
        """Record that a broker did not answer batches for source partition `tp`."""
        self._underway[tp] = sent
        self._quiet.pop(tp, None)

    def opened(self, tp: TopicPartition) -> None:
        """Record that the partition was opened, so no earlier batch can still arrive."""
        self._underway.pop(tp, None)
        self._quiet.pop(tp, None)

    def settled(self, tp: TopicPartition) -> bool:
        """Return whether no earlier batch for source partition `tp` can still arrive."""
        quiet = self._quiet.get(tp)
        return tp not in self._underway or (quiet is not None and quiet.over)

    def in_doubt(self, a: Assignment, state: TargetState, producer: ProducerId) -> bool:
        """Return whether batches of `producer` may still arrive and be appended twice.

        Batches of another copier are in doubt even if the leader has producer state: the copier may
        be frozen until after that has expired.
        """
        sent = self._underway.get(a.source)
        if sent is None or self.settled(a.source) or sent.node not in {ANY_NODE, state.node}:
            return False
        known = state.last_sequence(producer) is not None
        return sent.node == ANY_NODE or not known or self._may_forget(a, state, producer)

    def behind(self, a: Assignment, position: Position, state: TargetState) -> Tail:
        """Return the link's records after `position`.

        Raises:
            TargetLostError: The target lost records that it had acknowledged.
            DoubledError: The target holds records twice.
            ClusterError: The target could not be read, or must be asked again.
        """
        self._quiet_from(a, state)
        if state.log_end < position.target:
            lost = TargetLostError(str(a.target), position.target, state.log_end, "offset")
            raise self._patient(a, "its log ends before what it acknowledged", lost)
        producer = of_generation(a.producer_id, position.generation)
        last = state.last_sequence(producer)
        ahead = BACKWARDS if last is None else ahead_of(last, position)
        start = max(position.target, state.earliest)
        if ahead and (ahead >= BACKWARDS or start > position.target):
            return self._unknown(a, position, state)
        if self._may_forget(a, state, producer):
            self._settle(a, state, (position.sequence + ahead) % wire.SEQUENCES)
        if not ahead:
            return Tail(BeyondReceipt())
        plain = 0 if a.compacted else ahead  # the cleaner may have removed some of them
        found = self._complete(a, Sought(start, state.log_end, plain, own_of(a)), position)
        # A copier that was frozen may have written some twice before the leader knew us again.
        _, end = follow(a, found.spans, position, begins_later=False)
        if last is not None and end != (last + 1) % wire.SEQUENCES:
            lost = TargetLostError(str(a.target), last + 1, end)
            raise self._patient(a, "records that it took do not show", lost)
        return Tail(_passed(a, found, position, 0), TargetOffset(found.end))

    def nothing_behind(self, a: Assignment, position: Position, state: TargetState) -> bool:
        """Return whether the target log certainly holds no record of the link after `position`.

        Raises:
            ClusterError: The target could not be read.
        """
        if state.earliest > position.target or state.log_end <= position.target:
            return state.earliest <= position.target
        wanted = Sought(position.target, state.log_end, 0, own_of(a))
        return not self._complete(a, wanted, position).spans

    def settle(self, a: Assignment, position: Position, state: TargetState) -> None:
        """Raise unless no earlier batch can arrive any more.

        Raises:
            UnreachableError: A batch may still arrive.
        """
        self._settle(a, state, position.sequence)

    def _may_forget(self, a: Assignment, state: TargetState, producer: ProducerId) -> bool:
        """Whether producer state may expire, so that the leader appends a late batch again."""
        sent = self._underway.get(a.source)
        last = state.producers[producer].last_timestamp
        oldest = last if sent is None or sent.oldest is None else min(last, sent.oldest)
        return oldest < now_ms() - self._memory_ms // 2

    def written(
        self,
        a: Assignment,
        position: Position,
        start: int,
        end: int,
        plain: int,
        writers: AbstractSet[ProducerId],
    ) -> BeyondReceipt:
        """Return what the link wrote in a stretch of the target log, beyond a receipt.

        Args:
            a: The partition.
            position: What the receipt says.
            start: The first target offset to look at.
            end: The target offset behind the last one.
            plain: How many records the link wrote there outside of transactions.
            writers: Producer ids under which the link wrote in transactions.
        """
        wanted = Sought(start, end, plain, own_of(a), writers)
        return self._complete(a, wanted, position).passed()

    def _complete(self, a: Assignment, wanted: Sought, position: Position) -> OwnRecords:
        """Find all wanted records.

        Records after the high watermark become visible once the replicas have them or have left the
        ISR, whenever that is. Records missing before it may have been removed by retention, by the
        cleaner, or by an unclean leader election.
        """
        found = find(self._client, a.target, wanted)
        if found.complete:
            self._missing.pop(a.source, None)
            return found
        if found.end < wanted.end:
            raise UnreachableError(
                Side.TARGET,
                f"reading {a.target} again",
                f"not all in-sync replicas have offsets {found.end} to {wanted.end - 1} yet",
            )
        acknowledged = position.sequence + wanted.plain
        lost = TargetLostError(str(a.target), acknowledged, position.sequence + found.plain)
        raise self._patient(a, "records that it took do not show", lost)

    def _unknown(self, a: Assignment, position: Position, state: TargetState) -> Tail:
        """Find our records up to the log end offset by the headers of batches alone."""
        start = max(position.target, state.earliest)
        if state.log_end == start == position.target:
            self._settle(a, state, position.sequence)
            return Tail(BeyondReceipt())  # without reading: there may be thousands of partitions
        found = self._complete(a, Sought(start, state.log_end, 0, own_of(a)), position)
        retained, end = follow(a, found.spans, position, begins_later=start > position.target)
        self._settle(a, state, end)
        last = state.last_sequence(of_generation(a.producer_id, position.generation))
        last = state.fenced_at if last is None else last
        if start > position.target and not found.spans and last is not None:
            ahead = ahead_of(last, position)
            retained = ahead if ahead < BACKWARDS else 0
        return Tail(_passed(a, found, position, retained), TargetOffset(found.end), retained)

    def _settle(self, a: Assignment, state: TargetState, end: int) -> None:
        """Raise unless no earlier batch can arrive any more.

        A broker works on the requests in its buffers even after the connection was closed, one
        after the other. It answers each within the timeout in the request, a part of ours
        (`Producer`). So one request timeout after its first new answer, none is left. A broker that
        no longer leads the partition refuses batches, and batches up to sequence `end` have
        arrived.

        Raises:
            UnreachableError: A batch may still arrive.
        """
        quiet = self._quiet_from(a, state)
        if quiet is None or self._underway[a.source].end == end:
            return
        if quiet.at > state.asked:  # otherwise a batch may have arrived after the answer
            raise UnreachableError(
                Side.TARGET,
                f"opening {a.target}",
                "the state of our producer id may have expired, and records that were sent before"
                f" may still arrive for {quiet.left():.0f} s",
            )

    def _quiet_from(self, a: Assignment, state: TargetState) -> Deadline | None:
        """Return from when on no earlier batch can arrive, `None` if none can now."""
        sent = self._underway.get(a.source)
        if sent is None or sent.node not in {ANY_NODE, state.node}:
            return None
        wait = self._timeout + sent.read_from.left()
        return self._quiet.setdefault(a.source, Deadline.after(wait))

    def _patient(self, a: Assignment, why: str, lost: TowpathError) -> TowpathError:
        """Return an error that passes, and `lost` once the timeout is over."""
        until, again = self._missing.pop(a.source, (None, None))
        if until is None or again is None or again.over:
            until = Deadline.after(self._timeout)
        if until.over:
            return lost
        self._missing[a.source] = until, Deadline.after(_AGAIN)
        return UnreachableError(Side.TARGET, f"reading {a.target} again", why)


def own_of(a: Assignment) -> frozenset[ProducerId]:
    """Return the producer ids that write the partition without transactions."""
    return generations(a.producer_id)


def _passed(a: Assignment, found: OwnRecords, position: Position, retained: int) -> BeyondReceipt:
    begun = position.source, position.sequence
    return found.passed(retained, begun if a.compacted else None)


def ahead_of(last: int, position: Position) -> int:
    """Return how many records follow the position, up to sequence `last`.

    The number is at least `BACKWARDS` if `last` is before the position.
    """
    return (last + 1 - position.sequence) % wire.SEQUENCES


def follow(
    a: Assignment, spans: Sequence[Span], position: Position, *, begins_later: bool
) -> tuple[int, int]:
    """Check that the link's batches have consecutive sequences from the position on.

    Args:
        a: The partition.
        spans: Our batches, in the order of the log.
        position: Where the first of them should begin.
        begins_later: The target has deleted records there, so the first batch may begin later.

    Returns:
        How many records later the first batch begins, and the sequence after the last batch.

    Raises:
        DoubledError: A batch repeats sequences.
        TargetLostError: Sequences are missing, and the target topic is not compacted.
    """
    expected, retained = position.sequence, 0
    for index, span in enumerate(spans):
        ahead = (span.sequence - expected) % wire.SEQUENCES
        if ahead >= BACKWARDS:
            raise _doubled(a, spans[index:], expected)
        if ahead and index == 0 and begins_later:
            retained = ahead
        elif ahead and not a.compacted:
            raise TargetLostError(str(a.target), span.sequence, expected)
        expected = (span.sequence + span.length) % wire.SEQUENCES
    return retained, expected


def _doubled(a: Assignment, spans: Sequence[Span], expected: int) -> DoubledError:
    """Return the error for the leading batches with sequences before `expected`."""
    end, count = spans[0].first, 0
    for span in spans:
        if (span.sequence - expected) % wire.SEQUENCES < BACKWARDS:
            break
        end, count = span.end, count + span.length
    return DoubledError(str(a.target), spans[0].first, end, count)
