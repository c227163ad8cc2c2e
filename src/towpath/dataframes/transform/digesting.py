"""Digests of the rows of one range, packed and placed as they would be written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.compare.row_sums import RowCollector, RowLook, to_json
from towpath.dataframes.errors import RowError, TransformTaskError
from towpath.dataframes.sink.columns import RowBatch, row_batch
from towpath.dataframes.sink.packer import BatchPacker
from towpath.dataframes.sink.task import RowRoutes
from towpath.dataframes.transform import handover
from towpath.dataframes.transform.job import TransformJob, TransformRange
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.wire.batch import Table
from towpath.wire.codec import NONE
from towpath.wire.digest import Hashes, record_hashes
from towpath.wire.opened import read_only
from towpath.wire.packing import Rows
from towpath.wire.records import ByteColumn

_BATCH = 900_000
_NO_BYTES: ByteColumn = (np.empty((0, 2), np.int64), read_only(np.empty(0, np.uint8)))
_ANYBODY = ProducerEpoch(0, 0)


def digested(
    job: TransformJob, wanted: TransformRange, look: RowLook, batches: Iterable[pa.RecordBatch]
) -> tuple[int, str]:
    """Return how many records a range has, and the sums of what the query made of them, as text.

    Raises:
        TransformTaskError: A row cannot be a record, or the query moved rows between tasks.
    """
    with Admin(job.sink.cluster, Side.TARGET) as admin:
        digesting = _Digesting(job, wanted, look, admin)
        for batch in batches:
            if len(batch):
                try:
                    digesting.take(batch)
                except RowError as error:
                    raise TransformTaskError(f"{wanted.part.value}: {error}") from error
        return handover.heard(wanted.part), to_json(wanted.part.start, digesting.rows.found)


class _Digesting:
    def __init__(
        self, job: TransformJob, wanted: TransformRange, look: RowLook, admin: Admin
    ) -> None:
        self._source, self._look, self._admin = wanted.part.tp, look, admin
        self._routes = RowRoutes(job.names, keyless=wanted.part.tp.partition)
        self._counts: dict[str, int] = {}
        self.rows = RowCollector(look)

    def take(self, batch: pa.RecordBatch) -> None:
        named = None if "topic" in batch.schema.names else str(self._source.topic)
        own = "timestamp" in batch.schema.names
        without = batch["timestamp"].is_null().to_numpy(zero_copy_only=False) if own else None
        for parts in self._routes.parted(_numbered(row_batch(batch, named)), self._count, 0):
            for tp, rows in parts.items():
                self._add(tp, rows, without)

    def _add(self, tp: TopicPartition, rows: Rows, without: Table | None) -> None:
        pair = self._source, tp
        plain, timed = _hashes(rows)
        keys = np.empty(0, np.int64)
        if pair in self._look.lists:
            keys = _hashes(_keys_alone(rows))[0].view(np.int64)
        untimed = len(plain) if without is None else int(without[rows.offsets].sum())
        self.rows.take(pair, plain, timed, keys, untimed)

    def _count(self, topic: str) -> int:
        if topic not in self._counts:
            info = self._admin.topics.find(TopicName(topic))
            if info is None:
                raise RowError(f"topic {topic} does not exist on the target")
            self._counts[topic] = len(info.partitions)
        return self._counts[topic]


def _numbered(batch: RowBatch) -> RowBatch:
    """Return rows that know their number in the batch, as those of a partition are picked ones."""
    return replace(batch, rows=replace(batch.rows, offsets=np.arange(len(batch.rows.times))))


def _keys_alone(rows: Rows) -> Rows:
    count = len(rows.times)
    nothing = np.full((count, 2), (0, -1), np.int64), _NO_BYTES[1]
    lists = np.zeros((count, 2), np.int64)
    return replace(rows, values=nothing, lists=lists, times=np.zeros(count, np.int64))


def _hashes(rows: Rows) -> tuple[Hashes, Hashes]:
    """Return the hash of each row without and with its timestamp, as a record of Kafka."""
    packer = BatchPacker(_ANYBODY, NONE, _BATCH, transactional=False)
    sealed = [bytes(data) for data, _ in (*packer.take(rows), *packer.flush())]
    plain = [record_hashes(data, timed=False)[1] for data in sealed]
    timed = [record_hashes(data)[1] for data in sealed]
    return np.concatenate(plain), np.concatenate(timed)
