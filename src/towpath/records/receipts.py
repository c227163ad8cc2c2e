"""The receipts that a slice writes to the ledger about once a second.

The cleaner keeps the last record of each key, so a late receipt must never replace one that reaches
further. Therefore each key has one writer, whose receipts arrive in order (docs/decisions/0018).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Entry, Gap, Receipt, Removed, Runs
from towpath.ledger.keys import is_abandoned, is_silent, new_name
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.errors import TowpathError
from towpath.model.nouns import LinkName, Side, TopicPartition
from towpath.records.jobs import Counts, Jobs
from towpath.records.lane.lane import Lane
from towpath.records.lane.progress import LaneProgress
from towpath.records.run_log import RunLog, again
from towpath.records.source.trouble import cut
from towpath.records.work import Slice
from towpath.runtime.clock import now_ms


class ReceiptKey:
    """The key under which a slice writes the receipts of one partition.

    The key changes whenever an earlier write may still arrive, so that receipts of one key arrive
    in order, and none after the key was removed.
    """

    def __init__(self) -> None:
        self._copier = new_name()
        self._last: Receipt | None = None
        self._own: list[Receipt] = []
        """The last receipt of each earlier key."""

    def change(self) -> None:
        """Use another ledger key from now on."""
        if self._last is not None:
            self._own.append(self._last)
        self._copier, self._last = new_name(), None

    def write(
        self, progress: LaneProgress, link: LinkName, packed: str = ""
    ) -> tuple[Receipt, list[Removed]]:
        """Return the receipt to write now, and the removals of receipts that it replaces.

        Args:
            progress: How far the partition has come.
            link: The link.
            packed: The closed runs for the receipt.
        """
        if self._last is not None and is_silent(self._last.at):
            self.change()
        receipt = progress.receipt(link, self._copier, packed)
        if self._last is not None and receipt.reach < self._last.reach:
            self.change()  # an opening had not read the last receipt and went back a little
            receipt = replace(receipt, copier=self._copier)
        self._last = receipt
        abandoned = [*progress.abandoned, *(r for r in self._own if is_abandoned(r.at, receipt.at))]
        useless = [r for r in abandoned if _is_useless(r, receipt)]
        progress.abandoned = ()
        self._own = [r for r in self._own if r not in useless]
        return receipt, [Removed(Receipt.kind, link, each.about()) for each in useless]


def _is_useless(other: Receipt, beside: Receipt) -> bool:
    """Whether another receipt says nothing that the receipt `beside` does not say."""
    further = other.reach < beside.reach and other.generation <= beside.generation
    return further and other.copier != beside.copier


class Receipts:
    """Writes the receipts, runs and gaps of the lanes of one slice.

    Attributes:
        busy: A write is running.
    """

    def __init__(
        self,
        work: Slice,
        target: Admin,
        reactor: Reactor,
        jobs: Jobs,
        lanes: Mapping[TopicPartition, Lane],
    ) -> None:
        self._work, self._reactor, self._jobs, self._lanes = work, reactor, jobs, lanes
        self._client = Client(work.target, Side.TARGET, target)
        self._ledger = Ledger(target, self._client)
        self._waiting: list[Entry] = []
        self._keys: defaultdict[TopicPartition, ReceiptKey] = defaultdict(ReceiptKey)
        self._logs: dict[TopicPartition, RunLog] = {}
        self._awaited: list[tuple[Counts, Callable[[], None]]] = []
        self.busy = False

    def note(self, gap: Gap) -> None:
        """Record a gap, to be written with the next receipts."""
        self._waiting.append(gap)

    def when_written(self, lane: Lane, then: Callable[[], None]) -> None:
        """Call `then` once the ledger has the lane's present position, unless it is reopened."""
        lane.progress.changed = True
        self._awaited.append((self._jobs.counting(lane), then))

    def begin(self) -> None:
        """Write at regular intervals from now on."""
        self._reactor.later(self._work.receipts, self._write)

    def write_last(self) -> None:
        """Write all pending receipts. Blocking."""
        self._append(self._due())

    def tell(self, entries: Iterable[Entry]) -> None:
        """Write an entry for other slices after everything written so far. Blocking.

        Raises:
            ClusterError: The ledger cannot be written.
        """
        self._ledger.append(entries, SESSIONS)

    def close_out(self, lane: Lane) -> None:
        """Write the last entries of a leaving lane with the next receipts."""
        entries, removed = self._due_of(lane)
        self._waiting += [*entries, *removed]
        self._keys.pop(lane.source, None)
        self._logs.pop(lane.source, None)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _write(self) -> None:
        self.begin()
        entries = [] if self.busy else self._due()
        if entries:
            self.busy = True
            awaited, self._awaited = self._awaited, []
            written = partial(self._written, entries, awaited)
            self._jobs.run(lambda: self._append(entries), written)

    def _append(self, entries: Iterable[Entry]) -> None:
        failures = self._client.failures
        try:
            self._ledger.append(entries)
        finally:
            if self._client.failures > failures:
                for each in self._keys.values():
                    each.change()
                for log in self._logs.values():
                    log.finish()

    def _due(self) -> list[Entry]:
        wanted, self._waiting = self._waiting, []
        removed: list[Removed] = []  # written after all receipts
        # Most of thousands of lanes are idle, so they must cost almost nothing each second.
        for lane in [lane for lane in self._lanes.values() if lane.progress.changed]:
            entries, useless = self._due_of(lane)
            wanted += entries
            removed += useless
        return [*wanted, *removed]

    def _due_of(self, lane: Lane) -> tuple[list[Entry], list[Removed]]:
        if lane.progress.front:
            return [], []
        log = self._log(lane)
        runs = lane.progress.runs
        entries: list[Entry] = [*self._cuts(lane), *log.add(runs.take_closed())]
        entries += log.add_all(runs.take_many())
        if not lane.progress.changed:
            return entries, []
        receipt, useless = self._keys[lane.source].write(
            lane.progress, self._work.link, log.packed()
        )
        return [*entries, receipt], useless

    def _cuts(self, lane: Lane) -> list[Gap]:
        """Return where the source's log was cut, now that the target offset is known."""
        passed, lane.progress.went_back = lane.progress.went_back, []
        return [
            Gap(
                link=self._work.link,
                topic=lane.source.topic,
                partition=lane.source.partition,
                producer_id=lane.work.producer_id,
                first=each.first,
                end=each.end,
                why=cut(each.first, each.end).why,
                went_on=True,
                at=now_ms(),
                target=each.target,
            )
            for each in passed
        ]

    def _log(self, lane: Lane) -> RunLog:
        tp = lane.work.source
        if tp not in self._logs:
            self._logs[tp] = RunLog(self._work.link, tp, lane.work.producer_id)
        return self._logs[tp]

    def _written(
        self,
        entries: list[Entry],
        awaited: list[tuple[Counts, Callable[[], None]]],
        error: TowpathError | None,
    ) -> None:
        self.busy = False
        if error is None:
            for counts, then in awaited:
                if counts():
                    then()
            return
        self._awaited[:0] = awaited
        runs = [again(entry) for entry in entries if isinstance(entry, Runs)]
        self._waiting[:0] = [*(entry for entry in entries if isinstance(entry, Gap)), *runs]
        for lane in self._lanes.values():
            lane.progress.changed = True
