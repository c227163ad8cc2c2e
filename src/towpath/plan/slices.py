"""What a Spark task does with a slice: copy, and tell what could not be begun."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from towpath.records.copy import copy
from towpath.records.work import Slice

_SCHEMA = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("error", pa.string())])


def run_slice(work: Slice) -> Iterator[pa.RecordBatch]:
    """Copy; the ledger tells of all partitions but those that were never opened."""
    unopened = [
        {"topic": done.tp.topic, "partition": done.tp.partition, "error": done.error}
        for done in copy(work)
        if done.source_end < 0
    ]
    yield pa.RecordBatch.from_pylist(unopened, schema=_SCHEMA)
