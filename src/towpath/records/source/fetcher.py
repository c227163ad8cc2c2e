"""The fetcher, which hands the source brokers' responses to readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.data.nodes import Nodes
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicPartition
from towpath.records.source.budget import RESPONSE_BYTES, FetchBudget
from towpath.records.source.pace import Pace
from towpath.records.source.reader import R
from towpath.records.source.requests import LOOKED_AT, Requests
from towpath.records.source.serving import Serving
from towpath.records.source.trouble import SourceTrouble, source_trouble
from towpath.records.source.wants import Wants
from towpath.records.trouble import TOLD, throttled
from towpath.settings import ClusterConfig

_WAIT_MS = 500


class Fetcher(Generic[R]):
    """Fetches for readers with free room, and hands responses to `on_data`.

    `on_data` gets every answer, errors too, with the frame that holds its records. The next request
    is sent after all readers of a response got their part, so it names the offsets they expect
    then (`Requests`).

    Args:
        reactor: Everything happens in its thread.
        config: The source cluster.
        admin: Asked for leaders.
        pool: Memory for responses.
        share: Bytes that each reader may always hold.
        on_data: Gets every answer.
        on_trouble: Gets the readers whose leader cannot be reached now; see `Nodes`.
        wait_ms: How long brokers wait for the first byte of an answer.
        response_bytes: Approximate upper bound on the size of an answer.
        beside: Other connections to the same cluster, with which leaders are looked up together.
        pace: Limits on the bytes per second; by default there are none.
        sparing: Whether to wait a moment after records came, in proportion to the session, so that
            records which come together cost one request.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        admin: Admin,
        pool: BufferPool,
        *,
        share: int,
        on_data: Callable[[R, Frame, Fetched], None],
        on_trouble: Callable[[R, ClusterError, bool], None],
        wait_ms: int = _WAIT_MS,
        response_bytes: int = RESPONSE_BYTES,
        beside: Nodes | None = None,
        pace: Pace | None = None,
        sparing: bool = False,
    ) -> None:
        self._reactor, self._sparing = reactor, sparing
        self._on_data = on_data
        self._pace = pace or Pace(reactor)
        self.budget = FetchBudget(pool, share, response_bytes)
        self._requests = Requests(self, self.budget, self._pace)
        self._wants = Wants[R](reactor, self._requests, self.budget, self._pace, wait_ms)
        self._readers, self._at = self._wants.readers, self._wants.at
        self._serving = Serving[R](
            reactor,
            config,
            admin,
            pool,
            self._requests,
            self._wants,
            on_lost=self._lost,
            on_trouble=on_trouble,
            beside=beside,
        )
        self._near = self._serving.near
        self._coming: dict[int, list[tuple[R, Fetcher[R]]]] = {}
        """Readers to take over with the next request to a broker, each with its present fetcher."""
        self.ended = False
        self._throttled = 0.0

    @property
    def nodes(self) -> Nodes:
        """The connections to the source cluster."""
        return self._serving.nodes

    @property
    def throttled(self) -> float:
        """Seconds for which source brokers throttled the slice."""
        return self._throttled

    @property
    def share(self) -> int:
        """Bytes that each reader may always hold."""
        return self.budget.share

    @share.setter
    def share(self, share: int) -> None:
        self.budget.share = share

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Connect to the leaders of partitions that are added later."""
        self.nodes.connect(tps)

    def add(self, reader: R) -> None:
        """Start fetching for `reader` from `expected`; a response in flight is ignored for it."""
        if self.ended:
            return
        self._wants.add(reader)
        self._serving.again(reader)

    def remove(self, reader: R) -> None:
        """Stop fetching for `reader`."""
        self._near.forget(reader.source)
        self._wants.remove(reader.source)

    def park(self, reader: R) -> None:
        """Pause fetching for `reader`, whose offset has changed, until it moves or time passes."""
        self._wants.park(reader)

    def room(self, reader: R) -> None:
        """Fetch again for a paused `reader`, if it has room again."""
        self._wants.room(reader)

    def refill(self) -> None:
        """Send the requests that waited for memory, as far as memory allows."""
        self._requests.refill()

    def news(self) -> None:
        """Do nothing on news, as brokers answer as soon as they have records."""

    def doubt(self, reader: R) -> None:
        """Stop fetching for `reader`, whose batch was damaged; the next fetch asks the leader."""
        self._near.fail(reader.source)
        self.remove(reader)

    def moved(self, reader: R, after: float) -> None:
        """Look up the leader of `reader` again after a while, then continue."""
        self._serving.moved(reader, after)

    def node(self, reader: R) -> int | None:
        """Return the broker that serves `reader`, `None` if there is none."""
        return self._at.get(reader.source)

    def end(self) -> None:
        """Stop fetching for all readers, also for those added later."""
        self.ended = True
        for reader in list(self._readers.values()):
            self.remove(reader)

    def close(self) -> None:
        """Close all connections."""
        self.nodes.close()

    # Readers that change from one fetcher to another

    def take_over(self, readers: Iterable[R], giver: Fetcher[R], node: int) -> None:
        """Take readers over from the fetcher `giver`, with the next request to `node`.

        The giver goes on until that request goes out, so that no record waits meanwhile.
        """
        self._coming.setdefault(node, []).extend((reader, giver) for reader in readers)
        if node in self._requests.sessions:
            self._requests.send(node)
        else:
            self.nodes.channel(node)

    def give(self, reader: R, node: int) -> bool:
        """Hand a reader over to another fetcher. Returns whether `node` served it."""
        tp = reader.source
        ours = self._readers.get(tp) is reader and self._at.get(tp) == node
        if not ours or self._wants.held_back(tp):
            return False
        del self._readers[tp]
        self._wants.leave(tp)
        return True

    def _take_in(self, node: int) -> None:
        for reader, giver in self._coming.pop(node, ()):
            if giver.give(reader, node):
                self._readers[reader.source], self._at[reader.source] = reader, node
                self._wants.want(reader)

    def _lost(self, node: int) -> None:
        self._coming.pop(node, None)

    # Requests and answers: see `Asker`

    def channel(self, node: int) -> Channel | None:
        """Return the channel to a broker; if there is none, begin to connect."""
        return self.nodes.channel(node)

    def ask(self, node: int, session: FetchSession) -> int:
        """Fill a session's next request with readers handed over by another fetcher."""
        self._take_in(node)
        session.rack = self._near.told(node)
        return self._wants.longest_wait(len(session))

    def answered(self, node: int, session: FetchSession, frame: Frame, said: Fetched) -> None:
        """Hand a broker's response for one partition to its reader."""
        tp = said.tp
        reader = self._readers.get(tp)
        if reader is None or self._at.get(tp) != node:
            return
        if self._near.serves(tp, node) and source_trouble(said) is not SourceTrouble.NONE:
            # A follower may lack what the leader has, so only the leader's answer counts.
            self._serving.go_back(reader)
            return
        self._on_data(reader, frame, said)
        if self._at.get(tp) != node:
            return
        if said.preferred_replica >= 0 and not said.error:
            self._serving.go_near(reader, said.preferred_replica)
        elif said.end > said.start:
            self._wants.go_on(reader, session)

    def throttled_by(self, node: int, seconds: float) -> None:
        """Record that a broker refuses requests for some seconds."""
        self._throttled += seconds
        if seconds >= TOLD:
            self._serving.troubled(node, throttled(Side.SOURCE, node, seconds), hopeless=False)

    def go_on(self, node: int, session: FetchSession, *, news: bool) -> None:
        """Send the next request to a broker, at once or a moment later."""
        pause = len(session) // LOOKED_AT / 1000 if news and self._sparing else 0.0
        if pause:
            self._reactor.later(pause, lambda: self._requests.send(node))
        else:
            self._requests.send(node)
