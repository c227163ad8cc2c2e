"""Retries at the beginning of a run whose source or store does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from towpath.archive.errors import OtherClusterError
from towpath.archive.metrics.run_meter import ArchiveMeter
from towpath.cluster.connect.control import healable
from towpath.model.errors import ClusterError, StoreAwayError
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms, readable

_AGAIN = BackOff(first=1.0, longest=15.0)

T = TypeVar("T")


class BeginningWaits:
    """Repeats the first requests of a run until the source and the store answer.

    Args:
        wanted: Whether to wait at all.
        stop: Set to stop the run.
        meter: Told that the run is alive, and in trouble.
        tell: Shows what is waited for, as a sentence; "" once it has answered.
    """

    def __init__(
        self,
        *,
        wanted: bool,
        stop: threading.Event,
        meter: ArchiveMeter,
        tell: Callable[[str], None],
    ) -> None:
        self._wanted, self._stop, self._meter, self._tell = wanted, stop, meter, tell

    def answered(self, work: Callable[[], T]) -> T | None:
        """Repeat `work` until it succeeds; return `None` if the user stops the run before.

        Raises:
            ClusterError: Waiting is not wanted, or cannot heal the error.
            StoreError: The same.
        """
        failures, since = 0, readable(now_ms())
        while not self._stop.is_set():
            try:
                found = work()
            except (ClusterError, StoreAwayError) as error:
                if not (self._wanted and passes(error)):
                    raise
                failures += 1
                self._waits(f"waiting for an answer since {since}: {error}")
                self._stop.wait(_AGAIN.after(failures))
            else:
                self._meter.waits(False)
                self._tell("")
                return found
        return None

    def _waits(self, trouble: str) -> None:
        self._meter.turned()  # whoever asks whether it is alive must not end it
        self._meter.waits(True)
        self._tell(trouble)


def passes(error: ClusterError | StoreAwayError) -> bool:
    """Return whether an error at the beginning of a run may be temporary."""
    if isinstance(error, OtherClusterError):
        return False
    return isinstance(error, StoreAwayError) or healable(error)
