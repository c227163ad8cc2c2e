"""Record columns from the Arrow batches of a frame, and the partition of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from towpath.dataframes.errors import RowError
from towpath.runtime.clock import now_ms
from towpath.wire.batch import Table
from towpath.wire.opened import read_only
from towpath.wire.packing import Rows
from towpath.wire.placing import NOWHERE, hashes, places
from towpath.wire.records import ByteColumn, binary_column, spans_of

_NO_BYTES: ByteColumn = (np.empty((0, 2), np.int64), read_only(np.empty(0, np.uint8)))
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowBatch:
    """The rows of an Arrow batch, as columns of records.

    Attributes:
        rows: Keys, values, headers and times; offsets are set when rows are packed.
        topics: The names of topics that occur.
        topic_of: For each row the number of its topic among `topics`, `None` if there is one only.
        given: For each row the partition that its column names, `NOWHERE` for none; `None` without
            such a column.
        hashed: The hash of each key.
    """

    rows: Rows
    topics: Sequence[str]
    topic_of: Index | None
    given: Index | None
    hashed: Table

    def by_topic(self) -> Iterator[tuple[str, Index | None]]:
        """Yield each topic with the indexes of its rows, `None` for all rows."""
        if self.topic_of is None:
            yield self.topics[0], None
            return
        for number, picked in grouped(self.topic_of):
            yield self.topics[number], picked

    def partitions(self, topic: str, picked: Index | None, count: int, default: int) -> Index:
        """Return the partition of each selected row.

        As Kafka's clients choose: what the column says, else by the hash of the key; rows without
        key go to the partition `default`.

        Raises:
            RowError: A row names a partition that the topic does not have.
        """
        hashed = self.hashed if picked is None else self.hashed[picked]
        found = places(hashed, count)
        found[found == NOWHERE] = default
        if self.given is None:
            return found
        given = self.given if picked is None else self.given[picked]
        if int(given.max(initial=NOWHERE)) >= count:
            raise RowError(
                f"a row names partition {given.max()}; topic {topic} has {count}: leave the column"
                " `partition` out, and keys choose it"
            )
        return np.where(given == NOWHERE, found, given)


def grouped(codes: Index) -> Iterator[tuple[int, Index | None]]:
    """Yield each distinct number with the indexes where it occurs; `None` for all indexes."""
    if not len(codes):
        return
    if (codes == codes[0]).all():
        yield int(codes[0]), None
        return
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    for part in np.split(order, cuts):
        yield int(codes[part[0]]), part


def joined(outer: Index | None, inner: Index | None) -> Index | None:
    """Return the row indexes that `inner` selects among those that `outer` selects."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    return outer[inner]


def picked_rows(rows: Rows, picked: Index | None) -> Rows:
    """Return selected rows, without copying the bytes of their keys and values."""
    if picked is None:
        return rows
    (key_spans, keys), (value_spans, values) = rows.keys, rows.values
    return replace(
        rows,
        offsets=rows.offsets[picked] if len(rows.offsets) else rows.offsets,
        times=rows.times[picked],
        keys=(key_spans[picked], keys),
        values=(value_spans[picked], values),
        lists=rows.lists[picked],
    )


def row_batch(batch: pa.RecordBatch, topic: str | None) -> RowBatch:
    """Return the rows of an Arrow batch, as columns of records.

    Args:
        batch: The batch, with the columns that `sink/options.py` allows.
        topic: The topic of all rows; else the column `topic` names it.

    Raises:
        RowError: A row has no topic, or a header no name.
    """
    names, count = set(batch.schema.names), len(batch)

    def column(name: str) -> pa.Array | None:
        return batch[name] if name in names else None

    keys = batch["key"].cast(pa.binary()) if "key" in names else pa.nulls(count, pa.binary())
    topics, topic_of = _topics(batch, topic)
    lists, header_names, contents = _headers(column("headers"), count)
    rows = Rows(
        offsets=np.empty(0, np.int64),
        times=_times(column("timestamp"), count),
        types=np.empty(0, np.int32),
        epochs=np.empty(0, np.int32),
        keys=binary_column(keys),
        values=binary_column(batch["value"].cast(pa.binary())),
        lists=lists,
        names=header_names,
        contents=contents,
    )
    return RowBatch(rows, topics, topic_of, _partitions(column("partition")), hashes(keys))


def _partitions(column: pa.Array | None) -> Index | None:
    if column is None:
        return None
    numbers = column.cast(pa.int64())
    wrong = numbers.filter(pc.less(numbers, 0))
    if len(wrong):
        raise RowError(f"a row names partition {wrong[0]}")
    return np.asarray(numbers.fill_null(NOWHERE).to_numpy(zero_copy_only=False))


def _topics(batch: pa.RecordBatch, topic: str | None) -> tuple[Sequence[str], Index | None]:
    if topic is not None:
        return [topic], None
    column = batch["topic"]
    if column.null_count:
        raise RowError("a row has no topic: its column `topic` is null")
    found: Any = column.dictionary_encode()
    topics = found.dictionary.to_pylist()
    if len(topics) == 1:
        return topics, None
    return topics, found.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _times(column: pa.Array | None, count: int) -> Table:
    """Return timestamps in ms; where there is none, the present time."""
    now = now_ms()
    if column is None:
        return np.full(count, now, np.int64)
    micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return np.asarray(micros.fill_null(now * 1000).to_numpy(zero_copy_only=False) // 1000)


def _headers(column: pa.Array | None, count: int) -> tuple[Table, ByteColumn, ByteColumn]:
    if column is None:
        return np.zeros((count, 2), np.int64), _NO_BYTES, _NO_BYTES
    pairs = column.values
    names, contents = pairs.field(0).cast(pa.binary()), pairs.field(1).cast(pa.binary())
    lists = spans_of(column)
    found = binary_column(names)
    if (found[0][:, 1] < 0).any():
        raise RowError("a header has no name: its `key` is null")
    return lists, found, binary_column(contents)
