"""The producer for target leaders: one batch per partition and request, several in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.data import produce as producing
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.frames import Part
from towpath.cluster.data.nodes import Nodes
from towpath.cluster.data.produce import Produced, ProduceResponse
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, Side, TopicId, TopicName, TopicPartition
from towpath.records.items import Batch
from towpath.records.permit import WritePermit
from towpath.records.target.sender import S
from towpath.records.trouble import TOLD, throttled
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

_IN_FLIGHT = 3
"""In-flight requests per connection: a broker works on one, the others hide network latency."""
_IN_FLIGHT_THROTTLED = 1
"""The same while a broker throttles us (KIP-219): it would read the others only later."""
_REQUEST_BYTES = 4 << 20
_PART = 16
"""A request holds at most one part in so many of the slice's memory, for brokers may freeze."""
MANY = 64
"""Number of partitions from which on a slice has many."""
_CONNECTIONS = 4
"""Most connections to a leader. There is one more for each `MANY` senders."""


class Producer(Generic[S]):
    """Sends the ready batches of senders, and hands every answer to `on_answer`.

    Attributes:
        nodes: The connections.
        throttled: Seconds for which brokers throttled us.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        admin: Admin,
        pool: BufferPool,
        permit: WritePermit,
        *,
        on_answer: Callable[[S, Produced], None],
        on_lost: Callable[[S, int], None],
        on_trouble: Callable[[S, ClusterError, bool], None],
    ) -> None:
        self._pool = pool
        # All requests in flight on a connection are answered within the request timeout (`Tails`).
        self._timeout_ms = int(config.request_timeout * 1000 / _IN_FLIGHT)
        self._permit = permit
        self._on_answer, self._on_lost, self._on_trouble = on_answer, on_lost, on_trouble
        self._senders: dict[TopicPartition, S] = {}
        self._at: dict[TopicPartition, int] = {}
        self._ready: dict[int, dict[TopicPartition, None]] = {}
        self._in_flight: dict[int, int] = {}
        self._muted: dict[int, Deadline] = {}
        """Until when brokers that throttled us in their last answer read nothing."""
        self.throttled = 0.0
        self._ids: dict[TopicName, TopicId] = {}
        self._names: dict[TopicId, TopicName] = {}
        self.nodes = Nodes(
            reactor,
            config,
            Side.TARGET,
            admin,
            pool,
            on_open=self._opened,
            on_lost=self._lost,
            on_found=self._settle,
            on_trouble=self._troubled,
            pauses=permit.pauses,
        )

    def add(self, sender: S) -> None:
        """Start sending for `sender`."""
        self._senders[sender.target] = sender
        topic, topic_id = sender.target.topic, sender.target_id
        self._ids[topic], self._names[topic_id] = topic_id, topic
        self._settle_one(sender.target)

    def remove(self, sender: S) -> None:
        """Stop sending for `sender`; look its leader up again if it comes back."""
        tp = sender.target
        self._senders.pop(tp, None)
        self._leave(tp)
        self.nodes.forget(tp)

    def moved(self, sender: S, after: float) -> None:
        """Look up the leader of `sender` again after a while, then continue."""
        self._leave(sender.target)
        self.nodes.look_up([sender.target], after)

    def mark(self, sender: S) -> int:
        """Mark a sender as ready to send. Returns its leader, -1 if unknown."""
        tp = sender.target
        node = self._at.get(tp, -1)
        if node >= 0:
            self._ready.setdefault(node, {})[tp] = None
        return node

    def pump_all(self) -> None:
        """Send all ready batches."""
        for node, ready in self._ready.items():
            if ready:
                self._pump(node)

    def _settle(self) -> None:
        for tp in self._senders:
            if tp not in self._at:
                self._settle_one(tp)

    def _settle_one(self, tp: TopicPartition) -> None:
        leader = self.nodes.leader(tp)
        if leader is None:
            self.nodes.look_up([tp])
            return
        self._at[tp] = leader.node
        if self._senders[tp].queue:
            self.mark(self._senders[tp])
        else:
            self._senders[tp].relieve(Side.TARGET)
        if self.nodes.channel(leader.node) is not None:
            self._pump(leader.node)

    def _leave(self, tp: TopicPartition) -> None:
        node = self._at.pop(tp, None)
        if node is not None:
            self._ready.get(node, {}).pop(tp, None)

    def _opened(self, node: int) -> None:
        for tp, at in self._at.items():
            if at == node:
                self._senders[tp].relieve(Side.TARGET)
        self._pump(node)

    def _troubled(self, node: int | None, error: ClusterError, hopeless: bool) -> None:
        for sender in [sender for tp, sender in self._senders.items() if self._at.get(tp) == node]:
            self._on_trouble(sender, error, hopeless)

    def _pump(self, node: int) -> None:
        ready = self._ready.setdefault(node, {})
        most = _IN_FLIGHT_THROTTLED if node in self._muted else _IN_FLIGHT
        while ready and self._permit.good and self._in_flight.get(node, 0) < most:
            channel = self.nodes.channel(node)
            if channel is None or channel.muted:
                return  # unsent batches can still be kept back (`WritePermit`)
            batches = self._gather(ready)
            if not batches:
                return
            self._in_flight[node] = self._in_flight.get(node, 0) + 1
            self._send(node, channel, [(tp, batch.data) for tp, batch in batches])

    def _send(
        self, node: int, channel: Channel, batches: list[tuple[TopicPartition, Part]]
    ) -> None:
        senders = {tp: self._senders[tp] for tp, _ in batches}
        newest = channel.versions[producing.API][1]
        if newest >= producing.BY_ID and NO_TOPIC_ID not in self._names:
            body = producing.request_by_id(batches, self._ids, self._timeout_ms)
            channel.send(
                producing.API,
                producing.BY_ID,
                body,
                lambda frame: self._came(
                    node, channel, senders, producing.response_by_id(frame.view, self._names)
                ),
                tags=True,
            )
            return
        version = producing.NEWEST if newest >= producing.NEWEST else producing.OLDEST
        body = producing.request(batches, self._timeout_ms)
        channel.send(
            producing.API,
            version,
            body,
            lambda frame: self._came(
                node, channel, senders, producing.response(frame.view, version)
            ),
        )

    def _gather(self, ready: dict[TopicPartition, None]) -> list[tuple[TopicPartition, Batch]]:
        """Take one batch of each ready sender, longest waiting first, as far as a request goes."""
        batches: list[tuple[TopicPartition, Batch]] = []
        size, most = 0, max(1 << 16, min(_REQUEST_BYTES, self._pool.limit // _PART))
        oldest = None if self._permit.fresh else self._permit.remembered_from
        for tp in list(ready):
            if size >= most:
                break
            sender = self._senders[tp]
            time = sender.queue.next_time
            if oldest is not None and time is not None and time < oldest:
                continue  # the sender stays ready
            del ready[tp]
            batch = sender.next_batch()
            if batch is None:
                continue
            batches.append((tp, batch))
            size += batch.size
            if sender.queue.waiting:
                ready[tp] = None
        return batches

    def _came(
        self,
        node: int,
        channel: Channel,
        senders: Mapping[TopicPartition, S],
        answer: ProduceResponse,
    ) -> None:
        self._in_flight[node] -= 1
        self._mute(node, channel, answer.throttle)
        for said in answer.batches:
            sender = self._senders.get(said.tp)
            # A sender that was replaced meanwhile gets no answer.
            if sender is not None and sender is senders.get(said.tp):
                self._on_answer(sender, said)
        if answer.throttle >= TOLD:
            self._troubled(node, throttled(Side.TARGET, node, answer.throttle), hopeless=False)
        self._pump(node)

    def _mute(self, node: int, channel: Channel, seconds: float) -> None:
        if seconds:
            channel.mute(seconds)
            self.throttled += seconds
            self._muted[node] = Deadline.after(seconds)
        else:
            self._muted.pop(node, None)

    def mute_left(self, node: int) -> float:
        """Return the seconds for which a broker still throttles and reads no request."""
        muted = self._muted.get(node)
        return muted.left() if muted else 0.0

    def _lost(self, node: int, _why: str) -> None:
        self._in_flight[node] = 0
        self._ready.pop(node, None)
        gone = [tp for tp, at in self._at.items() if at == node]
        for tp in gone:
            del self._at[tp]
            self._on_lost(self._senders[tp], node)
        self.nodes.look_up(gone, 0.1)


class Producers(Generic[S]):
    """Distributes senders among producers; a sender keeps its producer.

    A broker works on one request of a connection at a time. The first batch of a partition makes
    the broker create files, for example for leader epochs, so thousands of partitions that begin
    together would wait for each other on one connection.
    """

    def __init__(self, make: Callable[[], Producer[S]]) -> None:
        self._make = make
        self._all = [make()]
        self._of: dict[TopicPartition, Producer[S]] = {}

    def serve(self, senders: int) -> None:
        """Add producers until there are enough for the number of senders."""
        while len(self._all) < min(_CONNECTIONS, senders // MANY):
            self._all.append(self._make())

    @property
    def throttled(self) -> float:
        """Seconds for which target brokers throttled the slice."""
        return sum(producer.throttled for producer in self._all)

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Connect to the leaders of partitions whose senders are added later."""
        of: dict[Producer[S], list[TopicPartition]] = {}
        for tp in tps:
            of.setdefault(self._serving(tp), []).append(tp)
        for producer, theirs in of.items():
            producer.nodes.connect(theirs)

    def of(self, sender: S) -> Producer[S]:
        """Return the producer of a sender."""
        return self._serving(sender.target)

    def _serving(self, tp: TopicPartition) -> Producer[S]:
        if tp not in self._of:
            self._of[tp] = self._all[hash(tp) % len(self._all)]
        return self._of[tp]

    def pump_all(self) -> None:
        """Send all ready batches."""
        for producer in self._all:
            producer.pump_all()

    def close(self) -> None:
        """Close all connections."""
        for producer in self._all:
            producer.nodes.close()
