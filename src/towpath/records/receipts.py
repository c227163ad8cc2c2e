"""What a slice writes to the ledger as it goes, about once a second for what moved."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client
from towpath.cluster.reactor import Reactor
from towpath.ledger.books import Ledger
from towpath.ledger.entries import Entry, Gap, Runs
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side, TopicPartition
from towpath.records.lane import Lane
from towpath.records.work import Slice


class Receipts:
    """Writes the receipts, runs and gaps of the lanes of one slice.

    Attributes:
        busy: A write is under way.
    """

    def __init__(
        self, work: Slice, target: Admin, reactor: Reactor, lanes: Mapping[TopicPartition, Lane]
    ) -> None:
        self._work, self._reactor, self._lanes = work, reactor, lanes
        self._client = Client(work.target, Side.TARGET, target)
        self._ledger = Ledger(target, self._client)
        self._waiting: list[Entry] = []
        self.busy = False

    def note(self, gap: Gap) -> None:
        """Write a gap with the next receipts."""
        self._waiting.append(gap)

    def begin(self) -> None:
        """Write now and then from now on."""
        self._reactor.later(self._work.receipts, self._write)

    def write_last(self) -> None:
        """Write what is left; blocking."""
        self._ledger.append(self._due())

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _write(self) -> None:
        self.begin()
        entries = [] if self.busy else self._due()
        if entries:
            self.busy = True
            self._reactor.run(lambda: self._ledger.append(entries), partial(self._written, entries))

    def _due(self) -> list[Entry]:
        due, self._waiting = self._waiting, []
        for lane in self._lanes.values():
            closed = lane.progress.runs.take_closed()
            if closed:
                tp = lane.work.source
                link, producer = self._work.link, lane.work.producer_id
                due.append(Runs(link, tp.topic, tp.partition, producer, closed))
            if lane.progress.changed:
                due.append(lane.progress.receipt(self._work.link))
        return due

    def _written(self, entries: list[Entry], future: Future[None]) -> None:
        self.busy = False
        error = future.exception()
        if error is None:
            return
        if not isinstance(error, TowpathError):
            raise error
        self._waiting[:0] = [entry for entry in entries if isinstance(entry, (Gap, Runs))]
        for lane in self._lanes.values():
            lane.progress.changed = True
