"""Leader lookup, and channels to the leaders of partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.connect.connection import Connected, connect_to
from towpath.cluster.connect.control import healable
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.channel import Channel
from towpath.cluster.data.leaders import Leader, Leaders, find_leaders
from towpath.cluster.data.reactor import Reactor
from towpath.cluster.metadata import Broker
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

_AGAIN = BackOff(first=0.2, longest=5.0)
_LOOK_AGAIN = 0.5
_LISTEN = 1.0
_THREADS = 8
"""Number of simultaneous connection attempts. A frozen broker occupies a thread for the whole
request timeout, which must not delay other brokers or the other cluster."""
_GRACE = 2.0
"""Seconds that a broker may exceed the wait time of a request."""


class Nodes:
    """Looks up leaders, connects in the background, and notifies its owner.

    Args:
        reactor: Calls back in its thread.
        config: The cluster.
        side: For errors.
        admin: Asked for metadata, from the pool.
        pool: Buffers for responses.
        on_open: A channel to a node is ready.
        on_lost: A channel was lost, with the reason; its requests were not answered.
        on_found: Leaders were looked up again.
        pauses: How often this process was paused so far; see `Channel`.
        on_trouble: A node, or the metadata (`None`), cannot be had now; it is tried again by
            itself. The flag says that this is of little use: the login or the certificate does
            not fit a node that never took us.
        beside: Others to the same cluster: leaders that one of them finds, all know.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        side: Side,
        admin: Admin,
        pool: BufferPool,
        *,
        on_open: Callable[[int], None],
        on_lost: Callable[[int, str], None],
        on_found: Callable[[], None],
        on_trouble: Callable[[int | None, ClusterError, bool], None],
        pauses: Callable[[], int] = lambda: 0,
        beside: Nodes | None = None,
    ) -> None:
        self._reactor, self._config, self._side = reactor, config, side
        self._admin, self._pool = admin, pool
        self._on_open, self._on_lost = on_open, on_lost
        self._on_found, self._on_trouble = on_found, on_trouble
        self._pauses = pauses
        self._leaders: dict[TopicPartition, Leader] = {}
        self._brokers: dict[int, Broker] = {}
        if beside is not None:
            self._leaders, self._brokers = beside.known
        self._wanted: dict[TopicPartition, float] = {}
        """When to look up each unknown leader again."""
        self._awaited: set[TopicPartition] = set()
        """Partitions to whose leaders to connect as soon as they are known."""
        self._channels: dict[int, Channel] = {}
        self._connecting: set[int] = set()
        self._looking = False
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="towpath-nodes")
        self._failures: dict[int, int] = {}
        self._reached: set[int] = set()
        self._closed = False
        reactor.later(_LISTEN, self._listen)

    def leader(self, tp: TopicPartition) -> Leader | None:
        """Return the leader of `tp`, `None` if unknown."""
        return self._leaders.get(tp)

    @property
    def known(self) -> tuple[dict[TopicPartition, Leader], dict[int, Broker]]:
        """The leaders and brokers found so far, to share with other users."""
        return self._leaders, self._brokers

    def knows(self, node: int) -> bool:
        """Return whether the address of broker `node` is known."""
        return node in self._brokers

    def channel(self, node: int) -> Channel | None:
        """Return the channel to `node`; if there is none, begin to connect.

        One whose login has to be renewed (KIP-368) takes no more requests. When its last answer
        has come, and the owner asks again, another one takes its place.
        """
        channel = self._channels.get(node)
        if channel is not None and channel.expires is not None and channel.expires.over:
            if channel.waiting:
                return None
            del self._channels[node]
            channel.close()
            channel = None
        if channel is None:
            self._connect(node)
        return channel

    def look_up(self, tps: Iterable[TopicPartition], after: float = 0.0) -> None:
        """Look up the leaders of these partitions until they are found."""
        due = time.monotonic() + after
        self._wanted.update(dict.fromkeys(tps, due))
        self._reactor.later(after, self._ask)

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Look up the leaders of these partitions, and connect to them."""
        tps = set(tps)
        self._awaited |= tps
        self.look_up(tps)

    def learn(self, tp: TopicPartition, leader: Leader) -> None:
        """Store the leader of `tp`, which another user has just looked up."""
        self._leaders[tp] = leader
        self._brokers[leader.node] = leader.broker
        self._wanted.pop(tp, None)

    def forget(self, tp: TopicPartition) -> None:
        """Forget the leader of `tp` until it is looked up again."""
        self._leaders.pop(tp, None)

    def close(self) -> None:
        """Close all channels."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for channel in self._channels.values():
            channel.close()

    def _ask(self) -> None:
        if self._looking or self._closed:
            return
        now = time.monotonic()
        due = [tp for tp, at in self._wanted.items() if at <= now]
        if due:
            self._looking = True
            self._reactor.run(
                lambda: find_leaders(self._admin, due), partial(self._found, due), self._threads
            )

    def _found(self, asked: Sequence[TopicPartition], future: Future[Leaders]) -> None:
        self._looking = False
        if self._closed:
            return
        error = future.exception()
        if error is None:
            leaders = future.result()
            self._leaders.update(leaders)
            self._brokers.update(leaders.brokers)
            for tp in leaders:
                self._wanted.pop(tp, None)
            for tp in self._awaited & leaders.keys():
                self.channel(leaders[tp].node)
            self._awaited -= leaders.keys()
            self._on_found()
        else:
            self._report(None, error)
        left = [tp for tp in asked if tp in self._wanted]
        self.look_up(left, _LOOK_AGAIN)
        self._reactor.later(0, self._ask)  # for those that fell due meanwhile

    def _connect(self, node: int) -> None:
        if node in self._connecting or node not in self._brokers or self._closed:
            return
        self._connecting.add(node)
        broker = self._brokers[node]
        failures = self._failures.get(node, 0)
        wait = _AGAIN.after(failures) if failures else 0.0
        deadline = Deadline.after(wait + self._config.request_timeout)

        def work() -> Connected:
            return connect_to(self._config, self._admin.identity, broker, deadline)

        def begin() -> None:
            if not self._closed:
                then = partial(self._connected, node)
                self._reactor.run(work, then, self._threads)

        self._reactor.later(wait, begin)

    def _connected(self, node: int, future: Future[Connected]) -> None:
        self._connecting.discard(node)
        error = future.exception()
        if error is not None:
            self._failures[node] = min(10, self._failures.get(node, 0) + 1)
            if not self._closed:
                self._report(node, error)
                self._on_lost(node, str(error))
            return
        self._failures.pop(node, None)
        self._reached.add(node)
        connected = future.result()
        if self._closed:
            connected.socket.close()
            return
        self._channels[node] = Channel(
            self._reactor, connected, self._pool, lambda why: self._lost(node, why), self._pauses
        )
        self._on_open(node)

    def _lost(self, node: int, why: str) -> None:
        self._channels.pop(node, None)
        if not self._closed:
            self._on_lost(node, why)

    def _listen(self) -> None:
        """Disconnect from brokers that do not answer: they are frozen or cut off."""
        for channel in list(self._channels.values()):
            if channel.silence > self._config.request_timeout + _GRACE:
                channel.close("no answer in time")
        if not self._closed:
            self._reactor.later(_LISTEN, self._listen)

    def _report(self, node: int | None, error: BaseException) -> None:
        if not isinstance(error, ClusterError):
            raise error
        hopeless = node is not None and node not in self._reached and not healable(error)
        self._on_trouble(node, error, hopeless)
