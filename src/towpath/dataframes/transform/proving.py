"""What a query makes of records now, as digests: to compare with what was written."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from towpath.compare.row_sums import RowLook
from towpath.dataframes.transform import handover
from towpath.dataframes.transform.frames import sink_of
from towpath.dataframes.transform.job import TransformJob
from towpath.engine.border import border
from towpath.engine.watching import JobsWatch

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SINK = "towpath-transform-proof"


@dataclass(frozen=True)
class RangeMade(WriterCommitMessage):
    """What the query made of a range.

    Attributes:
        number: The number of the range in its job.
        read: How many records the range has.
        sums: The rows, as text (`row_sums.from_json`).
    """

    number: int
    read: int
    sums: str


def made_rows(
    spark: SparkSession,
    job: TransformJob,
    made: DataFrame,
    looks: Sequence[RowLook],
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> list[RangeMade]:
    """Return what a query makes of each range of a job; nothing is written.

    Args:
        spark: The session.
        job: The ranges.
        made: The query on their frame.
        looks: What is wanted of the rows of each range.
        on_done: Gets the number of finished ranges and of all ranges, from another thread.
        stop: Set to stop early.

    Raises:
        RuntimeError: A task failed; the text is Spark's.
        SparkLostError: The JVM is gone.
    """
    with tempfile.TemporaryDirectory(prefix="towpath-proof-") as folder, border():
        path = Path(folder, "found")
        spark.dataSource.register(_sink(job, looks, path))
        with JobsWatch(spark, on_done, stop, len(job.ranges)):
            made.write.format(SINK).mode("append").save()
        lines = path.read_text(encoding="utf-8").splitlines()
    return [RangeMade(*json.loads(line)) for line in lines]


def _sink(job: TransformJob, looks: Sequence[RowLook], path: Path) -> type[DataSource]:
    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            from towpath.dataframes.transform.digesting import digested  # noqa: PLC0415, it needs numba

            number = handover.task().partitionId()
            read, sums = digested(job, job.ranges[number], looks[number], iterator)
            return RangeMade(number, read, sums)

        def commit(self, messages: list[WriterCommitMessage | None]) -> None:
            # Spark calls it in a process of its own, on the machine of the driver.
            found = [each for each in messages if isinstance(each, RangeMade)]
            lines = (json.dumps([each.number, each.read, each.sums]) for each in found)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    return sink_of(SINK, Writer)
