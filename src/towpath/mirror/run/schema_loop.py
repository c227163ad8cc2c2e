"""The sync of schemas during a run, in a thread with its own connections.

A registry may accept connections and answer nothing for as long as `timeout` says, and to register
ten thousand subjects takes minutes. Nothing else of a run waits for that: rounds, new topics, the
end of the run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from towpath.ledger.link import open_schemas
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run.id_desk import IdDesk
from towpath.mirror.run.reconcile import Reconciled, Reconciler
from towpath.model.errors import TowpathError
from towpath.model.foreign import foreign
from towpath.plan.build import Planned
from towpath.plan.subjects import SubjectClients
from towpath.runtime import log
from towpath.schemas.subject import SUBJECT, SchemasClient
from towpath.settings import LinkConfig, given_ids

_TURN = 1.0
"""Seconds between two looks at what slices wait for."""
_SPARING = 10
"""Looking may take a tenth of the time, where schemas are left out again and again."""
_GOODBYE = 2.0
"""Longest time in seconds that a run which is stopped waits for a request that is under way."""


class SchemaLoop:
    """Syncs schemas every `schemas.interval`, and answers slices that wait for schema ids.

    Args:
        config: The link.
        clients: The clients of all its subjects; that of schemas is used by the thread alone, from
            `begin` on.
        meter: Counts what is done.
        hold: Raises if another process changes the target now.

    Attributes:
        made: What was applied the last time.
        trouble: Why the last turn failed, "" if it did not.
    """

    def __init__(
        self,
        config: LinkConfig,
        clients: SubjectClients,
        meter: LinkMeter,
        hold: Callable[[], None],
    ) -> None:
        self._config, self._meter, self._hold = config, meter, hold
        self._clients, self._client = clients.only((SUBJECT,)), clients.of(SUBJECT)
        self._over, self._halt, self._last = threading.Event(), threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="towpath-registries", daemon=True)
        self._desk: IdDesk | None = None
        self._next = 0.0
        self.made = Reconciled()
        self.trouble = ""

    @property
    def _asks(self) -> bool:
        """Whether there are registries to ask."""
        return isinstance(self._client, SchemasClient)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences about waiting partitions, and the failure of the last sync."""
        told = self._desk.sentences if self._desk is not None else ()
        return (*told, self.trouble) if self.trouble else told

    def begin(self, planned: Planned, stack: ExitStack) -> None:
        """Apply the plan and write the id map before the first slice begins; then loop.

        Args:
            planned: The plan that the run begins with.
            stack: Closes the loop at the end of the run.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
            LinkHeldError: Another process changes the target now.
        """
        if not (self._asks or given_ids(self._config.changes)):
            return
        link = stack.enter_context(open_schemas(self._config))
        link.read()
        if isinstance(self._client, SchemasClient):
            self._client.follow(link.books)
        self._reconciler = Reconciler(link, self._clients, self._meter, self._halt, self._hold)
        if self._asks:
            self._taken(time.monotonic(), self._reconciler.first(planned.only((SUBJECT,))))
        self._desk = IdDesk(link, self._client, self._bring, lambda: self.made, self._meter)
        self._desk.begin()
        stack.callback(self.close)
        self._thread.start()

    def finish(self, stop: threading.Event) -> None:
        """Sync schemas once more, and wait for the end of that until `stop` is set."""
        self._last = True
        self._over.set()
        while self._thread.is_alive() and not stop.is_set():
            self._thread.join(_TURN / 4)

    def close(self) -> None:
        """Stop after the present step, and send no further request."""
        self._halt.set()
        self._over.set()
        if isinstance(self._client, SchemasClient):
            self._client.stop()
        if self._thread.is_alive():
            self._thread.join(_GOODBYE)

    def _run(self) -> None:
        while not self._over.wait(_TURN):
            with self._surviving():
                self._turn(self._desk)
        if self._last and self._asks:
            with self._surviving():
                self._bring()

    def _turn(self, desk: IdDesk | None) -> None:
        """Do what is due."""
        if self._asks and time.monotonic() >= self._next:
            self._bring()
        if desk is not None:
            desk.look()

    def _bring(self) -> None:
        """Bring over what the target lacks."""
        began = time.monotonic()
        self._taken(began, self._reconciler.all())

    def _taken(self, began: float, made: Reconciled) -> None:
        """Take in what was applied, and when to look again."""
        self.made, now = made, time.monotonic()
        pause = SUBJECT.interval(self._config)
        if made.left_out:
            pause = min(pause, max(self._config.run.discover, _SPARING * (now - began)))
        self._next = now + pause

    @contextmanager
    def _surviving(self) -> Iterator[None]:
        """Note an error; a fault of ours must not end all further looks either."""
        try:
            yield
            self.trouble = ""
        except TowpathError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001
            self._failed(f"the look at the registries failed: {foreign(error)}")

    def _failed(self, why: str) -> None:
        if why != self.trouble and not self._halt.is_set():
            log.event("schemas.failed", self._config.link, "", {"why": why}, trouble=True)
        self.trouble = why
