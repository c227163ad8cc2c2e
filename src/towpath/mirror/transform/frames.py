"""Spark's frames of a link whose records go through it: the only seam of links and data frames."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from towpath.engine.failure import of_spark
from towpath.model.errors import ConfigError, TowpathError
from towpath.settings import LinkConfig, TransformConfig, problem_at

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from towpath.cluster.admin.transactions import ProducerEpoch
    from towpath.compare.row_sums import RowLook
    from towpath.dataframes.transform.job import TransformJob
    from towpath.dataframes.transform.job import TransformRange as TransformRange  # noqa: PLC0414, told on
    from towpath.dataframes.transform.proving import RangeMade
    from towpath.dataframes.transform.query import LinkQuery
    from towpath.dataframes.transform.query import QueryDoubts as QueryDoubts  # noqa: PLC0414, told on
    from towpath.ledger.transformed import TransformedPosition
    from towpath.model.nouns import TopicId, TopicPartition

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TriedRows:
    """Records, and what the query makes of them.

    Attributes:
        before: The records.
        after: The rows that would be written.
        places: The partition on the target that each of these would be written to.
    """

    before: Sequence[Mapping[str, Any]]
    after: Sequence[Mapping[str, Any]]
    places: Sequence[TopicPartition]


class TransformFrames:
    """Runs the batches of a link on Spark.

    Args:
        spark: The session.
        config: The link.
        file: Its file, for problems of the query.

    Raises:
        ConfigError: The query is wrong.
    """

    def __init__(self, spark: Any, config: LinkConfig, file: Path) -> None:
        from towpath.dataframes.transform.query import LinkQuery  # noqa: PLC0415, it needs Spark

        self._spark, self._config, self._file = spark, config, file
        wanted = config.transforms
        assert wanted is not None  # noqa: S101, whoever calls has looked
        self._query: LinkQuery = self._placed(lambda: LinkQuery(spark, wanted))

    def check(self) -> None:
        """Raise if the query is wrong, without reading a record.

        Raises:
            ConfigError: It is.
            SparkLostError: The JVM is gone.
            TowpathError: Spark failed.
        """
        try:
            self._made(self._frame(self.job((), {})))
        except RuntimeError as error:
            raise of_spark(error) from error

    def require_spark(self) -> None:
        """Raise if Spark's JVM does not answer.

        Raises:
            SparkLostError: The JVM is gone.
        """
        from towpath.engine.border import require_jvm  # noqa: PLC0415, it needs Spark

        require_jvm(self._spark)

    def run(self, job: TransformJob) -> None:
        """Read, transform and write the ranges of a batch.

        Raises:
            ConfigError: The query is wrong.
            RuntimeError: A task failed; others may have committed theirs.
            SparkLostError: The JVM is gone.
        """
        from towpath.dataframes.transform.frames import write  # noqa: PLC0415, it needs Spark

        write(self._spark, job, self._made(self._frame(job)))

    def tried(self, job: TransformJob, counts: Mapping[str, int]) -> TriedRows:
        """Return the records of a batch, and what the query makes of them; nothing is written.

        Args:
            job: The batch.
            counts: The number of partitions of each mirror topic.

        Raises:
            ConfigError: The query is wrong.
            SparkLostError: The JVM is gone.
            TowpathError: A record does not get through the query, or cannot be read, or a row that
                the query makes cannot be a record.
        """
        from towpath.dataframes.transform.trying import rows_by_range  # noqa: PLC0415, it needs Spark
        from towpath.engine.border import border  # noqa: PLC0415, likewise

        try:
            with border():
                frame = self._frame(job)
                before, after = frame.toArrow(), rows_by_range(self._spark, self._made(frame))
        except RuntimeError as error:
            raise of_spark(error) from error
        places = [tp for number in after for tp in _places(after[number], number, job, counts)]
        rows = [row for table in after.values() for row in table.to_pylist()]
        return TriedRows(before.to_pylist(), rows, places)

    def doubts(self) -> QueryDoubts:
        """Return why the query may make other records of the same ones another time.

        Raises:
            ConfigError: The query is wrong.
        """
        return self._query.doubts(self._made(self._frame(self.job((), {}))))

    def rows_made(
        self,
        job: TransformJob,
        looks: Sequence[RowLook],
        on_done: Callable[[int, int], None],
        stop: threading.Event,
    ) -> list[RangeMade]:
        """Return what the query makes of each range now; nothing is written.

        Raises:
            ConfigError: The query is wrong.
            RuntimeError: A task failed.
            SparkLostError: The JVM is gone.
        """
        from towpath.dataframes.transform.proving import made_rows  # noqa: PLC0415, it needs Spark

        made = self._made(self._frame(job))
        return made_rows(self._spark, job, made, looks, on_done, stop)

    def job(self, ranges: Iterable[TransformRange], names: dict[str, str]) -> TransformJob:
        """Return a batch of this link."""
        from towpath.dataframes.sink.options import SinkOptions  # noqa: PLC0415, it needs Spark
        from towpath.dataframes.transform.job import TransformJob  # noqa: PLC0415, likewise
        from towpath.wire.codec import NAMES  # noqa: PLC0415, likewise

        config, wanted = self._config, self._config.transforms
        assert wanted is not None  # noqa: S101, as above
        codec = NAMES.index(wanted.compression)
        sink = SinkOptions(config.target, timeout=float(wanted.timeout), codec=codec)
        return TransformJob(
            config.link, config.source, sink, tuple(ranges), names, query=known_as(wanted)
        )

    def _frame(self, job: TransformJob) -> Any:
        from towpath.dataframes.transform.frames import frame_of  # noqa: PLC0415, it needs Spark
        from towpath.engine.border import border  # noqa: PLC0415, likewise

        with border():
            return frame_of(self._spark, job)

    def _made(self, frame: Any) -> Any:
        return self._placed(lambda: self._query.of(frame))

    def _placed(self, work: Callable[[], T]) -> T:
        """Return what some work returns; a query that is wrong is told with its place."""
        from towpath.dataframes.transform.query import LinkQueryError  # noqa: PLC0415, it needs Spark
        from towpath.engine.border import border  # noqa: PLC0415, likewise

        try:
            with border():
                return work()
        except LinkQueryError as error:
            place = ("transform", error.key)
            if self._config.transform is None:
                place = ("topics", "partitions")
            raise ConfigError((problem_at(self._file, place, error.text),)) from None


def _places(
    rows: pa.Table, number: int, job: TransformJob, counts: Mapping[str, int]
) -> list[TopicPartition]:
    """Return the partition on the target of each row, as `run` chooses it.

    Args:
        rows: What the query made of a range.
        number: The number of the range.
        job: The batch.
        counts: The number of partitions of each mirror topic.

    Raises:
        TowpathError: A row cannot be a record of the link.
    """
    from towpath.dataframes.errors import RowError  # noqa: PLC0415, it needs Spark
    from towpath.dataframes.sink.columns import row_batch  # noqa: PLC0415, likewise
    from towpath.dataframes.sink.task import RowRoutes  # noqa: PLC0415, likewise

    origin = job.ranges[number].part.tp
    named = None if "topic" in rows.column_names else str(origin.topic)
    routes = RowRoutes(job.names, keyless=origin.partition)
    try:
        return [
            place
            for batch in rows.to_batches()
            if len(batch)
            for place in routes.places(row_batch(batch, named), counts.__getitem__)
        ]
    except RowError as error:
        raise TowpathError(f"a run would stop at these records: {error}") from None


def known_as(wanted: TransformConfig) -> str:
    """Return what a query is known by; the text of a file of Python counts, not what it imports."""
    words = [wanted.sql or ""]
    if wanted.python is not None:
        path, name = wanted.path_and_name
        words = [name, path.read_text(encoding="utf-8")]
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def range_of(
    tp: TopicPartition,
    topic_id: TopicId,
    before: TransformedPosition,
    end: int,
    who: ProducerEpoch | None = None,
    planned: int = -1,
) -> TransformRange:
    """Return the range of source offsets from a position on.

    Args:
        tp: The source partition.
        topic_id: The id of its topic.
        before: The position.
        end: The source offset behind the last one.
        who: The producer that writes the range; `None` for a range that is read only.
        planned: The position that was read, before what the source has deleted since; -1 if there
            was none.
    """
    from towpath.dataframes.ranges import OffsetRange  # noqa: PLC0415, it needs Spark
    from towpath.dataframes.transform.job import NOBODY, TransformRange  # noqa: PLC0415, likewise

    part = OffsetRange(tp, topic_id, before.end, end)
    return TransformRange(part, before, NOBODY if who is None else who, planned)
