"""The slices of a restore: which task writes which partitions, and from which offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from towpath.archive.read.feed.restore_work import (
    RESTORE,
    ArchivedRange,
    KeyedRange,
    RestoreSlice,
    archived,
)
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.task import RestoreTask
from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.ledger.producers import producer_id
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.records.work import Assignment
from towpath.settings import OffsetsPolicy
from towpath.topics.configs import largest_batch
from towpath.wire.codec import NAMES

_OVERHEAD = 1024
"""Bytes to leave free below the size limit of a batch."""
_BATCH = 512 << 10
_LONG = 3e8
"""Seconds of a round that ends only when the driver says so, as the restore follows its archive."""
_LEAST = 10_000
"""Weight of a partition with nothing to write, so that these are spread, too."""


@dataclass(frozen=True, slots=True)
class _There:
    """A topic on the target.

    Attributes:
        id: Its id.
        partitions: How many partitions it has.
        configs: Its configs in effect.
    """

    id: TopicId
    partitions: int
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTerms:
    """The parameters that all slices of a round share.

    Attributes:
        run_id: The run.
        number: The number of the round.
        parallelism: How many slices there are at most.
        settled: Nothing that was sent before can still arrive.
        fill: How many offsets that compaction left empty may be filled per partition.
        besides: Partitions that are not begun yet.
    """

    run_id: str
    number: int
    parallelism: int
    settled: bool
    fill: int
    besides: frozenset[TopicPartition] = frozenset()


def plan_slices(
    task: RestoreTask, scope: RestoreScope, target: Admin, books: LinkBooks, terms: RoundTerms
) -> list[RestoreSlice]:
    """Return the slices of a round; none if everything is restored.

    Args:
        task: The restore.
        scope: What it brings back.
        target: The target; the topics exist there.
        books: What the ledger knows of the restore.
        terms: What the slices share.

    Raises:
        ClusterError: The target could not be asked.
    """
    there = _look(target, [topic.target for topic in scope.topics.values()])
    found = [
        (weight, assignment, wanted)
        for topic in scope.topics.values()
        if topic.target in there
        for tp, part in topic.by_partition.items()
        if tp.partition < there[topic.target].partitions  # else the plan or its steps tell why
        and tp not in terms.besides
        for weight, assignment, wanted in [
            _assigned(task, topic, tp, part, there[topic.target], books, terms.fill)
        ]
        if weight >= 0
    ]
    memory_ms = _memory_ms(target)
    goes_on = task.follow or terms.number > 1  # then looks for late parts go on, too
    return [
        RestoreSlice(
            link=task.name,
            target=task.target,
            assignments=tuple(a for _, a, _ in some),
            run_id=terms.run_id,
            round=terms.number,
            seconds=_LONG if task.follow else float("inf"),
            offsets=task.rules.offsets,
            receipts=float(task.rules.receipts),
            memory=int(task.rules.memory),
            settled=terms.settled,
            target_memory_ms=memory_ms,
            number=number,
            source_cluster=archived(task.region),
            target_cluster=target.cluster.id(),
            ledger=target.identity.ledger,
            kind=RESTORE,
            store=task.store,
            region=task.region,
            ranges={a.source: wanted for _, a, wanted in some},
            late=task.late,
            looked=_looked(books, [a.source for _, a, _ in some]) if goes_on else {},
            follow=task.follow,
        )
        for number, some in enumerate(_spread(found, terms.parallelism))
    ]


_Weighed = tuple[int, Assignment, ArchivedRange | KeyedRange]


def _assigned(
    task: RestoreTask,
    topic: RestoreTopic,
    tp: TopicPartition,
    part: RestorePart,
    there: _There,
    books: LinkBooks,
    fill: int,
) -> _Weighed:
    """Return a partition with its weight, which is negative if there is nothing to do."""
    ids = task.name, topic.cluster, part.id.topic_id, there.id, tp
    first = producer_id(*ids)
    known = books.of(tp)
    own = known.heir(first)
    receipt = known.receipt if known.is_of(own) else None
    at = receipt.source_end if receipt is not None else part.start
    begun = known.opened if known.is_of(own) and receipt is None else None
    at = begun.source_start if begun is not None and part.pruned(begun.source_start) else at
    assignment = Assignment(
        source=tp,
        target=TopicPartition(topic.target, tp.partition),
        source_id=part.id.topic_id,
        target_id=there.id,
        producer_id=own,
        filler_id=producer_id(*ids, purpose="filler"),
        marker_id=producer_id(*ids, purpose="marker"),
        earlier=frozenset() if own == first else known.own - {own},
        start=part.start,
        end=None if task.follow else part.end,
        compacted="compact" in there.configs.get("cleanup.policy", ""),
        max_batch=_most(there),
        must_be_identical=task.rules.offsets is OffsetsPolicy.IDENTICAL,
        fill=0 if topic.layout else fill,
        change=topic.change,
    )
    codec, most = _codec(task, there), min(_BATCH, _most(there))
    wanted = (
        ArchivedRange(
            partition=part.id,
            start=at if part.pruned(at) else part.start,  # what was pruned is lost, and is told
            end=part.end,
            codec=codec,
            batch_bytes=most,
        )
        if topic.layout is None
        else KeyedRange(layout=topic.layout, number=tp.partition, codec=codec, batch_bytes=most)
    )
    left, length = part.end - at, max(1, part.end - part.start)
    done = receipt is not None and left <= 0
    weight = -1 if done and not task.follow else _LEAST + part.bytes * max(0, left) // length
    return weight, assignment, wanted


def _looked(books: LinkBooks, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return how often slices before have looked for a part that is late."""
    receipts = ((tp, books.of(tp).receipt) for tp in tps)
    found = ((tp, receipt.trouble) for tp, receipt in receipts if receipt is not None)
    return {
        tp: int(str(dict(trouble.values)["look"]))
        for tp, trouble in found
        if trouble is not None and trouble.code is ReasonCode.ARCHIVE_LATE
    }


