"""One client connection, whose requests are answered in their order.

Requests wait here while what they write is held. Answers of the gateway's own, and of several
brokers, wait for those before them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.client_logins import LoginState
from towpath.gateway.fetch_answers import FetchAnswer, FetchChange
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import (
    LARGEST,
    LARGEST_LOGIN,
    SMALLEST,
    ClientName,
    FrameError,
    Frames,
    Head,
    client_id,
    head,
)
from towpath.gateway.gateway_counts import ConnectionCounts
from towpath.gateway.passing_requests import PassingRule, passing
from towpath.gateway.recoding import LATE, Change, LateAnswer
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.retiring import Retiring
from towpath.gateway.routes import BrokerPlace

_PASSES = RequestStep()
"""The step of a request that passes as it is."""


class ClientSteering(Protocol):
    """Protocol of what routes requests."""

    def step(self, frame: bytearray, asked: Head, client: ClientConnection) -> RequestStep | None:
        """Return the next step for a request, `None` if the request has to wait."""

    def passing(self, client: ClientConnection) -> PassingRule:
        """Return which Produce requests pass as they are to the client's own broker now."""


class Told(Protocol):
    """Protocol of the observer of client connections."""

    counts: ConnectionCounts

    def opened(self, client: ClientConnection) -> None:
        """Count an opened client connection."""

    def named(self, client: ClientConnection) -> None:
        """Note whose connection it is, at its first request."""

    def waits(self, client: ClientConnection, size: int) -> None:
        """Note how many bytes wait for a client."""

    def closed(self, client: ClientConnection, why: str) -> None:
        """Count a closed client connection; `why` is "" if the client closed it."""


@dataclass(slots=True)
class _Due:
    """An answer that is due.

    Attributes:
        step: What was done with the request.
        version: Its version.
        answers: Those of brokers, in the order of the requests to them.
        left: How many of them have not come.
        whole: The answer for the client, once it is there.
        is_late: Whether it is kept for a moment.
    """

    step: RequestStep
    version: int
    answers: list[bytes | bytearray | None] = field(default_factory=list)
    left: int = 0
    whole: bytes | bytearray | None = None
    is_late: bool = False


