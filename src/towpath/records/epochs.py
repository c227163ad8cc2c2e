"""First offsets of the leader epochs that a reader has seen in a source log. Pure."""

from __future__ import annotations

import numpy as np

from towpath.wire import batch as wire

_MOST = 100
"""Changes of the leader that are kept."""


class EpochStarts:
    """The first seen offset of each leader epoch."""

    __slots__ = ("_starts",)

    def __init__(self) -> None:
        self._starts: list[tuple[int, int]] = []

    def saw(self, table: wire.Table) -> None:
        """Record the epochs of batches, in the order of the log.

        Args:
            table: The batches, as `batch.scan` found them.
        """
        if not len(table):
            return
        epochs, bases = table[:, wire.LEADER_EPOCH], table[:, wire.BASE]
        self._began(int(epochs[0]), int(bases[0]))
        if epochs[0] != epochs[-1]:
            for at in np.flatnonzero(np.diff(epochs)) + 1:
                self._began(int(epochs[at]), int(bases[at]))

    def forget(self) -> None:
        """Forget all epochs, as the log was replaced."""
        self._starts.clear()

    def after(self, epoch: int, otherwise: int) -> int:
        """Return the first seen offset of a later epoch.

        Args:
            epoch: An epoch.
            otherwise: What is returned if no later one was seen.
        """
        return next((start for each, start in self._starts if each > epoch), otherwise)

    def _began(self, epoch: int, base: int) -> None:
        starts = self._starts
        while starts and (starts[-1][1] >= base or starts[-1][0] > epoch):
            if starts[-1] == (epoch, base):
                return
            starts.pop()  # it is read again, or was cut
        if epoch >= 0 and (not starts or starts[-1][0] != epoch):
            starts.append((epoch, base))
            del starts[:-_MOST]
