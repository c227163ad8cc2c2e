"""A thread that looks at the source for a gateway whose clients read from the target."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol
from uuid import UUID

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Broker, Metadata
from towpath.gateway.mirror_reads import MirrorEnds, MirrorReads
from towpath.model.errors import TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime import log
from towpath.settings import LinkConfig

_EVERY = 2.0
"""Seconds after which both clusters are looked at again."""
_NAP = 0.1
"""Seconds between two looks that clients need."""
_PATIENCE = 3.0
"""Seconds for the ends of partitions."""


class Relaying(Protocol):
    """Protocol of the gateway, as the thread uses it."""

    def learn_brokers(self, brokers: Iterable[Broker]) -> None:
        """Add brokers of the source, or update their addresses."""


class MirrorWatch:
    """Looks where the source leads partitions, and where mirror topics end, until stopped.

    Args:
        config: The link.
        gateway: The gateway.
        mirror: What it knows of these topics; of the loop alone.
        stop: Set when the gateway shall end.
    """

    def __init__(
        self, config: LinkConfig, gateway: Relaying, mirror: MirrorReads, stop: threading.Event
    ) -> None:
        self._config, self._gateway, self._mirror, self._stop = config, gateway, mirror, stop
        self._source = Admin(config.source, Side.SOURCE)
        self._target = Admin(config.target, Side.TARGET)
        self._asked = threading.Event()
        self._in_loop: Callable[[Callable[[], None]], object] = lambda what: what()
        self._is_away = False
        self._thread = threading.Thread(target=self._watch, name="mirror", daemon=True)
        mirror.ask = self._asked.set

    def start(self, in_loop: Callable[[Callable[[], None]], object]) -> None:
        """Look once, and start the thread.

        Args:
            in_loop: Calls something in the loop of the connections.
        """
        self._try()
        self._in_loop = in_loop
        self._thread.start()

    def end(self) -> None:
        """Wait for the thread, after `stop` was set."""
        self._asked.set()
        self._source.abandon()
        self._target.abandon()
        self._thread.join()
        self._source.close()
        self._target.close()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self._asked.wait(_EVERY)
            if self._stop.wait(_NAP):
                return
            self._asked.clear()
            self._try()

    def _try(self) -> None:
        """Look at both clusters; what one of them does not tell stays as it was."""
        why: str | None = None
        for look in (self._look_at_leaders, self._look_at_mirrors, self._look_at_ends):
            try:
                look()
            except TowpathError as error:
                why = why or str(error)
            except Exception as error:  # noqa: BLE001  # clients need the gateway all the same
                why = why or foreign(error)
        if why is not None and not self._is_away and not self._stop.is_set():
            log.event("mirror.unseen", self._config.link, "", {"why": why}, trouble=True)
        self._is_away = why is not None

    def _look_at_leaders(self) -> None:
        self._take_in(self._source.topics.with_brokers())

    def _take_in(self, view: Metadata) -> None:
        linked = {name: each for name, each in view.topics.items() if self._mirror.is_linked(name)}
        seen = Metadata(view.cluster_id, view.controller, view.brokers, linked)

        def told() -> None:
            self._gateway.learn_brokers(seen.brokers.values())
            self._mirror.view = seen

        self._in_loop(told)

    def _look_at_mirrors(self) -> None:
        found = self._target.topics.describe()
        names = {UUID(each.id): str(name) for name, each in found.items() if each.id}

        def told() -> None:
            self._mirror.names = names

        self._in_loop(told)

    def _look_at_ends(self) -> None:
        wanted = self._call(self._mirror.asked)
        if not wanted:
            return
        starts = self._target.offsets.earliest(wanted, patience=_PATIENCE)
        ends = self._target.offsets.latest(wanted, patience=_PATIENCE)
        there = self._ends_at_source(wanted)
        at = self._mirror.now()
        found = {
            tp: MirrorEnds(starts[tp], ends[tp], there.get(tp), at)
            for tp in wanted
            if tp in starts and tp in ends
        }
        self._in_loop(lambda: self._mirror.ends.update(found))

    def _ends_at_source(self, wanted: set[TopicPartition]) -> Mapping[TopicPartition, int]:
        try:
            return self._source.offsets.log_ends(wanted, patience=_PATIENCE)
        except TowpathError:
            return {}

    def _call(self, what: Callable[[], set[TopicPartition]]) -> set[TopicPartition]:
        """Call a function in the event loop, and return its result; nothing once it has ended."""
        found: list[set[TopicPartition]] = []
        done = threading.Event()

        def run() -> None:
            found.append(what())
            done.set()

        self._in_loop(run)
        while not done.wait(_NAP):
            if self._stop.is_set():
                return set()
        return found[0]
