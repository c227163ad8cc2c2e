"""Commits of segments that slices have written: one log entry for all ready ones."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from towpath.archive.log import Capture, CommitLog, Committed, Draft, SeenPartition
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import BatchMark, PartitionId, Segment
from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.model.nouns import SourceOffset

_MOST = 20_000
"""Segments of one entry, so that no entry is too large to be read at once."""


@dataclass(slots=True)
class CommitCounts:
    """Counts of a run's commits.

    Attributes:
        entries: Entries of the log.
        segments: Segments that were added.
        redundant: Segments that another writer had made redundant.
    """

    entries: int = 0
    segments: int = 0
    redundant: int = 0


class Commits:
    """Writes the commit log during an archive's run.

    Args:
        log: The log.
        lease: The right to write.
        standings: Told what was committed.

    Attributes:
        counts: What was committed so far.
        last: When the last entry was written, by the monotonic clock.
    """

    def __init__(self, log: CommitLog, lease: HeldArchive, standings: Standings) -> None:
        self._log, self._lease, self._standings = log, lease, standings
        self.counts = CommitCounts()
        self.last = time.monotonic()

    @property
    def version(self) -> int:
        """The newest version of the archive."""
        return self._log.state.version

    @property
    def time(self) -> int:
        """Time of the newest version, in ms."""
        return self._log.state.time

    def commit(
        self, captures: Sequence[Capture] = (), seen: Collection[PartitionId] = ()
    ) -> list[Segment]:
        """Commit all segments that extend the archive without a hole. Returns those added.

        Args:
            captures: What has changed besides records.
            seen: Partitions that were never committed, or whose ends are told anew.

        Raises:
            ArchiveHeldError: Another process holds the lease.
            CommitLogError: The log cannot be used.
            StoreError: The store could not be written; the next call tries again.
        """
        self._lease.require()
        ready = {each.id: each.ready() for each in self._standings if each.ahead}
        added, past = list[Segment](), self._past(ready)
        for some in _portions(ready):
            told = {each for each in (*some, *seen) if each not in past}
            added += self._append(
                Draft(
                    writer=self._lease.writer,
                    add=tuple(each for segments in some.values() for each in segments),
                    partitions=self._seen(told, some),
                    captures=tuple(captures),
                )
            )
            captures, seen = (), ()
        if captures or seen:
            self._append(
                Draft(
                    writer=self._lease.writer, partitions=self._seen(seen), captures=tuple(captures)
                )
            )
        return added

    def begin_history(self, partition: PartitionId, fork: SourceOffset) -> None:
        """Begin a new history of a partition whose log was truncated at the source.

        Args:
            partition: The history up to now.
            fork: The offset from which on the source has other records.

        Raises:
            ArchiveHeldError: Another process holds the lease.
            CommitLogError: The log cannot be used.
            StoreError: The store could not be written; the next call tries again.
        """
        self._lease.require()
        (seen,) = self._seen([partition])
        later = replace(seen, topic_id=partition.later.topic_id, begin=None, tail=None, fork=fork)
        self._append(Draft(writer=self._lease.writer, partitions=(seen, later)))

    def beat(self) -> None:
        """Commit an entry with the current log ends of partitions that are not fully archived.

        Raises:
            ArchiveHeldError: Another process holds the lease.
            CommitLogError: The log cannot be used.
            StoreError: The store could not be written.
        """
        self._lease.require()
        state = self._log.state
        moved = [
            each.id
            for each in self._standings.present
            if each.id in state.partitions
            and each.ends.stable_end != state.partitions[each.id].stable_end
        ]
        self._append(Draft(writer=self._lease.writer, partitions=self._seen(moved)))

    def _past(self, partitions: Iterable[PartitionId]) -> set[PartitionId]:
        """Return those partitions whose topic's name another topic has now at the source.

        They are not seen any more: the topic of a name that was seen last is the one that counts,
        whatever comes late of earlier ones.
        """
        names, known = self._standings.names, self._log.state.partitions
        return {
            each
            for each in partitions
            if each in known
            and names.get(known[each].topic, each.source.topic_id) != each.source.topic_id
        }

    def _append(self, draft: Draft) -> tuple[Segment, ...]:
        made = self._log.append(draft)
        self._took(made)
        return made.added

    def _took(self, made: Committed) -> None:
        self.last = time.monotonic()
        self.counts.entries += made.version is not None
        self.counts.segments += len(made.added)
        self.counts.redundant += len(made.dropped)
        for each in made.added:
            self._standings[each.partition_id].committed([each])
        for each in made.dropped:
            self._standings[each.partition_id].redundant += each.records
            self._standings[each.partition_id].rewound += 1
        self._standings.follow(self._log.state)

    def _seen(
        self,
        partitions: Iterable[PartitionId],
        added: Mapping[PartitionId, Sequence[Segment]] = MappingProxyType({}),
    ) -> tuple[SeenPartition, ...]:
        """Return what was seen of partitions, some of which get segments."""
        found = []
        for each in sorted(partitions):
            standing, segments = self._standings[each], added.get(each)
            found.append(_seen(standing, standing.tail_at(segments[-1].end) if segments else None))
        return tuple(found)


def _seen(standing: PartitionStanding, tail: BatchMark | None) -> SeenPartition:
    return SeenPartition(
        cluster=standing.id.cluster,
        topic_id=standing.id.topic_id,
        topic=standing.topic,
        partition=standing.id.partition,
        log_start=standing.ends.log_start,
        stable_end=standing.ends.stable_end,
        begin=standing.archived_to,
        tail=tail,
    )


def _portions(
    ready: dict[PartitionId, list[Segment]],
) -> Iterable[dict[PartitionId, list[Segment]]]:
    """Yield the segments of some partitions each, not too many together."""
    held: dict[PartitionId, list[Segment]] = {}
    count = 0
    for partition, segments in ready.items():
        if not segments:
            continue
        if held and count + len(segments) > _MOST:
            yield held
            held, count = {}, 0
        held[partition] = segments
        count += len(segments)
    if held:
        yield held
