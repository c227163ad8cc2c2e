"""What runs of links share, whether records go through Spark or not: their beginning and their end.

The beginning is repeated until both clusters answer, and where the file of the link has changed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack

from towpath.engine.starting import Starting
from towpath.ledger.link import OpenLink, open_link
from towpath.mirror.metrics.feeding import telling
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run.progress import RunPhase, RunProgress, Wishes
from towpath.mirror.run.pulse import Pulse
from towpath.mirror.run.waiting import Waiting
from towpath.records.session import LinkSession
from towpath.settings import LinkConfig

Show = Callable[[RunProgress], None]


class LinkRun(ABC):
    """One attempt at a run of a link.

    Args:
        session: The session of the link.
        progress: What is shown.
        show: Shows it.

    Attributes:
        progress: See above.
        changed: What the file says now, for the attempt that takes over; `None` where it is as it
            was.
    """

    def __init__(self, session: LinkSession, progress: RunProgress, show: Show) -> None:
        self._session, self.progress, self._show = session, progress, show
        self.changed: LinkConfig | None = None
        self._pulse: Pulse | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the ledger and the topics, before anything is copied."""

    @abstractmethod
    def go_on(self, spark: Starting) -> None:
        """Copy once Spark has started, with an event at the start and the end."""

    def watch(self, pulse: Pulse) -> None:
        """Show the run from now on, including clusters that do not answer."""
        self._pulse = pulse
        self.progress.silences, self.progress.away = pulse.silences, pulse.away
        self.enter(RunPhase.LOOKING)

    def enter(self, phase: RunPhase) -> None:
        """Show the current phase."""
        self.progress.phase = phase
        self._show(self.progress)

    def _require_own(self) -> None:
        """Raise once the link, its ledger or one of its clusters is not ours any more."""
        if self._session.taken_over is not None:
            raise self._session.taken_over
        if self._pulse is not None:
            self._pulse.require_same()


def attempted(
    config: LinkConfig,
    wishes: Wishes,
    spark: Starting,
    stop: threading.Event,
    show: Show,
    make: Callable[[OpenLink, ExitStack, LinkMeter], LinkRun],
) -> RunProgress:
    """Run a link until it ends, or `stop` is set.

    Args:
        config: The link.
        wishes: How to run.
        spark: The Spark session, which is still starting.
        stop: Set to stop the run.
        show: Shows the progress.
        make: Makes an attempt with an open link; what it opens is closed with the stack.
    """
    with telling(config) as meter:
        waiting = Waiting(wanted=wishes.wait, stop=stop, meter=meter, show=show)
        while True:
            with ExitStack() as stack:
                link = stack.enter_context(open_link(config))
                made = make(link, stack, meter)
                spark.require_allowed()
                waiting.begin(made.progress)
                made.watch(stack.enter_context(Pulse(config.link, link.source, link.target)))
                if waiting.tried(made.prepare, made.progress):
                    made.go_on(spark)
                    if made.changed is None:
                        return made.progress
                    config = made.changed
                if stop.is_set():
                    return made.progress
