"""The columns of a Parquet segment, and their conversion from and to Kafka records.

Nothing of a record is lost: null and empty stay different, headers keep their order, duplicates and
null values, and a time stays what it is down to its type. Times are microseconds, as Iceberg's
tables have no milliseconds; times outside of the years 1 to 9999 are in a column of their own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from towpath.wire.batch import Mask, Table
from towpath.wire.columns import COLLECTED

KEY, VALUE, HEADERS, OFFSET, TIMESTAMP = "key", "value", "headers", "offset", "timestamp"
TIMESTAMP_TYPE, PARTITION, LEADER_EPOCH = "timestamp_type", "partition", "leader_epoch"
SCHEMA_ID, TIMESTAMP_RAW = "schema_id", "timestamp_raw"
HEADER_KEY, HEADER_VALUE = "headers.list.element.key", "headers.list.element.value"

_MICROS = 1000
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last time in ms of the years 1 to 9999. Other programs fail at other years:
Python has no dates there, so that pyiceberg could not even register a file."""
_NO_TIME = -1


def _schema(binary: pa.DataType) -> pa.Schema:
    header = pa.struct(
        [_field("key", binary, 12, nullable=False), _field("value", binary, 13, nullable=True)]
    )
    headers = pa.list_(_field("element", header, 11, nullable=False))
    return pa.schema(
        [
            _field(KEY, binary, 1, nullable=True),
            _field(VALUE, binary, 2, nullable=True),
            _field(HEADERS, headers, 3, nullable=False),
            _field(OFFSET, pa.int64(), 4, nullable=False),
            _field(TIMESTAMP, pa.timestamp("us", "UTC"), 5, nullable=True),
            _field(TIMESTAMP_TYPE, pa.int32(), 6, nullable=False),
            _field(PARTITION, pa.int32(), 7, nullable=False),
            _field(LEADER_EPOCH, pa.int32(), 8, nullable=True),
            _field(SCHEMA_ID, pa.int32(), 9, nullable=True),
            _field(TIMESTAMP_RAW, pa.int64(), 10, nullable=True),
        ]
    )


def _field(name: str, kind: pa.DataType, number: int, *, nullable: bool) -> pa.Field:
    return pa.field(name, kind, nullable, {"PARQUET:field_id": str(number)})


ARCHIVED = _schema(pa.binary())
"""Archived records, with field ids as catalogs of Iceberg give them to a new table of these
columns: first to the columns, then to what is inside of them.

The time is null where a record has none (-1), and outside of the years 1 to 9999; then
`timestamp_raw` has it, in ms. The timestamp type is 0 for CreateTime, 1 for LogAppendTime. The
schema id is that of the value, if the value begins as Confluent's serializers frame it."""

WRITTEN = _schema(pa.binary_view())
"""The same, with views of the bytes; Parquet files written from either are the same."""


def archived(collected: pa.RecordBatch, partition: int) -> pa.RecordBatch:
    """Convert collected records (`COLLECTED`) of one partition to the schema `WRITTEN`."""
    times = np.asarray(collected.column(COLLECTED.get_field_index(TIMESTAMP)))
    micros, raw = to_micros(times)
    partitions = pa.array(np.full(len(collected), partition, np.int32))
    columns = {
        **{name: collected.column(name) for name in COLLECTED.names},
        TIMESTAMP: micros,
        PARTITION: partitions,
        TIMESTAMP_RAW: raw,
    }
    return pa.RecordBatch.from_arrays([columns[each] for each in WRITTEN.names], schema=WRITTEN)


def to_micros(times: Table) -> tuple[pa.Array, pa.Array]:
    """Convert times in ms into the columns `timestamp` and `timestamp_raw`."""
    far: Mask = (times > _LATEST) | (times < _EARLIEST)
    absent = far | (times == _NO_TIME)
    micros = pa.array(times * _MICROS, mask=absent) if absent.any() else pa.array(times * _MICROS)
    raw = pa.array(times, mask=~far) if far.any() else pa.nulls(len(times), pa.int64())
    return micros.cast(ARCHIVED.field(TIMESTAMP).type), raw


def in_years(time: int) -> int:
    """Clamp a time in ms to the range of the column `timestamp`."""
    return min(max(time, _EARLIEST), _LATEST)


def to_millis(rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
    """Return the timestamps of archived records in ms, -1 for records without one."""
    micros = rows.column(TIMESTAMP).cast(pa.int64())
    millis = np.asarray(pc.fill_null(micros, _NO_TIME * _MICROS)) // _MICROS
    raw = rows.column(TIMESTAMP_RAW)
    if raw.null_count == len(raw):
        return millis
    return np.where(np.asarray(raw.is_valid()), np.asarray(pc.fill_null(raw, 0)), millis)
