"""The number of earlier attempts at the slice of the current Spark task."""

from __future__ import annotations

import sys

NUMBER = 0
"""The number of earlier attempts, in a process that was forked for a slice (`engine/forks.py`)."""


def attempt() -> int:
    """Return the number of earlier attempts at the current slice; some may still run."""
    if "pyspark" not in sys.modules:  # tasks of Spark run below it
        return NUMBER
    from pyspark import TaskContext  # noqa: PLC0415  # to import it takes most of a second

    context = TaskContext.get()
    return NUMBER if context is None else context.attemptNumber()
