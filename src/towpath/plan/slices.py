"""What a Spark task does with a slice: copy, and give rows that sum it up."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from towpath.records.copy import copy
from towpath.records.work import Slice

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()), ("partition", pa.int32()), ("source_end", pa.int64()),
        ("target_end", pa.int64()), ("records", pa.int64()), ("bytes", pa.int64()),
        ("mode", pa.string()), ("reason", pa.string()), ("error", pa.string()),
    ]
)  # fmt: skip


def run_slice(work: Slice) -> Iterator[pa.RecordBatch]:
    """Copy, and tell what was done as one row per partition."""
    rows = [
        {
            "topic": done.tp.topic, "partition": done.tp.partition, "source_end": done.source_end,
            "target_end": done.target_end, "records": done.records, "bytes": done.bytes,
            "mode": str(done.mode), "reason": done.reason, "error": done.error,
        }
        for done in copy(work)
    ]  # fmt: skip
    yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
