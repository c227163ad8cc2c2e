"""The data source `towpath`: a batch of records or a stream of them, read or written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from typing_extensions import override

from towpath.cluster.admin import Admin
from towpath.dataframes.narrowing import Narrowing
from towpath.dataframes.options import (
    EARLIEST,
    OffsetBound,
    SourceOptions,
    read_options,
    require_bounded,
    require_endless,
)
from towpath.dataframes.ranges import (
    OffsetRange,
    offsets_at,
    places_of,
    ranges_of,
    require_named,
    require_ordered,
    spread,
    topics_of,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import (
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

    from towpath.dataframes.sink.options import SinkOptions

FORMAT = "towpath"
COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
HEADERS = ", headers array<struct<key: string, value: binary>>"


def register(spark: SparkSession) -> None:
    """Register the data source with a session, for `format("towpath")`."""
    spark.dataSource.register(TowpathSource)
    make_active(spark)


def make_active(spark: SparkSession) -> None:
    """Make a session the active one of this thread.

    `DataFrameWriter` looks for data sources of Python in the active session of its thread alone. A
    session that another thread has started is the active one of that thread only, so that it
    would know none (`findings/`).
    """
    spark.createDataFrame([], "key binary")  # as it does beside what it returns


class TowpathSource(DataSource):
    """Records of Kafka topics, with the columns and options of Spark's own Kafka source."""

    @classmethod
    def name(cls) -> str:
        """The name of the data source for `format`."""
        return FORMAT

    @override
    def schema(self) -> str:
        """The columns of the data source, as DDL.

        Raises:
            ConfigError: With every problem of the options.
        """
        return COLUMNS + (HEADERS if self._options.headers else "")

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query.

        Raises:
            ConfigError: The options let it read nothing.
        """
        del schema  # it is ours
        options = self._options
        require_bounded(options)
        return NarrowedReader(options) if options.pushes else BatchReader(options)

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a streaming query.

        Raises:
            ConfigError: The options say where it ends.
        """
        del schema  # it is ours
        from towpath.dataframes.stream import StreamReader  # noqa: PLC0415, batches need none

        require_endless(cast("dict[str, str]", dict(self.options)))
        return StreamReader(self._options)

    @override
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch.

        Raises:
            ConfigError: With every problem of options and columns.
        """
        from towpath.dataframes.sink.writers import BatchWriter  # noqa: PLC0415, readers need none

        return BatchWriter(self._sink_options(schema, overwrite=overwrite, stream=False))

    @override
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of a stream.

        Raises:
            ConfigError: With every problem of options and columns.
        """
        from towpath.dataframes.sink.writers import StreamWriter  # noqa: PLC0415, readers need none

        options = self._sink_options(schema, overwrite=overwrite, stream=True)
        return cast("DataSourceStreamWriter", StreamWriter(options, schema))

    def _sink_options(self, schema: StructType, *, overwrite: bool, stream: bool) -> SinkOptions:
        from towpath.dataframes.sink.options import read_sink_options  # noqa: PLC0415, as above

        if overwrite:
            why = "must be append: records of a topic are not replaced"
            raise ConfigError((ConfigProblem("mode", why),))
        given = cast("dict[str, str]", dict(self.options))
        return read_sink_options(given, schema, stream=stream)

    @property
    def _options(self) -> SourceOptions:
        return read_options(cast("dict[str, str]", dict(self.options)))


class BatchReader(DataSourceReader):
    """Reads the records that the topics hold when the query begins.

    Args:
        options: What is read.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._narrowing = Narrowing()

    @override
    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges of offsets, one for each task."""
        options, narrowing = self._options, self._narrowing
        with Admin(options.cluster, Side.SOURCE) as admin:
            topics = topics_of(admin, options)
            every = places_of(options, topics.values())
            require_named(admin, options, every)
            tps = [tp for tp in every if narrowing.wants(tp)]
            starts = offsets_at(admin, tps, options.start or OffsetBound(EARLIEST))
            ends = offsets_at(admin, tps, options.end)
            require_ordered(options, starts, ends)
            if narrowing.since is not None:
                since = offsets_at(admin, tps, OffsetBound(time=narrowing.since))
                starts = {tp: max(start, since[tp]) for tp, start in starts.items()}
        bounds = {tp: narrowing.offsets(starts[tp], ends[tp]) for tp in tps}
        starts = {tp: start for tp, (start, _) in bounds.items()}
        ranges = ranges_of(topics, starts, {tp: end for tp, (_, end) in bounds.items()})
        return spread(ranges, options)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range."""
        return rows_of(self._options, partition)


class NarrowedReader(BatchReader):
    """Reads only the partitions, offsets and times that pushed-down filters select.

    Spark keeps what was planned with filters for the frame: without a filter that frame then has
    only those rows (`findings/`). So it is asked for by an option.
    """

    @override
    def pushFilters(self, filters: list[datasource.Filter]) -> Iterable[datasource.Filter]:
        """Note filters on partition, offset and timestamp; Spark applies all filters again."""
        for each in filters:
            self._narrowing.take(each)
        return filters


def rows_of(options: SourceOptions, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range as Arrow batches.

    Raises:
        ClusterError: The partition cannot be read.
        RecordsLostError: Records were deleted before they were read.
    """
    from towpath.dataframes.reading import read_range  # noqa: PLC0415, a task alone needs numba

    if not isinstance(partition, OffsetRange):  # Spark's own, where there is nothing to read
        return iter(())
    return read_range(options.cluster, partition, headers=options.headers, fails=options.fails)
