"""A progress bar of slices or other things, shown only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from towpath.cli.show.output import console


class Bar:
    """Shows the completed share of a job, and the estimated remaining time.

    Args:
        doing: Names the job, such as `comparing`.
        unit: What is counted.
    """

    def __init__(self, doing: str, unit: str = "slices") -> None:
        self._doing = doing
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            console=console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._progress.add_task(doing, total=None, unit=unit)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def done(self, number: int, total: int) -> None:
        """Show how many items are done."""
        self._progress.update(self._task, completed=number, total=total)

    def doing(self, doing: str, unit: str, number: int, total: int) -> None:
        """Show the progress of a part of the job; a new name starts a new part."""
        if doing != self._doing:
            self._doing = doing
            self._progress.reset(self._task, description=doing, unit=unit)
        self.done(number, total)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Hide the bar while other text or a question is shown."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()
