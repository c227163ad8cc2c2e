"""The progress of an archive's run: a live picture on a terminal, otherwise log lines."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from towpath.cli.show.live import LivePicture
from towpath.model.amounts import span
from towpath.runtime import log

if TYPE_CHECKING:
    from towpath.archive.show.archive_run import ArchivePace
    from towpath.archive.write.progress import ArchiveProgress

_LINE_EVERY = 300.0


class ArchiveDisplay:
    """Shows the progress of a run on stderr.

    Args:
        archive: The name of the archive.
        logs: How to log; `None` shows a picture if there is a terminal.
        stop: Is set when the user asks to stop.
    """

    def __init__(self, archive: str, logs: log.LogWanted | None, stop: threading.Event) -> None:
        self._archive, self._logs, self._stop = archive, logs, stop
        self._began = time.monotonic()
        self._progress: ArchiveProgress | None = None
        self._pace: ArchivePace | None = None
        self._live: LivePicture | None = None
        self._said, self._phase, self._told = time.monotonic(), "", frozenset[str]()

    def __enter__(self) -> ArchiveDisplay:
        if self._logs is None and sys.stderr.isatty():
            self._live = LivePicture(self._draw, self._stop)
        else:
            log.begin(self._logs or log.LogWanted())
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.close()

    def show(self, progress: ArchiveProgress) -> None:
        """Show the current progress."""
        if self._live is None:
            self._log(progress)
            return
        from towpath.archive.show.archive_run import ArchivePace  # noqa: PLC0415  # it loads what archives need

        self._pace = self._pace or ArchivePace()
        self._pace.look(progress.rows, progress.lag)
        self._progress = progress

    def _draw(self) -> RenderableType:
        age = time.monotonic() - self._began
        if self._progress is None or self._pace is None or self._live is None:
            return Text(f"{self._archive}  {span(age)}  starting")
        from towpath.archive.show.archive_run import run_picture  # noqa: PLC0415  # as above

        _, height = self._live.screen
        return run_picture(self._archive, self._progress, self._pace, age, height)

    def _log(self, progress: ArchiveProgress) -> None:
        if progress.phase != self._phase:
            self._phase = progress.phase
            log.event("run.phase", self._archive, "", {"phase": self._phase}, trouble=False)
        told = frozenset(progress.left_out)
        for text in sorted(told - self._told):
            log.event("archive.left_out", self._archive, "", {"why": text}, trouble=True)
        self._told = told
        now = time.monotonic()
        if now - self._said > _LINE_EVERY:
            self._said = now
            facts = {
                "version": progress.version,
                "records": sum(row.records for row in progress.rows),
                "bytes": sum(row.bytes for row in progress.rows),
                "lag": progress.lag,
                "exposed_seconds": round(progress.exposed, 1),
            }
            log.event("run.progress", self._archive, "", facts, trouble=False)
