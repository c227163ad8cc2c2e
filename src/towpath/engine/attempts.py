"""Whether Spark runs a slice again whose task it lost."""

from __future__ import annotations

from pyspark import TaskContext


def is_again() -> bool:
    """Whether Spark has tried the slice of this task before; that task may still run somewhere."""
    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0
