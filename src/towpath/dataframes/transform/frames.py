"""The data sources of one batch: its ranges as a frame, and the way of its rows to the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from towpath.dataframes.source import COLUMNS, HEADERS
from towpath.dataframes.transform import handover
from towpath.dataframes.transform.job import TransformJob
from towpath.engine.border import border

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SOURCE, SINK = "towpath-transform-source", "towpath-transform-sink"
"""Always the same names, as sessions keep what was registered."""


def frame_of(spark: SparkSession, job: TransformJob) -> DataFrame:
    """Return the records of a batch, with one partition for each range, in order."""
    spark.dataSource.register(_source(job))
    return spark.read.format(SOURCE).load()


def write(spark: SparkSession, job: TransformJob, made: DataFrame) -> None:
    """Write the rows that a query made of a batch, each range in a transaction.

    Raises:
        RuntimeError: A task failed; the text is Spark's. Others may have committed theirs.
        SparkLostError: The JVM is gone.
    """
    with border():
        spark.dataSource.register(_sink(job))
        made.write.format(SINK).mode("append").save()


def _source(job: TransformJob) -> type[DataSource]:
    """Return a class that carries the job; options would show its login."""

    class Reader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(number) for number in range(len(job.ranges))]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            from towpath.dataframes.transform.task import read  # noqa: PLC0415, it needs numba

            return read(job, job.ranges[partition.value])

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return SOURCE

        def schema(self) -> str:
            return COLUMNS + HEADERS

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
            return Reader()

    return Source


def _sink(job: TransformJob) -> type[DataSource]:
    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            from towpath.dataframes.transform.task import write  # noqa: PLC0415, it needs numba

            write(job, job.ranges[handover.task().partitionId()], iterator)
            return WriterCommitMessage()

    return sink_of(SINK, Writer)


def sink_of(name: str, writer: Callable[[], DataSourceArrowWriter]) -> type[DataSource]:
    """Return the data source of this name whose rows go to a writer."""

    class Sink(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002
            return writer()

    return Sink
