"""The work of a Spark task: copy a slice, and report partitions that could not be opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.engine.attempts import attempt
from towpath.records.copy import copy
from towpath.records.told import told
from towpath.records.work import CopySlice, Throttled


def run_slice(work: CopySlice) -> Iterator[pa.RecordBatch]:
    """Copy; tell only what the ledger does not: what was never opened, or is still under way."""
    throttled: Throttled = {}
    yield told(copy(replace(work, attempt=attempt()), throttled), throttled)
