"""Slices that run once, in one task each, with progress: on Spark or on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from towpath.engine.here import Here

T = TypeVar("T")


def run(
    engine: Any,
    slices: Sequence[T],
    work: Callable[[T], Iterator[pa.RecordBatch]],
    schema: str,
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> pa.Table:
    """Run each slice in its own task and return the rows of all slices.

    Args:
        engine: What runs them: a Spark session, or the engine of this machine.
        slices: Frozen values that pickle.
        work: Runs one slice; a function of a module that the workers can import.
        schema: Columns of the rows that `work` yields, as DDL.
        on_done: Gets the number of finished slices and of all slices, from another thread.
        stop: Set to stop early; running slices are cancelled.

    Raises:
        RuntimeError: A slice failed in all attempts, or was stopped; the text is Spark's, or that
            of the error.
        SparkLostError: The JVM is gone.
    """
    if isinstance(engine, Here):
        return engine.run(slices, work, schema, on_done, stop)
    from towpath.engine.spark_batch import run as on_spark  # noqa: PLC0415  # it imports PySpark

    return on_spark(engine, slices, work, schema, on_done, stop)
