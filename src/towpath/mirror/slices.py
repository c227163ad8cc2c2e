"""The work of a Spark task: copy a slice, and report partitions that could not be opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.engine.attempts import attempt
from towpath.records.copy import copy
from towpath.records.work import CopySlice, Throttled

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("error", pa.string()),
        ("under_way", pa.bool_()),
        ("throttled_source", pa.float64()),
        ("throttled_target", pa.float64()),
    ]
)


def run_slice(work: CopySlice) -> Iterator[pa.RecordBatch]:
    """Copy; tell only what the ledger does not: what was never opened, or is still under way."""
    work = replace(work, attempt=attempt())
    throttled: Throttled = {}
    told: list[dict[str, object]] = [
        {
            "topic": done.tp.topic,
            "partition": done.tp.partition,
            "error": done.error if done.source_end < 0 else "",
            "under_way": done.under_way,
        }
        for done in copy(work, throttled)
        if done.source_end < 0 or done.under_way
    ]
    if any(throttled.values()):
        waits = {f"throttled_{side}": seconds for side, seconds in throttled.items()}
        told.append({"topic": "", "partition": -1, "error": "", "under_way": False, **waits})
    yield pa.RecordBatch.from_pylist(told, schema=_SCHEMA)
