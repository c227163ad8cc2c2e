"""The level of detail of series: by partition, by topic, or one in total. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from towpath.model.nouns import Detail

LIMIT = 1000
"""Number of partitions, or topics, above which `Detail.AUTO` has no series for each."""
K = TypeVar("K")


class OfPartition(Protocol):
    """Protocol of a value that belongs to one partition."""

    @property
    def topic(self) -> str:
        """The topic's name."""

    @property
    def partition(self) -> int:
        """The partition's number."""


P = TypeVar("P", bound=OfPartition)


def chosen(detail: Detail, partitions: Sequence[OfPartition], limit: int = LIMIT) -> Detail:
    """Return the level of detail to use, which is never `AUTO`.

    Args:
        detail: What the file says.
        partitions: All partitions.
        limit: How many partitions, or topics, may have series of their own.
    """
    if detail is not Detail.AUTO:
        return detail
    if len(partitions) <= limit:
        return Detail.PARTITION
    return Detail.TOPIC if len({each.topic for each in partitions}) <= limit else Detail.LINK


def place_of(detail: Detail, topic: str, partition: int) -> tuple[str, str]:
    """Return the topic and partition labels of a partition's series.

    Args:
        detail: What has a series, never `AUTO`.
        topic: Its topic.
        partition: Its number.

    Returns:
        Topic and partition as labels; empty where a series tells of all of them.
    """
    match detail:
        case Detail.LINK:
            return "", ""
        case Detail.TOPIC:
            return topic, ""
        case _:
            return topic, str(partition)


def added_up(
    partitions: Iterable[P], key: Callable[[P], K], value: Callable[[P], float]
) -> dict[K, float]:
    """Return the sum of the values that share a series, by series.

    Args:
        partitions: The partitions.
        key: Names the series of one.
        value: Its number.
    """
    added: dict[K, float] = {}
    for each in partitions:
        place = key(each)
        added[place] = added.get(place, 0.0) + value(each)
    return added


def greatest(
    partitions: Iterable[P], key: Callable[[P], K], value: Callable[[P], float]
) -> dict[K, float]:
    """Return the greatest of the values that share a series, at least 0, by series.

    Args:
        partitions: The partitions.
        key: Names the series of one.
        value: Its number.
    """
    found: dict[K, float] = {}
    for each in partitions:
        place = key(each)
        found[place] = max(found.get(place, 0.0), value(each))
    return found
