"""How often Spark has tried the slice of the present task."""

from __future__ import annotations

from pyspark import TaskContext


def attempt() -> int:
    """Return how often Spark had tried the slice before; such a task may still run somewhere."""
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()
