"""The display of a running command: a live picture on a terminal, otherwise a log.

The picture moves by a timer of its own, so the clock goes on while the run waits for a cluster.
What the picture needs is imported when the run begins, because that takes a second.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rich.console import RenderableType
from rich.text import Text

from towpath.cli.show.live import LivePicture
from towpath.model.amounts import span
from towpath.runtime import log

if TYPE_CHECKING:
    from towpath.mirror.run.progress import RunProgress
    from towpath.mirror.show.topics import Rates, TopicLines
    from towpath.mirror.status.partition_status import PartitionStatus

_LINE_EVERY = 300.0


class _Form(Protocol):
    def show(self, progress: RunProgress) -> None: ...

    def close(self) -> None: ...


class Display:
    """Shows the progress of a run on stderr.

    Args:
        link: The name of the link.
        logs: How to log; `None` shows a picture if there is a terminal.
        doing: What is done until the run begins.
        stop: Is set when the user asks to stop.
    """

    def __init__(
        self,
        link: str,
        logs: log.LogWanted | None = None,
        doing: str = "starting",
        stop: threading.Event | None = None,
    ) -> None:
        self._link, self._logs, self._doing = link, logs, doing
        self._stop = stop or threading.Event()
        self._form: _Form | None = None

    def __enter__(self) -> Display:
        if self._logs is None and sys.stderr.isatty():
            self._form = _Screen(self._link, self._doing, self._stop)
        else:
            log.begin(self._logs or log.LogWanted())
            self._form = _Log(self._link)
        return self

    def __exit__(self, *_: object) -> None:
        if self._form is not None:
            self._form.close()

    def show(self, progress: RunProgress) -> None:
        """Show the current progress; the picture follows later changes in it."""
        if self._form is not None:
            self._form.show(progress)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the picture is drawn from; replaced as a whole, so a drawing sees one state."""

    progress: RunProgress
    rows: tuple[PartitionStatus, ...]
    lines: TopicLines
    rates: Rates
    picture: Callable[..., RenderableType]


class _Screen:
    """A picture that moves by itself."""

    def __init__(self, link: str, doing: str, stop: threading.Event) -> None:
        self._link, self._doing = link, doing
        self._began = time.monotonic()
        self._seen: _Seen | None = None
        self._live = LivePicture(self._draw, stop)

    def show(self, progress: RunProgress) -> None:
        # Imported in this thread, and not when the picture is drawn.
        from towpath.mirror.show.run_picture import picture  # noqa: PLC0415
        from towpath.mirror.show.topics import Rates, TopicLines  # noqa: PLC0415

        seen = self._seen
        if seen is None or seen.progress is not progress or seen.rows is not progress.rows:
            rates = seen.rates if seen and seen.progress is progress else Rates()
            lines = TopicLines.of(progress)
            if progress.rows:
                rates.take(time.monotonic(), lines)
            self._seen = _Seen(progress, progress.rows, lines, rates, picture)

    def close(self) -> None:
        self._live.close()

    def _draw(self) -> RenderableType:
        now, seen = time.monotonic(), self._seen
        if seen is None:
            return Text(f"{self._link}  {span(now - self._began)}  {self._doing}")
        return seen.picture(
            self._link, seen.progress, seen.lines, seen.rates, now, self._live.screen, self._began
        )


class _Log:
    """A line for each change, and every five minutes one about the whole link if records moved."""

    def __init__(self, link: str) -> None:
        self._link = link
        self._said = time.monotonic()
        self._sums: tuple[int, ...] = ()
        self._phase = ""
        self._told: dict[str, Sequence[str]] = {}
        self._limited: Sequence[str] = ()
        self._slots = 0

    def close(self) -> None:
        """Do nothing, as later output may also be logged."""

    def show(self, progress: RunProgress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase = progress.phase
            self._say("run.phase", phase=str(progress.phase))
        self._changed("run.trouble", (progress.trouble,) if progress.trouble else ())
        self._changed("topics.left_out", progress.left_out)
        self._changed("transactions.hanging", progress.hanging)
        self._changed("secrets.unusable", progress.files)
        self._changed("schemas.ids_awaited", progress.ids)
        if progress.limited != self._limited:
            self._limited = progress.limited
            for sentence in progress.limited or ("no limit",):
                self._say("run.max_rate", why=sentence)
        if progress.slots != self._slots:
            if self._slots:
                self._say("run.slices", now=progress.slots, before=self._slots)
            self._slots = progress.slots
        if now - self._said > _LINE_EVERY:
            self._said = now
            self._line(progress, now)

    def _line(self, progress: RunProgress, now: float) -> None:
        copied = [progress.copied(row) for row in progress.rows]
        records, size = sum(each for each, _ in copied), sum(each for _, each in copied)
        lag = sum(row.to_copy for row in progress.rows)
        stopped = sum(row.stands_still for row in progress.rows)
        sums = records, size, lag, stopped
        if sums == self._sums:
            return  # nothing happened
        self._sums = sums
        seconds = round(now - progress.began)
        self._say(
            "run.progress",
            seconds=seconds, records=records, bytes=size, lag=lag, stopped=stopped,
            partitions=len(progress.rows), left_out=len(progress.left_out_names),
        )  # fmt: skip

    def _changed(self, what: str, sentences: Sequence[str]) -> None:
        """Log each sentence, or that there is none any more, if these are others than before."""
        if sentences == self._told.get(what, ()):
            return
        self._told[what] = sentences
        for sentence in sentences:
            log.event(what, self._link, "", {"why": sentence}, trouble=True)
        if not sentences:
            self._say(f"{what}_over")

    def _say(self, what: str, **facts: object) -> None:
        log.event(what, self._link, "", facts, trouble=False)
