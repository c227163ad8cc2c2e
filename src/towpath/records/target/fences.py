"""Fences: markers with which the target refuses later writes of an older mirror. Blocking.

A mirror may be frozen with batches or markers on their way, and wake up days later. The leader
takes a batch or a marker of a producer id only with an epoch that is not lower than the last one
(`ProducerAppendInfo`, Kafka's storage module), so a marker of the highest epoch ends an id for as
long as the leader remembers it: a day after the marker, by default. Whoever wakes up later reads
the ledger before it sends anything, and finds the seal there.

Each fence takes one offset that no consumer sees. Two ids may need one: that of the records, and
that of the markers which fill gaps (`records/target/claims.py`). Partitions that are written in
transactions are fenced by their coordinator, which takes no offset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import Marker, refuses
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import ProducerState
from towpath.ledger.books import PartitionBooks
from towpath.ledger.producers import of_generation, producer_id, transactional_id
from towpath.model.errors import ClusterError
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    ProducerId,
    TargetOffset,
    TopicPartition,
)
from towpath.records.target.claims import IDS, ExhaustedError, standing
from towpath.runtime.deadline import Deadline
from towpath.wire.header import CONTROL, BatchHeader, split

EPOCH = (1 << 15) - 1
"""The highest epoch that a producer id can have."""
COORDINATOR_EPOCH = (1 << 31) - 1
"""Likewise of a coordinator: markers of fillers count in it."""
_AT_ONCE = 2000
"""Most partitions of a request: their markers are about 0.1 s of work for a broker."""
_FETCH_BYTES = 4 << 20
_WAIT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One partition to fence.

    Attributes:
        tp: The source partition.
        target: The target partition.
        own: The producer ids to fence, the one that writes records first.
        ids: Those of them that have no fence yet from an earlier attempt.
        before: Where the target log ended before.
        since: The target offset from which on a fence may be found.
    """

    tp: TopicPartition
    target: TopicPartition
    own: tuple[ProducerId, ...]
    ids: tuple[ProducerId, ...]
    before: TargetOffset
    since: TargetOffset

    @property
    def markers(self) -> list[Marker]:
        """The markers to write."""
        return [Marker(each, EPOCH, COORDINATOR_EPOCH) for each in self.ids]


@dataclass(slots=True, kw_only=True)
class Fenced:
    """The outcome of fencing: fenced and failed partitions.

    Attributes:
        ends: Where the copy ends on the target, by source partition: the offset of the first fence,
            or the log end where no marker could be written.
        fences: How many offsets fences took.
        open: Partitions without a fence, and why; they rely on the seal.
        failed: Partitions whose leader does not answer, and why: nothing is known of them.
    """

    ends: dict[TopicPartition, TargetOffset] = field(default_factory=dict)
    fences: dict[TopicPartition, int] = field(default_factory=dict)
    open: dict[TopicPartition, ClusterError] = field(default_factory=dict)
    failed: dict[TopicPartition, ClusterError] = field(default_factory=dict)


def fence_of(
    link: LinkName,
    source: ClusterId,
    tp: TopicPartition,
    books: PartitionBooks,
    states: Sequence[ProducerState],
    log_end: TargetOffset,
) -> Fence:
    """Return the fence that a partition needs. Pure.

    Args:
        link: The link.
        source: The source cluster.
        tp: The source partition, which was opened.
        books: What the ledger knows of it, read behind the seal.
        states: The producer state of the target partition.
        log_end: Where its log ends.
    """
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # by the caller
    known = {each.id: each for each in states}
    ids = (link, source, opened.source_topic_id, opened.target_topic_id, tp)
    wanted = [of_generation(opened.producer_id, books.generation)]
    first = producer_id(*ids, purpose="marker")
    with suppress(ExhaustedError):
        held = standing(states, first)
        wanted += [] if held is None else [ProducerId(first + held.index)]
    told = receipt.target_end if receipt is not None else opened.target_start
    done = [each for each, state in known.items() if state.epoch == EPOCH]
    wanted += [each for each in done if first <= each < first + IDS]
    return Fence(
        tp=tp,
        target=opened.target,
        own=tuple(wanted),
        ids=tuple(each for each in wanted if each not in done),
        before=log_end,
        since=min(TargetOffset(max(0, log_end - len(done))), told),
    )


