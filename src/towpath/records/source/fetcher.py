"""Fetching for readers: one fetch session for each broker, always with one request in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.data import fetch as fetching
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import Fetched, FetchFrom
from towpath.cluster.data.nodes import Nodes
from towpath.cluster.data.reactor import Reactor
from towpath.config import ClusterConfig
from towpath.model.backoff import BackOff
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicName, TopicPartition
from towpath.records.source.budget import PARTITION_BYTES, RESPONSE_BYTES, FetchBudget
from towpath.records.source.near import REVIEW, Near
from towpath.records.source.pace import Pace, whole_batches
from towpath.records.source.reader import R
from towpath.records.source.trouble import SourceTrouble, source_trouble
from towpath.records.trouble import TOLD, throttled

_WAIT_MS = 500
_SHORT_WAIT_MS = 10
"""Long poll while a partition is held back, so that it can be fetched again soon."""
_PARKED = BackOff(first=10.0, longest=300.0)
"""Seconds before a parked reader is fetched for again, doubled each time."""


class Fetcher(Generic[R]):
    """Fetches for the readers that have room, and hands the answers to `on_data`.

    `on_data` gets every answer, errors too, with the frame that holds its records. The next request
    is sent after all readers of a response got their part, so it names the offsets they expect
    then.

    No request asks for more than the free memory of the pool, so all readers together stay within
    its limit. If memory is scarce, requests to brokers wait in turn (`refill`), and each broker
    begins an answer with the partitions that have waited longest (KIP-227).

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
    ) -> None:
        self._reactor = reactor
        self._wait_ms = wait_ms
        self._pace = pace or Pace(reactor)
        self._pace.listen(self._topic_due)
        self._granted: dict[int, int] = {}
        """Bytes that the limit of the link has granted to the request in flight, by broker."""
        self._late: dict[TopicName, dict[TopicPartition, None]] = {}
        """Readers that wait for the limit of their topic, the longest waiting first."""
        self._coming: dict[int, list[tuple[R, Fetcher[R]]]] = {}
        """Readers to take over with the next request to a broker, each with its present fetcher."""
        self.budget = FetchBudget(pool, share, response_bytes)
        self._on_data, self._on_trouble = on_data, on_trouble
        self._readers: dict[TopicPartition, R] = {}
        self._at: dict[TopicPartition, int] = {}
        self._near = Near(config.rack or "")
        self._held: set[TopicPartition] = set()
        self._sessions: dict[int, FetchSession] = {}
        self._short: dict[int, None] = {}
        """Brokers whose next request waits for memory, the longest waiting first."""
        self._parked: dict[TopicPartition, int] = {}
        """How often in a row each reader was parked."""
        self._stale: dict[int, set[TopicPartition]] = {}
        """Partitions, by broker, whose offset has changed since the request in flight was sent."""
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
        self._readers[reader.source] = reader
        self._held.discard(reader.source)
        self._parked.pop(reader.source, None)
        self._wait_no_more(reader.source)
        self.again(reader)

    def remove(self, reader: R) -> None:
        """Fetch no more for `reader`."""
        tp = reader.source
        self._readers.pop(tp, None)
        self._near.forget(tp)
        self._held.discard(tp)
        self._parked.pop(tp, None)
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
        self._wait_no_more(tp)
        times = self._parked[tp] = self._parked.get(tp, 0) + 1
        self._reactor.later(_PARKED.after(times), lambda: self._try_again(reader, times))

    def _try_again(self, reader: R, times: int) -> None:
        tp = reader.source
        if self._parked.get(tp) != times or self._readers.get(tp) is not reader:
            return
        if reader.pending:
            self._reactor.later(_PARKED.after(times), lambda: self._try_again(reader, times))
        else:
            self._ask_on(reader)

    def refill(self) -> None:
        """Send the requests that waited for memory, as far as there is memory now."""
        for node in list(self._short):
            if not self.budget.next_size:
                return
            self._pump(node)

    def doubt(self, reader: R) -> None:
        """Fetch no more for `reader`, whose batch was damaged; next time ask the leader."""
        self._stay_far(reader.source)
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
        if self._parked.pop(tp, None) is not None or held:
            self._held.discard(tp)
            self._ask_on(reader)

    @property
    def share(self) -> int:
        """Bytes that each reader may always hold."""
        return self.budget.share

    @share.setter
    def share(self, share: int) -> None:
        self.budget.share = share

    def _ask_on(self, reader: R) -> None:
        self._want(reader)
        self._pump(self._at.get(reader.source, -1))

    def _settle(self) -> None:
        for tp, reader in self._readers.items():
            if tp not in self._at:
                self._settle_one(reader)

    def _settle_one(self, reader: R) -> None:
        tp = reader.source
        leader = self.nodes.leader(tp)
        if leader is None:
            self.nodes.look_up([tp])
            return
        node = self._at[tp] = self._near.node(tp, leader.node)
        if node in self._sessions:
            self._want(reader)
            self._pump(node)
        else:
            self.nodes.channel(node)

    def _leave(self, tp: TopicPartition) -> None:
        node = self._at.pop(tp, None)
        if node is not None and node in self.budget:
            self._stale.setdefault(node, set()).add(tp)
        if node in self._sessions:
            self._sessions[node].drop(tp)

    def _want(self, reader: R) -> None:
        tp = reader.source
        session = self._sessions.get(self._at.get(tp, -1))
        if session is None:
            return
        size = self._pace.share(tp) if self._pace.on else PARTITION_BYTES
        if not size:
            self._late.setdefault(tp.topic, {})[tp] = None
            session.drop(tp)
            return
        if self._late:
            self._wait_no_more(tp)
        by_id = session.by_id
        topic_id = reader.source_id if by_id else NO_TOPIC_ID
        session.want(tp, FetchFrom(reader.expected, size, topic_id, reader.fetch_epoch))

    def _opened(self, node: int) -> None:
        channel = self.nodes.channel(node)
        if channel is None:
            return
        newest = channel.versions[fetching.API][1]
        ids = all(reader.source_id for reader in self._readers.values())
        version = fetching.version_for(newest, ids=ids)
        self._sessions[node] = FetchSession(version, max_bytes=RESPONSE_BYTES, committed=True)
        for tp, at in self._at.items():
            if at == node:
                self._readers[tp].relieve(Side.SOURCE)
                if tp not in self._held:
                    self._want(self._readers[tp])
        self._pump(node)

    def _troubled(self, node: int | None, error: ClusterError, hopeless: bool) -> None:
        theirs = [tp for tp in self._readers if self._at.get(tp) == node]
        for reader in [self._readers[tp] for tp in theirs if not self._near.serves(tp, node)]:
            self._on_trouble(reader, error, hopeless)

    # Readers that change from one fetcher to another

    def take_over(self, readers: Iterable[R], giver: Fetcher[R], node: int) -> None:
        """Fetch for readers in the place of `giver`, from the next request to `node` on.

        The giver goes on until that request goes out, so that no record waits meanwhile.
        """
        self._coming.setdefault(node, []).extend((reader, giver) for reader in readers)
        if node in self._sessions:
            self._pump(node)
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
        held_back = tp in self._held or tp in self._parked or self._is_late(tp)
        if self._readers.get(tp) is not reader or self._at.get(tp) != node or held_back:
            return False
        del self._readers[tp]
        self._leave(tp)
        return True

    def _lost(self, node: int, _why: str) -> None:
        self._sessions.pop(node, None)
        self._short.pop(node, None)
        self.budget.over(node)
        self._pace.give_back(self._granted.pop(node, 0))
        self._stale.pop(node, None)
        self._coming.pop(node, None)
        gone = [tp for tp, at in self._at.items() if at == node]
        for tp in gone:
            del self._at[tp]
            self._stay_far(tp)
        self.nodes.look_up(gone, 0.1)

    def _pump(self, node: int) -> None:
        session = self._sessions.get(node)
        if session is None or node in self.budget:
            return
        self._take_in(node)
        if not len(session):
            return
        channel = self.nodes.channel(node)
        if channel is None:
            return
        size = self.budget.next_size
        if size and self._pace.on:
            size = self._granted[node] = self._pace.ask(size, len(self._sessions))
        if not size:
            self._short[node] = None
            return
        self._short.pop(node, None)
        session.max_bytes = size
        self.budget.promise(node, size)
        session.rack = self._near.told(node)
        channel.send(
            fetching.API,
            session.version,
            session.request(self._longest_wait),
            lambda frame: self._came(node, session, channel, frame),
            tags=session.flexible,
        )

    def _came(self, node: int, session: FetchSession, channel: Channel, frame: Frame) -> None:
        self.budget.came(node, frame.size)
        answers = session.response(frame.view) or ()
        if self._pace.on:
            self._charge(node, frame, answers)
        channel.mute(session.throttle)
        self._throttled += session.throttle
        if session.throttle >= TOLD:
            self._troubled(node, throttled(Side.SOURCE, node, session.throttle), hopeless=False)
        for said in answers:
            reader = self._readers.get(said.tp)
            stale = said.tp in self._stale.get(node, ())
            if reader is None or self._at.get(said.tp) != node or stale:
                continue
            if self._near.serves(said.tp, node) and source_trouble(said) is not SourceTrouble.NONE:
                # A follower may lack what the leader has, so only the leader's answer counts.
                self._stay_far(said.tp)
                self.again(reader)
                continue
            self._on_data(reader, frame, said)
            if self._at.get(said.tp) != node:
                continue
            if said.preferred_replica >= 0 and not said.error:
                self._go_near(reader, said.preferred_replica)
            elif said.end > said.start:
                self._go_on(reader, session)
        self.budget.over(node)
        self._stale.pop(node, None)
        if not channel.closed:
            self._pump(node)

    # Limits

    @property
    def _longest_wait(self) -> int:
        """Milliseconds for which a broker may wait for the first byte of an answer."""
        if self._held:
            return _SHORT_WAIT_MS
        if not self._late:
            return self._wait_ms
        due = round(1000 * self._pace.wait(self._late))
        return max(_SHORT_WAIT_MS, min(due, self._wait_ms))

    def _charge(self, node: int, frame: Frame, answers: Iterable[Fetched]) -> None:
        """Count the bytes of an answer before its readers ask on."""
        sizes = (
            (said.tp.topic, sum(whole_batches(frame.view[said.start : said.end])))
            for said in answers
        )
        self._pace.came(self._granted.pop(node, 0), sizes)

    def _is_late(self, tp: TopicPartition) -> bool:
        return tp in self._late.get(tp.topic, ())

    def _wait_no_more(self, tp: TopicPartition) -> None:
        """Forget that a reader waits for the limit of its topic."""
        late = self._late.get(tp.topic)
        if late is not None:
            late.pop(tp, None)
            if not late:
                del self._late[tp.topic]

    def _topic_due(self, topic: TopicName) -> None:
        """Fetch again for readers of a topic, as far as its limit allows."""
        left, nodes = self._pace.left(topic), set[int]()
        while left > 0 and topic in self._late:
            tp = next(iter(self._late[topic]))
            size = self._pace.share(tp)
            if not size:
                break
            left -= size
            self._wait_no_more(tp)  # first, as its broker may be away now
            self._want(self._readers[tp])
            nodes.add(self._at.get(tp, -1))
        if topic in self._late:
            self._pace.remind(topic)
        for node in nodes:
            self._pump(node)

    def _go_near(self, reader: R, replica: int) -> None:
        tp = reader.source
        self._near.go(tp, replica)
        if self.nodes.knows(replica):
            self.again(reader)
        else:
            self._stay_far(tp)
            self.moved(reader, 0.0)

    def _stay_far(self, tp: TopicPartition) -> None:
        leader = self.nodes.leader(tp)
        self._near.fail(tp, leader.node if leader is not None else None)

    def _review(self) -> None:
        for tp in self._near.partitions() - self._held - self._parked.keys():
            self._near.forget(tp)
            self.again(self._readers[tp])
        self._reactor.later(REVIEW, self._review)

    def _go_on(self, reader: R, session: FetchSession) -> None:
        if reader.held >= self.budget.room:
            self._held.add(reader.source)
            session.drop(reader.source)
        else:
            self._want(reader)
