"""The Spark job that compares a restored target with its archive."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from towpath.archive.errors import CommitLogError, RestoreDiffersError
from towpath.archive.model import GapKind
from towpath.archive.restore.progress import RestorePhase
from towpath.archive.restore.proof.proof_plan import ProofPlan
from towpath.archive.restore.proof.proof_slice import SCHEMA, prove_rows
from towpath.archive.restore.proof.proof_work import ComparedRange
from towpath.archive.restore.proof.verdict import PartProof, verdicts
from towpath.archive.restore.state import RestoreState
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError, LedgerError, StoreError
from towpath.settings import StoreLayout


def prove(state: RestoreState, spark: Any) -> None:
    """Compare the restored records with the archive, and record the verdicts.

    It comes before configs are given back that let the target delete or compact records. What
    differs is compared again with the archive of now: records may have been erased from it while
    they were restored.

    Args:
        state: The restore.
        spark: The Spark session.
    """
    state.look()
    state.enter(RestorePhase.COMPARING)
    try:
        proofs = _proofs(state, spark)
        if any(each.differs for each in proofs) and _refreshed(state):
            proofs = _proofs(state, spark)
    except (ClusterError, LedgerError) as error:
        state.progress.unproven = str(error)
        return
    except RuntimeError as error:
        state.progress.unproven = "stopped" if state.stop.is_set() else str(of_spark(error))
        return
    proofs = tuple(_with_erasures(state, each) for each in proofs)
    state.progress.proofs, state.progress.unproven = proofs, ""
    state.progress.left_out += tuple(
        str(RestoreDiffersError(each.named, each.why)) for each in proofs if each.differs
    )


def _proofs(state: RestoreState, spark: Any) -> tuple[PartProof, ...]:
    shared = state.task.rules.topics.shared
    return tuple(verdicts(state.scope, _compared(state, spark), shared=shared))


def _refreshed(state: RestoreState) -> bool:
    """Read what the commit log got since the restore began. Returns whether there was anything."""
    with suppress(CommitLogError, StoreError):  # then what was read of it counts
        return state.task.store.layout is StoreLayout.ARCHIVE and state.archive.refresh()
    return False


def _with_erasures(state: RestoreState, proof: PartProof) -> PartProof:
    """Return a proof that says which of its records the archive may lack by now."""
    topic = state.scope.topics[proof.topic]
    erased = sum(
        segment.gaps.get(GapKind.ERASED)
        for part in topic.parts
        if proof.partition in {None, part.id.partition}
        for segment in state.archive.segments(part.id, part.start, part.end)
    )
    if not (proof.differs and erased):
        return proof
    what = f"{counted(erased, 'record')} of it {'was' if erased == 1 else 'were'}"
    text = (
        f"{proof.why}; {what} erased from the archive (`archive"
        " forget`), and the target still has those that had come back before: delete its topic"
        " there, and restore it again"
    )
    return replace(proof, why=text)


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
