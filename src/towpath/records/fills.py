"""Lanes with a gap at the head of their queue: it is filled in the pool, then they go on."""

from __future__ import annotations

from collections.abc import Callable

from towpath.cluster.admin import Admin
from towpath.cluster.homes import Home
from towpath.cluster.transactions import Transactions
from towpath.model.errors import TowpathError
from towpath.model.nouns import TopicPartition
from towpath.records.clients import Clients
from towpath.records.fencing import transactional_id
from towpath.records.filling import PartitionFiller
from towpath.records.jobs import Jobs
from towpath.records.lane import Lane
from towpath.records.work import Slice


class Fills:
    """Does the fills that are due; `home` tells where a target partition is led, if known."""

    def __init__(
        self,
        work: Slice,
        jobs: Jobs,
        target: Admin,
        clients: Clients,
        *,
        home: Callable[[TopicPartition], Home | None],
        on_filled: Callable[[Lane], None],
        on_failed: Callable[[Lane, TowpathError], None],
    ) -> None:
        self._work, self._jobs = work, jobs
        self._target, self._clients = target, clients
        self._home, self._on_filled, self._on_failed = home, on_filled, on_failed
        self._fillers: dict[Lane, PartitionFiller] = {}

    def close(self) -> None:
        """Close the connections to coordinators."""
        for filler in self._fillers.values():
            filler.transactions.close()

    def go(self, lane: Lane) -> None:
        """Do the fill that is due, if one is."""
        fill = lane.fill_due
        if fill is None:
            return
        base, end = max(fill.base, lane.progress.position.target), fill.end
        filler = self._filler(lane)

        def work() -> None:
            with self._clients.one() as client:
                filler.fill(self._target, client, base, end)

        self._jobs.hold(
            lane,
            work,
            lambda _: self._filled(lane, end),
            lambda error: self._on_failed(lane, error),
        )

    def _filled(self, lane: Lane, end: int) -> None:
        lane.filled(end)
        self._on_filled(lane)

    def _filler(self, lane: Lane) -> PartitionFiller:
        if lane not in self._fillers:
            config, tp = self._work.target, lane.work.target
            home = self._home(tp)
            address = (home.broker.host, home.broker.port) if home else config.addresses[0]
            name = transactional_id(self._work.link, tp)
            self._fillers[lane] = PartitionFiller(
                tp, Transactions(config, name, address), config.request_timeout, lane.work.compacted
            )
        return self._fillers[lane]
