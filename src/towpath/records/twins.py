"""Lookup of the twin's producer ids in the source's ledger, for the lanes of one slice.

The twin claims each producer id there before it writes the first batch under it, so an unknown one
is looked up again, and nothing is copied before it is known (docs/decisions/0093).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.ledger import Ledger
from towpath.ledger.topic import TOPIC
from towpath.ledger.twins import KINDS, Direction, PrivateWriters
from towpath.model.nouns import ProducerId, Side
from towpath.records.change_services import Ready
from towpath.records.work import Assignment, CopySlice


class SliceTwins:
    """Finds out which batches of the source the twin wrote.

    Args:
        work: The slice.
        source: The control plane of the source.
    """

    def __init__(self, work: CopySlice, source: Admin) -> None:
        self._work, self._source = work, source
        self._client = Client(work.source, Side.SOURCE, source)
        self._ledger = Ledger(source, self._client)
        self._writers = PrivateWriters()
        self._reading = threading.Lock()

    def close(self) -> None:
        """Close the connection."""
        with self._reading:
            self._client.close()

    def wrote(self, a: Assignment, producer: ProducerId) -> bool | None:
        """Return whether the twin of a partition writes under a private producer id."""
        found = self._writers.direction(producer)
        if found is None:
            return None
        own = Direction(self._work.source_cluster, a.source, a.target)
        return found == own.back(self._work.target_cluster)

    def want(self, a: Assignment, producers: Sequence[ProducerId]) -> Ready:
        """Return a check that reads the ledger until all these producer ids are known."""

        def ready() -> bool:
            if not self._know(a, producers):
                self._read()
            return self._know(a, producers)

        return ready

    def _know(self, a: Assignment, producers: Sequence[ProducerId]) -> bool:
        return all(self.wrote(a, each) is not None for each in producers)

    def _read(self) -> None:
        """Read what is new in the ledger on the source. Blocking.

        Raises:
            ClusterError: The source could not be reached, or refused.
            LedgerError: The ledger cannot be read.
        """
        with self._reading:
            if self._source.topics.find(TOPIC) is None:
                return
            for entry in self._ledger.read(wanted=lambda key: key.kind in KINDS):
                self._writers.take(entry)
