"""The views of a query: one for each topic of an archive, and one for all topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from towpath.archive.log import Archive
from towpath.archive.model import PartitionId
from towpath.archive.read.query.scan import ScannedSegment
from towpath.model.nouns import TopicName
from towpath.settings.naming import fits

RECORDS = "records"
"""The view of all topics, unless a topic has this name."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class TopicView:
    """A view: its name, and the partitions in it."""

    name: str
    topics: tuple[tuple[TopicName, PartitionId], ...]
    of_all: bool = False


def views_of(archive: Archive, topics: tuple[str, ...]) -> list[TopicView]:
    """Return the views of an archive: one for each topic, and one for all topics.

    Of topics with the same name, the last one has the name, and earlier ones the name and their id.

    Args:
        archive: The archive.
        topics: Expressions; only topics whose whole name matches one are taken.
    """
    partitions: dict[str, list[PartitionId]] = {}
    for each in sorted(archive.partitions()):
        partitions.setdefault(each.source.topic_id, []).append(each)
    views: list[TopicView] = []
    for topic, ids in archive.topics().items():
        if fits(topic, topics):
            for number in ids:
                name = topic if number == ids[-1] else f"{topic}@{number}"
                views.append(TopicView(name, tuple((topic, each) for each in partitions[number])))
    named = [each for each in views if "@" not in each.name]
    if all(each.name.lower() != RECORDS for each in views):
        whole = tuple(pair for each in named for pair in each.topics)
        views.append(TopicView(RECORDS, whole, of_all=True))
    return views


def segments_of(archive: Archive, view: TopicView) -> Iterator[ScannedSegment]:
    """Yield the segments of a view, by topic, partition and offset."""
    for topic, partition in view.topics:
        for segment, first, end in archive.pieces(partition):
            found = ScannedSegment.of(segment, first, end)
            if found is not None:
                yield replace(found, topic=topic)


def differ_by_case(names: Iterable[str]) -> bool:
    """Return whether two of the names differ only in upper and lower case."""
    known = list(names)
    return len({name.lower() for name in known}) < len(known)


def near(asked: str, names: Sequence[str]) -> str:
    """Return a hint with view names similar to an unknown name."""
    found = get_close_matches(asked, names, _NAMED, 0.4) or sorted(names)[:_NAMED]
    told = ", ".join(found) if found else "none"
    return f"each topic is a view; put names with other letters in backticks. Such as: {told}"
