"""Retries at the beginning of a run whose clusters do not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from towpath.cluster.connect.control import healable
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run.progress import RunProgress
from towpath.model.errors import ClusterError
from towpath.plan.model import PlanRefusedError
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms, readable

_AGAIN = BackOff(first=1.0, longest=5.0)


class Waiting:
    """Repeats the beginning of a run until both clusters answer.

    Args:
        wanted: Whether to wait at all.
        stop: Set to stop the run.
        meter: Told that the run is alive, and in trouble.
        show: Shows the progress.
    """

    def __init__(
        self,
        *,
        wanted: bool,
        stop: threading.Event,
        meter: LinkMeter,
        show: Callable[[RunProgress], None],
    ) -> None:
        self._wanted, self._stop, self._meter, self._show = wanted, stop, meter, show
        self._began, self._failures, self._since = time.monotonic(), 0, ""
        self._trouble = ""

    def begin(self, progress: RunProgress) -> None:
        """Show which cluster earlier attempts have waited for, and since when."""
        progress.began, progress.trouble = self._began, self._trouble

    def tried(self, prepare: Callable[[], None], progress: RunProgress) -> bool:
        """Return whether `prepare` succeeded; pause first if a cluster does not answer.

        Args:
            prepare: The beginning of the run. It may be begun again after an error.
            progress: Shows what is waited for, and since when.

        Raises:
            ClusterError: Waiting is not wanted, or cannot heal the error.
        """
        try:
            prepare()
        except ClusterError as error:
            if not (self._wanted and _passes(error)):
                raise
            self._wait(error, progress)
            return False
        self._meter.in_trouble(False)
        return True

    def _wait(self, error: ClusterError, progress: RunProgress) -> None:
        self._failures += 1
        self._since = self._since or readable(now_ms())
        progress.trouble = self._trouble = f"waiting for an answer since {self._since}: {error}"
        self._meter.turned()
        self._meter.in_trouble(True)
        self._show(progress)
        self._stop.wait(_AGAIN.after(self._failures))


def _passes(error: ClusterError) -> bool:
    """Whether waiting may help; missing rights of a plan, for example, want a person."""
    return error.passing if isinstance(error, PlanRefusedError) else healable(error)
