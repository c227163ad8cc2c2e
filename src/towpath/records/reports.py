"""Reports on a slice's use of its rate limits, so that the run can share them by need."""

from __future__ import annotations

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.reactor import Reactor
from towpath.ledger.entries import Paced, Used
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.model.nouns import Side
from towpath.records.jobs import Jobs
from towpath.records.source.pace import Gate, Pace
from towpath.records.work import Slice
from towpath.runtime.clock import now_ms

_EVERY = 2.0
"""Seconds between two reports."""


class PaceReports:
    """Writes a slice's use of its rate limits to the ledger.

    Args:
        work: The slice.
        target: The control plane of the target.
        reactor: Everything but the writing happens in its thread.
        jobs: Does the writing.
        pace: The limits.
    """

    def __init__(
        self, work: Slice, target: Admin, reactor: Reactor, jobs: Jobs, pace: Pace
    ) -> None:
        self._work, self._reactor, self._jobs, self._pace = work, reactor, jobs, pace
        self._client = Client(work.target, Side.TARGET, target)
        self._ledger = Ledger(target, self._client)
        self._busy = False

    def begin(self) -> None:
        """Report at regular intervals from now on."""
        self._reactor.later(_EVERY, self._report)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _report(self) -> None:
        self.begin()
        if self._pace.on and not self._busy:
            self._busy, entry = True, self._entry()
            self._jobs.run(lambda: self._ledger.append([entry], SESSIONS), self._reported)

    def _reported(self, _failed: object) -> None:
        self._busy = False  # the next report makes up for one that is lost

    def _entry(self) -> Paced:
        work, pace = self._work, self._pace
        return Paced(
            link=work.link,
            run_id=work.run_id,
            round=work.round,
            slice=work.number,
            at=now_ms(),
            whole=_used(pace.link) if pace.link is not None else None,
            topics={topic: _used(gate) for topic, gate in pace.topics.items()},
        )


def _used(gate: Gate) -> Used:
    return Used(gate.used, round(gate.waited, 3))
