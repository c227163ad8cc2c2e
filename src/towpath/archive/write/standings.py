"""The archiving states of all partitions in the log and at the source."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping

from towpath.archive.log import ArchivedTo, ArchiveState, namesakes, newest_histories
from towpath.archive.log.partition_sums import sums_of
from towpath.archive.model import GapKind, OffsetGap, PartitionId, Segment, gap_segment
from towpath.archive.write.source_look import PartitionEnds, SourceLook
from towpath.archive.write.standing import PartitionStanding
from towpath.model.errors import ClusterError
from towpath.model.nouns import SourceOffset, TopicId, TopicName
from towpath.records.trouble import DELETED, RECREATED
from towpath.runtime.clock import now_ms


class Standings:
    """The archiving states of all partitions.

    Args:
        state: The archive as it is when the run begins.

    Attributes:
        looked: When the source was looked at last, by the monotonic clock.
        failed: Why partitions could not be looked at.
        hidden: Why topics could not be looked at, by name.
    """

    def __init__(self, state: ArchiveState) -> None:
        self._all = {each: _known(each, known) for each, known in state.partitions.items()}
        self._newest = newest_histories(self._all)
        for each, standing in self._all.items():
            standing.over = self._newest[each.source] != each
        for partition, sums in sums_of(state).items():
            self._all[partition].gaps = sums.gaps
        self.looked = time.monotonic()
        self.failed: Mapping[PartitionId, ClusterError] = {}
        self.hidden: Mapping[TopicName, ClusterError] = {}
        self._present: set[PartitionId] = set()
        self._first = True

    def __iter__(self) -> Iterator[PartitionStanding]:
        """Yield the partitions, each in its newest history."""
        return iter([self._all[each] for each in self._newest.values()])

    def __getitem__(self, partition: PartitionId) -> PartitionStanding:
        return self._all[partition]

    def __len__(self) -> int:
        return len(self._newest)

    def newest(self, partition: PartitionId) -> PartitionStanding:
        """Return the newest history of a partition, given any of its histories."""
        return self._all[self._newest[partition.source]]

    @property
    def epochs(self) -> dict[PartitionId, int]:
        """The leader epochs of the last archived batches, as far as they are known."""
        known = ((source, self._all[each].tail) for source, each in self._newest.items())
        return {source: tail.epoch for source, tail in known if tail is not None}

    @property
    def present(self) -> list[PartitionStanding]:
        """The partitions that the source has and the file selects."""
        return [self._all[each] for source, each in self._newest.items() if source in self._present]

    @property
    def names(self) -> dict[TopicName, TopicId]:
        """The topics that the source has, by name."""
        return {each.topic: each.id.source.topic_id for each in self.present}

    def again(self, partitions: Collection[PartitionId]) -> frozenset[PartitionId]:
        """Return the partitions whose topic name and number another known partition shares.

        These are topics that were deleted, and earlier histories.
        """
        return namesakes({each: known.topic for each, known in self._all.items()}, partitions)

    def saw(self, look: SourceLook) -> list[PartitionStanding]:
        """Record an observation. Returns the partitions that are new.

        Returns:
            Partitions that were not known before. They are archived from where their logs begin.
        """
        before, self.looked = self.looked, time.monotonic()
        self.failed, self.hidden = look.failed, look.hidden
        new = list[PartitionStanding]()
        for partition, ends in look.ends.items():
            if partition in self._newest:
                standing = self.newest(partition)
            else:
                topic = look.topics[partition.topic_id].name
                standing = PartitionStanding(partition, topic, ends.log_start, ends)
                standing.overdue = self._first
                self._all[partition] = standing
                self._newest[partition] = partition
                new.append(standing)
            standing.saw(ends, before, look.epochs.get(partition))
            standing.looked = self.looked
        self._missing(look)
        self._first = False
        return new

    def follow(self, state: ArchiveState) -> None:
        """Record the archived ends from the log, including those by other writers."""
        for partition, known in state.partitions.items():
            standing = self._all.get(partition)
            if standing is not None:
                standing.reached(known.archived_to, known.tail)
                continue
            self._all[partition] = _known(partition, known)
            self._newest[partition.source] = partition
            if known.fork is not None:
                self._replace(partition, known.fork)

    def _replace(self, partition: PartitionId, fork: SourceOffset) -> None:
        """Let a history take the place of the one before it."""
        new = self._all[partition]
        for number in range(partition.history):
            old = self._all.get(partition.of_history(number))
            if old is not None and not old.over:
                old.over, old.ahead, old.doubt = True, {}, None
                new.ends, new.density = old.ends, old.density
        new.overdue = new.archived_to == fork

    def unread(self, look: SourceLook) -> frozenset[tuple[TopicName, TopicId]]:
        """Return the topics that disappeared from the source before they were fully archived."""
        return frozenset(
            (each.topic, each.id.source.topic_id)
            for each in self
            if each.id.source.topic_id not in look.topics
            and each.topic not in look.hidden
            and _rest(each) is not None
        )

    def lost_with_topics(self, deleted: Collection[TopicId]) -> list[Segment]:
        """Return gap segments for deleted topics that were not fully archived.

        Args:
            deleted: The topics that were deleted for sure: one that is only not in a list may come
                back.
        """
        return [
            gap_segment(each.id, each.topic, lost)
            for each in self
            if each.id.source.topic_id in deleted
            and not each.busy
            and (lost := _rest(each)) is not None
        ]

    def _missing(self, look: SourceLook) -> None:
        known = {*look.ends, *look.failed}
        self._present = known & {*self._newest}
        names = {info.name: topic_id for topic_id, info in look.topics.items()}
        for standing in self:
            if standing.id.source in known or standing.topic in look.hidden:
                continue
            standing.gone, standing.since, standing.held_since = True, None, None
            standing.trouble = RECREATED if standing.topic in names else DELETED


def _known(partition: PartitionId, known: ArchivedTo) -> PartitionStanding:
    ends = PartitionEnds(known.log_start, known.stable_end)
    standing = PartitionStanding(partition, known.topic, known.archived_to, ends, tail=known.tail)
    # What is not archived may be as old as the last look of the run before.
    standing.since = time.monotonic() - max(0, now_ms() - known.seen) / 1000
    return standing


def _rest(standing: PartitionStanding) -> OffsetGap | None:
    first = standing.archived_to
    end = min([standing.ends.stable_end, *(start for start, _ in standing.spans)])
    return OffsetGap(first, SourceOffset(end), GapKind.RETENTION) if end > first else None
