"""Checks each second that both clusters answer, whatever else the run waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Self

from towpath.cluster.admin import Admin
from towpath.cluster.connect.answering import Silence
from towpath.cluster.metadata import Broker
from towpath.model.errors import ClusterError, ClusterReplacedError
from towpath.model.nouns import LinkName, Side
from towpath.runtime import log

_PAUSE = 1.0
_PATIENCE = 5.0
"""Seconds after which a cluster that does not answer is logged as silent."""
_GOODBYE = 0.5
"""Seconds for which the end of a run waits for a question that is still open."""
_NOTICED = 1.0
"""Seconds without an answer that are shown. A busy broker may take a moment."""

Say = Callable[[str, str, bool], None]
"""Told of what happened, to what, and whether it is trouble."""


class Brokers:
    """The unavailable brokers of one cluster, with log lines for changes."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._known: dict[int, Broker] = {}
        self._silent = False
        self.away: Mapping[int, Broker] = {}

    def listed(self, brokers: tuple[Broker, ...]) -> None:
        """Record the brokers that the cluster lists as alive."""
        if self._silent:
            self._silent = False
            self._say("cluster.back", "", False)
        now = {broker.id: broker for broker in brokers}
        for number, broker in now.items():
            if number in self.away:
                self._say("broker.back", str(broker), False)
        away = {number: broker for number, broker in self._known.items() if number not in now}
        for number, broker in away.items():
            if number not in self.away:
                self._say("broker.away", str(broker), True)
        self._known |= now
        self.away = away

    def silent(self, why: str) -> None:
        """Record that no broker answers."""
        if not self._silent:
            self._silent = True
            self._say("cluster.silent", why, True)


class Pulse:
    """Polls both clusters, each in a thread of its own, within the context."""

    def __init__(self, link: LinkName, source: Admin, target: Admin) -> None:
        self._link = link
        self._clusters = {Side.SOURCE: source, Side.TARGET: target}
        self._brokers = {side: Brokers(self._saying(side)) for side in Side}
        self._replaced: ClusterReplacedError | None = None
        self._over = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._ask, args=[side], name=f"towpath-pulse-{side}", daemon=True
            )
            for side in Side
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        until = time.monotonic() + _GOODBYE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def silences(self) -> tuple[Silence, ...]:
        """Return the clusters that have not answered for a second or more."""
        found = (cluster.answering.silence() for cluster in self._clusters.values())
        return tuple(each for each in found if each is not None and each.seconds >= _NOTICED)

    def away(self) -> tuple[str, ...]:
        """Return a sentence for each unavailable broker."""
        return tuple(
            f"{side}: {broker} is away"
            for side, brokers in self._brokers.items()
            for broker in [*brokers.away.values()]
        )

    def require_same(self) -> None:
        """Raise if the addresses of a cluster lead to another one than at first.

        Raises:
            ClusterReplacedError: The addresses of one of them lead to another cluster.
        """
        if self._replaced is not None:
            raise self._replaced

    def _ask(self, side: Side) -> None:
        cluster, brokers = self._clusters[side].cluster, self._brokers[side]
        while not self._over.wait(_PAUSE):
            try:
                found = cluster.pulse(_PATIENCE)
            except ClusterReplacedError as error:
                self._replaced = error
                return
            except ClusterError as error:
                if not self._over.is_set():
                    brokers.silent(str(error))
            else:
                brokers.listed(found)

    def _saying(self, side: Side) -> Say:
        def say(what: str, about: str, trouble: bool) -> None:
            facts = {"side": str(side)}
            if what == "cluster.silent":
                facts, about = {**facts, "why": about}, ""
            log.event(what, self._link, about, facts, trouble=trouble)

        return say
