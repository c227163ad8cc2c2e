"""The writers that Spark calls: one for batches, one for streams."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter
from typing_extensions import override

from towpath.cluster.admin import Admin
from towpath.dataframes.patience import patiently
from towpath.dataframes.query_warnings import tell
from towpath.dataframes.sink.commits import Committer, Decision, task_id
from towpath.dataframes.sink.messages import DriverTurn, TaskPlace, TaskWritten
from towpath.dataframes.sink.options import SinkOptions
from towpath.model.nouns import Side

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import WriterCommitMessage
    from pyspark.sql.types import StructType

_BATCH_ID, _QUERY_ID = "streaming.sql.batchId", "sql.streaming.queryId"
"""Properties of the tasks of a micro-batch (`MicroBatchExecution`, `StreamExecution`)."""
_ROWS = 10_000

_StreamBase: Any = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
"""Spark 4.0 hands rows to the writers of streams, newer ones Arrow batches."""


class BatchWriter(DataSourceArrowWriter):
    """Writes a frame; its records become visible once all of its tasks are done.

    Args:
        options: What is written, and how.
    """

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._run = uuid.uuid4().hex

    @override
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        number = _context().partitionId()
        name = task_id(self._name, number) if self._options.exactly_once else None
        return _write(self._options, TaskPlace(number, self._run, 0, name), iterator)

    @override
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the transactions of all tasks."""
        if self._options.exactly_once:
            with Admin(self._options.cluster, Side.TARGET) as admin:
                Committer(admin, self._options, self._name).commit_all(_sure(messages))

    @override
    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Abort the transactions of all tasks."""
        if self._options.exactly_once:
            with Admin(self._options.cluster, Side.TARGET) as admin:
                Committer(admin, self._options, self._name).abort_all(len(messages))

    @property
    def _name(self) -> str:
        return f"{self._options.transactional_id or 'towpath-sink'}-{self._run}"


class StreamWriter(_StreamBase):  # type: ignore[misc]
    """Writes the micro-batches of a stream, each once.

    Spark makes and pickles one for the tasks of each micro-batch, on the driver. That is when
    drivers before it are fenced. The one that commits is made anew, and not pickled.

    Args:
        options: What is written, and how.
        schema: The columns.
    """

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema
        self._driver: DriverTurn | None = None
        self._last = Decision()

    def __getstate__(self) -> dict[str, Any]:
        if self._options.exactly_once and self._driver is None:
            self._driver, self._last = patiently(self._options.cluster, self._begun)
        return {**self.__dict__}

    def _begun(self) -> tuple[DriverTurn, Decision]:
        """Fence drivers before, and complete what they decided; doing it twice changes nothing."""
        with Admin(self._options.cluster, Side.TARGET) as admin:
            return Committer(admin, self._options, self._options.identity).begin()

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Write the rows of a task, unless the batch was written before a restart."""
        context = _context()
        number, query = context.partitionId(), str(context.getLocalProperty(_QUERY_ID))
        batch = int(context.getLocalProperty(_BATCH_ID) or -1)
        if not self._options.exactly_once:
            place = TaskPlace(number, query, batch, None)
            return _write(self._options, place, _arrow(iterator, self._schema))
        place = TaskPlace(number, query, batch, task_id(self._options.identity, number))
        if self._last.query == query and batch <= self._last.batch:
            return TaskWritten(place, driver=self._driver, was_written=True)
        written = _write(self._options, place, _arrow(iterator, self._schema))
        return replace(written, driver=self._driver)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, as Spark calls it
        """Commit the transactions of all tasks."""
        if not self._options.exactly_once:
            return
        written = _sure(messages)
        if any(each.was_written for each in written):
            tell(f"batch {batchId} was written before a restart, and is not written again")
            return
        with Admin(self._options.cluster, Side.TARGET) as admin:
            Committer(admin, self._options, self._options.identity).decide(written, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, as Spark calls it
        """Abort the transactions of all tasks."""
        del batchId  # the producers of the tasks tell which transactions are meant
        if self._options.exactly_once:
            with Admin(self._options.cluster, Side.TARGET) as admin:
                Committer(admin, self._options, self._options.identity).abort(_sure(messages))


def _write(
    options: SinkOptions, place: TaskPlace, batches: Iterator[pa.RecordBatch]
) -> TaskWritten:
    from towpath.dataframes.sink.task import write_task  # noqa: PLC0415, a task alone needs numba

    return write_task(options, place, batches)


def _sure(messages: Iterable[WriterCommitMessage | None]) -> list[TaskWritten]:
    return [cast("TaskWritten", each) for each in messages if each is not None]


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this is no task of Spark")
    return context


def _arrow(items: Iterator[Any], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches; of the rows of Spark 4.0 some at a time."""
    import pyarrow as pa  # noqa: PLC0415, a task alone needs it
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    rows: list[Any] = []
    for item in items:
        if isinstance(item, pa.RecordBatch):
            yield item
            continue
        rows.append(item)
        if len(rows) == _ROWS:
            yield _made(rows, to_arrow_schema(schema))
            rows = []
    if rows:
        yield _made(rows, to_arrow_schema(schema))


def _made(rows: Sequence[Any], schema: Any) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415

    return pa.RecordBatch.from_pylist([row.asDict(recursive=True) for row in rows], schema=schema)
