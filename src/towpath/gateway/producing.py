"""Produce requests while topics are held or promoted: held, judged, and sent on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from towpath.gateway import crafted, produced
from towpath.gateway.cut import Batch, Verdict
from towpath.gateway.cut import Place as Partition
from towpath.gateway.frames import FrameError, Head
from towpath.gateway.routes import Cluster, Place, Routes
from towpath.gateway.steps import Joined, Sent, Step

_REFUSED: Mapping[Verdict, int] = {
    Verdict.REPEAT: crafted.DUPLICATE_SEQUENCE,
    Verdict.FENCED: crafted.OLD_EPOCH,
    Verdict.EARLY: crafted.NOT_LEADER,
}
"""Verdicts that the gateway tells itself, and how. A repeat is a success to every client; it has no
offset, as the source has told that in the answer that was lost."""


class Producing:
    """Decides about Produce requests.

    Args:
        routes: What is held and promoted.
        wake: Called when requests that wait may go on.
    """

    def __init__(self, routes: Routes, wake: Callable[[], None]) -> None:
        self._routes, self._wake = routes, wake

    def step(
        self, frame: bytearray, head: Head, home: Place, *, silent: bool
    ) -> tuple[Step | None, bool]:
        """Return what to do with a request, and whether it passes as if nothing moved.

        The step is `None` where it has to wait.
        """
        asked = produced.opened(frame, head.version)
        names = produced.names(asked)
        routes = self._routes
        if not routes.held.isdisjoint(names):
            return None, False
        if home.cluster is Cluster.SOURCE and routes.topics.isdisjoint(names):
            return None, True
        batches = produced.batches(asked)
        codes: dict[Partition, int] = {}
        parts: dict[Place, list[Partition]] = defaultdict(list)
        for place, batch in batches.items():
            verdict, to = self._judge(place, batch, home)
            if verdict is Verdict.WAIT:
                return None, False
            if to is None:
                codes[place] = _REFUSED.get(verdict, crafted.NOT_LEADER)
            else:
                parts[to].append(place)
        return self._sent(asked, batches, codes, parts, silent=silent), False

    def _judge(self, place: Partition, batch: Batch, home: Place) -> tuple[Verdict, Place | None]:
        """Return what to do with a batch, and where it goes; `None` for nowhere."""
        routes = self._routes
        if place[0] not in routes.topics:
            # A mirror topic is not written by clients before it is promoted.
            return Verdict.SEND, home if home.cluster is Cluster.SOURCE else None
        if batch.transactional:
            raise FrameError(f"a transaction for topic {place[0]}, which was promoted without it")
        verdict = routes.table.judge(place, batch)
        if verdict in _REFUSED or verdict is Verdict.WAIT:
            return verdict, None
        if home.cluster is Cluster.TARGET:
            return verdict, home
        return verdict, routes.leader(*place)

    def _sent(
        self,
        asked: Any,
        batches: Mapping[Partition, Batch],
        codes: Mapping[Partition, int],
        parts: Mapping[Place, Sequence[Partition]],
        *,
        silent: bool,
    ) -> Step:
        said = produced.refusals(codes)
        away = lambda place: produced.refusals({place: crafted.NOT_LEADER})[place]  # noqa: E731
        if not parts:
            return Step(own=b"" if silent else produced.answer(asked, said, away))
        sends = []
        for to, places in parts.items():
            sends.append(Sent(to, produced.part(asked, places), None, writes=True))
            for place in places:
                if to.cluster is Cluster.TARGET:
                    self._routes.table.sent(place, batches[place])
        return Step(
            sends=tuple(sends),
            join=self._joined(asked, batches, said, parts, away),
            silent=silent,
        )

    def _joined(
        self,
        asked: Any,
        batches: Mapping[Partition, Batch],
        said: Mapping[Partition, Any],
        parts: Mapping[Place, Sequence[Partition]],
        away: Callable[[Partition], Any],
    ) -> Joined:
        def join(answers: Sequence[bytes | bytearray | None]) -> bytes:
            found = dict(said)
            for (to, places), answer in zip(parts.items(), answers, strict=True):
                told = {} if answer is None else produced.results(answer, asked.API_VERSION)
                found |= told
                for place in places:
                    if to.cluster is Cluster.TARGET:
                        code = told[place].error_code if place in told else crafted.NOT_LEADER
                        taken = code in {0, crafted.DUPLICATE_SEQUENCE}
                        self._routes.table.answered(place, batches[place], taken=taken)
            self._wake()
            return produced.answer(asked, found, away)

        return join
