"""Histories of a partition whose log was cut at the source and rewritten. Pure.

A source may lose records that were archived, and give their offsets to other ones: an election of
an unclean leader, a lost disk, a broker that was set back. Both are true, each at its time. So what
follows is archived as another history, which begins where the log differs. Nothing is deleted.

What the source had as of a history is that history from its **fork** on, and before it what the
source had as of the history before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from towpath.archive.log.entries import Draft, SeenPartition
from towpath.archive.log.state import ArchivedTo, ArchiveState
from towpath.archive.model import PartitionId
from towpath.model.nouns import SourceOffset, TopicName

Find = Callable[[PartitionId], ArchivedTo | None]


class HistoryStretch(NamedTuple):
    """Offsets [first, end) whose records belong to one history of a partition."""

    partition: PartitionId
    first: SourceOffset
    end: SourceOffset


def newest_histories(known: Iterable[PartitionId]) -> dict[PartitionId, PartitionId]:
    """Return the newest history of each partition, by the partition's identity at the source."""
    found: dict[PartitionId, PartitionId] = {}
    for each in known:
        before = found.get(each.source)
        if before is None or before.history < each.history:
            found[each.source] = each
    return found


def namesakes(
    known: Mapping[PartitionId, TopicName], wanted: Iterable[PartitionId]
) -> frozenset[PartitionId]:
    """Return the partitions that share topic name and number with another partition.

    Args:
        known: The topics of all partitions, with all histories.
        wanted: Partitions among them.
    """
    counts = Counter((topic, each.partition) for each, topic in known.items())
    return frozenset(each for each in wanted if counts[known[each], each.partition] > 1)


def stretches(find: Find, partition: PartitionId) -> tuple[HistoryStretch, ...]:
    """Return ranges of offsets in order, each with the history that the source had there.

    Args:
        find: Returns how far a history is archived by itself.
        partition: The history.
    """
    found: list[HistoryStretch] = []
    end: SourceOffset | None = None
    for number in range(partition.history, -1, -1):
        at = partition.of_history(number)
        place = find(at)
        if place is None:
            break
        stop = place.archived_to if end is None else min(end, place.archived_to)
        if place.begin < stop:
            found.append(HistoryStretch(at, place.begin, stop))
        if place.fork is None or (place.begin > place.fork and stop > place.fork):
            break  # it is the first one, or what was at its beginning was pruned
        end = place.fork if end is None else min(end, place.fork)
    return tuple(reversed(found))


def newest_history(known: Container[PartitionId], partition: PartitionId) -> PartitionId:
    """Return the newest history of a partition; the partition itself if there is no later one."""
    while partition.later in known:
        partition = partition.later
    return partition


def as_of_history(find: Find, partition: PartitionId) -> ArchivedTo | None:
    """Return the archived offsets of a history, including those of earlier histories.

    Args:
        find: Returns how far a history is archived by itself.
        partition: The history; `None` is returned if it is not there.
    """
    place, parts = find(partition), stretches(find, partition)
    if place is None:
        return None
    return replace(place, begin=parts[0].first if parts else place.archived_to)


def followed_histories(state: ArchiveState) -> dict[PartitionId, SourceOffset]:
    """Return the end of the valid offsets of each history that a newer one replaced."""
    found: dict[PartitionId, SourceOffset] = {}
    for newest in newest_histories(state.partitions).values():
        earlier = [newest.of_history(number) for number in range(newest.history)]
        found |= dict.fromkeys(earlier, SourceOffset(0))
        parts = stretches(state.partitions.get, newest)
        found |= {each.partition: each.end for each in parts if each.partition != newest}
    return found


def forking_problem(state: ArchiveState, draft: Draft) -> str:
    """Return why a draft may not begin its new histories, "" if it may.

    A history begins with an entry of its own, before it has segments: so of two writers that find
    that a log was cut one begins the history, and the other one takes it over.
    """
    begun = {each.partition_id: each for each in draft.partitions}
    for partition in {*begun, *(each.partition_id for each in draft.add)}:
        if partition in state.partitions:
            continue
        if problem := _problem(state, partition, begun.get(partition)):
            return problem
        if partition.history and any(each.partition_id == partition for each in draft.add):
            return f"{partition} has segments in the entry that begins its history"
    return ""


def _problem(state: ArchiveState, partition: PartitionId, seen: SeenPartition | None) -> str:
    fork = None if seen is None else seen.fork
    if (fork is not None) != bool(partition.history):
        return f"{partition} begins a history, and nothing says where it differs"
    if fork is None:
        return ""
    before = state.partitions.get(partition.of_history(partition.history - 1))
    if before is None:
        return f"the history before {partition} is not there"
    if not 0 <= fork <= before.archived_to:
        told = f"the history before it is archived up to {before.archived_to}"
        return f"{partition} differs from offset {fork} on, and {told}"
    return ""
