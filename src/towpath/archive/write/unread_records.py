"""Records that the source deleted before they were archived, reported and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from towpath.archive.log.events import ArchiveEvents, ArchiveWhat
from towpath.archive.model import Segment
from towpath.archive.write.source_look import SourceLook
from towpath.archive.write.standings import Standings
from towpath.cluster.admin import Admin
from towpath.model.amounts import count
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicId, TopicName

Say = Callable[[str, dict[str, Any], str, bool], None]
"""Logs an event: what, facts, about what, and whether it is trouble."""

_GAP = "the archive has a gap (retention)"


class UnreadRecords:
    """Reports offsets that the source deleted before they were archived.

    Args:
        standings: The partitions.
        events: Written for everybody who asks the archive what happened.
        say: Logs a warning.
    """

    def __init__(self, standings: Standings, events: ArchiveEvents, say: Say) -> None:
        self._standings, self._events, self._say = standings, events, say
        self._deleted = Counter[tuple[TopicName, TopicId]]()
        self._gone = set[TopicId]()

    def take(self, added: Iterable[Segment]) -> None:
        """Report the committed segments with offsets that the source had deleted."""
        found = Counter[tuple[TopicName, TopicId]]()
        for each in added:
            if each.gaps.retention:
                source = each.partition_id.source
                found[each.topic, source.topic_id] += each.gaps.retention
                if self._standings[each.partition_id].gone:
                    self._gone.add(source.topic_id)
        self._deleted += found
        for (topic, number), offsets in found.items():
            facts = {"topic_id": number, "offsets": offsets, "gone": number in self._gone}
            self._say("archive.unread_deleted", facts, topic, True)
            self._events.tell(ArchiveWhat.UNREAD_DELETED, topic, topic=topic, **facts)

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each topic with offsets that this run found deleted."""
        return tuple(
            unread_sentence(topic, offsets, gone=number in self._gone)
            for (topic, number), offsets in self._deleted.items()
        )


def unread_sentence(topic: TopicName, offsets: int, *, gone: bool) -> str:
    """Return a sentence about a topic that lost offsets before they were archived.

    Args:
        topic: Its name.
        offsets: How many offsets the archive lacks.
        gone: Whether the topic as a whole was deleted.
    """
    verb = "was" if offsets == 1 else "were"
    lost = f"{count(offsets)} {'offset' if offsets == 1 else 'offsets'} that {verb} not archived"
    if gone:  # of what was written behind the last look nobody knows
        return f"{topic}: deleted at the source with at least {lost}; {_GAP}"
    return f"{topic}: the source deleted {lost}; {_GAP}"


def unread_so_far(offsets: int) -> str:
    """Return a sentence about a deleted topic's offsets that are not archived."""
    return (
        f"its topic was deleted at the source with {count(offsets)} offsets that were not archived;"
        " the next `archive run` keeps them as a gap"
    )


def unseen_topics(topics: Iterable[TopicName]) -> tuple[str, ...]:
    """Return a sentence for each incompletely archived topic that may come back."""
    return tuple(
        f"{topic}: the source lists it no more, and not all of it is archived; it is not known to"
        " be deleted: look whether the login may still describe it, and whether a broker is away"
        for topic in sorted(topics)
    )


def deleted_topics(
    source: Admin, look: SourceLook, wanted: Collection[tuple[TopicName, TopicId]]
) -> frozenset[TopicId]:
    """Return the topics that were certainly deleted at the source.

    A topic that is not in a list may only be hidden from the login, or be unknown to a broker that
    has just started. So each broker is asked for it by its name: without the right to see it the
    answer is another one.

    Args:
        source: The source.
        look: What it had just now.
        wanted: Names and ids of topics that the look did not find.
    """
    if not wanted:
        return frozenset()
    again = {info.name for info in look.topics.values()}
    nowhere = frozenset[TopicName]()
    with suppress(ClusterError):  # then nobody knows, and the next look asks again
        nowhere = source.topics.nowhere({name for name, _ in wanted} - again)
    return frozenset(number for name, number in wanted if name in nowhere | again)
