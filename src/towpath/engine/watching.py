"""Progress of Spark jobs, polled while another call waits for their rows."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from pyspark.sql import SparkSession

from towpath.engine.border import GONE

_LOOK = 0.2
OnDone = Callable[[int, int], None]
"""Gets the number of finished tasks and of all tasks, from another thread."""


class JobsWatch:
    """A context that reports the progress of the Spark jobs started in it by this thread.

    Args:
        spark: A session of the Spark that runs them.
        on_done: Told how many tasks have ended, and how many there are.
        stop: Set to cancel the jobs.
        total: How many tasks there are; by default those of the stages that have begun.
    """

    def __init__(
        self, spark: SparkSession, on_done: OnDone, stop: threading.Event, total: int | None = None
    ) -> None:
        self._context, self._stop = spark.sparkContext, stop
        self._tracker = self._context.statusTracker()
        self._on_done, self._total = on_done, total
        self._group = f"towpath-{uuid.uuid4().hex}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="towpath-progress", daemon=True)

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, "towpath", interruptOnCancel=True)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None and self._total is not None:
            self._on_done(self._total, self._total)

    def _watch(self) -> None:
        with suppress(*GONE):  # the thread that waits for the rows reports it
            while not self._over.wait(_LOOK):
                if self._stop.is_set():
                    # Repeatedly: the job may not have started at the first cancellation.
                    self._context.cancelJobGroup(self._group)
                done, begun = self._tasks()
                total = begun if self._total is None else self._total
                if total:
                    self._on_done(min(total, done), total)

    def _tasks(self) -> tuple[int, int]:
        """Return how many tasks have ended, and how many the stages have that have begun."""
        done = begun = 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                told = self._tracker.getStageInfo(stage)
                if told is not None:
                    done, begun = done + told.numCompletedTasks, begun + told.numTasks
        return done, begun
