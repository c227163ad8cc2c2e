"""Rounds: micro-batches of a Structured Streaming query whose tasks run slices.

The stream's offset is the number of the last round. A round's slices are planned in a process
that Spark starts for the reader, and run in Python workers; so `plan` and `work` are pickled and
must not lean on anything of the calling process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

_FORMAT = "towpath"


@dataclass(frozen=True)
class Job:
    """What a query does.

    Attributes:
        plan: Gives the slices of a round; none when there is nothing to do.
        work: Runs one slice; yields batches of `schema`.
        schema: Columns of what `work` yields, as DDL.
        first: Number of the first round.
        once: Whether the query ends after one round.
    """

    plan: Callable[[int], Sequence[Any]]
    work: Callable[[Any], Iterator[pa.RecordBatch]]
    schema: str
    first: int = 1
    once: bool = False


class Rounds:
    """A running query; `on_round` gets the rows of each round when it is over."""

    def __init__(
        self, spark: SparkSession, job: Job, on_round: Callable[[int, list[dict[str, Any]]], None]
    ) -> None:
        spark.dataSource.register(_source(job))
        self._checkpoint = tempfile.TemporaryDirectory(prefix="towpath-")

        def collect(frame: DataFrame, number: int) -> None:
            on_round(job.first + number, [row.asDict() for row in frame.collect()])

        writer = (
            spark.readStream.format(_FORMAT)
            .load()
            .writeStream.foreachBatch(collect)
            .option("checkpointLocation", f"file://{self._checkpoint.name}")
        )
        if job.once:
            writer = writer.trigger(availableNow=True)
        self._query: StreamingQuery = writer.start()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds, one at least, for the query to end; return whether it did.

        Raises:
            RuntimeError: The query failed; the text is Spark's.
        """
        try:
            return bool(self._query.awaitTermination(max(1, round(seconds))))
        except PySparkException as error:
            raise RuntimeError(str(error)) from error

    def stop(self) -> None:
        """Stop the query; slices that still run are cut off, which harms nothing."""
        self._query.stop()
        self._checkpoint.cleanup()


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark's names, hence their form."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"round": self._job.first - 1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._job.first

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        del limit
        following = start["round"] + 1
        return {"round": following if self._last is None else min(following, self._last)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        if start == end:
            return []
        return [InputPartition(one) for one in self._job.plan(end["round"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from self._job.work(partition.value)


def _source(job: Job) -> type[DataSource]:
    """Return a data source class that carries `job`, so that no option shows what is in it."""

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return _FORMAT

        def schema(self) -> str:
            return job.schema

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            del schema
            return cast("DataSourceStreamReader", _Reader(job))

    return Source
