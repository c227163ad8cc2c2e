"""The partitions, offsets and times that a query's filters leave to read. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import datasource

from towpath.model.nouns import TopicPartition

_LAST = (1 << 63) - 1


@dataclass
class Narrowing:
    """The partitions, offsets and times that all filters of a query leave.

    Attributes:
        first: The first offset.
        end: The offset behind the last one.
        since: Timestamps (ms) before it are not wanted, `None` for all; where records are not in
            the order of time, more are read, and Spark filters them.
        topics: Names of topics, `None` for all.
        numbers: Numbers of partitions, `None` for all.
    """

    first: int = 0
    end: int = _LAST
    since: int | None = None
    topics: frozenset[str] | None = None
    numbers: frozenset[int] | None = None

    def take(self, wanted: datasource.Filter) -> None:
        """Apply one more filter; filters on other columns change nothing."""
        column = getattr(wanted, "attribute", None)
        if column is None or len(column) != 1:
            return
        value = getattr(wanted, "value", None)
        match column[0]:
            case "offset":
                self._offset(wanted, value)
            case "timestamp":
                self._time(wanted, value)
            case "partition":
                self.numbers = _one_of(wanted, value, self.numbers)
            case "topic":
                self.topics = _one_of(wanted, value, self.topics)
            case _:
                pass

    def wants(self, tp: TopicPartition) -> bool:
        """Return whether records of a partition are wanted."""
        topics, numbers = self.topics, self.numbers
        named = topics is None or str(tp.topic) in topics
        return named and (numbers is None or tp.partition in numbers)

    def offsets(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of offsets [start, end) that is wanted."""
        return max(start, self.first), min(end, self.end)

    def _offset(self, wanted: datasource.Filter, value: Any) -> None:
        match wanted:
            case datasource.EqualTo():
                self.first, self.end = max(self.first, value), min(self.end, value + 1)
            case datasource.GreaterThan():
                self.first = max(self.first, value + 1)
            case datasource.GreaterThanOrEqual():
                self.first = max(self.first, value)
            case datasource.LessThan():
                self.end = min(self.end, value)
            case datasource.LessThanOrEqual():
                self.end = min(self.end, value + 1)
            case _:
                pass

    def _time(self, wanted: datasource.Filter, value: Any) -> None:
        later = datasource.GreaterThan, datasource.GreaterThanOrEqual, datasource.EqualTo
        if isinstance(wanted, later) and isinstance(value, datetime):
            ms = int(value.timestamp() * 1000)
            self.since = max(ms, 0) if self.since is None else max(self.since, ms)


def _one_of(wanted: datasource.Filter, value: Any, before: frozenset[Any] | None) -> Any:
    match wanted:
        case datasource.EqualTo():
            found = frozenset({value})
        case datasource.In():
            found = frozenset(value)
        case _:
            return before
    return found if before is None else before & found
