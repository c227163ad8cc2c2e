"""Conversion of kafka-replicator's records into rows of the archive.

Its files are those of parquet-go 1.5.1: key and value without null, unsigned offsets, times in
nanoseconds since 1970, and headers as a list of key and value. A null key, value or header value is
stored as an empty one, so whoever imports must say what an empty one was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.schema import (
    ARCHIVED,
    HEADERS,
    KEY,
    LEADER_EPOCH,
    OFFSET,
    PARTITION,
    SCHEMA_ID,
    TIMESTAMP,
    TIMESTAMP_RAW,
    TIMESTAMP_TYPE,
    VALUE,
    to_micros,
)
from towpath.archive.imports.bucket_layout import ReplicatorObject
from towpath.model.foreign import foreign

_NO_TIME = -6_795_364_578_871_345_152
"""The nanoseconds of Go's zero time, which do not fit and come out as a time in 1754."""
_NANOS = 1_000_000
_AT_ONCE = 4 << 20
_METADATA = ("region", "topic", "partition", "level", "startOffset", "endOffset", "messageCount")
_COLUMNS = {KEY, VALUE, OFFSET, TIMESTAMP, HEADERS}


class Emptiness(StrEnum):
    """The original meaning of an empty key or value; kafka-replicator stores null as empty."""

    NULL = "null"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class EmptyRules:
    """The original meaning of empty keys and of empty values.

    Attributes:
        keys: An empty key.
        values: An empty value.
    """

    keys: Emptiness = Emptiness.NULL
    values: Emptiness = Emptiness.NULL


@dataclass(slots=True)
class Doubts:
    """Counts of records with values that the files store ambiguously or wrongly.

    Attributes:
        empty_keys: Keys that were empty or null.
        empty_values: Values that were empty or null.
        empty_header_values: Values of headers that were empty or null.
        no_time: Records without a timestamp.
    """

    empty_keys: int = 0
    empty_values: int = 0
    empty_header_values: int = 0
    no_time: int = 0

    def add(self, other: Doubts) -> None:
        """Add the counts of other records."""
        self.empty_keys += other.empty_keys
        self.empty_values += other.empty_values
        self.empty_header_values += other.empty_header_values
        self.no_time += other.no_time


@dataclass(slots=True)
class ReplicatorFile:
    """Reads one object of kafka-replicator.

    Args:
        source: A file that pyarrow can read from any position.
        named: What its key says.
        rules: What empty keys and values were.
    """

    source: Any
    named: ReplicatorObject
    rules: EmptyRules
    doubts: Doubts = field(default_factory=Doubts)

    def rows(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the records with offsets in [start, end), with the schema `ARCHIVED`.

        Raises:
            CorruptSegmentError: The object is damaged, or is not what its key says.
        """
        try:
            file = pq.ParquetFile(self.source)
            self._check(file)
            size = sum(
                file.metadata.row_group(number).total_byte_size
                for number in range(file.metadata.num_row_groups)
            )
            count = max(1, min(100_000, _AT_ONCE * file.metadata.num_rows // max(size, 1)))
            last = int(self.named.first) - 1
            for rows in file.iter_batches(count, use_threads=False):
                offsets = self._offsets(rows, last)
                last = int(offsets[-1]) if len(offsets) else last
                wanted = (offsets >= start) & (offsets < end)
                if wanted.any():
                    yield self._archived(rows.filter(pa.array(wanted)), offsets[wanted])
                if last >= end:
                    return
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise CorruptSegmentError(self.named.key, foreign(error)) from None

    def _check(self, file: pq.ParquetFile) -> None:
        """Compare the object with its key: all of these key/values are in each file."""
        named = self.named
        told = {
            key.decode(): value.decode(errors="replace")
            for key, value in (file.metadata.metadata or {}).items()
        }
        wanted = (
            named.region,
            named.topic,
            str(named.partition),
            str(named.level),
            str(named.first),
            str(named.end - 1),
            str(file.metadata.num_rows),
        )
        for name, value in zip(_METADATA, wanted, strict=True):
            found = told.get(name)
            if found is None:
                why = f"it has no {name}, so kafka-replicator did not write it"
                raise CorruptSegmentError(named.key, why)
            if found != value:
                why = f"its {name} is {found[:60]} instead of {value}"
                raise CorruptSegmentError(named.key, why)
        missing = _COLUMNS - set(file.schema_arrow.names)
        if missing:
            raise CorruptSegmentError(named.key, f"it has no column {', '.join(sorted(missing))}")

    def _offsets(self, rows: pa.RecordBatch, last: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        offsets = np.asarray(rows.column(OFFSET).cast(pa.int64()))
        ascends = np.diff(offsets, prepend=last) > 0
        if not ascends.all() or (len(offsets) and offsets[-1] >= self.named.end):
            raise CorruptSegmentError(
                self.named.key, "its offsets do not ascend, or are not in the range of its key"
            )
        return offsets

    def _archived(self, rows: pa.RecordBatch, offsets: Any) -> pa.RecordBatch:
        keys, self.doubts.empty_keys = self._known(
            rows.column(KEY), self.rules.keys, self.doubts.empty_keys
        )
        values, self.doubts.empty_values = self._known(
            rows.column(VALUE), self.rules.values, self.doubts.empty_values
        )
        headers = rows.column(HEADERS).cast(ARCHIVED.field(HEADERS).type)
        inner = headers.flatten().field(1)
        self.doubts.empty_header_values += int(
            pc.sum(pc.equal(pc.binary_length(inner), 0)).as_py() or 0
        )
        nanos = np.asarray(rows.column(TIMESTAMP).cast(pa.int64()))
        without = nanos == _NO_TIME
        self.doubts.no_time += int(without.sum())
        micros, raw = to_micros(np.where(without, -1, nanos // _NANOS))
        count = len(rows)
        columns = {
            KEY: keys,
            VALUE: values,
            HEADERS: headers,
            OFFSET: pa.array(offsets),
            TIMESTAMP: micros,
            TIMESTAMP_TYPE: pa.array(np.zeros(count, np.int32)),
            PARTITION: pa.array(np.full(count, self.named.partition, np.int32)),
            LEADER_EPOCH: pa.nulls(count, pa.int32()),
            SCHEMA_ID: pa.nulls(count, pa.int32()),
            TIMESTAMP_RAW: raw,
        }
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in ARCHIVED.names], schema=ARCHIVED
        )

    def _known(self, column: pa.Array, empty: Emptiness, count: int) -> tuple[pa.Array, int]:
        """Return keys or values, of which empty ones may be null, and how many were empty."""
        column = column.cast(pa.binary())
        is_empty = _empty(column)
        count += int(pc.sum(is_empty).as_py() or 0)
        if empty is Emptiness.NULL:
            column = pc.if_else(is_empty, pa.scalar(None, pa.binary()), column)
        return column, count


def _empty(column: pa.Array) -> pa.Array:
    """Return which texts are empty."""
    return pc.equal(pc.binary_length(column), 0)
