"""A writer of kafka-replicator's segments: the schema, encodings and keys of its code.

As parquet-go 1.5.1 writes them: one row group, plain encodings, snappy, data pages of version 1, no
field ids, unsigned offsets, times in nanoseconds, and eight key/values in the footer. Null is
written as empty, which its reader cannot undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from towpath.wire.plain import Record

NO_TIME = -6_795_364_578_871_345_152
"""Go's zero time in nanoseconds, which overflows."""
_BYTES = pa.binary()
_HEADER = pa.struct(
    [pa.field("key", _BYTES, nullable=False), pa.field("value", _BYTES, nullable=False)]
)
SCHEMA = pa.schema(
    [
        pa.field("key", _BYTES, nullable=False),
        pa.field("value", _BYTES, nullable=False),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("headers", pa.list_(pa.field("element", _HEADER, nullable=False)), nullable=False),
    ]
)


@dataclass(frozen=True)
class ReplicatorBucket:
    """A bucket with segments of kafka-replicator.

    Attributes:
        folder: Where its objects are.
        region: The region that writes them.
    """

    folder: Path
    region: str = "us-east-1"

    def put(
        self,
        topic: str,
        records: Sequence[Record],
        partition: int = 0,
        level: int = 0,
        told: Mapping[str, str] | None = None,
    ) -> Path:
        """Write a segment; its range is that of the records. `told` replaces key/values."""
        first, last = records[0].offset, records[-1].offset
        name = f"{first:020d}-{last:020d}"
        path = self.folder / self.region / topic / str(partition) / str(level) / name
        metadata = {
            "region": self.region,
            "topic": topic,
            "partition": str(partition),
            "level": str(level),
            "startOffset": str(first),
            "endOffset": str(last),
            "messageCount": str(len(records)),
            "createdTimestamp": "2021-07-21T05:05:18.123456789Z",
        }
        table = pa.Table.from_pylist([_row(each) for each in records], schema=SCHEMA)
        path.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(
            path,
            SCHEMA,
            version="1.0",
            data_page_version="1.0",
            compression="snappy",
            use_dictionary=False,
            store_schema=False,
            data_page_size=8 << 10,
        ) as writer:
            writer.write_table(table, row_group_size=1 << 30)
            writer.add_key_value_metadata({**metadata, **(told or {})})
        return path


def _row(record: Record) -> dict[str, Any]:
    return {
        "key": record.key or b"",
        "value": record.value or b"",
        "offset": record.offset,
        "timestamp": NO_TIME if record.timestamp == -1 else record.timestamp * 1_000_000,
        "headers": [{"key": name, "value": value or b""} for name, value in record.headers],
    }
