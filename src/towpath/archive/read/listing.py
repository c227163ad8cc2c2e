"""Segments for `towpath archive ls` and `show`, with the footers of their objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.format.either_format import read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.log import ArchiveState, CommitLog
from towpath.archive.model import STREAMING, Segment
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import TopicName
from towpath.settings.naming import fits
from towpath.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment with its footer from the object.

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
    """Return the segments of an archive, optionally of one topic or partition.

    Raises:
        ConfigError: The archive has no such topic or partition.
        CommitLogError: The commit log cannot be used, or there is no archive.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        state = CommitLog.open(store, config.region).state
        of_topic = {
            each: known.topic
            for each, known in sorted(state.partitions.items(), key=lambda item: item[1].topic)
            if topic in {None, known.topic}
        }
        wanted = [each for each in of_topic if partition in {None, each.partition}]
        if topic is not None and not of_topic:
            names = {known.topic for known in state.partitions.values()}
            raise ConfigError((_unknown(topic, names),))
        if topic is not None and not wanted:
            text = f"the archive has no partition {partition} of topic {topic}"
            raise ConfigError((ConfigProblem("PARTITION", text),))
        return [(segment.topic, segment) for each in wanted for segment in state.segments(each)]


def _unknown(topic: str, names: Collection[str]) -> ConfigProblem:
    near = get_close_matches(topic, names, 3)
    text = f"the archive has no topic {topic}"
    return ConfigProblem("TOPIC", f"{text}; it has {', '.join(near)}" if near else text)


def require_topics(state: ArchiveState, expressions: tuple[str, ...], option: str) -> None:
    """Raise if an expression matches no topic of the archive, as after a typing error.

    Args:
        state: The archive.
        expressions: Regular expressions; what matches every name is never refused.
        option: Where they come from.

    Raises:
        ConfigError: One of them matches no topic.
    """
    names = {known.topic for known in state.partitions.values()}
    problems = tuple(
        ConfigProblem(option, f"no topic of the archive matches {each!r}")
        for each in expressions
        if each != ".*" and not any(fits(name, (each,)) for name in names)
    )
    if problems:
        raise ConfigError(problems)


def require_partitions(state: ArchiveState, topics: tuple[str, ...], numbers: Set[int]) -> None:
    """Raise if a partition number exists in none of the selected topics.

    Args:
        state: The archive.
        topics: Regular expressions of the topics.
        numbers: Numbers of partitions; none for all.

    Raises:
        ConfigError: One of them is missing.
    """
    known = {each.partition for each, of in state.partitions.items() if fits(of.topic, topics)}
    problems = tuple(
        ConfigProblem("--partitions", f"no topic that is asked for has a partition {each}")
        for each in sorted(numbers - known)
    )
    if problems:
        raise ConfigError(problems)


def show_object(config: ArchiveConfig, key: str) -> list[SegmentLook]:
    """Return the segments of an object with their footers.

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
    if said is not None and segment.level == STREAMING:
        said = replace(said, level=STREAMING)  # `archive recover` may have taken it in
    return SegmentLook(segment=segment, footer=footer, others=others, equal=said == segment)
