"""A Spark stream source whose offsets are numbers of rounds, and partitions are slices.

Spark unpickles this module in four kinds of processes, one after the other, before the first slice
runs. So it imports almost nothing, and the work of a slice is imported only where it runs.
"""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from towpath.engine.desk import Address
from towpath.model.foreign import leaving

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # of Spark 4.2; 4.0 and 4.1 ask in another way
        SupportsTriggerAvailableNow = object

FORMAT = "towpath"


@dataclass(frozen=True, slots=True)
class Stream:
    """The parameters of the stream's reader.

    Attributes:
        desk: The address at which it asks for slices.
        work: Name of the function that runs one slice, `package.module:function`.
        schema: Columns of the rows that the function yields, as DDL.
        first: Number of the first round.
        once: Whether there is only one round.
    """

    desk: Address
    work: str
    schema: str
    first: int
    once: bool


def source_of(stream: Stream) -> type[DataSource]:
    """Return a data source class that carries `stream`, hidden from Spark's options."""

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> str:
            return stream.schema

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            del schema
            return _reader(stream)

    return Source


class _Planning(DataSourceStreamReader):
    """Base of the stream readers; the names of the methods are Spark's."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"round": self._stream.first - 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start == end:
            return []
        return [InputPartition(one) for one in self._stream.desk.ask(end["round"])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        work = pkgutil.resolve_name(self._stream.work)
        with leaving():
            yield from work(pickle.loads(partition.value))  # noqa: S301  # the driver pickled it


class _Counting(_Planning):
    """The reader of Spark 4.0 and 4.1, which do not say where a round begins.

    One process has the reader for as long as the query runs. Its stream thread asks for the newest
    offset only between rounds, maybe several times, and then for the partitions of one round; so
    the next round is the one behind the last that was planned.
    """

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream)
        self._planned = stream.first - 1

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802
        return {"round": self._stream.first if self._stream.once else self._planned + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        self._planned = max(self._planned, end["round"])
        return super().partitions(start, end)


class _Limited(_Planning, SupportsTriggerAvailableNow):
    """The reader of Spark 4.2 and newer, which say where a round begins."""

    _last: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._stream.first

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        del limit
        following = start["round"] + 1
        return {"round": following if self._last is None else min(following, self._last)}


def _reader(stream: Stream) -> DataSourceStreamReader:
    """Return the reader that this Spark understands."""
    made = _Counting if SupportsTriggerAvailableNow is object else _Limited
    return cast("DataSourceStreamReader", made(stream))
