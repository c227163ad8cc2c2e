"""The Spark job of a restore round, and the events of a restore."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from towpath.archive.read.feed.restore_work import RestoreSlice
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.slices import run_slice
from towpath.engine.batch import run as run_slices
from towpath.ledger.events import What
from towpath.ledger.link import OpenTarget
from towpath.model.errors import TowpathError
from towpath.records.work import TOLD


class SliceJob(threading.Thread):
    """A thread that runs the slices of one round as a Spark job.

    Attributes:
        cancel: Set to cancel the slices, which is safe at any moment.
    """

    def __init__(self, spark: Any, slices: Sequence[RestoreSlice]) -> None:
        super().__init__(name="towpath-restore", daemon=True)
        self._spark, self._slices = spark, slices
        self.cancel = threading.Event()
        self._rows: pa.Table | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Run the Spark job; `result` returns its outcome."""
        try:
            self._rows = run_slices(
                self._spark, self._slices, run_slice, TOLD, lambda _done, _all: None, self.cancel
            )
        except BaseException as error:  # noqa: BLE001  # raised again by `result`
            self._error = error

    def wait(self, seconds: float) -> bool:
        """Wait for the job up to a timeout; return whether it has ended."""
        self.join(seconds)
        return not self.is_alive()

    def result(self) -> pa.Table:
        """Return the result rows of the job.

        Raises:
            RuntimeError: A slice failed, or was cancelled; the text is Spark's.
            SparkLostError: The JVM is gone.
        """
        if self._error is not None:
            raise self._error
        assert self._rows is not None  # noqa: S101  # it has ended
        return self._rows


@contextmanager
def recording_events(to: OpenTarget, run_id: str, scope: RestoreScope) -> Iterator[None]:
    """Write an event at the start and the end of a restore, with the error that ended it."""
    facts: dict[str, Any] = {
        "restore": scope.region,
        "version": scope.version,
        "topics": len(scope.topics),
    }
    to.events.tell(What.RUN_STARTED, run_id=run_id, **facts)
    try:
        yield
    except BaseException as error:
        code = error.code if isinstance(error, TowpathError) else type(error).__name__
        to.events.tell(What.RUN_ENDED, run_id=run_id, error=code)
        raise
    to.events.tell(What.RUN_ENDED, run_id=run_id, error="")