def _most(there: _There) -> int:
    return max(_OVERHEAD, largest_batch(there.configs) - _OVERHEAD)


def _codec(task: RestoreTask, there: _There) -> int:
    """Return the codec of a topic; brokers compress again what has another one."""
    own = there.configs.get("compression.type", "")
    return (
        NAMES.index("none" if own == "uncompressed" else own)
        if own in _CODECS
        else (NAMES.index(str(task.rules.compression)))
    )


_CODECS = {*NAMES, "uncompressed"}


def _spread(found: Iterable[_Weighed], parallelism: int) -> list[list[_Weighed]]:
    """Give each partition, the heaviest first, to the slice that has the least."""
    hands: list[list[_Weighed]] = [[] for _ in range(max(1, parallelism))]
    loads = [0] * len(hands)
    for each in sorted(found, key=lambda each: (-each[0], each[1].source)):
        least = loads.index(min(loads))
        hands[least].append(each)
        loads[least] += each[0]
    return [hand for hand in hands if hand]


def _look(target: Admin, names: Sequence[TopicName]) -> dict[TopicName, _There]:
    found = target.topics.describe(names) if names else {}
    known = {name: info for name, info in found.items() if not info.error}
    configs = target.configs.describe(known) if known else {}
    return {
        name: _There(
            info.id,
            len(info.partitions),
            {
                key: entry.value
                for key, entry in configs.get(name, {}).items()
                if entry.value is not None
            },
        )
        for name, info in known.items()
    }


def _memory_ms(target: Admin) -> int:
    """Return how long the target remembers producer ids, in ms; 0 if the config is hidden."""
    with suppress(ClusterError):
        return int(target.cluster.broker_config("producer.id.expiration.ms") or 0)
    return 0