class Fencer:
    """Writes fences, and finds out where the copy ends before them.

    Args:
        admin: The target.
        client: A client of the target for this object alone.
        told: Called with how many partitions are fenced.
    """

    def __init__(self, admin: Admin, client: Client, told: Callable[[int], None]) -> None:
        self._admin, self._client, self._told = admin, client, told

    def fence(self, fences: Sequence[Fence], patience: float) -> Fenced:
        """Fence partitions; those without a leader are tried again until time is over.

        Args:
            fences: The partitions.
            patience: Seconds for each request.

        Raises:
            ClusterError: The target cannot be reached at all.
        """
        done, deadline = Fenced(), Deadline.after(patience)
        left = list(fences)
        while left:
            failed: dict[TopicPartition, ClusterError] = {}
            for part in _parts(left):
                failed |= self._write(part, done, deadline)
                self._told(len(done.ends) + len(done.open))
            left = [each for each in left if each.tp in failed]
            if deadline.over:
                done.failed |= failed
                return done
        return done

    def _write(
        self, part: Sequence[Fence], done: Fenced, deadline: Deadline
    ) -> dict[TopicPartition, ClusterError]:
        """Write the markers of some partitions; return those that did not answer."""
        markers = {each.target: each.markers for each in part if each.ids}
        answers = self._admin.producers.write_markers(markers, patience=max(1.0, deadline.left()))
        ends = self._admin.offsets.log_ends([each.target for each in part])
        failed: dict[TopicPartition, ClusterError] = {}
        for each in part:
            error = answers.failed.get(each.target) or ends.failed.get(each.target)
            if error is not None and refuses(error) and each.target in ends:
                done.open[each.tp], done.ends[each.tp] = error, TargetOffset(ends[each.target])
            elif error is not None:
                failed[each.tp] = error
            else:
                self._found(each, TargetOffset(ends[each.target]), done)
        return failed

    def _found(self, each: Fence, end: TargetOffset, done: Fenced) -> None:
        """Note where the copy ends: at the first fence."""
        alone = each.ids == each.own and end - each.before == len(each.ids)
        first = each.before if alone else self._first(each, end)
        done.ends[each.tp] = end if first is None else first
        done.fences[each.tp] = len(each.own) if first is not None else 0

    def _first(self, each: Fence, end: TargetOffset) -> TargetOffset | None:
        """Return the offset of the first fence, as records came while it was written.

        `None` where it is not in the log any more.
        """
        at = int(each.since)
        while at < end:
            chunk = self._client.fetch(each.target, at, max_bytes=_FETCH_BYTES, wait=_WAIT)
            headers = [BatchHeader.read(batch) for batch in split(chunk.batches)]
            for header in headers:
                if header.base_offset >= each.since and is_fence(header, each.own):
                    return TargetOffset(header.base_offset)
                at = header.base_offset + header.last_offset_delta + 1
            if not headers:
                return None
        return None


def is_fence(header: BatchHeader, own: Collection[ProducerId]) -> bool:
    """Whether a batch is the marker of a fence for one of these producer ids."""
    is_marker = bool(header.attributes & CONTROL) and header.producer_epoch == EPOCH
    return is_marker and header.producer_id in own


def fence_transactions(
    admin: Admin, link: LinkName, books: Mapping[TopicPartition, PartitionBooks], timeout: float
) -> dict[TopicPartition, ClusterError]:
    """Fence partitions that are written, or whose gaps are filled, in transactions.

    Returns:
        Those where that failed, and why.
    """
    failed: dict[TopicPartition, ClusterError] = {}
    for tp, name in _transactional(link, books):
        try:
            admin.producers.transactions(name).fence(Deadline.after(timeout))
        except ClusterError as error:
            failed[tp] = error
    return failed


def unfenceable(
    admin: Admin, link: LinkName, books: Mapping[TopicPartition, PartitionBooks], patience: float
) -> dict[TopicPartition, ClusterError]:
    """Return the partitions in transactions that `fence_transactions` could not fence, and why.

    Nothing is changed by that. What is not asked in time is not told.

    Args:
        admin: The target.
        link: The link.
        books: The partitions.
        patience: Seconds for all of them.
    """
    found: dict[TopicPartition, ClusterError] = {}
    deadline = Deadline.after(patience)
    for tp, name in _transactional(link, books):
        if deadline.over:
            break
        refusal = admin.producers.transactions(name).refusal(deadline)
        found |= {} if refusal is None else {tp: refusal}
    return found


def _transactional(
    link: LinkName, books: Mapping[TopicPartition, PartitionBooks]
) -> Iterator[tuple[TopicPartition, str]]:
    for tp, each in books.items():
        names = {writer.transactional_id for writer in each.writers.values()}
        if each.opened is not None and each.receipt is not None and each.receipt.transacted:
            names.add(transactional_id(link, each.opened.target))
        yield from ((tp, name) for name in sorted(names))


def _parts(fences: Sequence[Fence]) -> Iterator[Sequence[Fence]]:
    for first in range(0, len(fences), _AT_ONCE):
        yield fences[first : first + _AT_ONCE]
