"""A fetcher for thousands of readers, most of which get no new records for a long time.

For each request and for each new record, a broker looks at all partitions of a fetch session. So
readers without new records have a session of their own, which waits long and is seldom answered,
and the readers with new records share a small session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import monotonic

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicPartition
from towpath.records.source.fetcher import Fetcher
from towpath.records.source.pace import Pace
from towpath.records.source.reader import R
from towpath.settings import ClusterConfig

RESTING = 256
"""Number of partitions of a slice from which on readers without new records rest."""
_REST = 15.0
"""Seconds without a new record after which a reader rests."""
_LOOK = 2.0
_WAIT = 5.0
"""Most seconds that a broker waits for a new record of a resting reader."""
_PATIENCE = 3
"""The same as a part of the request timeout, if that is shorter."""
_RESPONSE_BYTES, _RESTING_BYTES = 4 << 20, 1 << 20
"""Most bytes of an answer to readers with new records, and of an answer to resting readers. Memory
is promised to each request in flight. With larger answers, memory would seem scarce while thousands
of readers rest."""


class RestingFetcher(Fetcher[R]):
    """Fetches for readers with new records, and lets another fetcher poll all others.

    No record waits while a reader changes from one to the other: its fetcher goes on until the
    other one sends a request that names the reader (`take_over`).
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
        pace: Pace | None = None,
    ) -> None:
        self._told = on_data
        self._news: dict[TopicPartition, float] = {}
        """When each reader that does not rest got its last new record, by the monotonic clock."""
        super().__init__(
            reactor,
            config,
            admin,
            pool,
            share=share,
            on_data=self._came_here,
            on_trouble=on_trouble,
            response_bytes=_RESPONSE_BYTES,
            pace=pace,
        )
        wait = min(_WAIT, config.request_timeout / _PATIENCE)
        self._resting = Fetcher[R](
            reactor,
            config,
            admin,
            pool,
            share=share,
            on_data=self._came_there,
            on_trouble=on_trouble,
            wait_ms=round(wait * 1000),
            response_bytes=_RESTING_BYTES,
            beside=self.nodes,
            pace=self._pace,
            sparing=True,
        )
        reactor.later(_LOOK, self._look)

    @property
    def throttled(self) -> float:
        """Seconds for which source brokers throttled the slice."""
        return self._throttled + self._resting.throttled

    def add(self, reader: R) -> None:
        """Start fetching for `reader` from `expected`; a response in flight is ignored for it."""
        self._wake(reader)
        super().add(reader)

    def remove(self, reader: R) -> None:
        """Stop fetching for `reader`."""
        self._resting.remove(reader)
        self._news.pop(reader.source, None)
        super().remove(reader)

    def park(self, reader: R) -> None:
        """Pause fetching for `reader`, whose offset has changed, until it moves or time passes."""
        self._resting.park(reader)
        super().park(reader)

    def moved(self, reader: R, after: float) -> None:
        """Look up the leader of `reader` again after a while, then continue."""
        self._wake(reader)
        self._readers[reader.source] = reader
        super().moved(reader, after)

    def room(self, reader: R) -> None:
        """Fetch again for a paused `reader`, if it has room again."""
        self._resting.room(reader)
        super().room(reader)

    def refill(self) -> None:
        """Send the requests that waited for memory, as far as memory allows."""
        super().refill()
        self._resting.refill()

    def end(self) -> None:
        """Stop fetching for all readers, also for those added later."""
        self._resting.end()
        super().end()

    def close(self) -> None:
        """Close all connections."""
        self._resting.close()
        super().close()

    def give(self, reader: R, node: int) -> bool:
        """Hand a reader over to another fetcher. Returns whether `node` served it."""
        given = super().give(reader, node)
        if given:
            self._news.pop(reader.source, None)
        return given

    def _take_in(self, node: int) -> None:
        now = monotonic()
        self._news.update((reader.source, now) for reader, _ in self._coming.get(node, ()))
        super()._take_in(node)

    def _wake(self, reader: R) -> None:
        self._resting.remove(reader)
        self._news[reader.source] = monotonic()

    def _came_here(self, reader: R, frame: Frame, said: Fetched) -> None:
        if reader.source in self._news:
            self._news[reader.source] = monotonic()
        self._told(reader, frame, said)

    def _came_there(self, reader: R, frame: Frame, said: Fetched) -> None:
        node = self._resting.node(reader)
        self._told(reader, frame, said)
        news = said.end > said.start
        if news and node is not None and node == self._resting.node(reader):
            self.take_over([reader], self._resting, node)

    def _look(self) -> None:
        """Let readers without new records rest."""
        self._reactor.later(_LOOK, self._look)
        self._resting.share = self.share
        now = monotonic()
        due: dict[int, list[R]] = defaultdict(list)
        for tp, last in self._news.items():
            node = self._at.get(tp)
            if last < now - _REST and node is not None:
                self._news[tp] = now  # a reader that does not rest then is looked at again
                due[node].append(self._readers[tp])
        for node, readers in due.items():
            self._resting.take_over(readers, self, node)
