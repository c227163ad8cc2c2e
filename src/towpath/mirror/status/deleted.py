"""Records that only the target has deleted, detected from offsets alone.

Both log start offsets and the offset map tell which source offsets the target no longer has. How
many records these are is known exactly only to whoever reads them (`verify`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry
from towpath.ledger.books import PartitionBooks
from towpath.model.deleted import FOR_EVER, DeletedRecords, Deleter, Retention
from towpath.model.errors import ClusterError
from towpath.model.nouns import Mode, Side, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.runtime.clock import now_ms
from towpath.topics.cleaners import CleanerSeen, look_at_cleaner
from towpath.topics.configs import compacts

Stretch = tuple[SourceOffset, SourceOffset]
"""Source offsets [first, end)."""
_LATE = 3_600_000
"""Milliseconds within which a broker has looked at its logs; by default it looks each five minutes
(`log.retention.check.interval.ms`)."""


@dataclass(frozen=True, slots=True)
class WhyDeleted:
    """The causes of a deletion on the target.

    Attributes:
        why: What deleted it.
        due_until: The source's own retention deletes what lies before this source offset.
    """

    why: tuple[Deleter, ...]
    due_until: SourceOffset


def may_lack(books: PartitionBooks, target_start: int) -> bool:
    """Return whether a target log that begins at an offset may lack copied records."""
    opened, receipt = books.opened, books.receipt
    if opened is None or receipt is None or (receipt.records == 0 and not books.repairs):
        return False
    return target_start > (books.start if books.repairs else opened.target_start)


def kept_from(books: PartitionBooks, target_start: int) -> SourceOffset:
    """Return the first source offset whose copy a target log with this start can have.

    The offset map of a mapped partition must have been read.
    """
    receipt = books.receipt
    if receipt is None or not may_lack(books, target_start):
        return books.start
    if books.mode is Mode.IDENTICAL:
        return min(SourceOffset(target_start), receipt.source_end)
    return books.offsets().next_source(TargetOffset(target_start))


def stretch_deleted(
    books: PartitionBooks, source_start: int, target_start: int, since: int = 0
) -> Stretch | None:
    """Return the source offsets of copied records that only the source can still have.

    Args:
        books: What the ledger knows.
        source_start: Where the source log begins now.
        target_start: Where the target log begins now.
        since: Look at nothing before this source offset.
    """
    first = SourceOffset(max(books.start, source_start, since))
    end = kept_from(books, target_start)
    return (first, end) if first < end and at_most(books, (first, end)) else None


def at_most(books: PartitionBooks, stretch: Stretch) -> int:
    """Return an upper bound on the number of copied records in a range of source offsets."""
    first, end = stretch
    if books.mode is Mode.IDENTICAL:
        lost = sum(max(0, min(end, gap.end) - max(first, gap.first)) for gap in books.gaps)
        return end - first - lost
    runs = books.offsets().runs
    known = sum(max(0, min(end, run[0] + run[2]) - max(first, run[0])) for run in runs)
    # Runs that the target has deleted whole are not kept in the ledger.
    begin = runs[0][0] if runs else end
    opened = books.opened
    whole = opened is not None and bool(runs) and runs[0][1] <= opened.target_start
    return known + (0 if whole else max(0, min(begin, end) - first))


class DeletionLook:
    """Finds the causes of deletions, and what the source deletes soon.

    Args:
        source: The source.
        target: The target.
        patience: Seconds for the source's leaders; see `ask_leaders`.
    """

    def __init__(self, source: Admin, target: Admin, patience: float | None = None) -> None:
        self._source, self._target, self._patience = source, target, patience
        self._now = now_ms()

    def judge(
        self,
        stretches: Mapping[TopicPartition, Stretch],
        targets: Mapping[TopicPartition, TopicPartition],
    ) -> dict[TopicPartition, WhyDeleted]:
        """Return the cause of each deletion.

        Args:
            stretches: The stretches, by source partition.
            targets: The target partitions.

        Raises:
            ClusterError: A cluster cannot be asked for configs.
        """
        if not stretches:
            return {}
        here = _retentions(self._source, Side.SOURCE, {tp.topic for tp in stretches})
        there = _retentions(self._target, Side.TARGET, {targets[tp].topic for tp in stretches})
        of = {tp: (here[tp.topic], there[targets[tp].topic]) for tp in stretches}
        due = self._old({tp: own.ms for tp, (own, _) in of.items()})
        overdue = self._old({tp: own.gone_ms + _LATE for tp, (own, _) in of.items() if own.ages})
        old = self._old({tp: kept.ms for tp, (_, kept) in of.items()})
        sized = {
            tp: targets[tp]
            for tp, (_, kept) in of.items()
            if kept.bytes != FOR_EVER and not kept.tiered
        }
        sizes = self._sizes(sized)
        return {
            tp: judged(
                stretches[tp],
                *both,
                due=due.get(tp) or 0,
                overdue=overdue.get(tp, 0),
                old=old.get(tp, 0),
                size=sizes.get(tp),
            )
            for tp, both in of.items()
        }

    def _sizes(
        self, targets: Mapping[TopicPartition, TopicPartition]
    ) -> dict[TopicPartition, int | None]:
        """Return the bytes of target logs, by source partition, as far as the login may see them.

        Brokers leave out what it may not see.
        """
        if not targets:
            return {}
        partitions = defaultdict[TopicName, int](int)
        for tp in targets.values():
            partitions[tp.topic] = max(partitions[tp.topic], tp.partition + 1)
        try:
            disks = self._target.disks.describe(partitions)
        except ClusterError:  # then it is not known, as without the right
            return {}
        return {tp: disks.size(there) for tp, there in targets.items()}

    def _old(self, ages: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Return the first source offset that is younger than an age in ms, of those with one.

        It is `None` where the source does not tell it.
        """
        wanted = defaultdict[int, list[TopicPartition]](list)
        for tp, ms in ages.items():
            if ms != FOR_EVER:
                wanted[ms].append(tp)
        found: dict[TopicPartition, int | None] = {}
        for ms, tps in wanted.items():
            since = max(0, self._now - ms)
            told = self._source.offsets.at_time(tps, since, patience=self._patience)
            found |= {tp: told.get(tp) for tp in tps}
        return found


