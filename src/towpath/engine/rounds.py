"""Rounds: the micro-batches of a Structured Streaming query whose tasks run slices."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from towpath.engine.border import GONE, border
from towpath.engine.desk import Desk
from towpath.engine.folder import short_folder
from towpath.engine.source import FORMAT, Stream, source_of


@dataclass(frozen=True)
class Job:
    """Protocol of a running Structured Streaming query, as Spark's handle.

    Attributes:
        plan: Returns the slices of a round, frozen values that pickle; none if there is nothing to
            do. Called in a thread of this process.
        work: Name of the function that runs one slice in a Python worker,
            `package.module:function`; it yields record batches of `schema`.
        schema: Columns of the record batches, as DDL.
        first: Number of the first round.
        once: Whether the query ends after one round.
    """

    plan: Callable[[int], Sequence[Any]]
    work: str
    schema: str
    first: int = 1
    once: bool = False


class Rounds:
    """A running query; `on_round` gets the number and the rows of each finished round.

    Raises:
        RuntimeError: The query did not start; the text is Spark's.
        SparkLostError: The JVM is gone.
    """

    def __init__(
        self, spark: SparkSession, job: Job, on_round: Callable[[int, list[dict[str, Any]]], None]
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="towpath-", dir=short_folder())
        self._desk = Desk(Path(self._folder.name), job.plan)
        self._closed = False
        try:
            with border():
                self._query = self._start(spark, job, on_round)
        except BaseException:
            self._close()
            raise

    def _start(
        self, spark: SparkSession, job: Job, on_round: Callable[[int, list[dict[str, Any]]], None]
    ) -> StreamingQuery:
        stream = Stream(self._desk.address, job.work, job.schema, job.first, job.once)
        spark.dataSource.register(source_of(stream))

        def collect(frame: DataFrame, number: int) -> None:
            on_round(job.first + number, [row.asDict() for row in frame.collect()])

        writer = (
            spark.readStream.format(FORMAT)
            .load()
            .writeStream.foreachBatch(collect)
            .option("checkpointLocation", f"file://{self._folder.name}/checkpoint")
        )
        if job.once:
            writer = writer.trigger(availableNow=True)
        return writer.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the query to end, at least one second; return whether it has ended.

        Raises:
            RuntimeError: The query failed; the text is Spark's.
            SparkLostError: The JVM is gone.
        """
        with border():
            return bool(self._query.awaitTermination(max(1, round(seconds))))

    def require(self) -> None:
        """Raise if the query has failed.

        Raises:
            RuntimeError: It has failed; the text is Spark's.
            SparkLostError: The JVM is gone.
        """
        with border():
            error = self._query.exception()
            if error is not None:
                raise error

    def stop(self) -> None:
        """Stop the query, and cancel its running slices, which is always safe."""
        with suppress(*GONE):
            self._query.stop()
        self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._desk.close()
            self._folder.cleanup()