class ClientConnection(asyncio.Protocol):
    """A client's connection to the gateway.

    Args:
        home: Where its requests go by default.
        connect: Opens a connection to a broker.
        steering: Tells what becomes of requests.
        told: Told of the connection's begin and end.
        logs_in: Whether its broker asks for a login.

    Attributes:
        home: See above.
        whole_at: How many promotions there were when it last named all partitions of a Fetch.
        positions: The offsets that it asked for last, where it reads mirror topics.
        login: Its login.
        name: The host and the client id, empty before the first request.
    """

    def __init__(
        self,
        home: BrokerPlace,
        connect: Callable[[ClientConnection, BrokerPlace], BrokerConnection],
        steering: ClientSteering,
        told: Told,
        *,
        logs_in: bool = False,
    ) -> None:
        self.home, self.whole_at, self.login = home, 0, LoginState(is_proven=not logs_in)
        self.name: ClientName = "", ""
        self.positions: Positions = {}
        self._retiring: Retiring | None = None
        self._connect, self._steering, self._told = connect, steering, told
        self._frames = Frames(SMALLEST, LARGEST_LOGIN if logs_in else LARGEST)
        self._noted = 0
        self._queue: deque[bytearray] = deque()
        self._given: list[bytes | bytearray] = []
        self._due: deque[_Due] = deque()
        self._legs: dict[BrokerPlace, BrokerConnection] = {}
        self._why = ""
        self._waits_for = set[object]()
        self._is_over = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to relay requests."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport
        self._told.opened(self)

    def data_received(self, data: bytes) -> None:
        """Relay the requests that are complete."""
        self._told.counts.received += len(data)
        view, at = memoryview(data), 0
        try:
            while at < len(data) and not self._is_over:
                at += self._take(view[at:])
        except FrameError as error:
            self.end(str(error))
            return
        if self._queue or self._noted or self._frames.held:
            self._note()

    def _take(self, view: memoryview) -> int:
        """Take the first of some received bytes, up to the end of a request at most."""
        if not self._frames.held:
            passed = self._pass(view)
            if passed:
                return passed
        frame, took = self._frames.take(view)
        if frame is not None and not self._pass(memoryview(frame)):
            self._told.counts.requests += 1
            self._queue.append(frame)
            self.go_on()
        return took

    def _pass(self, data: memoryview) -> int:
        """Relay the requests at the beginning of some bytes that pass as they are, all at once.

        Returns:
            How many bytes they have.
        """
        if self._queue or self._retiring is not None or self._is_over:
            return 0
        rule = self._steering.passing(self) if self.name[0] else None
        if not (rule and rule.versions):
            return 0
        found = [*passing(data, rule, self._frames.largest)]
        if not found:
            return 0
        leg, end = self._leg(self.home), found[-1].end
        for version, correlation, _ in found:
            due = _Due(_PASSES, version, [None], 1)
            self._due.append(due)
            leg.expect(correlation, partial(self._answered, due, 0, None), writes=True)
        self._told.counts.requests += len(found)
        leg.write(data[:end])
        return end

    @property
    def is_served(self) -> bool:
        """Whether it brought a request, and its login if it needs one."""
        return self.login.is_proven and bool(self.name[0])

    @property
    def is_over(self) -> bool:
        """Whether it was closed, but for its last answers."""
        return self._is_over

    def _note(self) -> None:
        """Tell how many bytes wait here."""
        size = self._frames.held + self._transport.get_write_buffer_size()
        size += sum(map(len, self._queue))
        if size != self._noted:
            self._noted = size
            self._told.waits(self, size)

    def go_on(self) -> None:
        """Relay the requests that no longer have to wait."""
        try:
            while self._queue and not self._is_over:
                if not self._request(self._queue[0]):
                    self.hold(self._queue)
                    self.flush()
                    return
                self._queue.popleft()
        except FrameError as error:
            self._queue.clear()
            self.end(str(error))
        self.flush()
        self.release(self._queue)

    @property
    def is_waiting(self) -> bool:
        """Whether the next request of the client is held back."""
        return bool(self._queue)

    @property
    def is_retiring(self) -> bool:
        """Whether the gateway closes the connection after all answers."""
        return self._retiring is not None

    def retire(self) -> None:
        """Close the connection as soon as every request on it is answered."""
        if self._retiring is None and not self._is_over:
            self._retiring = Retiring(self._transport, self.end)
            self._give()
            self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Close the connections to brokers, after the answers to writes have come."""
        del exc
        self._is_over = True
        self._queue.clear()
        if self._retiring is not None:
            self._retiring.over()
        for leg in [*self._legs.values()]:
            leg.leave()
        self._told.closed(self, self._why)

    def pause_writing(self) -> None:
        """Pause reading from brokers and the client, as the client reads too slowly."""
        for leg in self._legs.values():
            leg.pause()
        self.hold(self._due)
        self._note()

    def resume_writing(self) -> None:
        """Resume reading from brokers and the client."""
        for leg in self._legs.values():
            leg.resume()
        self.release(self._due)
        self._note()

    def hold(self, slow: object) -> None:
        """Pause reading from the client until a slow broker accepts more."""
        self._waits_for.add(id(slow))
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def release(self, slow: object) -> None:
        """Resume reading from the client, unless another broker is slow."""
        if id(slow) not in self._waits_for:
            return
        self._waits_for.discard(id(slow))
        if not (self._waits_for or self._transport.is_closing()):
            self._transport.resume_reading()

    def end(self, why: str) -> None:
        """Close the client's connection and its connections to brokers.

        Args:
            why: Why the gateway ends them, "" if a broker did.
        """
        self._why = self._why or why
        self.flush()
        self._is_over = True
        if not self._transport.is_closing():
            self._transport.close()

    def abort(self, why: str) -> None:
        """Close the client's connection at once, without its last answers."""
        self._why = self._why or why
        self._is_over = True
        self._transport.abort()

    def lost(self, leg: BrokerConnection, why: str) -> None:
        """Note that a connection to a broker was closed; the next request to it opens another one.

        The client's connection ends with it where an answer is due, where no broker accepts one,
        and where the broker knew who the client is.
        """
        at = next((place for place, each in self._legs.items() if each is leg), None)
        if at is None:
            return
        del self._legs[at]
        if why or (at == self.home and self.login.login is not None):
            self.end(why)

    def prove(self, frame: bytes, correlation: int) -> None:
        """Send its broker a request that only logged-in clients are answered."""

        def answered(answer: bytearray | None) -> None:
            self.login.is_proven = answer is not None
            self._frames.largest = LARGEST
            self.go_on()

        self._leg(self.home).send(frame, correlation, answered, writes=False)

    def _request(self, frame: bytearray) -> bool:
        """Do what is to be done with a request; return whether it need not wait."""
        asked = head(frame)
        if not self.name[0]:
            peer = self._transport.get_extra_info("peername")
            self.name = str(peer[0]) if peer else "?", client_id(frame, asked)
            self._told.named(self)
        if self._retiring is not None and not self._retiring.takes(frame, asked):
            return True
        step = self._step(frame, asked)
        if step is None:
            return False
        due = _Due(step, asked.version, [None] * len(step.sends), len(step.sends), step.own)
        self._due.append(due)
        for number, sent in enumerate(step.sends):
            self._send(due, number, sent, asked)
        self._give()
        if step.last:
            self.retire()
        return True

    def _step(self, frame: bytearray, asked: Head) -> RequestStep | None:
        """Return the next step for a request; whatever a stranger sends ends this connection alone.

        Raises:
            FrameError: It cannot be relayed.
        """
        try:
            return self._steering.step(frame, asked, self)
        except FrameError:
            raise
        except Exception as error:
            kind = type(error).__name__
            why = f"request {asked.key} of version {asked.version} that makes no sense ({kind})"
            raise FrameError(why) from error

    def _send(self, due: _Due, number: int, sent: Sent, asked: Head) -> None:
        answered, begun = partial(self._answered, due, number, sent.change), None
        if isinstance(sent.change, FetchChange) and due.step.join is None:
            begun = partial(self._begun, due, sent.change)
        leg = self._leg(sent.place)
        leg.send(sent.frame, asked.correlation, answered, writes=sent.writes, begun=begun)

    def _begun(self, due: _Due, change: FetchChange, size: int) -> FetchAnswer | None:
        """Return an answer that passes in pieces, as every one before it has been given."""
        is_next = self._due and self._due[0] is due and not self._is_over
        return change.begin(size, due.version) if is_next else None

    def pass_on(self, pieces: Iterable[memoryview | bytes], *, last: bool) -> bool:
        """Send pieces of the answer that is due first; return whether they wait in memory."""
        if self._is_over:
            return False
        self.flush()
        for piece in pieces:
            self._transport.write(piece)
            self._told.counts.sent += len(piece)
        if last:
            self._due.popleft()
            self._told.counts.answers += 1
            self._give()
        return self._transport.get_write_buffer_size() > 0

    def _leg(self, place: BrokerPlace) -> BrokerConnection:
        leg = self._legs.get(place)
        if leg is not None and leg.is_stale:
            del self._legs[place]
            leg.end()
            leg = None
        if leg is None:
            leg = self._legs[place] = self._connect(self, place)
        return leg

    def _answered(
        self, due: _Due, number: int, change: Change | None, frame: bytearray | None
    ) -> None:
        """Take an answer of a broker, and hand on what is whole.

        Raises:
            FrameError: It is no such answer.
        """
        if frame is not None and change is not None and not self._is_over:
            due.answers[number] = change(frame, due.version)
        else:
            due.answers[number] = frame
        due.left -= 1
        if due.left:
            return
        if due.step.join is not None:
            try:
                due.whole = due.step.join(due.answers)
            except FrameError as error:
                self.end(str(error))
        elif frame is None:
            self.end("")
        else:
            due.whole = due.answers[0]
            if isinstance(due.whole, LateAnswer):
                due.is_late = True
                asyncio.get_running_loop().call_later(LATE, self._ripe, due)
        self._give()

    def _ripe(self, due: _Due) -> None:
        due.is_late = False
        self._give()
        self.flush()

    def _give(self) -> None:
        """Take the answers that are next, for `flush` to send them."""
        while self._due and not self._is_over:
            due = self._due[0]
            if due.left or due.whole is None or due.is_late:
                return
            self._due.popleft()
            if not due.step.silent:
                self._given.append(due.whole)
        if self._retiring is not None and not self._due:
            self.flush()
            self._retiring.answered()

    def flush(self) -> None:
        """Send the answers that are next, in one go."""
        if not self._given or self._is_over:
            return
        given, self._given = self._given, []
        counts = self._told.counts
        counts.answers += len(given)
        counts.sent += sum(map(len, given))
        if len(given) == 1:
            self._transport.write(given[0])
        else:
            self._transport.writelines(given)
