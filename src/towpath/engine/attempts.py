"""The number of earlier attempts of Spark at the slice of the current task."""

from __future__ import annotations

from pyspark import TaskContext


def attempt() -> int:
    """Return the number of earlier attempts at the slice; their tasks may still run somewhere."""
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()
