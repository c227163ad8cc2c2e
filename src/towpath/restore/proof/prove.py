"""Proves on Spark that a target has what the archive holds."""

from __future__ import annotations

from typing import Any

from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.model.errors import ClusterError, LedgerError, RestoreDiffersError
from towpath.restore.progress import RestorePhase
from towpath.restore.proof.plan import ProofPlan
from towpath.restore.proof.slice import SCHEMA, prove_rows
from towpath.restore.proof.verdict import verdicts
from towpath.restore.proof.work import ComparedRange
from towpath.restore.state import RestoreState


def prove(state: RestoreState, spark: Any) -> None:
    """Compare what was restored with the archive, and keep the verdicts in the progress.

    It comes before configs are given back that let the target delete or compact records.

    Args:
        state: The restore.
        spark: The Spark session.
    """
    state.look()
    state.enter(RestorePhase.COMPARING)
    try:
        found = _compared(state, spark)
    except (ClusterError, LedgerError) as error:
        state.progress.unproven = str(error)
        return
    except RuntimeError as error:
        state.progress.unproven = "stopped" if state.stop.is_set() else str(of_spark(error))
        return
    shared = state.task.rules.topics.shared
    proofs = tuple(verdicts(state.scope, found, shared=shared))
    state.progress.proofs, state.progress.unproven = proofs, ""
    state.progress.left_out += tuple(
        str(RestoreDiffersError(each.named, each.why)) for each in proofs if each.differs
    )


def _compared(state: RestoreState, spark: Any) -> list[ComparedRange]:
    to, scope = state.to, state.scope
    to.read()
    to.ledger.read_runs(to.books)
    plan = ProofPlan(state.task, state.archive, scope, to.books, to.target.cluster.id())
    slices = plan.slices(state.progress.rows)

    def told(done: int, of_all: int) -> None:
        state.progress.compared = done, of_all
        state.show(state.progress)

    rows = run_slices(spark, slices, prove_rows, SCHEMA, told, state.stop)
    found = map(ComparedRange.from_json, rows["compared"].to_pylist())
    return sorted(found, key=lambda each: (each.tp, each.first))
