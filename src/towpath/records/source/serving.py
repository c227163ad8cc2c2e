"""The choice of the broker that serves each reader: the leader, or a nearby replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool
from towpath.cluster.data.nodes import Nodes
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicPartition
from towpath.records.source.near import REVIEW, Near
from towpath.records.source.reader import R
from towpath.records.source.requests import Requests
from towpath.records.source.wants import Wants
from towpath.settings import ClusterConfig


class Serving(Generic[R]):
    """Chooses the broker that serves each reader, connects to it, and follows changes.

    Args:
        reactor: Everything happens in its thread.
        config: The source cluster.
        admin: Asked for leaders.
        pool: Memory for responses.
        requests: The session with each broker.
        wants: The readers, and what is asked for them.
        on_lost: Gets each broker whose connection was lost.
        on_trouble: Gets the readers whose leader cannot be reached now; see `Nodes`.
        beside: Other connections to the same cluster, with which leaders are looked up together.

    Attributes:
        nodes: The connections.
        near: The near replicas that leaders have named.
    """

    def __init__(
        self,
        reactor: Reactor,
        config: ClusterConfig,
        admin: Admin,
        pool: BufferPool,
        requests: Requests,
        wants: Wants[R],
        *,
        on_lost: Callable[[int], None],
        on_trouble: Callable[[R, ClusterError, bool], None],
        beside: Nodes | None,
    ) -> None:
        self._reactor, self._requests, self._wants = reactor, requests, wants
        self._on_lost, self._on_trouble = on_lost, on_trouble
        self.near = Near(config.rack or "", self._leader)
        self.nodes = Nodes(
            reactor,
            config,
            Side.SOURCE,
            admin,
            pool,
            on_open=self.opened,
            on_lost=self.lost,
            on_found=self.found,
            on_trouble=self.troubled,
            beside=beside,
        )
        if self.near.rack:
            reactor.later(REVIEW, self._review)

    def settle(self, reader: R) -> None:
        """Start fetching for an unserved reader, from its leader or a nearby replica."""
        tp = reader.source
        leader = self._leader(tp)
        if leader is None:
            self.nodes.look_up([tp])
            return
        node = self._wants.at[tp] = self.near.node(tp, leader)
        if node in self._requests.sessions:
            self._wants.ask(reader)
        else:
            self.nodes.channel(node)

    def again(self, reader: R) -> None:
        """Restart fetching for a reader from `expected`, at its present broker."""
        self._wants.leave(reader.source)
        self.settle(reader)

    def moved(self, reader: R, after: float) -> None:
        """Look up the leader of a reader again after a while, then continue."""
        tp = reader.source
        self.near.forget(tp)
        self._wants.leave(tp)
        self.nodes.look_up([tp], after)

    def go_near(self, reader: R, replica: int) -> None:
        """Fetch for a reader from the nearby replica that its leader has named."""
        self.near.go(reader.source, replica)
        if self.nodes.knows(replica):
            self.again(reader)
        else:
            self.near.fail(reader.source)
            self.moved(reader, 0.0)

    def go_back(self, reader: R) -> None:
        """Fetch for a reader from its leader again, as the nearby replica could not serve it."""
        self.near.fail(reader.source)
        self.again(reader)

    # What the connections tell

    def found(self) -> None:
        """Start fetching for unserved readers whose leaders were found."""
        for tp, reader in self._wants.readers.items():
            if tp not in self._wants.at:
                self.settle(reader)

    def opened(self, node: int) -> None:
        """Begin a session with a newly connected broker, with all readers it serves."""
        channel = self.nodes.channel(node)
        if channel is None:
            return
        ids = all(reader.source_id for reader in self._wants.readers.values())
        self._requests.open(node, channel, ids=ids)
        self._wants.begin(node)

    def lost(self, node: int, _why: str) -> None:
        """Look up the brokers of readers again whose connection was lost."""
        self._requests.lost(node)
        self._on_lost(node)
        gone = self._wants.lost(node)
        for tp in gone:
            self.near.fail(tp)
        self.nodes.look_up(gone, 0.1)

    def troubled(self, node: int | None, error: ClusterError, hopeless: bool) -> None:
        """Report trouble with a broker, or with metadata (`None`), to the readers concerned."""
        readers, at = self._wants.readers, self._wants.at
        theirs = [tp for tp in readers if at.get(tp) == node]
        for reader in [readers[tp] for tp in theirs if not self.near.serves(tp, node)]:
            self._on_trouble(reader, error, hopeless)

    def _leader(self, tp: TopicPartition) -> int | None:
        leader = self.nodes.leader(tp)
        return leader.node if leader is not None else None

    def _review(self) -> None:
        """Ask leaders again for near replicas."""
        for tp in [tp for tp in self.near.partitions() if not self._wants.stuck(tp)]:
            self.near.forget(tp)
            self.again(self._wants.readers[tp])
        self._reactor.later(REVIEW, self._review)
