"""A fetcher for thousands of readers, of which most have no news for a long time.

A broker looks at all partitions of a fetch session for each request and for each record that comes,
whether they have news or not. So readers without news have a session of their own, which waits long
and is seldom answered, and those with news share one that is small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import monotonic

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.data.reactor import Reactor
from towpath.config import ClusterConfig
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicPartition
from towpath.records.source.fetcher import Fetcher
from towpath.records.source.reader import R

RESTING = 256
"""Partitions of a slice from which on those without news rest."""
_REST = 15.0
"""Seconds without news after which a reader rests."""
_LOOK = 2.0
_WAIT = 5.0
"""Seconds that a broker waits for news of a reader that rests, at most."""
_PATIENCE = 3
"""That part of the request timeout, where it is shorter."""
_RESPONSE_BYTES = 1 << 20


class RestingFetcher(Fetcher[R]):
    """Fetches for readers with news, and lets another fetcher ask for those without.

    No record waits for a change from one to the other: whoever fetches for a reader goes on until
    the request that names the reader instead goes out (`take_over`).
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
    ) -> None:
        self._told = on_data
        self._news: dict[TopicPartition, float] = {}
        """When each reader that does not rest had news, by the monotonic clock."""
        super().__init__(
            reactor,
            config,
            admin,
            pool,
            share=share,
            on_data=self._came_here,
            on_trouble=on_trouble,
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
            response_bytes=_RESPONSE_BYTES,
            beside=self.nodes,
        )
        reactor.later(_LOOK, self._look)

    @property
    def throttled(self) -> float:
        """Seconds for which brokers asked to wait."""
        return self._throttled + self._resting.throttled

    def add(self, reader: R) -> None:
        """Fetch for `reader` from now on, from where it stands; a request under way is void."""
        self._wake(reader)
        super().add(reader)

    def remove(self, reader: R) -> None:
        """Fetch for `reader` no more."""
        self._resting.remove(reader)
        self._news.pop(reader.source, None)
        super().remove(reader)

    def park(self, reader: R) -> None:
        """Fetch for `reader`, which stands elsewhere now, when it moves again, or after a while."""
        self._resting.park(reader)
        super().park(reader)

    def moved(self, reader: R, after: float) -> None:
        """The leader is another one, or unknown: look it up, then go on."""
        self._wake(reader)
        self._readers[reader.source] = reader
        super().moved(reader, after)

    def room(self, reader: R) -> None:
        """Some of the reader's bytes are done with; ask again if it was held back."""
        self._resting.room(reader)
        super().room(reader)

    def refill(self) -> None:
        """Ask on where memory was lacking, as far as there is some now."""
        super().refill()
        self._resting.refill()

    def end(self) -> None:
        """Fetch no more for any reader, whoever adds one."""
        self._resting.end()
        super().end()

    def close(self) -> None:
        """Close all connections."""
        self._resting.close()
        super().close()

    def give(self, reader: R, node: int) -> bool:
        """Leave a reader to another fetcher; whether it was fetched for at `node` until now."""
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
        """Let readers without news rest."""
        self._reactor.later(_LOOK, self._look)
        self._resting.share = self.share
        now = monotonic()
        due: dict[int, list[R]] = defaultdict(list)
        for tp, last in self._news.items():
            node = self._at.get(tp)
            if last < now - _REST and node is not None:
                self._news[tp] = now  # if it does not rest then, it is looked at again
                due[node].append(self._readers[tp])
        for node, readers in due.items():
            self._resting.take_over(readers, self, node)