def judged(
    stretch: Stretch,
    here: Retention,
    there: Retention,
    *,
    due: int,
    overdue: int | None,
    old: int | None,
    size: int | None,
) -> WhyDeleted:
    """Return the cause of a deletion on the target. Pure.

    A retention that the source has not followed in time says nothing about these records: a record
    of a future time may keep them for years in its segment.

    Args:
        stretch: The source offsets.
        here: What the source keeps.
        there: What the target keeps.
        due: The first source offset that is younger than the source's `retention.ms`.
        overdue: The first one that the source's retention can still have, if it goes by the times
            of records; `None` if unknown.
        old: The first source offset that is younger than the target's, `None` if unknown.
        size: Bytes of the target's log now, `None` if unknown.
    """
    why = there.by(old=None if old is None else stretch[1] <= old, size=size)
    told = size is not None or Deleter.SIZE not in why  # else a request may have deleted it
    alike = told and there.keeps_like(here, why)
    late = overdue is None or overdue > stretch[0]
    if late and not (alike and Deleter.TIME not in why):
        return WhyDeleted(why, SourceOffset(0))
    if alike:
        return WhyDeleted(why, stretch[1])
    return WhyDeleted(why, SourceOffset(0 if there.cuts_finer(here) else due))


def deleted_records(
    books: PartitionBooks, stretch: Stretch, found: WhyDeleted, *, meant: bool
) -> DeletedRecords:
    """Return the deleted records, with an upper bound on their number."""
    first, end = stretch
    past = (first, min(end, max(first, found.due_until)))
    return DeletedRecords(
        first=first,
        end=end,
        records=at_most(books, stretch),
        due=at_most(books, past),
        why=found.why,
        meant=meant,
    )


def _retentions(
    admin: Admin, side: Side, topics: Iterable[TopicName]
) -> dict[TopicName, Retention]:
    wanted = set(topics)
    told = admin.configs.describe(wanted)
    configs = {name: _values(entries) for name, entries in told.items()}
    cleaner = look_at_cleaner(admin, side, configs.values())
    return {name: retention(configs.get(name), cleaner) for name in wanted}


def retention(configs: Mapping[str, str] | None, cleaner: CleanerSeen) -> Retention:
    """Return the retention of a topic. Pure.

    Args:
        configs: The configs in effect on it, `None` if the login may not see them.
        cleaner: Whether the cluster runs the log cleaner. Without one, nothing goes of a topic that
            is compacted, so where that is not known, the retention is not.
    """
    hidden = configs is None or (cleaner.error is not None and compacts(configs))
    return Retention.of(None if hidden else {**(configs or {}), **cleaner.stops})


def _values(configs: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {name: each.value for name, each in configs.items() if each.value is not None}
