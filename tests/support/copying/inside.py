"""A run of a link in a thread of this process, on the Spark that the tests share.

It takes five CPU seconds less than a process with a Spark of its own. Use it where nobody kills the
run or sends it a signal.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.here import shared_spark
from towpath.engine.starting import Starting
from towpath.mirror.failback.stray_loop import StrayLoop
from towpath.mirror.run.progress import RunProgress, Wishes
from towpath.mirror.run.run import run
from towpath.settings import load


class SharedSpark(Starting):
    """The Spark of the tests; does something each time before it is given away.

    Args:
        then: What to do the first time, the second time and so on.
    """

    def __init__(self, *then: Callable[[], object]) -> None:
        self._then = list(then)

    def require_allowed(self) -> None:
        """Every start is allowed."""

    def ready(self, seconds: float) -> bool:
        """It is there."""
        del seconds
        return True

    def result(self) -> Any:
        if self._then:
            self._then.pop(0)()
        return shared_spark()


class RunInside:
    """What `towpath run` does, without its display.

    Args:
        file: The file of the link.
        follow: Whether to take over what changes in the file.
    """

    def __init__(self, file: Path, *, follow: bool = False) -> None:
        self._wishes = Wishes(file=file if follow else None)
        self.progress = RunProgress()
        self._file, self._stop = file, threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="run-inside")
        self._thread.start()

    def _run(self) -> None:
        try:
            config, spark = load(self._file), SharedSpark()
            run(config, self._wishes, spark, self._stop, self._show, beside=StrayLoop)
        except BaseException as error:  # noqa: BLE001  # told by `said` and `stop`
            self._error = error

    def _show(self, progress: RunProgress) -> None:
        self.progress = progress

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    @property
    def said(self) -> str:
        """What keeps it from going on, which limits hold, and where it is."""
        told = [str(self._error or ""), self.progress.trouble, *self.progress.limited]
        frame = sys._current_frames().get(self._thread.ident or 0)  # its only name
        where = traceback.format_stack(frame)[-6:] if frame else ["ended"]
        return "\n".join([*told, f"{self.progress.phase} of {len(self.progress.rows)}:", *where])

    def stop(self) -> None:
        """Ask it to end, and raise what went wrong in it.

        Raises:
            AssertionError: It did not end.
        """
        self.close()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Leave nothing of it behind."""
        self._stop.set()
        self._thread.join(90)
        assert not self._thread.is_alive(), "the run did not end"
