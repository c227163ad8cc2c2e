"""The end of a restore: held-back configs are set, and unrestored topics are reported."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from towpath.archive.restore.applying import give_access, release
from towpath.archive.restore.groups import GroupRestorer
from towpath.archive.restore.progress import (
    RestorePhase,
    RestoreRow,
    restored,
    rows_of,
    standing_still,
    stopped,
)
from towpath.archive.restore.state import RestoreState
from towpath.archive.restore.target_logs import TargetLogs, look_at_logs
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName


def end(state: RestoreState) -> None:
    """Release the restored topics, and report those that are not restored.

    Args:
        state: The restore. It may have ended before anything was planned.

    Raises:
        LedgerError: The ledger is of no use.
        LinkHeldError: Another process changes the target now.
    """
    state.look()
    progress = state.progress
    progress.take(rows_of(state.scope, state.to.books, _logs(state)))
    differing = {each.topic for each in progress.proofs if each.differs}
    done = restored(progress.rows) - differing  # else the target would clean what is looked into
    if state.plan is not None and state.lease is not None and done:
        state.enter(RestorePhase.RELEASING)
        applied, _ = release(state.plan.restorer, done, state.lease.require)
        progress.left_out += applied.left_out
        _give(state)
        _give_access(state, done)
    progress.left_out = tuple(dict.fromkeys((*progress.left_out, *_behind(state))))
    state.show(progress)


def _behind(state: RestoreState) -> list[str]:
    """Return a sentence for each partition that is not restored, if it should be."""
    rows = state.progress.rows
    still = {row.tp: row.error for row in stopped(rows)} | state.unopened
    if not (state.stop.is_set() or state.progress.following):
        still |= {row.tp: _unsaid(row) for row in standing_still(rows, still)}
    return [f"{tp}: {error}" for tp, error in sorted(still.items()) if error]


def _unsaid(row: RestoreRow) -> str:
    """Return what is said of a partition that is not restored, and nobody told why."""
    if not row.mode:
        return "nothing of it is restored; start the restore again"
    return (
        f"it stands at offset {row.at} of {row.part.end}, and its slices ended without saying why;"
        " start the restore again"
    )


def _logs(state: RestoreState) -> TargetLogs | None:
    """Look at the logs on the target, `None` if it does not answer."""
    with suppress(ClusterError):
        return look_at_logs(state.to.target, state.scope)
    return None


def _give(state: RestoreState) -> None:
    """Let groups go on where they stood."""
    progress = state.progress
    state.enter(RestorePhase.GIVING)
    try:
        given = GroupRestorer(state.to, state.scope, state.task.rules).once()
    except ClusterError as error:
        progress.left_out += (f"groups of consumers: {error}",)
        return
    progress.groups = given
    progress.left_out += tuple(
        f"group {name}: {each.tp}: {each.reason}" for name, each in given.left
    )


def _give_access(state: RestoreState, done: Collection[TopicName]) -> None:
    """Bring access back once all topics are restored; till then nobody else shall write."""
    plan, progress = state.planned, state.progress
    if plan.access is None or not plan.access_steps:
        return
    if len(done) < len(plan.scope.topics) or state.stop.is_set():
        progress.left_out += ("access: it comes back once all topics are restored",)
        return
    applied = give_access(plan.access, plan.access_steps, state.held.require, state.stop)
    progress.left_out += applied.left_out
