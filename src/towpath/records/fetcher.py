"""The source side of a slice: one fetch session per leader, always one request under way."""

from __future__ import annotations

from collections.abc import Callable

from towpath.cluster import fetch as fetching
from towpath.cluster.admin import Admin
from towpath.cluster.channel import BufferPool, Channel, Frame
from towpath.cluster.fetch import Fetched, FetchFrom, FetchSession
from towpath.cluster.nodes import Nodes
from towpath.cluster.reactor import Reactor
from towpath.config import ClusterConfig
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicPartition
from towpath.records.lane import Lane
from towpath.records.trouble import SourceTrouble, source_trouble

_WAIT_MS = 500
_SHORT_WAIT_MS = 10
"""While a partition is held back, it must not wait for a long poll to end."""
_FAR = 10.0
"""Seconds for which a leader is asked for the records themselves after a replica near us failed."""
_NEAR = 300.0
"""Seconds after which leaders are asked anew who is near: a replica may have fallen behind."""
_RESPONSE_BYTES = 8 << 20
_PARTITION_BYTES = 1 << 20


class Fetcher:
    """Asks for the lanes that have room, and hands what comes to `on_data`.

    `on_data` gets every answer, errors too, with the frame that holds its records. The next request
    goes out when all lanes of a response had theirs, so it asks from where each stands then.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        admin: Admin,
        pool: BufferPool,
        *,
        room: int,
        on_data: Callable[[Lane, Frame, Fetched], None],
        on_trouble: Callable[[Lane, ClusterError, bool], None],
    ) -> None:
        self._reactor = reactor
        self._rack = config.rack or ""
        self._room = room
        self._on_data, self._on_trouble = on_data, on_trouble
        self._lanes: dict[TopicPartition, Lane] = {}
        self._at: dict[TopicPartition, int] = {}
        self._near: dict[TopicPartition, int] = {}
        self._far: dict[int, Deadline] = {}
        self._held: set[TopicPartition] = set()
        self._sessions: dict[int, FetchSession] = {}
        self._under_way: set[int] = set()
        self._stale: dict[int, set[TopicPartition]] = {}
        """Partitions whose part of the answer under way is from where they do not stand now."""
        self.ended = False
        self.nodes = Nodes(
            reactor, config, Side.SOURCE, admin, pool,
            on_open=self._opened, on_lost=self._lost, on_found=self._settle,
            on_trouble=self._troubled,
        )  # fmt: skip
        if self._rack:
            reactor.later(_NEAR, self._review)

    def add(self, lane: Lane) -> None:
        """Fetch for `lane` from now on, from where it stands; what is under way does not count."""
        if self.ended:
            return
        self._lanes[lane.work.source] = lane
        self._held.discard(lane.work.source)
        self.again(lane)

    def remove(self, lane: Lane) -> None:
        """Fetch for `lane` no more."""
        tp = lane.work.source
        self._lanes.pop(tp, None)
        self._near.pop(tp, None)
        self._held.discard(tp)
        self._leave(tp)

    def doubt(self, lane: Lane) -> None:
        """What came for `lane` is damaged: fetch no more, and next time from the leader itself."""
        self._stay_far(lane.work.source)
        self.remove(lane)

    def end(self) -> None:
        """Fetch no more for any lane, whoever adds one."""
        self.ended = True
        for lane in list(self._lanes.values()):
            self.remove(lane)

    def again(self, lane: Lane) -> None:
        """Ask for `lane` from where it stands now, where it is led now."""
        self._leave(lane.work.source)
        self._settle_one(lane)

    def moved(self, lane: Lane, after: float) -> None:
        """The leader is another one, or unknown: look it up, then go on."""
        tp = lane.work.source
        self._near.pop(tp, None)
        self._leave(tp)
        self.nodes.look_up([tp], after)

    def room(self, lane: Lane) -> None:
        """Some of the lane's bytes were acknowledged; ask again if it was held back."""
        tp = lane.work.source
        if tp in self._held and lane.queue.bytes < self._room // 2:
            self._held.discard(tp)
            self._want(lane)
            self._pump(self._at.get(tp, -1))

    def _settle(self) -> None:
        for tp, lane in self._lanes.items():
            if tp not in self._at:
                self._settle_one(lane)

    def _settle_one(self, lane: Lane) -> None:
        tp = lane.work.source
        home = self.nodes.home(tp)
        if home is None:
            self.nodes.look_up([tp])
            return
        node = self._at[tp] = self._near.get(tp, home.node)
        if node in self._sessions:
            self._want(lane)
            self._pump(node)
        else:
            self.nodes.channel(node)

    def _leave(self, tp: TopicPartition) -> None:
        node = self._at.pop(tp, None)
        if node in self._under_way:
            self._stale.setdefault(node, set()).add(tp)
        if node in self._sessions:
            self._sessions[node].drop(tp)

    def _want(self, lane: Lane) -> None:
        tp = lane.work.source
        session = self._sessions.get(self._at.get(tp, -1))
        if session is None:
            return
        by_id = session.version >= fetching.BY_ID
        topic_id = lane.work.source_id if by_id else NO_TOPIC_ID
        session.want(
            tp,
            FetchFrom(lane.expected, _PARTITION_BYTES, topic_id, lane.fetch_epoch),
        )

    def _opened(self, node: int) -> None:
        channel = self.nodes.channel(node)
        if channel is None:
            return
        newest = channel.versions[fetching.API][1]
        ids = all(lane.work.source_id for lane in self._lanes.values())
        version = fetching.version_for(newest, ids=ids)
        self._sessions[node] = FetchSession(version, max_bytes=_RESPONSE_BYTES, committed=True)
        for tp, at in self._at.items():
            if at == node:
                self._lanes[tp].progress.relieve(Side.SOURCE)
                if tp not in self._held:
                    self._want(self._lanes[tp])
        self._pump(node)

    def _troubled(self, node: int | None, error: ClusterError, hopeless: bool) -> None:
        theirs = [tp for tp in self._lanes if self._at.get(tp) == node]
        for lane in [self._lanes[tp] for tp in theirs if self._near.get(tp) != node]:
            self._on_trouble(lane, error, hopeless)

    def _lost(self, node: int, _why: str) -> None:
        self._sessions.pop(node, None)
        self._under_way.discard(node)
        self._stale.pop(node, None)
        gone = [tp for tp, at in self._at.items() if at == node]
        for tp in gone:
            del self._at[tp]
            self._stay_far(tp)
        self.nodes.look_up(gone, 0.1)

    def _pump(self, node: int) -> None:
        session = self._sessions.get(node)
        if session is None or node in self._under_way or not len(session):
            return
        channel = self.nodes.channel(node)
        if channel is None:
            return
        self._under_way.add(node)
        far = self._far.get(node)
        session.rack = "" if far is not None and not far.over else self._rack
        wait = _SHORT_WAIT_MS if self._held else _WAIT_MS
        channel.send(
            fetching.API,
            session.version,
            session.request(wait),
            lambda frame: self._came(node, session, channel, frame),
            tags=session.flexible,
        )

    def _came(self, node: int, session: FetchSession, channel: Channel, frame: Frame) -> None:
        answers = session.response(frame.view) or ()
        channel.mute(session.throttle)
        for said in answers:
            lane = self._lanes.get(said.tp)
            stale = said.tp in self._stale.get(node, ())
            if lane is None or self._at.get(said.tp) != node or stale:
                continue
            if self._near.get(said.tp) == node and source_trouble(said) is not SourceTrouble.NONE:
                # It may not have yet what the leader has, so only the leader's word counts.
                self._stay_far(said.tp)
                self.again(lane)
                continue
            self._on_data(lane, frame, said)
            if self._at.get(said.tp) != node:
                continue
            if said.preferred_replica >= 0 and not said.error:
                self._go_near(lane, said.preferred_replica)
            elif said.end > said.start:
                self._go_on(lane, session)
        self._under_way.discard(node)
        self._stale.pop(node, None)
        if not channel.closed:
            self._pump(node)

    def _go_near(self, lane: Lane, replica: int) -> None:
        tp = lane.work.source
        self._near[tp] = replica
        if self.nodes.knows(replica):
            self.again(lane)
        else:
            self._stay_far(tp)
            self.moved(lane, 0.0)

    def _stay_far(self, tp: TopicPartition) -> None:
        """Go back to the leader, and do not say where we are: it would send us away again."""
        home = self.nodes.home(tp)
        if self._near.pop(tp, None) is not None and home is not None:
            self._far[home.node] = Deadline.after(_FAR)

    def _review(self) -> None:
        for tp in self._near.keys() - self._held:
            del self._near[tp]
            self.again(self._lanes[tp])
        self._reactor.later(_NEAR, self._review)

    def _go_on(self, lane: Lane, session: FetchSession) -> None:
        if lane.queue.bytes >= self._room:
            self._held.add(lane.work.source)
            session.drop(lane.work.source)
        else:
            self._want(lane)
