"""The stream reader, which decides on the offsets of each micro-batch.

The offsets that Spark keeps hold the id of each topic. A topic that was deleted and created again
between two micro-batches is another topic, and is told, not read on in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from typing_extensions import override

from towpath.cluster.admin import Admin
from towpath.dataframes.errors import TopicGoneError, TopicMadeAgainError
from towpath.dataframes.options import LATEST, OffsetBound, SourceOptions
from towpath.dataframes.patience import patiently
from towpath.dataframes.query_warnings import tell
from towpath.dataframes.ranges import (
    OffsetRange,
    offsets_at,
    places_of,
    require_named,
    spread,
    topics_of,
)
from towpath.dataframes.source import rows_of
from towpath.model.nouns import Side, TopicId, TopicName, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

Position = dict[str, dict[str, Any]]
"""By topic its `id`, and `at`: an offset by the number of each partition."""


def _available_now() -> Any:
    """Return what tells Spark 4.2 and newer that a reader knows where to stop."""
    try:
        from pyspark.sql.streaming import datasource as of_streams  # noqa: PLC0415, since Spark 4.2
    except ImportError:
        return object
    return of_streams.SupportsTriggerAvailableNow


_AvailableNow: Any = _available_now()


class StreamReader(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """Reads the records that are appended to topics, one micro-batch after the other.

    Args:
        options: What is read.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._read: Position | None = None
        """Up to where micro-batches go so far; before Spark 4.2 nobody tells it."""
        self._stop: Position | None = None

    @override
    def initialOffset(self) -> Position:
        """Return the offsets at which a new query begins."""
        self._read = self._position(self._options.start or OffsetBound(LATEST), first=True)
        return self._read

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802, as Spark calls it
        """Note the end offsets at which an `availableNow` query stops."""
        self._stop = self._position(OffsetBound(LATEST))

    @override
    def latestOffset(self, start: Position | None = None, limit: Any = None) -> Position:
        """Return the end offsets of the next micro-batch: the log ends, or as options limit."""
        start = self._read if start is None else start
        end = self._end(start)
        if self._options.fails:  # before Spark keeps an end without them
            require_there(start or {}, end, self._options)
        most = self._options.most_offsets
        if start is None or not most or type(limit).__name__ == "ReadAllAvailable":
            return end
        return limited(start, end, most)

    def _end(self, start: Position | None) -> Position:
        """Return where all partitions end, or where the query shall stop."""
        if self._stop is None:
            return self._position(OffsetBound(LATEST), known=start)
        return never_back(start, self._stop)

    @override
    def getDefaultReadLimit(self) -> Any:
        """Return the limit of `maxOffsetsPerTrigger`, for Spark 4.2 and later."""
        from pyspark.sql.streaming import datasource as of_streams  # noqa: PLC0415, since Spark 4.2

        most = self._options.most_offsets
        return of_streams.ReadMaxRows(most) if most else of_streams.ReadAllAvailable()

    @override
    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        """Return the ranges of a micro-batch, one for each task."""
        self._read, fails = end, self._options.fails
        require_there(start, end, self._options)
        return spread([*ranges_between(start, end, fails=fails)], self._options)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range."""
        return rows_of(self._options, partition)

    def _position(
        self, bound: OffsetBound, known: Position | None = None, *, first: bool = False
    ) -> Position:
        """Return the offsets of a bound; only a new query gives a cluster up at once."""
        if first:
            return self._found(bound, known, first=True)
        return patiently(self._options.cluster, lambda: self._found(bound, known, first=False))

    def _found(self, bound: OffsetBound, known: Position | None, *, first: bool) -> Position:
        options = self._options
        with Admin(options.cluster, Side.SOURCE) as admin:
            topics = topics_of(admin, options, may_lack=not first)
            tps = places_of(options, topics.values())
            if first:
                require_named(admin, options, tps)
            found = offsets_at(admin, tps, bound)
        made: Position = {}
        for tp, offset in found.items():
            number = str(topics[tp.topic].id)
            one = made.setdefault(str(tp.topic), {"id": number, "at": {}})
            one["at"][str(tp.partition)] = offset
        return never_back(known, made)


def never_back(start: Position | None, end: Position) -> Position:
    """Return end offsets that are never below those already read, so that no row repeats."""
    made: Position = {}
    for tp, offset in _each(end):
        number = end[str(tp.topic)]["id"]
        one = made.setdefault(str(tp.topic), {"id": number, "at": {}})
        before = at_of(start, tp) if _id_of(start, tp) == number else -1
        if before > offset:
            tell(f"{tp} ends at {offset}, before {before}, up to which it was read")
        one["at"][str(tp.partition)] = max(offset, before)
    return made


def at_of(position: Position | None, tp: TopicPartition) -> int:
    """Return a partition's offset in a stream position, -1 if the position lacks it."""
    one = (position or {}).get(str(tp.topic), {})
    return int(one.get("at", {}).get(str(tp.partition), -1))


def _id_of(position: Position | None, tp: TopicPartition) -> str | None:
    number: str | None = (position or {}).get(str(tp.topic), {}).get("id")
    return number


def limited(start: Position, end: Position, most: int) -> Position:
    """Return end offsets with at most `most` offsets to read, shared fairly by all partitions."""
    wanted = {tp: offset - max(_begin(start, tp), 0) for tp, offset in _each(end)}
    total = sum(max(0, number) for number in wanted.values())
    if total <= most:
        return end
    made: Position = {}
    for tp, offset in _each(end):
        share = max(1, most * wanted[tp] // total) if wanted[tp] > 0 else 0
        one = made.setdefault(str(tp.topic), {"id": end[str(tp.topic)]["id"], "at": {}})
        one["at"][str(tp.partition)] = min(offset, max(_begin(start, tp), 0) + share)
    return made


def ranges_between(start: Position, end: Position, *, fails: bool) -> Iterator[OffsetRange]:
    """Yield the ranges of offsets between two stream positions.

    Args:
        start: Where a micro-batch begins.
        end: Where it ends.
        fails: Whether a topic that was made again ends the query; else the new one is read from its
            beginning.

    Raises:
        TopicMadeAgainError: A topic was deleted and created again.
    """
    for tp, offset in _each(end):
        number, was = end[str(tp.topic)]["id"], _id_of(start, tp)
        begin = _begin(start, tp)
        if was is not None and was != number:
            if fails:
                raise TopicMadeAgainError(tp.topic)
            tell(f"{tp.topic} was deleted and created again; the new topic is read from offset 0")
            begin = 0
        if begin < offset:
            yield OffsetRange(tp, TopicId(number), max(begin, 0), offset)


def require_there(start: Position, end: Position, options: SourceOptions) -> None:
    """Raise if topics that a query asks for are gone since the last micro-batch, or tell them.

    Args:
        start: Where a micro-batch begins.
        end: Where it ends.
        options: Which topics are read, and whether that ends the query.

    Raises:
        TopicGoneError: One is gone.
    """
    for topic, one in start.items():
        if topic in end or not options.asks_for(topic):
            continue
        gone = TopicGoneError(TopicName(topic), one["at"])
        if options.fails:
            raise gone
        tell(str(gone))


def _begin(start: Position, tp: TopicPartition) -> int:
    """Return where a partition begins; one that is new begins at its first record."""
    return max(at_of(start, tp), 0)


def _each(position: Position) -> Iterator[tuple[TopicPartition, int]]:
    for topic, one in position.items():
        for number, offset in one["at"].items():
            yield TopicPartition(TopicName(topic), int(number)), int(offset)
