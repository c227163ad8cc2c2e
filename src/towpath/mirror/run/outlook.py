"""Periodic looks at the standing of all partitions during a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from towpath.ledger.link import OpenLink
from towpath.mirror.metrics.feeding import stands
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run.happenings import Partitions
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.status.cutovers import still_running
from towpath.mirror.status.deletions import DeletionWatch
from towpath.mirror.status.losses import Losses
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.status.transaction_watch import TransactionWatch
from towpath.model.errors import ClusterError
from towpath.records.source.beginnings import PATIENCE

_PAUSE = 1.0
"""Shortest time between two looks, in seconds."""
_DELETIONS = 30.0
"""Seconds between two looks at what the target deleted; brokers delete every five minutes."""
_TRANSACTIONS = 30.0
"""Seconds between two questions of whom the open transactions are."""
_SPARING = 50
"""Looks may take a fiftieth of a core."""


class Outlook:
    """Observes all partitions of a link, and updates the display, metrics and events.

    Args:
        link: The link.
        meter: Told of each look.
        progress: Gets the rows.
        ends: Whether the run ends once it has caught up.

    Attributes:
        unopened: Errors of partitions that the last round could not open, by topic and partition.
    """

    def __init__(
        self, link: OpenLink, meter: LinkMeter, progress: RunProgress, *, ends: bool
    ) -> None:
        self._link, self._meter, self._progress, self._ends = link, meter, progress, ends
        self._losses = Losses(patient=False)
        self._deletions = DeletionWatch(_DELETIONS)
        self._transactions = TransactionWatch(_TRANSACTIONS)
        self._partitions = Partitions(link.events)
        self._next = 0.0
        self.unopened: Mapping[tuple[str, int], str] = {}

    def look_when_due(self) -> None:
        """Look if a look is due; idle partitions must cost nothing.

        What a look costs is its CPU time: on a busy machine, or with a slow broker, a cheap look
        takes long, and the next one must not be late for that.

        Raises:
            ClusterError: A cluster could not be reached.
        """
        began, spent = time.monotonic(), time.thread_time()
        if began >= self._next:
            self.look(PATIENCE)
            ended, spent = time.monotonic(), time.thread_time() - spent
            self._next = ended + max(_PAUSE, ended - began, _SPARING * spent)

    def look_last(self, stop: threading.Event) -> None:
        """Look once more at the end of the run.

        Args:
            stop: Set if the user stopped the run. A cluster that is away is then shown as trouble,
                and the rows stay as they were.

        Raises:
            ClusterError: A cluster could not be reached.
        """
        self._progress.events = self._link.events.trouble
        self._losses.patient = True
        self._deletions, self._transactions = DeletionWatch(), TransactionWatch()
        try:
            self.look()
        except ClusterError as error:
            if not stop.is_set():
                raise
            self._progress.trouble = str(error)

    def look(self, patience: float | None = None) -> None:
        """Observe where each partition stands.

        Args:
            patience: Seconds to wait for a partition without a leader; `None` waits for the request
                timeout.

        Raises:
            ClusterError: A cluster could not be reached.
        """
        rows = self._rows(patience)
        if any(row.lost for row in rows) and not self._link.books.runs_read:
            self._read_runs()  # they tell which source offsets were lost
            rows = self._rows(patience)
        link, progress = self._link, self._progress
        rows = self._deletions.told_in(
            rows, link.config, link.books, (link.source, link.target), self._read_runs, patience
        )
        rows = self._transactions.told_in(rows, link.source, patience)
        progress.rows = tuple(map(self._with_error, rows))
        progress.hanging = tuple(
            row.named(row.open.sentence(row.topic, row.partition))
            for row in rows
            if row.open is not None and row.open.hangs
        )
        self._meter.looked(stands(progress.rows))
        self._partitions.look(progress.rows)
        progress.trouble = progress.held
        progress.paused = tuple(map(str, self._link.books.pauses.values()))
        progress.cut_over = still_running(self._link.books)

    def _read_runs(self) -> None:
        self._link.ledger.read_runs(self._link.books)

    def _rows(self, patience: float | None) -> tuple[PartitionStatus, ...]:
        link = self._link
        link.read()
        return status(link.config, link.books, link.source, link.target, self._losses, patience)

    def _with_error(self, row: PartitionStatus) -> PartitionStatus:
        """Add the error of a partition that could not be opened; the ledger has no entry for it."""
        error = self.unopened.get((row.topic, row.partition), "")
        if not error or row.left_out or not self._ends:
            return row
        return replace(row, state=State.STOPPED, error=error)
