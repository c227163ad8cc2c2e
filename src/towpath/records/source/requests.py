"""Fetch requests: one session for each broker, always with one request in flight."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from towpath.cluster.data import fetch as fetching
from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.model.nouns import TopicPartition
from towpath.records.source.budget import RESPONSE_BYTES, FetchBudget
from towpath.records.source.pace import Pace, whole_batches

LOOKED_AT = 20
"""Partitions of a session for each millisecond between two requests that need not be so close, as
each request costs the broker a look at all of them."""


class Asker(Protocol):
    """Protocol of the owner of fetch sessions: fills requests, and handles answers."""

    def channel(self, node: int) -> Channel | None:
        """Return the channel to a broker; if there is none, begin to connect."""

    def ask(self, node: int, session: FetchSession) -> int:
        """Change a session for the last time before its next request.

        Returns:
            Milliseconds for which the broker may wait for the first byte of its answer.
        """

    def answered(self, node: int, session: FetchSession, frame: Frame, said: Fetched) -> None:
        """Handle a broker's response for one partition."""

    def throttled_by(self, node: int, seconds: float) -> None:
        """Record that a broker refuses requests for some seconds."""

    def go_on(self, node: int, session: FetchSession, *, news: bool) -> None:
        """Send the next request, now or later.

        Args:
            node: The broker.
            session: The session with it.
            news: Whether the last answer had records, or told of trouble.
        """


class Requests:
    """Sends the next request to a broker once its last response was handled.

    No request asks for more than the free memory of the pool, so all readers together stay within
    its limit. If memory is scarce, requests to brokers wait in turn (`refill`), and each broker
    begins an answer with the partitions that have waited longest (KIP-227).

    Args:
        asker: Decides what to ask.
        budget: Memory for answers.
        pace: Limits on the bytes per second.

    Attributes:
        sessions: The fetch session of each connected broker.
    """

    def __init__(self, asker: Asker, budget: FetchBudget, pace: Pace) -> None:
        self._asker, self._budget, self._pace = asker, budget, pace
        self.sessions: dict[int, FetchSession] = {}
        self._short: dict[int, None] = {}
        """Brokers whose next request waits for memory, the longest waiting first."""
        self._granted: dict[int, int] = {}
        """Bytes that the limit of the link has granted to the request in flight, by broker."""
        self._stale: dict[int, set[TopicPartition]] = {}
        """Partitions, by broker, whose offset has changed since the request in flight was sent."""

    def open(self, node: int, channel: Channel, *, ids: bool) -> None:
        """Begin a fetch session with a broker.

        Args:
            node: The broker.
            channel: A new channel to it.
            ids: Whether the ids of all topics are known.
        """
        newest = channel.versions[fetching.API][1]
        version = fetching.version_for(newest, ids=ids)
        self.sessions[node] = FetchSession(version, max_bytes=RESPONSE_BYTES, committed=True)

    def lost(self, node: int) -> None:
        """End the session with a broker whose connection was lost."""
        self.sessions.pop(node, None)
        self._short.pop(node, None)
        self._budget.over(node)
        self._pace.give_back(self._granted.pop(node, 0))
        self._stale.pop(node, None)

    def drop(self, node: int | None, tp: TopicPartition) -> None:
        """Stop asking a broker for a partition, and ignore it in the request in flight."""
        if node is not None and node in self._budget:
            self._stale.setdefault(node, set()).add(tp)
        if node in self.sessions:
            self.sessions[node].drop(tp)

    def refill(self) -> None:
        """Send the requests that waited for memory, as far as memory allows."""
        for node in list(self._short):
            if not self._budget.next_size:
                return
            self.send(node)

    def send(self, node: int) -> None:
        """Send the next request to a broker, unless one is in flight or has to wait."""
        session = self.sessions.get(node)
        if session is None or node in self._budget:
            return
        wait_ms = self._asker.ask(node, session)
        if not len(session):
            return
        channel = self._asker.channel(node)
        if channel is None:
            return
        size = self._budget.next_size
        if size and self._pace.on:
            size = self._granted[node] = self._pace.ask(size, len(self.sessions))
        if not size:
            self._short[node] = None
            return
        self._short.pop(node, None)
        session.max_bytes = size
        self._budget.promise(node, size)
        channel.send(
            fetching.API,
            session.version,
            session.request(wait_ms),
            lambda frame: self._came(node, session, channel, frame),
            tags=session.flexible,
        )

    def _came(self, node: int, session: FetchSession, channel: Channel, frame: Frame) -> None:
        self._budget.came(node, frame.size)
        answers = session.response(frame.view) or ()
        if self._pace.on:
            self._charge(node, frame, answers)
        channel.mute(session.throttle)
        if session.throttle:
            self._asker.throttled_by(node, session.throttle)
        for said in answers:
            if said.tp not in self._stale.get(node, ()):
                self._asker.answered(node, session, frame, said)
        self._budget.over(node)
        self._stale.pop(node, None)
        if not channel.closed:
            self._asker.go_on(node, session, news=bool(answers))

    def _charge(self, node: int, frame: Frame, answers: Iterable[Fetched]) -> None:
        """Count the bytes of an answer before its readers ask on."""
        sizes = (
            (said.tp.topic, sum(whole_batches(frame.view[said.start : said.end])))
            for said in answers
        )
        self._pace.came(self._granted.pop(node, 0), sizes)
