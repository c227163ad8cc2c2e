"""The Spark task of a restore: restores a slice, and reports its throttling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.archive.read.feed.restore_slice import restore
from towpath.archive.read.feed.restore_work import RestoreSlice
from towpath.engine.attempts import attempt
from towpath.records.summaries import summary_rows
from towpath.records.work import Throttled


def run_slice(work: RestoreSlice) -> Iterator[pa.RecordBatch]:
    """Restore a slice; report only what the ledger does not record."""
    throttled: Throttled = {}
    yield summary_rows(restore(replace(work, attempt=attempt()), throttled), throttled)
