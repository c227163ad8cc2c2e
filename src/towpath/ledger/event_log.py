"""A background writer of events to the target, so that no work waits for them."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from towpath import __version__
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.alive import this_host
from towpath.ledger.batches import batch
from towpath.ledger.entries import Entry, Journal, LinkIdentity, MissingEvents, Phase, Repaired
from towpath.ledger.events import PLACE, Event, Origin, What, is_trouble
from towpath.ledger.keys import new_name
from towpath.ledger.topic import create_events
from towpath.model.errors import RefusedError, TowpathError
from towpath.model.nouns import EVENTS, LinkName, Side
from towpath.runtime import log
from towpath.runtime.backoff import BackOff
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.runtime.user import this_user
from towpath.settings import ClusterConfig

_MOST = 50_000
"""Events that wait at most; where more come, the oldest are lost."""
_TOGETHER = 500
_AGAIN = BackOff(first=1.0, longest=60.0)
_GOODBYE = 5.0
"""Seconds for which the end of a command waits for its last events."""
_HURRY = 0.25
"""Seconds between two attempts meanwhile."""


class EventLog:
    """The events that one process writes about one link; any thread may add some.

    The target may refuse the topic, or be away. Events then wait, are lost in the end, and are
    counted.

    Attributes:
        lost: Number of events that were not written and will not be.
        why: Why the last attempt to write failed, "" where it did not.
    """

    def __init__(self, config: ClusterConfig, target: Admin, link: LinkName) -> None:
        self._config, self._target, self._link = config, target, link
        self._origin = Origin(
            user=this_user(),
            login=config.login,
            host=this_host(),
            pid=os.getpid(),
            version=__version__,
        )
        self._waiting: deque[Event] = deque()
        self._news, self._closed, self._ready = threading.Condition(), False, False
        self._goodbye: Deadline | None = None
        """When attempts to write end, once the command ends."""
        self._thread: threading.Thread | None = None
        self._client = Client(config, Side.TARGET, target)
        self.lost, self.why = 0, ""

    def tell(self, what: What, about: str = "", **facts: Any) -> None:
        """Log an event, and queue it to be written."""
        self.tell_once(new_name(), what, about, facts)

    def tell_once(self, name: str, what: What, about: str, facts: Mapping[str, Any]) -> None:
        """Log an event, and queue it to be written; readers show one with each name."""
        log.event(what, self._link, about, facts, trouble=is_trouble(what, facts))
        event = Event(
            id=name,
            at=now_ms(),
            link=self._link,
            what=what,
            about=about,
            facts=facts,
            origin=self._origin,
        )
        with self._news:
            if self._closed or len(self._waiting) >= _MOST:
                self.lost += 1
                if self._closed:
                    return
                self._waiting.popleft()
            self._waiting.append(event)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="towpath-events", daemon=True
                )
                self._thread.start()
            self._news.notify()

    def heard(self, entries: Iterable[Entry]) -> None:
        """Add the events that follow from ledger entries just written."""
        for entry in entries:
            match entry:
                case Journal(phase=Phase.DONE):
                    self.tell(What.STEP_DONE, entry.name, **_of_step(entry))
                case Journal(phase=Phase.FAILED) if entry.error:  # else it needs no doing any more
                    self.tell(What.STEP_FAILED, entry.name, **_of_step(entry), error=entry.error)
                case Repaired():
                    self.tell(
                        What.PARTITION_REPAIRED,
                        str(entry.tp),
                        start=entry.start,
                        offset=entry.offset,
                        acknowledged=entry.acknowledged,
                    )
                case LinkIdentity():
                    self.tell(
                        What.LINK_CHANGED,
                        source_cluster=entry.source_cluster,
                        target_cluster=entry.target_cluster,
                        level=entry.level,
                    )
                case _:
                    pass

    @property
    def missing(self) -> MissingEvents | None:
        """The events that could not be written yet, `None` if all are."""
        count = self.lost + (len(self._waiting) if self.why else 0)
        return MissingEvents(count, self.why) if count else None

    @property
    def trouble(self) -> str:
        """A sentence about events that are not written, "" if all are."""
        return str(self.missing or "")

    def close(self) -> None:
        """Write the remaining events within a few seconds, and close the connection."""
        with self._news:
            self._closed, self._goodbye = True, Deadline.after(_GOODBYE)
            self._news.notify()
        if self._thread is not None:
            self._thread.join(_GOODBYE)
        self._client.close()
        if self._thread is not None:
            self._thread.join(_GOODBYE)
        self._drop()

    def _run(self) -> None:
        failures = 0
        while (some := self._next()) or not self._closed:
            try:
                self._write(some)
            except TowpathError as error:
                self._say(error)
                self._ready = False
                if isinstance(error, RefusedError) and not error.retriable:
                    self._drop()
                failures += 1
                self._pause(_AGAIN.after(failures))
                if self._goodbye is not None and self._goodbye.over:
                    return
            else:
                failures, self.why = 0, ""

    def _next(self) -> list[Event]:
        """Return the next events to write, which stay among those that wait."""
        with self._news:
            while not self._waiting and not self._closed:
                self._news.wait()
            return [self._waiting[i] for i in range(min(_TOGETHER, len(self._waiting)))]

    def _pause(self, seconds: float) -> None:
        """Wait before the next attempt; the end of the command cuts this short."""
        until = Deadline.after(seconds)
        with self._news:
            if self._closed:
                self._news.wait(_HURRY)
            while not self._closed and not until.over:
                self._news.wait(until.left())

    def _say(self, error: TowpathError) -> None:
        if not self.why:
            facts = {"waiting": len(self._waiting), "why": str(error)}
            log.event("events.not_written", self._link, EVENTS, facts, trouble=True)
        self.why = str(error)

    def _drop(self) -> None:
        with self._news:
            self.lost += len(self._waiting)
            self._waiting.clear()

    def _prepare(self) -> None:
        if self._target.topics.find(EVENTS) is None:
            create_events(self._target)
        self._ready = True

    def _write(self, some: list[Event]) -> None:
        if not some:
            return
        if not self._ready:
            self._prepare()
        self._client.produce(PLACE, batch(event.encode() for event in some))
        with self._news:
            written = {event.id for event in some}
            while self._waiting and self._waiting[0].id in written:
                self._waiting.popleft()


def _of_step(entry: Journal) -> dict[str, Any]:
    return {
        "subject": entry.subject,
        "do": entry.do,
        "part": entry.part,
        "plan": entry.plan,
        "owned": entry.owned,
        "step": dict(entry.step),
    }
