"""Segments in memory, written from logs and read back."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tests.support.logs.logs import Log, Seen, cut
from towpath.archive.format.batches_writer import BatchesObject
from towpath.archive.format.footer import SegmentFooter, SegmentHead
from towpath.archive.format.parquet_writer import (
    ParquetObject,
    ParquetOptions,
    ParquetSegmentWriter,
)
from towpath.archive.format.schema import ARCHIVED, to_millis
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.wire.batch import Buffer
from towpath.wire.plain import Record

TINY = ParquetOptions(row_group_bytes=1, row_group_rows=3)
"""Row groups of what is opened at once."""


def head(start: int, partition: int = 3) -> SegmentHead:
    return SegmentHead(
        cluster=ClusterId("c4rAG9VRTqGLHHnmLUvWwA"),
        topic_id=TopicId("t0pic"),
        topic=TopicName("orders"),
        partition=partition,
        start=SourceOffset(start),
    )


def buffer(data: bytes | bytearray | memoryview) -> Buffer:
    return np.frombuffer(bytearray(data), np.uint8)


def written(
    log: Log,
    start: int = 0,
    end: int | None = None,
    options: ParquetOptions | None = None,
    sizes: Sequence[int] = (),
) -> tuple[bytes, SegmentFooter]:
    """Return a Parquet object with the segment [start, end) of a log, and its footer."""
    end = log.end if end is None else end
    out = io.BytesIO()
    target = ParquetObject(lambda: out, options)
    writer = ParquetSegmentWriter(target, head(start), end=SourceOffset(end))
    for part, aborted in cut(log, sizes):
        writer.take(buffer(part), 0, len(part), aborted)
    footer = writer.close(SourceOffset(end))
    assert target.close() == len(out.getvalue())
    return out.getvalue(), footer


def written_whole(
    log: Log, start: int = 0, end: int | None = None, sizes: Sequence[int] = (), part: int = 1
) -> tuple[bytes, SegmentFooter]:
    """Return an object of whole batches with the segment [start, end) of a log, and its footer."""
    end = log.end if end is None else end
    out = io.BytesIO()
    target = BatchesObject(lambda: out, part)
    writer = target.segment(head(start), end=SourceOffset(end))
    for data, aborted in cut(log, sizes):
        writer.take(buffer(data), 0, len(data), aborted)
    footer = writer.close(SourceOffset(end))
    size = target.close()
    return out.getvalue()[:size], footer


def seen(batches: Iterable[pa.RecordBatch]) -> list[Seen]:
    """Return archived records as values."""
    found: list[Seen] = []
    for rows in batches:
        assert rows.schema.equals(ARCHIVED, check_metadata=True)
        rows.validate(full=True)
        # Python's datetime ends in the year 9999.
        told = rows.drop_columns(["timestamp"]).to_pylist()
        for row, time in zip(told, to_millis(rows).tolist(), strict=True):
            headers = tuple((each["key"], each["value"]) for each in row["headers"])
            record = Record(row["key"], row["value"], headers, time, row["offset"])
            epoch = -1 if row["leader_epoch"] is None else row["leader_epoch"]
            found.append(Seen(record, row["timestamp_type"], epoch))
    return found
