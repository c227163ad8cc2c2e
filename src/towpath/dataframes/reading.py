"""Reading of one range of offsets in a Spark task, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client, Records
from towpath.dataframes.errors import RecordsLostError, TopicMadeAgainError
from towpath.dataframes.patience import patiently
from towpath.dataframes.query_warnings import tell
from towpath.dataframes.ranges import OffsetRange
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import Side
from towpath.runtime.deadline import Deadline
from towpath.runtime.garbage import keep_loaded
from towpath.settings import ClusterConfig
from towpath.wire.collector import Collector
from towpath.wire.intake import collect
from towpath.wire.sifting import COMPACTED, LOST

_FETCH_BYTES = 4 << 20
_WAIT = 0.5
_PATIENCE = 60.0
"""Seconds to wait for records that a partition must have, as its end tells."""
_ROWS_BYTES = 8 << 20
"""Bytes of opened batches from which on rows are handed to Spark."""
_BASE = 8
"""Bytes of the first offset of a batch, with which each begins."""
_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])


def read_range(
    config: ClusterConfig, part: OffsetRange, *, headers: bool, fails: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the committed records of a range, with the columns of Spark's own Kafka source.

    Args:
        config: The cluster.
        part: The range.
        headers: Whether there is the column `headers`.
        fails: Whether lost records end the task; else they are skipped, and told in its log.

    Raises:
        ClusterError: The partition cannot be read.
        RecordsLostError: Records were deleted before they were read.
        TopicMadeAgainError: The topic was deleted and created again.
    """
    with Admin(config, Side.SOURCE) as admin, Client(config, Side.SOURCE, admin) as client:
        reading = _Reading(admin, client, part, headers=headers, fails=fails)
        if patiently(config, reading.is_there):
            yield from reading.batches()
            reading.require_same()  # or what came last may have come from another topic
    keep_loaded()


class _Reading:
    def __init__(
        self, admin: Admin, client: Client, part: OffsetRange, *, headers: bool, fails: bool
    ) -> None:
        self._admin, self._client, self._part = admin, client, part
        self._headers, self._fails = headers, fails
        self._collector = Collector(part.start, part.end, digested=False)

    def is_there(self) -> bool:
        """Return whether there is anything to read; a topic that was deleted is told.

        Raises:
            TopicMadeAgainError: It is another one now, or it is gone and that ends the query.
        """
        part = self._part
        topic = None if self._fails else self._admin.topics.find(part.tp.topic)
        if self._fails or (topic is not None and topic.id == part.topic_id):
            self.require_same()
            return True
        again = "" if topic is None else ", which was created again"
        tell(f"{part.tp}: offsets {part.start} to {part.end - 1} are gone with their topic{again}")
        return False

    def require_same(self) -> None:
        """Raise if the topic is another one than when the range was planned."""
        topic = self._admin.topics.find(self._part.tp.topic)
        if topic is None or topic.id != self._part.topic_id:
            raise TopicMadeAgainError(self._part.tp.topic)

    def batches(self) -> Iterator[pa.RecordBatch]:
        collector, deadline = self._collector, Deadline.after(_PATIENCE)
        while collector.expected < collector.end:
            before = collector.expected
            yield from self._taken(before)
            if collector.expected > before:
                deadline = Deadline.after(_PATIENCE)
            elif deadline.over and self._ends_below():
                self._lost(before)
            elif deadline.over:
                what = f"fetching {self._part.tp} at {before}"
                why = f"no records came within {_PATIENCE:.0f} s"
                raise UnreachableError(Side.SOURCE, what, why, "look at the partition's leader")
        yield from self._rows()

    def _taken(self, at: int) -> Iterator[pa.RecordBatch]:
        """Collect what one fetch brings; yield rows as soon as there are many."""
        try:
            chunk = self._client.fetch(
                self._part.tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT, committed=True
            )
        except RefusedError as error:
            if error.error != OFFSET_OUT_OF_RANGE:
                raise
            self._lost(at)
            return
        yield from self._collected(chunk)

    def _collected(self, chunk: Records) -> Iterator[pa.RecordBatch]:
        buffer, collector = chunk.buffer, self._collector
        for _ in collect(collector, buffer, chunk.start, chunk.end, chunk.said.aborted):
            if collector.waiting > _ROWS_BYTES:
                yield from self._rows()
        if chunk.end > chunk.start:
            first = int.from_bytes(chunk.batches[:_BASE], "big")
            if first > collector.expected:  # compaction left nothing between
                collector.pass_over(first, COMPACTED)

    def _ends_below(self) -> bool:
        """Whether the log ends before the range does, as behind an unclean election."""
        tp = self._part.tp
        return self._admin.offsets.latest([tp], committed=False).sure(tp) < self._part.end

    def _lost(self, at: int) -> None:
        """Skip what the log no longer has, or raise."""
        start = self._admin.offsets.earliest([self._part.tp]).sure(self._part.tp)
        cut = start <= at  # the log ends before the range does
        end = self._part.end if cut else min(start, self._part.end)
        if self._fails:
            raise RecordsLostError(self._part.tp, at, end)
        later = "; records that get these offsets later are not read" if cut else ""
        tell(f"{self._part.tp}: offsets {at} to {end - 1} are lost, and skipped{later}")
        self._collector.pass_over(end, LOST)

    def _rows(self) -> Iterator[pa.RecordBatch]:
        for batch in self._collector.drain():
            if len(batch):
                yield _columns(batch, self._part, headers=self._headers)
        self._collector.clear()


def _columns(batch: pa.RecordBatch, part: OffsetRange, *, headers: bool) -> pa.RecordBatch:
    """Return collected records with the columns and types that Spark expects."""
    rows = len(batch)
    micros = batch["timestamp"].to_numpy() * 1000
    columns = {
        "key": batch["key"].cast(pa.binary()),
        "value": batch["value"].cast(pa.binary()),
        "topic": pa.repeat(pa.scalar(str(part.tp.topic)), rows),
        "partition": pa.array(np.full(rows, part.tp.partition, np.int32)),
        "offset": batch["offset"],
        "timestamp": pa.array(micros, pa.timestamp("us", "UTC")),
        "timestampType": batch["timestamp_type"],
    }
    if headers:
        columns["headers"] = _header_lists(batch["headers"])
    return pa.RecordBatch.from_pydict(columns)


def _header_lists(lists: pa.ListArray) -> pa.ListArray:
    values = lists.values
    names = values.field(0).cast(pa.binary()).cast(pa.string())
    contents = values.field(1).cast(pa.binary())
    pairs = pa.StructArray.from_arrays([names, contents], fields=list(_HEADER))
    return pa.ListArray.from_arrays(lists.offsets, pairs)
