"""Merging and removal of old offset map runs in the ledger, once an hour."""

from __future__ import annotations

import threading
from contextlib import suppress

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.tidy import Tidy
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side
from towpath.settings import LinkConfig

_EVERY = 3600.0
"""Seconds between two passes. A chunk of runs is old enough to be merged after about an hour."""

_PATIENCE = 5.0
"""Longest time in seconds that the end of a run waits; unsent requests fail."""


class Tidying(threading.Thread):
    """A thread that merges chunks of runs, and removes runs of deleted records.

    A pass that fails is repeated an hour later, as only the size of the ledger depends on it.
    """

    def __init__(self, config: LinkConfig, target: Admin) -> None:
        super().__init__(name="towpath-tidy", daemon=True)
        self._client = Client(config.target, Side.TARGET, target)
        self._tidy = Tidy(target, self._client, config.link)
        self._finished = threading.Event()

    def run(self) -> None:
        """Tidy once an hour until the run ends."""
        while not self._finished.is_set():
            with suppress(TowpathError):
                self._tidy.once()
            self._finished.wait(_EVERY)

    def close(self) -> None:
        """Stop, even in the middle of a request."""
        self._finished.set()
        self._client.close()
        self.join(_PATIENCE)
