"""What the reader of a task tells its writer: which range it read, and how many records.

Both run in the same Spark task, but in processes of their own, with Spark's SQL between them. The
writer takes nothing for granted: a range that another task has read is no range of its own.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyspark import SparkFiles, TaskContext

from towpath.dataframes.errors import TransformTaskError
from towpath.dataframes.ranges import OffsetRange


def tell(part: OffsetRange, records: int) -> None:
    """Tell the writer of this task that a range was read, with all of its records."""
    path = _path()
    lines = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{lines}{json.dumps([part.value, records])}\n", encoding="utf-8")


def heard(part: OffsetRange) -> int:
    """Return how many records this task has read, once all of its rows have come.

    Raises:
        TransformTaskError: It has not read this range, or another one as well.
    """
    path = _path()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    told = [json.loads(line) for line in lines]
    if [name for name, _ in told] != [part.value]:
        found = ", ".join(str(name) for name, _ in told) or "nothing"
        text = f"{part.value}: the query moved rows between tasks; this one has read {found}"
        raise TransformTaskError(text)
    return int(told[0][1])


def task() -> TaskContext:
    """Return the context of this task."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this is no task of Spark")
    return context


def _path() -> Path:
    folder = Path(SparkFiles.getRootDirectory(), "towpath-transform")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"read-{task().taskAttemptId()}"
