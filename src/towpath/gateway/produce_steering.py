"""Routing of Produce requests while topics are held back or promoted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from towpath.gateway import produce_requests, steering_answers
from towpath.gateway.cut_table import CutVerdict, SentBatch
from towpath.gateway.cut_table import Place as Partition
from towpath.gateway.frames import FrameError, Head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.produce_parts import FIRST, ProducePart, parts
from towpath.gateway.produce_parts import codes as codes_of
from towpath.gateway.produce_requests import taken
from towpath.gateway.producer_eras import is_adopted, stamped, written_by
from towpath.gateway.request_sending import RelayedClient
from towpath.gateway.request_steps import Joined, RequestStep, Sent
from towpath.gateway.routes import BrokerPlace, Cluster, Routes

_REFUSED: Mapping[CutVerdict, int] = {
    CutVerdict.REPEAT: steering_answers.DUPLICATE_SEQUENCE,
    CutVerdict.FENCED: steering_answers.OLD_EPOCH,
    CutVerdict.EARLY: steering_answers.NOT_LEADER,
}
"""Verdicts that the gateway tells itself, and how. A repeat is a success to every client; it has no
offset, as the source has told that in the answer that was lost."""

_MOVED = frozenset({steering_answers.UNKNOWN_TOPIC, steering_answers.NOT_LEADER})
"""Codes with which a broker says that a partition is elsewhere."""


class ProduceSteering:
    """Decides which cluster gets a Produce request, or whether it waits.

    Args:
        routes: What is held and promoted.
        wake: Called when requests that wait may go on.
        leaving: Told of clients that cannot leave yet.
        crosses: Whether what a client sends to a broker of the source may go to one of the target;
            not where clients log in, as a login is good for one cluster.
        adopts: Whether clients may come from the source itself: they may know one of its brokers
            by an id that the target has, too, and stay on its connection, so that ends.
    """

    def __init__(
        self,
        routes: Routes,
        wake: Callable[[], None],
        leaving: LeavingClients,
        *,
        crosses: bool = True,
        adopts: bool = False,
    ) -> None:
        self._routes, self._wake, self._crosses = routes, wake, crosses
        self._adopts = adopts
        self._leaving = leaving

    def step(
        self, frame: bytearray, head: Head, client: RelayedClient, *, silent: bool
    ) -> tuple[RequestStep | None, bool]:
        """Return the next step for a Produce request, and whether it is relayed unchanged.

        The step is `None` where it has to wait.
        """
        unopened = self._unopened(frame, head, client.home, silent=silent)
        if unopened is not None:
            return unopened, False
        asked = produce_requests.opened(frame, head.version)
        names = produce_requests.names(asked)
        routes, home = self._routes, client.home
        if not routes.held.isdisjoint(names):
            return None, False
        stays = routes.eras.keys().isdisjoint(names) and routes.of_others.has_none_of(names)
        if home.cluster is Cluster.SOURCE and stays:
            return None, True
        routes.of_others.turn_back(client.name, names)
        batches = produce_requests.batches(asked)
        codes: dict[Partition, int] = {}
        parts: dict[BrokerPlace, list[Partition]] = defaultdict(list)
        for place, batch in batches.items():
            if routes.is_of_others(place[0]):
                codes[place] = steering_answers.NOT_LEADER
                continue
            verdict, to = self._judge(place, batch, home, asked.transactional_id)
            if verdict is not CutVerdict.SEND:
                self._leaving.doubts(client.name)
            if batch.transactional:
                self._leaving.transacts(client.name)
            if verdict is CutVerdict.WAIT:
                return None, False
            if to is None:
                codes[place] = _REFUSED.get(verdict, steering_answers.NOT_LEADER)
            else:
                parts[to].append(place)
        step = self._sent(asked, frame, batches, codes, parts, silent=silent)
        is_away = home.cluster is Cluster.SOURCE and steering_answers.NOT_LEADER in codes.values()
        return step._replace(last=self._adopts and is_away), False

    def _unopened(
        self, frame: bytearray, head: Head, home: BrokerPlace, *, silent: bool
    ) -> RequestStep | None:
        """Return the step for a request that goes to one broker as it is, `None` for any other.

        Where clients read mirrors most do: nothing is to be changed, nor judged later.
        """
        routes, places = self._routes, set[BrokerPlace | None]()
        if routes.mirror is None or head.version < FIRST:
            return None
        try:
            found = parts(memoryview(frame), head.end, head.version)
        except FrameError:
            return None  # it is told where it is opened
        for each in found:
            if each.transactional or each.topic in routes.held or each.topic in routes.eras:
                return None
            places.add(routes.writes_to(each.topic, each.partition, home))
        to = places.pop() if len(places) == 1 else None
        if to is None:
            return None
        sent = Sent(to, frame, partial(self._told, silent=silent), writes=True)
        return RequestStep(sends=(sent,), silent=silent)

    def passes(self, part: ProducePart, home: BrokerPlace) -> bool:
        """Whether a batch goes to the client's own broker as it is, and nobody has to know of it.

        It does once the target knows its producer, under the id that clients know.
        """
        routes = self._routes
        if part.transactional:
            return False
        era = routes.eras.get(part.topic)
        if era is None:
            if part.topic in routes.of_others:
                return False
            return routes.writes_to(part.topic, part.partition, home) == home
        if era or part.topic not in routes.topics or home.cluster is not Cluster.TARGET:
            return False
        place = part.topic, part.partition
        return not is_adopted(part.producer) and not routes.table.has(place, part.producer)

    def _judge(
        self, place: Partition, batch: SentBatch, home: BrokerPlace, transactional: str | None
    ) -> tuple[CutVerdict, BrokerPlace | None]:
        """Return what to do with a batch, and where it goes; `None` for nowhere."""
        routes = self._routes
        if batch.transactional:
            return self._judge_transactional(place, batch, home, transactional or "")
        if place[0] not in routes.eras:
            return CutVerdict.SEND, routes.writes_to(*place, home)
        verdict = routes.table.judge(place, batch)
        if verdict is CutVerdict.EARLY:
            routes.early.add(place)
        if verdict in _REFUSED or verdict is CutVerdict.WAIT:
            return verdict, None
        if place[0] not in routes.topics:
            back = routes.leader_back(*place) if self._crosses else None
            return verdict, routes.writes_to(*place, home) or back
        if home.cluster is Cluster.TARGET:
            return verdict, home
        return verdict, routes.leader(*place) if self._crosses else None

    def _judge_transactional(
        self, place: Partition, batch: SentBatch, home: BrokerPlace, name: str
    ) -> tuple[CutVerdict, BrokerPlace | None]:
        """Return what to do with a batch of a transaction, and where it goes.

        Raises:
            FrameError: The topic is on another cluster than the transactional id.
        """
        routes, ids = self._routes, self._routes.transactions
        is_promoted = bool(routes.promoted([place[0]]))
        if is_promoted is not ids.is_moved(name):
            where = "was promoted without it" if is_promoted else "is not promoted as it is"
            raise FrameError(f"a transaction of {name} for topic {place[0]}, which {where}")
        if ids.is_fenced(name, batch.producer, batch.epoch):
            return CutVerdict.FENCED, None
        if not is_promoted:
            return CutVerdict.SEND, routes.writes_to(*place, home)
        if home.cluster is Cluster.TARGET:
            return CutVerdict.SEND, home
        return CutVerdict.SEND, routes.leader(*place) if self._crosses else None

    def _stamped(self, asked: Any, place: Partition, records: bytes) -> bytes:
        """Return a batch with the identity and sequence by which brokers know its producer."""
        batch = produce_requests.batch(records)
        if batch.transactional:
            ids, name = self._routes.transactions, asked.transactional_id or ""
            held = batch.producer, batch.epoch
            sequence = ids.sequence(name, place, *held, batch.sequence)
            return written_by(records, *ids.identity(name, *held), sequence)
        era = self._routes.eras.get(place[0])
        return stamped(records, era) if era is not None else records

    def _sent(
        self,
        asked: Any,
        frame: bytearray,
        batches: Mapping[Partition, SentBatch],
        codes: Mapping[Partition, int],
        parts: Mapping[BrokerPlace, Sequence[Partition]],
        *,
        silent: bool,
    ) -> RequestStep:
        said = produce_requests.refusals(codes)
        away = lambda place: produce_requests.refusals({place: steering_answers.NOT_LEADER})[place]  # noqa: E731
        if silent and codes:
            raise FrameError(f"records with acks=0 for topic {min(codes)[0]}, which is elsewhere")
        if not parts:
            return RequestStep(own=produce_requests.answer(asked, said, away), silent=silent)
        if len(parts) == 1 and not codes and self._is_plain(asked):
            # Nothing is to be changed, nor judged later.
            change = partial(self._told, silent=silent)
            sent = Sent(next(iter(parts)), frame, change, writes=True)
            return RequestStep(sends=(sent,), silent=silent)
        sends = []
        for to, places in parts.items():
            request = produce_requests.part(asked, places, partial(self._stamped, asked))
            sends.append(Sent(to, request, None, writes=True))
            for place in places:
                self._routes.table.sent(place, batches[place])
        return RequestStep(
            sends=tuple(sends),
            join=self._joined(asked, batches, said, parts, away, silent=silent),
            silent=silent,
        )

    def _is_plain(self, asked: Any) -> bool:
        """Whether a request is for topics that were never promoted, of which mirrors are read."""
        routes = self._routes
        return routes.mirror is not None and routes.eras.keys().isdisjoint(
            produce_requests.names(asked)
        )

    def _told(self, frame: bytearray, version: int, *, silent: bool) -> bytearray:
        """Look for leaders anew where a broker of the source leads a partition no longer.

        Raises:
            FrameError: Records without acks were refused.
        """
        self._look_anew(codes_of(frame, version))
        return taken(frame, version) if silent else frame

    def _look_anew(self, codes: Iterable[int]) -> None:
        mirror = self._routes.mirror
        if mirror is not None and not _MOVED.isdisjoint(codes):
            mirror.ask()

    def _joined(
        self,
        asked: Any,
        batches: Mapping[Partition, SentBatch],
        said: Mapping[Partition, Any],
        parts: Mapping[BrokerPlace, Sequence[Partition]],
        away: Callable[[Partition], Any],
        *,
        silent: bool,
    ) -> Joined:
        def join(answers: Sequence[bytes | bytearray | None]) -> bytes:
            found, waited, refused = dict(said), False, set[Partition]()
            for places, answer in zip(parts.values(), answers, strict=True):
                told = {} if answer is None else produce_requests.results(answer, asked.API_VERSION)
                found |= told
                for place in places:
                    code = told[place].error_code if place in told else steering_answers.NOT_LEADER
                    taken = code in {0, steering_answers.DUPLICATE_SEQUENCE}
                    waited |= self._routes.table.answered(place, batches[place], taken=taken)
                    refused |= set() if taken else {place}
            self._look_anew(each.error_code for each in found.values())
            if waited:
                self._wake()
            if silent and refused:
                raise FrameError(f"records with acks=0 for {min(refused)[0]}, which were refused")
            return produce_requests.answer(asked, found, away)

        return join
