"""Background searches for the offsets where source logs differ from the archive."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

from towpath.archive.log import Archive, CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.write.histories.evidence import Doubt
from towpath.archive.write.histories.fork_search import SourceLog, find_fork
from towpath.archive.write.standing import AGAIN, PartitionStanding
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.cursor import Reader
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, SourceOffset, TopicName, TopicPartition
from towpath.settings import ClusterConfig

_FETCH_BYTES = 4 << 20
_POLICY = "cleanup.policy"


class FoundFork(NamedTuple):
    """The result of a search.

    Attributes:
        partition: The history of the partition that was compared.
        fork: The offset from which on the source has other records, `None` if it has all.
    """

    partition: PartitionId
    fork: SourceOffset | None


class HistorySearches:
    """Searches partition after partition in a thread, while archiving continues.

    Args:
        config: The source cluster.
        source: Its control plane.
        log: The commit log.
        news: Set whenever a search has ended.
    """

    def __init__(
        self, config: ClusterConfig, source: Admin, log: CommitLog, news: threading.Event
    ) -> None:
        self._config, self._source, self._log, self._news = config, source, log, news
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="towpath-history")
        self._running: dict[PartitionId, Future[SourceOffset | None]] = {}
        self._closing = ExitStack()
        self._reader: Reader | None = None

    @property
    def running(self) -> bool:
        """Whether a search is running."""
        return bool(self._running)

    def begin(self, standings: Iterable[PartitionStanding]) -> None:
        """Begin to search partitions that are in doubt and not busy."""
        now = time.monotonic()
        for each in standings:
            is_due = not each.failures or now >= each.again
            if each.doubt is None or each.busy or each.gone or not is_due:
                continue
            if each.id in self._running or each.ready():
                continue  # what was read before is committed first
            future = self._pool.submit(self._search, each.id, each.topic, each.doubt)
            self._running[each.id] = future
            future.add_done_callback(lambda _: self._news.set())

    def found(self, standings: Iterable[PartitionStanding]) -> list[FoundFork]:
        """Return the results of finished searches; failed ones are repeated later."""
        known = {each.id: each for each in standings}
        over = [each for each, future in self._running.items() if future.done()]
        found = list[FoundFork]()
        for partition in over:
            error = self._running[partition].exception()
            if error is None:
                found.append(FoundFork(partition, self._running[partition].result()))
            elif isinstance(error, TowpathError):
                if partition in known:
                    self._failed(known[partition], error)
            else:
                raise error
            del self._running[partition]
        return found

    def close(self) -> None:
        """End all searches."""
        if self._reader is not None:
            self._reader.client.close()  # a search that waits for the source ends
        self._pool.shutdown(cancel_futures=True)
        self._closing.close()

    def _failed(self, standing: PartitionStanding, error: TowpathError) -> None:
        standing.failures += 1
        standing.again = time.monotonic() + AGAIN.after(standing.failures)
        standing.trouble = error.reason

    def _search(
        self, partition: PartitionId, topic: TopicName, doubt: Doubt
    ) -> SourceOffset | None:
        tp, offsets = TopicPartition(topic, partition.partition), self._source.offsets
        log = SourceLog(
            reader=self._opened(),
            tp=tp,
            start=offsets.earliest([tp])[tp],
            end=offsets.log_ends([tp])[tp],
            cleans=self._cleans(topic),
        )
        return find_fork(Archive(self._log), partition, log, doubt)

    def _opened(self) -> Reader:
        if self._reader is None:
            made = Client(self._config, Side.SOURCE, self._source)
            client = self._closing.enter_context(made)
            patience = self._config.request_timeout
            self._reader = Reader(Side.SOURCE, client, self._source, _FETCH_BYTES, patience)
        return self._reader

    def _cleans(self, topic: TopicName) -> bool:
        """Whether the log cleaner may remove records of a topic."""
        entry = self._source.configs.describe({topic}).get(topic, {}).get(_POLICY)
        return entry is None or "compact" in (entry.value or "compact")
