"""Tidies up the runs of a link beside its run, now and then."""

from __future__ import annotations

import threading
from contextlib import suppress

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.config import LinkConfig
from towpath.ledger.tidy import Tidy
from towpath.model.errors import TowpathError
from towpath.model.nouns import Side

_EVERY = 3600.0
"""Seconds between two times. Chunks of runs are old enough to be merged after about an hour."""

_PATIENCE = 5.0
"""Seconds for which the end of a run waits at most; a request that was not sent yet fails then."""


class Tidying(threading.Thread):
    """Merges chunks of runs, and removes those of records that the target has deleted.

    What fails is tried again an hour later: only the size of the ledger depends on it.
    """

    def __init__(self, config: LinkConfig, target: Admin) -> None:
        super().__init__(name="towpath-tidy", daemon=True)
        self._client = Client(config.target, Side.TARGET, target)
        self._tidy = Tidy(target, self._client, config.link)
        self._finished = threading.Event()

    def run(self) -> None:
        """Tidy up until the run ends."""
        while not self._finished.is_set():
            with suppress(TowpathError):
                self._tidy.once()
            self._finished.wait(_EVERY)

    def close(self) -> None:
        """Stop, in the middle of a request if need be."""
        self._finished.set()
        self._client.close()
        self.join(_PATIENCE)
