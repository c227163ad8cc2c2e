"""The sync of groups at the cutover, repeated until only lasting problems remain."""

from __future__ import annotations

import threading
from collections.abc import Callable

from towpath.groups.model import GroupPosition, PositionOutcome, SyncReport
from towpath.groups.sync import GroupSync
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.reasons import ReasonCode
from towpath.runtime.deadline import Deadline

PATIENCE = 30.0
"""Seconds for what passes: a coordinator that moves, or an answer that was lost."""
SESSION = 60.0
"""Seconds for a closed Kafka Streams application: its session timeout is 45 s by default."""
_PAUSE = 1.0
_PASSING = frozenset({ReasonCode.GROUP_ANSWER_LOST, ReasonCode.CLUSTER_UNREACHABLE})


def settle(
    sync: GroupSync,
    stop: threading.Event | None = None,
    patience: float = PATIENCE,
    *,
    gone: bool = False,
    ending: bool = False,
    waits: Callable[[SyncReport], None] = lambda _: None,
) -> SyncReport:
    """Sync the groups, and repeat for problems that may pass.

    Args:
        sync: The link's groups.
        stop: Set to end early.
        patience: Seconds for what passes.
        gone: The source is gone: take what the ledger knows of its groups.
        ending: Nothing more will be mirrored, so no position waits for that.
        waits: Told of each sync that is repeated.

    Raises:
        ClusterError: A cluster cannot be reached.
        LedgerError: The ledger is of no use.
    """
    waiting = stop or threading.Event()
    until, held = Deadline.after(patience), Deadline.after(SESSION)
    while True:
        report = sync.once(last=True, renew=True, gone=gone, ending=ending)
        again = (not until.over and _may_pass(report)) or (not held.over and _is_held(report))
        if not again:
            return report
        waits(report)
        if waiting.wait(_PAUSE):
            return report


def _may_pass(report: SyncReport) -> bool:
    errors = (*report.failed.values(), *report.unlisted)
    return any(map(_passes, errors)) or any(map(_is_open, report.positions))


def _is_held(report: SyncReport) -> bool:
    reasons = (each.reason for each in report.positions)
    return any(why is not None and why.code is ReasonCode.GROUP_HELD for why in reasons)


def _passes(error: ClusterError) -> bool:
    return isinstance(error, UnreachableError) or (
        isinstance(error, RefusedError) and error.retriable
    )


def _is_open(position: GroupPosition) -> bool:
    unknown = position.outcome is PositionOutcome.UNKNOWN
    return unknown or (position.reason is not None and position.reason.code in _PASSING)
