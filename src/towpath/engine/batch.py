"""Slices that run once, in one Spark task each, with progress.

As in rounds, slices are the partitions of a Python data source. `mapInArrow` would need pandas.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from towpath.engine.border import GONE, border
from towpath.model.foreign import leaving

T = TypeVar("T")
_LOOK = 0.2


def run(
    spark: SparkSession,
    slices: Sequence[T],
    work: Callable[[T], Iterator[pa.RecordBatch]],
    schema: str,
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> pa.Table:
    """Run each slice in its own task and return the rows of all slices.

    Args:
        spark: The session to run them in.
        slices: Frozen values that pickle.
        work: Runs one slice; a function of a module that the workers can import.
        schema: Columns of the rows that `work` yields, as DDL.
        on_done: Gets the number of finished slices and of all slices, from another thread.
        stop: Set to stop early; running slices are cancelled.

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
        spark.sparkContext.setJobGroup(name, "towpath", interruptOnCancel=True)
        with _Progress(spark, name, len(slices), on_done, stop):
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


class _Progress:
    """Polls the job from its own thread."""

    def __init__(
        self,
        spark: SparkSession,
        group: str,
        total: int,
        on_done: Callable[[int, int], None],
        stop: threading.Event,
    ) -> None:
        self._context, self._stop = spark.sparkContext, stop
        self._tracker = self._context.statusTracker()
        self._group, self._total, self._on_done = group, total, on_done
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="towpath-progress", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            self._on_done(self._total, self._total)

    def _watch(self) -> None:
        with suppress(*GONE):  # the thread that waits for the rows reports it
            while not self._over.wait(_LOOK):
                if self._stop.is_set():
                    # Repeatedly: the job may not have started at the first cancellation.
                    self._context.cancelJobGroup(self._group)
                self._on_done(min(self._total, self._done()), self._total)

    def _done(self) -> int:
        done = 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                told = self._tracker.getStageInfo(stage)
                done += told.numCompletedTasks if told else 0
        return done
