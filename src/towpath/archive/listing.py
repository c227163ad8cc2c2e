"""`towpath archive ls` and `show`: the segments of an archive, and what their objects say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from towpath.config import ArchiveConfig
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName
from towpath.segments.format.files import read_object
from towpath.segments.format.footer import SegmentFooter
from towpath.segments.log import CommitLog
from towpath.segments.model import Segment
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment with what its object says of it.

    Attributes:
        segment: The segment as the commit log has it.
        footer: What the object says, `None` for a segment that needs none.
        others: How many other segments share the object.
        equal: Whether the object says what the commit log says.
    """

    segment: Segment
    footer: SegmentFooter | None
    others: int
    equal: bool


def listed(
    config: ArchiveConfig, topic: str | None, partition: int | None
) -> list[tuple[TopicName, Segment]]:
    """Return the segments of an archive, of one topic or one partition if these are named.

    Raises:
        CommitLogError: The commit log cannot be used, or there is no archive.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        state = CommitLog.open(store, config.region).state
        wanted = (
            each
            for each, known in sorted(state.partitions.items(), key=lambda item: item[1].topic)
            if topic in {None, known.topic} and partition in {None, each.partition}
        )
        return [(segment.topic, segment) for each in wanted for segment in state.segments(each)]


def show_object(config: ArchiveConfig, key: str) -> list[SegmentLook]:
    """Return the segments of an object, with what it says of itself.

    Args:
        config: The archive.
        key: The key of the object, or the end of it.

    Raises:
        ConfigError: No segment has such an object.
        CommitLogError: The commit log cannot be used, or there is no archive.
        CorruptSegmentError: The object is damaged.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        state = CommitLog.open(store, config.region).state
        segments = [
            segment
            for segment in state.table()
            if segment.place is not None and segment.place.key.endswith(key)
        ]
        keys = {segment.place.key for segment in segments if segment.place is not None}
        if len(keys) != 1:
            text = f"{len(keys)} objects of the archive have keys that end like this"
            raise ConfigError((ConfigProblem("SEGMENT", f"{text}; name one of `archive ls`"),))
        return _looks(store, keys.pop(), segments)


def _looks(store: Store, key: str, segments: list[Segment]) -> list[SegmentLook]:
    kind = segments[0].format
    file = read_object(kind, store.reader(key), key)
    try:
        found = {footer.first_row_group: footer for footer in file.footers}
        return [_segment_look(each, found, len(segments) - 1) for each in segments]
    finally:
        file.close()


def _segment_look(
    segment: Segment, footers: Mapping[int, SegmentFooter], others: int
) -> SegmentLook:
    place = segment.place
    footer = footers.get(place.first_row_group) if place is not None else None
    said: Any = footer.segment(segment.format, place) if footer is not None else None
    return SegmentLook(segment=segment, footer=footer, others=others, equal=said == segment)
