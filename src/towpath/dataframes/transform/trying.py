"""The rows that a query makes of a few ranges, for a look at them; nothing is written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from towpath.dataframes.transform import handover
from towpath.dataframes.transform.frames import sink_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SINK = "towpath-transform-trial"


@dataclass(frozen=True)
class RangeTried(WriterCommitMessage):
    """The rows of a range.

    Attributes:
        number: The number of the range in its job.
        rows: The rows as a stream of Arrow.
    """

    number: int
    rows: bytes


def rows_by_range(spark: SparkSession, made: DataFrame) -> dict[int, pa.Table]:
    """Return the rows that a query makes of each range, by its number; none for no rows.

    Raises:
        RuntimeError: A task failed; the text is Spark's.
    """
    with tempfile.TemporaryDirectory(prefix="towpath-trial-") as folder:
        spark.dataSource.register(_sink(Path(folder)))
        made.write.format(SINK).mode("append").save()
        found = sorted((int(each.name), each) for each in Path(folder).iterdir())
        return {number: pa.ipc.open_stream(each.read_bytes()).read_all() for number, each in found}


def _sink(folder: Path) -> type[DataSource]:
    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            return RangeTried(handover.task().partitionId(), _stream([*iterator]))

        def commit(self, messages: list[WriterCommitMessage | None]) -> None:
            # Spark calls it in a process of its own, on the machine of the driver.
            for each in messages:
                if isinstance(each, RangeTried) and each.rows:
                    (folder / str(each.number)).write_bytes(each.rows)

    return sink_of(SINK, Writer)


def _stream(batches: list[pa.RecordBatch]) -> bytes:
    if not batches:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found
