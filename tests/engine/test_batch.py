"""Slices that run once, and are cancelled while they run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.support.here import shared_spark
from towpath.engine.batch import run


def sleeping(seconds: float) -> Iterator[pa.RecordBatch]:
    """Sleep in a slice."""
    time.sleep(seconds)
    yield pa.RecordBatch.from_pydict({"n": [1]})


@pytest.mark.spark
def test_slices_that_are_cancelled_are_not_a_lost_jvm() -> None:
    spark, stop = shared_spark(), threading.Event()
    threading.Timer(2.0, stop.set).start()
    began = time.monotonic()
    with pytest.raises(RuntimeError):
        run(spark, [300.0], sleeping, "n INT", lambda *_: None, stop)
    assert time.monotonic() - began < 120
    rows = run(spark, [0.0], sleeping, "n BIGINT", lambda *_: None, threading.Event())
    assert rows["n"].to_pylist() == [1]
