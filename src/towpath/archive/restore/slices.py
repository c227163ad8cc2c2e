"""The work of a Spark task: restore a slice, and tell what the ledger does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from towpath.archive.read.feed.restore_slice import restore
from towpath.archive.read.feed.restore_work import RestoreSlice
from towpath.engine.attempts import attempt
from towpath.records.summaries import told
from towpath.records.work import Throttled


def run_slice(work: RestoreSlice) -> Iterator[pa.RecordBatch]:
    """Restore; tell only what the ledger does not: what was never opened, or is under way."""
    throttled: Throttled = {}
    yield told(restore(replace(work, attempt=attempt()), throttled), throttled)
