"""The batches of a link whose records go through Spark: what is read next, and by which producer.

Before a range is planned, its transactional id is fenced: earlier tasks and drivers can commit
nothing any more, and only then its position is read. So no position is stale, whoever else runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.ledger.link import OpenLink
from towpath.ledger.transformed import PositionsTopic, TransformedPosition, transactional_id
from towpath.mirror.plan.starts import Offsets, beginnings, first_look, looks_first
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.transform.frames import range_of
from towpath.model.nouns import SourceOffset, TopicId, TopicName, TopicPartition
from towpath.records.source.beginnings import find_starts
from towpath.runtime.deadline import Deadline
from towpath.settings import TransformConfig
from towpath.topics.observed import Topic

_LANES = 8
_PATIENCE = 60.0
"""Seconds until the transactions of a task that was killed are aborted."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """Ranges to read, and why some partitions cannot be read.

    Attributes:
        ranges: The ranges.
        errors: By partition.
    """

    ranges: tuple[Any, ...]
    errors: Mapping[TopicPartition, str]


class BatchPlanner:
    """Plans the batches of a link.

    Args:
        link: The link.
        positions: Its positions.
        wanted: How its records go through Spark.

    Attributes:
        begins: Where partitions begin that a link in the other direction has cut over, whatever
            the file says.
    """

    def __init__(self, link: OpenLink, positions: PositionsTopic, wanted: TransformConfig) -> None:
        self._link, self._positions, self._wanted = link, positions, wanted
        self.begins: Offsets = {}
        self._given: set[TopicPartition] = set()
        """Partitions of the batch before: a task that failed may have left its transaction open,
        which holds back the positions of all."""

    def look_first(self, run_id: str, topics: Iterable[Topic]) -> None:
        """Keep where partitions end now, if `records.start` is `latest` and nobody has before."""
        link = self._link
        if looks_first(link.config.records, link.books):
            link.ledger.append(first_look(link.source, link.books, run_id, [*topics]))
            link.read()

    def fence(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, ProducerEpoch]:
        """Keep all earlier tasks of some partitions from committing, and end what they began.

        Raises:
            ClusterError: The target refuses it, or does not answer.
        """
        producers, link = self._link.target.producers, self._link.config.link

        def one(tp: TopicPartition) -> ProducerEpoch:
            own = producers.transactions(transactional_id(link, tp), float(self._wanted.timeout))
            return own.fence(Deadline.after(_PATIENCE))

        return dict(_each(one, tps))

    def plan(
        self, due: Iterable[PartitionStatus], ids: Mapping[TopicName, TopicId]
    ) -> PlannedBatch:
        """Return the ranges of partitions that have records to read.

        Args:
            due: The partitions.
            ids: The ids of source topics.

        Raises:
            ClusterError: A cluster refuses, or does not answer.
            LedgerError: A transaction of another run stays open.
        """
        rows = {row.tp: row for row in due}
        fenced = self.fence({*rows, *self._given})
        self._given.clear()
        known = self._positions.read()
        starts = self._starts(rows, known, ids)
        first = self._link.source.offsets.earliest(rows)
        ranges, errors = [], dict[TopicPartition, str]()
        for tp, row in rows.items():
            if tp not in first or tp not in starts:
                errors[tp] = str(first.failed.get(tp) or starts.failed.get(tp))
                continue
            fresh = TransformedPosition(ids[tp.topic], starts[tp], first=starts[tp])
            at = known.get(tp, fresh)
            if at.topic_id != fresh.topic_id:  # made again since the last look, which will tell
                continue
            if first[tp] > at.end:
                if tp in known and self._link.config.records.stops_on_gap(tp.topic):
                    errors[tp] = (
                        f"{tp}: offsets {at.end} to {first[tp] - 1} were deleted at the source"
                        " before they were read; with `records.on_gap: record` they are counted,"
                        " and the rest is read"
                    )
                    continue
                lost = first[tp] - at.end if tp in known else 0
                begun = at.first if tp in known else first[tp]
                at = replace(at, end=first[tp], lost=at.lost + lost, first=begun)
            end = min(row.source_log_end, at.end + self._wanted.max_offsets)
            if at.end < end:
                planned = known[tp].end if tp in known else -1
                ranges.append(range_of(tp, ids[tp.topic], at, end, fenced[tp], planned))
        self._given.update(each.part.tp for each in ranges)
        return PlannedBatch(tuple(ranges), errors)

    def _starts(
        self,
        rows: Iterable[TopicPartition],
        known: Mapping[TopicPartition, TransformedPosition],
        ids: Mapping[TopicName, TopicId],
    ) -> Any:
        """Return where partitions begin, or their positions."""
        link = self._link
        fresh = {tp: ids[tp.topic] for tp in rows if tp not in known}
        asked = beginnings(link.config.records, link.source, link.books, fresh, self.begins)
        found = find_starts(link.source, asked)
        for tp, at in known.items():
            found[tp] = SourceOffset(at.end)
        return found


def _each(
    work: Callable[[TopicPartition], ProducerEpoch], tps: Iterable[TopicPartition]
) -> list[tuple[TopicPartition, ProducerEpoch]]:
    """Do the same for all, some at the same time; raises the first error once all are done."""
    wanted = [*tps]
    with ThreadPoolExecutor(_LANES) as pool:
        done = [pool.submit(work, tp) for tp in wanted]
    return [(tp, each.result()) for tp, each in zip(wanted, done, strict=True)]
