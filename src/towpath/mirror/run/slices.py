"""The Spark task of a run: copies a slice, and reports partitions it could not open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.engine.attempts import attempt
from towpath.mirror.gap_archive import feeding
from towpath.records.copy import copy
from towpath.records.summaries import summary_rows
from towpath.records.work import CopySlice, Throttled


def run_slice(work: CopySlice) -> Iterator[pa.RecordBatch]:
    """Copy a slice; report only what the ledger does not record."""
    throttled: Throttled = {}
    copied = copy(replace(work, attempt=attempt()), throttled, feeding=feeding(work))
    yield summary_rows(copied, throttled)
