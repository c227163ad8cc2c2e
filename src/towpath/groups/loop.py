"""The repeated sync of groups during a run, in a thread with its own connections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from towpath.groups.model import SyncReport
from towpath.groups.sync import GroupSync
from towpath.groups.sync_summaries import trouble_of
from towpath.ledger.link import OpenLink, open_link
from towpath.model.errors import TowpathError
from towpath.model.foreign import foreign
from towpath.runtime import log
from towpath.settings import LinkConfig

_PATIENCE = 60.0
"""Longest time in seconds that the end of a run waits for its last sync."""
_GOODBYE = 2.0
"""Longest time in seconds that a run which is stopped waits for a sync that is under way."""

Told = Callable[[SyncReport], None]
"""Told of each sync that came to an end."""
Beside = Callable[[OpenLink], AbstractContextManager[Callable[[SyncReport], Sequence[str]]]]
"""Opens what is done after each sync, in the thread of the loop; it returns what went wrong."""


class GroupLoop:
    """Syncs the groups of a link once every `groups.interval`.

    Nothing of the run waits for it. A sync that fails is repeated at the next turn, however long
    that goes on.

    Args:
        config: The link; its file asks for groups.
        told: Told of each sync, in the thread of the loop.
        interval: Seconds between two syncs, in the place of the file's.
        beside: Opens what is done after each sync, if anything.

    Attributes:
        report: The last sync that came to an end, `None` before the first.
        trouble: Why the last sync failed, "" if it did not.
    """

    def __init__(
        self,
        config: LinkConfig,
        told: Told,
        interval: float | None = None,
        beside: Beside | None = None,
    ) -> None:
        self._config, self._told, self._beside = config, told, beside or _nothing
        asked = config.groups.interval if config.groups is not None else 0.0
        self._interval = asked if interval is None else interval
        self._over, self._hurry = threading.Event(), threading.Event()
        self._last = False
        self._thread = threading.Thread(target=self._run, name="towpath-groups", daemon=True)
        self.report: SyncReport | None = None
        self.trouble = ""
        self._notes: Sequence[str] = ()

    @property
    def troubles(self) -> tuple[str, ...]:
        """Sentences about what the last sync could not observe."""
        if self.trouble:
            return (self.trouble,)
        told = tuple(trouble_of(self.report)) if self.report is not None else ()
        return (*told, *self._notes)

    def start(self) -> None:
        """Start the thread and the first sync."""
        self._thread.start()

    def finish(self) -> None:
        """Sync the groups once more, and wait at most a minute for the end."""
        self._last = True
        self._end(_PATIENCE)

    def close(self) -> None:
        """Stop after the pending request."""
        self._end(_GOODBYE)

    def _end(self, patience: float) -> None:
        self._over.set()
        self._hurry.set()
        if self._thread.is_alive():
            self._thread.join(patience)

    def _run(self) -> None:
        while not self._over.is_set():
            with self._surviving():
                self._go_on()
            self._hurry.wait(self._interval)

    def _go_on(self) -> None:
        """Bring groups over until the run ends."""
        with open_link(self._config) as link, self._beside(link) as after:
            sync = GroupSync(link)
            while not self._over.is_set():
                self._once(sync, after)
                self._hurry.wait(self._interval)
            if self._last:
                self._once(sync, after, last=True)
            else:
                with self._surviving():
                    sync.flush()

    def _once(
        self,
        sync: GroupSync,
        after: Callable[[SyncReport], Sequence[str]],
        *,
        last: bool = False,
    ) -> None:
        with self._surviving():
            self.report = report = sync.once(last=last)
            if self.trouble:
                log.event("groups.back", self._config.link, "", {}, trouble=False)
            self.trouble = ""
            self._told(report)
            self._notes = after(report)

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """Note an error; a fault of ours must not end all further syncs either."""
        try:
            yield
        except TowpathError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001
            self._failed(f"the sync of groups failed: {foreign(error)}")

    def _failed(self, why: str) -> None:
        if why != self.trouble:
            log.event("groups.failed", self._config.link, "", {"why": why}, trouble=True)
        self.trouble = why


@contextmanager
def _nothing(_link: OpenLink) -> Iterator[Callable[[SyncReport], Sequence[str]]]:
    yield lambda _report: ()
