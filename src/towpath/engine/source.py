"""Spark stream source: offsets are numbers of rounds, partitions are slices.

Spark unpickles this module in four kinds of processes, one after the other, before the first slice
runs. So it imports almost nothing, and the work of a slice is imported only where it runs.
"""

from __future__ import annotations

import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from towpath.engine.desk import Address
from towpath.model.foreign import leaving

FORMAT = "towpath"


@dataclass(frozen=True, slots=True)
class Stream:
    """The parameters of the reader.

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
    """Return a data source class that carries `stream` hidden from Spark's options."""

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> str:
            return stream.schema

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            del schema
            return cast("DataSourceStreamReader", _Reader(stream))

    return Source


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The reader; the names of its methods are Spark's."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"round": self._stream.first - 1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._stream.first

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        del limit
        following = start["round"] + 1
        return {"round": following if self._last is None else min(following, self._last)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start == end:
            return []
        return [InputPartition(one) for one in self._stream.desk.ask(end["round"])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        work = pkgutil.resolve_name(self._stream.work)
        with leaving():
            yield from work(pickle.loads(partition.value))  # noqa: S301  # the driver pickled it
