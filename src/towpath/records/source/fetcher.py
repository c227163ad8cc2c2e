"""Fetching for readers: from which broker, from which offset, and when not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import Fetched, FetchFrom
from towpath.cluster.data.nodes import Nodes
from towpath.cluster.data.reactor import Reactor
from towpath.config import ClusterConfig
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicName, TopicPartition
from towpath.records.source.budget import RESPONSE_BYTES, FetchBudget
from towpath.records.source.late import Late
from towpath.records.source.near import REVIEW, Near
from towpath.records.source.pace import Pace
from towpath.records.source.parked import Parked
from towpath.records.source.reader import R
from towpath.records.source.requests import Requests
from towpath.records.source.trouble import SourceTrouble, source_trouble
from towpath.records.trouble import TOLD, throttled

_WAIT_MS = 500
_SHORT_WAIT_MS = 10
"""Long poll while a partition is held back, so that it can be fetched again soon."""
_JOINING = 0.25
"""Seconds after a reader was added in which others may follow; long polls are short meanwhile, as
who is added during one waits for its end."""
_LOOKED_AT = 20
"""Partitions of a session for each millisecond between two requests that need not be so close, as
each request costs the broker a look at all of them."""


class Fetcher(Generic[R]):
    """Fetches for the readers that have room, and hands the answers to `on_data`.

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
        self._reactor = reactor
        self._wait_ms, self._sparing = wait_ms, sparing
        self._pace = pace or Pace(reactor)
        self._pace.listen(self._topic_due)
        self._late = Late(self._pace)
        self._parked = Parked[R](reactor, self._ask_on)
        self._coming: dict[int, list[tuple[R, Fetcher[R]]]] = {}
        """Readers to take over with the next request to a broker, each with its present fetcher."""
        self.budget = FetchBudget(pool, share, response_bytes)
        self._requests = Requests(self, self.budget, self._pace)
        self._on_data, self._on_trouble = on_data, on_trouble
        self._readers: dict[TopicPartition, R] = {}
        self._at: dict[TopicPartition, int] = {}
        """The broker that each reader is fetched for from."""
        self._near = Near(config.rack or "", self._leader)
        self._held: set[TopicPartition] = set()
        """Readers that have no room."""
        self._joining = Deadline.after(0.0)
        self.ended = False
        self._throttled = 0.0
        self.nodes = Nodes(
            reactor,
            config,
            Side.SOURCE,
            admin,
            pool,
            on_open=self._opened,
            on_lost=self._lost,
            on_found=self._settle,
            on_trouble=self._troubled,
            beside=beside,
        )
        if self._near.rack:
            reactor.later(REVIEW, self._review)

    @property
    def throttled(self) -> float:
        """Seconds for which brokers throttled us."""
        return self._throttled

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Connect to the leaders of partitions that are added later."""
        self.nodes.connect(tps)

    def add(self, reader: R) -> None:
        """Fetch for `reader` from now on, from `expected`. A request in flight is void for it."""
        if self.ended:
            return
        self._joining = Deadline.after(_JOINING)
        self._readers[reader.source] = reader
        self._wait_no_more(reader.source)
        self.again(reader)

    def remove(self, reader: R) -> None:
        """Fetch no more for `reader`."""
        tp = reader.source
        self._readers.pop(tp, None)
        self._near.forget(tp)
        self._pace.forget(tp)
        self._wait_no_more(tp)
        self._leave(tp)

    def park(self, reader: R) -> None:
        """Fetch for `reader`, whose offset has changed, when it moves again or after a while."""
        tp = reader.source
        node = self._at.get(tp)
        if node is None or tp not in self._readers:
            return
        self._leave(tp)
        self._at[tp] = node
        self._held.discard(tp)
        self._late.forget(tp)
        self._parked.add(reader)

    def refill(self) -> None:
        """Send the requests that waited for memory, as far as there is memory now."""
        self._requests.refill()

    def news(self) -> None:
        """See `Feed`: brokers answer as soon as they have more."""

    def doubt(self, reader: R) -> None:
        """Fetch no more for `reader`, whose batch was damaged; next time ask the leader."""
        self._near.fail(reader.source)
        self.remove(reader)

    def end(self) -> None:
        """Fetch no more for any reader, even if one is added later."""
        self.ended = True
        for reader in list(self._readers.values()):
            self.remove(reader)

    def close(self) -> None:
        """Close all connections."""
        self.nodes.close()

    def node(self, reader: R) -> int | None:
        """Return the broker that serves `reader`, `None` if there is none."""
        return self._at.get(reader.source)

    def again(self, reader: R) -> None:
        """Fetch for `reader` from `expected`, from its present broker."""
        self._leave(reader.source)
        self._settle_one(reader)

    def moved(self, reader: R, after: float) -> None:
        """Look up the leader of `reader` again after a while, then go on."""
        tp = reader.source
        self._near.forget(tp)
        self._leave(tp)
        self.nodes.look_up([tp], after)

    def room(self, reader: R) -> None:
        """Fetch again for `reader` if it was held back and now has room."""
        tp = reader.source
        held = tp in self._held and reader.held < self.budget.room // 2
        if self._parked.leave(tp) or held:
            self._held.discard(tp)
            self._ask_on(reader)

    @property
    def share(self) -> int:
        """Bytes that each reader may always hold."""
        return self.budget.share

    @share.setter
    def share(self, share: int) -> None:
        self.budget.share = share

    # Which broker serves a reader

    def _leader(self, tp: TopicPartition) -> int | None:
        leader = self.nodes.leader(tp)
        return leader.node if leader is not None else None

    def _settle(self) -> None:
        for tp, reader in self._readers.items():
            if tp not in self._at:
                self._settle_one(reader)

    def _settle_one(self, reader: R) -> None:
        tp = reader.source
        leader = self._leader(tp)
        if leader is None:
            self.nodes.look_up([tp])
            return
        node = self._at[tp] = self._near.node(tp, leader)
        if node in self._requests.sessions:
            self._ask_on(reader)
        else:
            self.nodes.channel(node)

    def _leave(self, tp: TopicPartition) -> None:
        self._requests.drop(self._at.pop(tp, None), tp)

    def _opened(self, node: int) -> None:
        channel = self.nodes.channel(node)
        if channel is None:
            return
        ids = all(reader.source_id for reader in self._readers.values())
        self._requests.open(node, channel, ids=ids)
        for tp, at in self._at.items():
            if at == node:
                self._readers[tp].relieve(Side.SOURCE)
                if tp not in self._held:
                    self._want(self._readers[tp])
        self._requests.send(node)

    def _lost(self, node: int, _why: str) -> None:
        self._requests.lost(node)
        self._coming.pop(node, None)
        gone = [tp for tp, at in self._at.items() if at == node]
        for tp in gone:
            del self._at[tp]
            self._near.fail(tp)
        self.nodes.look_up(gone, 0.1)

    def _troubled(self, node: int | None, error: ClusterError, hopeless: bool) -> None:
        theirs = [tp for tp in self._readers if self._at.get(tp) == node]
        for reader in [self._readers[tp] for tp in theirs if not self._near.serves(tp, node)]:
            self._on_trouble(reader, error, hopeless)

    def _go_near(self, reader: R, replica: int) -> None:
        tp = reader.source
        self._near.go(tp, replica)
        if self.nodes.knows(replica):
            self.again(reader)
        else:
            self._near.fail(tp)
            self.moved(reader, 0.0)

    def _review(self) -> None:
        for tp in self._near.partitions() - self._held - {*self._parked}:
            self._near.forget(tp)
            self.again(self._readers[tp])
        self._reactor.later(REVIEW, self._review)

    # Readers that change from one fetcher to another

    def take_over(self, readers: Iterable[R], giver: Fetcher[R], node: int) -> None:
        """Fetch for readers in the place of `giver`, from the next request to `node` on.

        The giver goes on until that request goes out, so that no record waits meanwhile.
        """
        self._coming.setdefault(node, []).extend((reader, giver) for reader in readers)
        if node in self._requests.sessions:
            self._requests.send(node)
        else:
            self.nodes.channel(node)

    def _take_in(self, node: int) -> None:
        for reader, giver in self._coming.pop(node, ()):
            if giver.give(reader, node):
                self._readers[reader.source], self._at[reader.source] = reader, node
                self._want(reader)

    def give(self, reader: R, node: int) -> bool:
        """Leave a reader to another fetcher. Returns whether it was fetched for from `node`."""
        tp = reader.source
        held_back = tp in self._held or tp in self._parked or tp in self._late
        if self._readers.get(tp) is not reader or self._at.get(tp) != node or held_back:
            return False
        del self._readers[tp]
        self._leave(tp)
        return True

    # What is asked for, and what is answered

    def _ask_on(self, reader: R) -> None:
        self._want(reader)
        self._requests.send(self._at.get(reader.source, -1))

    def _want(self, reader: R) -> None:
        tp = reader.source
        session = self._requests.sessions.get(self._at.get(tp, -1))
        if session is None:
            return
        size = self._pace.share(tp) if self._pace.on else self.budget.partition_bytes
        if not size:
            self._late.add(tp)
            session.drop(tp)
            return
        if self._late:
            self._late.forget(tp)
        topic_id = reader.source_id if session.by_id else NO_TOPIC_ID
        session.want(tp, FetchFrom(reader.expected, size, topic_id, reader.fetch_epoch))

    def _wait_no_more(self, tp: TopicPartition) -> None:
        """Forget why nothing was asked for a reader."""
        self._held.discard(tp)
        self._parked.leave(tp)
        self._late.forget(tp)

    def _topic_due(self, topic: TopicName) -> None:
        """Fetch again for readers of a topic, as far as its limit allows."""
        nodes = set[int]()
        for tp in self._late.due(topic):
            self._want(self._readers[tp])
            nodes.add(self._at.get(tp, -1))
        for node in nodes:
            self._requests.send(node)

    def channel(self, node: int) -> Channel | None:
        """Return the channel to a broker; where there is none yet, begin to connect."""
        return self.nodes.channel(node)

    def ask(self, node: int, session: FetchSession) -> int:
        """Take in the readers that come from another fetcher; see `Asker`."""
        self._take_in(node)
        session.rack = self._near.told(node)
        return self._longest_wait(len(session))

    def _longest_wait(self, partitions: int) -> int:
        """Milliseconds for which a broker may wait for the first byte of so many partitions."""
        if self._held:
            return _SHORT_WAIT_MS
        longest = self._wait_ms
        if not self._joining.over:
            longest = min(longest, partitions // _LOOKED_AT)
        if self._late:
            longest = min(longest, round(1000 * self._late.seconds))
        return max(_SHORT_WAIT_MS, longest)

    def answered(self, node: int, session: FetchSession, frame: Frame, said: Fetched) -> None:
        """Hand what a broker said of one partition to its reader."""
        tp = said.tp
        reader = self._readers.get(tp)
        if reader is None or self._at.get(tp) != node:
            return
        if self._near.serves(tp, node) and source_trouble(said) is not SourceTrouble.NONE:
            # A follower may lack what the leader has, so only the leader's answer counts.
            self._near.fail(tp)
            self.again(reader)
            return
        self._on_data(reader, frame, said)
        if self._at.get(tp) != node:
            return
        if said.preferred_replica >= 0 and not said.error:
            self._go_near(reader, said.preferred_replica)
        elif said.end > said.start:
            self._go_on(reader, session)

    def go_on(self, node: int, session: FetchSession, *, news: bool) -> None:
        """Send the next request to a broker, at once or a moment later."""
        pause = len(session) // _LOOKED_AT / 1000 if news and self._sparing else 0.0
        if pause:
            self._reactor.later(pause, lambda: self._requests.send(node))
        else:
            self._requests.send(node)

    def throttled_by(self, node: int, seconds: float) -> None:
        """Note that a broker takes no request for so many seconds."""
        self._throttled += seconds
        if seconds >= TOLD:
            self._troubled(node, throttled(Side.SOURCE, node, seconds), hopeless=False)

    def _go_on(self, reader: R, session: FetchSession) -> None:
        if reader.held >= self.budget.room:
            self._held.add(reader.source)
            session.drop(reader.source)
        else:
            self._want(reader)
