"""Rows that a slice returns to Spark: facts that the ledger does not have.

That is what was never opened, what is still under way, and how long brokers throttled the slice.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from towpath.records.work import Summary, Throttled

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


def summary_rows(summaries: Iterable[Summary], throttled: Throttled) -> pa.RecordBatch:
    """Return the summary of a slice as rows with the columns of `TOLD`.

    Args:
        summaries: What became of its partitions.
        throttled: Seconds for which brokers throttled it, once all summaries are there.
    """
    rows: list[dict[str, object]] = [
        {
            "topic": done.tp.topic,
            "partition": done.tp.partition,
            "error": done.error if done.source_end < 0 else "",
            "under_way": done.under_way,
        }
        for done in summaries
        if done.source_end < 0 or done.under_way
    ]
    if any(throttled.values()):
        waits = {f"throttled_{side}": seconds for side, seconds in throttled.items()}
        rows.append({"topic": "", "partition": -1, "error": "", "under_way": False, **waits})
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)
