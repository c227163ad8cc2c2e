"""Slices that run once, in one Spark task each, with progress.

As in rounds, slices are the partitions of a Python data source. `mapInArrow` would need pandas.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from towpath.engine.border import border
from towpath.engine.watching import JobsWatch
from towpath.model.foreign import leaving

T = TypeVar("T")


def run(
    spark: SparkSession,
    slices: Sequence[T],
    work: Callable[[T], Iterator[pa.RecordBatch]],
    schema: str,
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> pa.Table:
    """Run each slice in its own Spark task, and return the rows of all.

    Arguments are those of `engine.batch.run`, with the session in the place of the engine.

    Raises:
        RuntimeError: A slice failed in all of Spark's attempts, or was stopped; the text is
            Spark's.
        SparkLostError: The JVM is gone.
    """
    with border():
        if not slices:
            return spark.createDataFrame([], schema).toArrow()
        name = f"towpath-{uuid.uuid4().hex}"
        spark.dataSource.register(_source(name, slices, work, schema))
        with JobsWatch(spark, on_done, stop, len(slices)):
            return spark.read.format(name).load().toArrow()


def _source(
    title: str,
    slices: Sequence[T],
    work: Callable[[T], Iterator[pa.RecordBatch]],
    columns: str,
) -> type[DataSource]:
    """Return a data source class that carries the slices; options would show their contents."""

    class Reader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(one) for one in slices]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            with leaving():
                yield from work(partition.value)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return title

        def schema(self) -> str:
            return columns

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
            return Reader()

    return Source
