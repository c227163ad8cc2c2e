"""`towpath restore run`: topics first, then slices on Spark, then the configs that were held back.

Progress is in the target's ledger, so a restore that was killed goes on where it stood, and a
restore that is complete has nothing to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.slots import slots
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import OpenTarget, open_target
from towpath.model.backoff import BackOff
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, StoreError, TowpathError
from towpath.model.nouns import TopicPartition
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.permit import TAKEOVER
from towpath.records.session import LinkSession
from towpath.records.work import TOLD
from towpath.restore.applying import apply, release
from towpath.restore.groups import GroupRestorer
from towpath.restore.logs import TargetLogs, look_at_logs
from towpath.restore.model import RestoreScope
from towpath.restore.plan import RestorePlan, identify, plan_restore
from towpath.restore.progress import RestorePhase, RestoreProgress, restored, rows_of, stopped
from towpath.restore.rounds import RoundTerms, plan_slices
from towpath.restore.scope import open_archive
from towpath.restore.slices import run_slice
from towpath.restore.task import RestoreTask
from towpath.segments.ingress.work import RESTORE, RestoreSlice
from towpath.segments.log import Archive, ArchiveReading
from towpath.store import Store

_LOOK = 1.0
_DRAIN = 30.0
_FAILURES = 5
_AGAIN = BackOff(first=2.0, longest=30.0)
_UNREGISTERED = (
    "objects that a compaction replaces meanwhile may be deleted while they are read; they are"
    " found again under their new keys"
)
Show = Callable[[RestoreProgress], None]


def run(
    task: RestoreTask,
    spark: Starting,
    stop: threading.Event,
    show: Show,
    parallelism: int | None = None,
) -> RestoreProgress:
    """Restore until all is there, or `stop` is set.

    Args:
        task: The restore.
        spark: The Spark session, which is still starting.
        stop: Set to stop early.
        show: Shows the progress.
        parallelism: How many slices run at a time; by default as many as Spark can run.

    Raises:
        ClusterError: The target refused access, or could not be reached.
        CommitLogError: The commit log of the archive is of no use.
        ConfigError: The file asks for something impossible.
        LedgerError: Another restore of this name is alive, or the name belongs to another one.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
        StoreError: The store could not be read.
    """
    progress = RestoreProgress()
    with ExitStack() as stack:
        spark.require_allowed()
        show(progress)
        store = stack.enter_context(Store(task.store))
        reading = stack.enter_context(_registered(store, task.region, progress))
        archive = open_archive(store, task.region, task.as_of)
        if reading is not None:
            reading.passed(archive.log.state.version)
        to = stack.enter_context(open_target(task.name, task.target))
        made = _Restore(task, archive, to, progress, stop, show, stack)
        if made.prepare():
            made.go(spark, parallelism)
        made.finish()
    return progress


@contextmanager
def _registered(
    store: Store, region: str, progress: RestoreProgress
) -> Iterator[ArchiveReading | None]:
    """Let others keep objects for this restore, if the login may write to the store."""
    with ExitStack() as stack:
        reading: ArchiveReading | None = None
        try:
            reading = stack.enter_context(ArchiveReading(store, region, RESTORE))
        except StoreError as error:
            progress.notes += (f"{error}; so {_UNREGISTERED}",)
        yield reading


class _Restore:
    def __init__(
        self,
        task: RestoreTask,
        archive: Archive,
        to: OpenTarget,
        progress: RestoreProgress,
        stop: threading.Event,
        show: Show,
        stack: ExitStack,
    ) -> None:
        self._task, self._archive, self._to = task, archive, to
        self._progress, self._stop, self._show, self._stack = progress, stop, show, stack
        self._session = LinkSession(task.name, task.target, to.target, RESTORE)
        self._lease: Lease | None = None
        self._plan: RestorePlan | None = None
        self._scope = RestoreScope(region=task.region, version=0, at=0)
        self._unopened: dict[TopicPartition, str] = {}
        self._failures = 0

    def prepare(self) -> bool:
        """Prepare the ledger and the topics; return whether there is anything to restore."""
        plan = self._plan = plan_restore(self._task, self._to, self._archive)
        refuse(plan.plan)
        self._enter(RestorePhase.PREPARING)
        identify(self._task, self._to)
        self._session.start()
        self._stack.callback(self._session.close)
        lease = Lease(self._to, "restore run", RESTORE, self._session.dead)
        self._lease = self._stack.enter_context(lease)
        self._to.read()
        applied = apply(plan.restorer, plan.checked, lease.require, self._stop)
        left = [*applied.rest, *(step for step, _ in applied.failed)]
        failed = {applied.blamed(step) for step in left if step.creates}
        kept = plan.topics.topics.items()
        topics = {name: topic for name, topic in kept if name not in failed}
        self._scope = replace(plan.topics, topics=topics)
        progress = self._progress
        progress.takeover = lease.takeover
        progress.notes += tuple(map(str, plan.plan.notes))
        progress.left_out = (*map(str, plan.plan.problems), *applied.left_out)
        self._look()
        return bool(self._scope.topics)

    def go(self, spark: Starting, parallelism: int | None) -> None:
        """Restore on Spark, with an event at the start and at the end."""
        self._enter(RestorePhase.STARTING)
        session = spark.result()
        self._session.wait(self._stop)
        self._enter(RestorePhase.RESTORING)
        number, over = 0, False
        with _told(self._to, self._session.run_id, self._scope):
            while not (over or self._stop.is_set()):
                number += 1
                over = self._round(session, number, slots(session, parallelism))

    def finish(self) -> None:
        """Release what is restored, and say what is not."""
        self._look()
        progress, plan, lease = self._progress, self._plan, self._lease
        progress.take(rows_of(self._scope, self._to.books, self._logs()))
        done = restored(progress.rows)
        if plan is not None and lease is not None and done:
            self._enter(RestorePhase.RELEASING)
            applied, _ = release(plan.restorer, done, lease.require)
            progress.left_out += applied.left_out
            self._give()
        told = {row.tp: row.error for row in stopped(progress.rows)} | self._unopened
        further = (f"{tp}: {error}" for tp, error in sorted(told.items()) if error)
        progress.left_out = tuple(dict.fromkeys((*progress.left_out, *further)))
        self._show(progress)

    def _logs(self) -> TargetLogs | None:
        """Look at the logs on the target, `None` if it does not answer."""
        with suppress(ClusterError):
            return look_at_logs(self._to.target, self._scope)
        return None

    def _give(self) -> None:
        """Let groups go on where they stood."""
        progress = self._progress
        self._enter(RestorePhase.GIVING)
        try:
            given = GroupRestorer(self._to, self._scope, self._task.rules).once()
        except ClusterError as error:
            progress.left_out += (f"groups of consumers: {error}",)
            return
        progress.groups = given
        progress.left_out += tuple(
            f"group {name}: {each.tp}: {each.reason}" for name, each in given.left
        )

    # Rounds

    def _round(self, spark: Any, number: int, parallelism: int) -> bool:
        """Run the slices of a round; return whether the restore is over."""
        session, plan = self._session, self._plan
        assert plan is not None  # noqa: S101  # by `prepare`
        self._to.read()
        terms = RoundTerms(
            run_id=session.run_id,
            number=number,
            parallelism=parallelism,
            settled=session.settled.begin(number),
            fill=plan.fill,
        )
        slices = plan_slices(self._task, self._scope, self._to.target, self._to.books, terms)
        if not slices:
            session.settled.ended(number, settled=terms.settled)
            return True
        try:
            self._ended(number, self._attend(_Job(spark, slices)))
        except RuntimeError as error:
            self._failed(error, number)
            return False
        return True

    def _attend(self, job: _Job) -> pa.Table:
        """Show the progress of a job until it has ended; return its rows."""
        job.start()
        drained: Deadline | None = None
        while not job.wait(_LOOK):
            if self._session.taken_over is not None:
                job.cancel.set()
                raise self._session.taken_over
            if self._stop.is_set() and drained is None:
                drained = Deadline.after(_DRAIN)
                self._enter(RestorePhase.DRAINING)
                with suppress(ClusterError):
                    self._session.end()
            if drained is not None and drained.over:
                job.cancel.set()
            self._look()
        return job.result()

    def _ended(self, number: int, rows: pa.Table) -> None:
        """Take what the slices of a round told."""
        told: Sequence[dict[str, Any]] = rows.to_pylist()
        under_way = any(row["under_way"] for row in told)
        repeated = self._session.was_repeated(number)
        self._session.settled.ended(number, settled=not (under_way or repeated))
        self._unopened = {
            TopicPartition(row["topic"], row["partition"]): row["error"]
            for row in told
            if row["error"]
        }
        self._progress.trouble = ""

    def _failed(self, error: RuntimeError, number: int) -> None:
        """Raise after too many failures in a row; otherwise wait before the next round."""
        self._session.settled.failed()
        if self._stop.is_set():
            return
        self._failures += 1
        said = of_spark(error)
        if self._failures > _FAILURES:
            raise said from error
        with suppress(ClusterError):
            self._session.end_round(number)
        self._progress.trouble = str(said)
        self._to.events.tell(What.ROUND_FAILED, number=number, error=str(said), code=said.code)
        self._show(self._progress)
        # Slices of the failed round may go on until they have read that it ended.
        self._stop.wait(max(TAKEOVER, _AGAIN.after(self._failures)))

    def _look(self) -> None:
        with suppress(ClusterError):  # the slices tell what is wrong with the target
            self._to.read()
        self._progress.take(rows_of(self._scope, self._to.books))
        self._show(self._progress)

    def _enter(self, phase: RestorePhase) -> None:
        self._progress.phase = phase
        self._show(self._progress)


class _Job(threading.Thread):
    """The slices of one round, as a Spark job that another thread waits for.

    Attributes:
        cancel: Set to cancel the slices, which is safe at any moment.
    """

    def __init__(self, spark: Any, slices: Sequence[RestoreSlice]) -> None:
        super().__init__(name="towpath-restore", daemon=True)
        self._spark, self._slices = spark, slices
        self.cancel = threading.Event()
        self._rows: pa.Table | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Run the job; `result` has what comes of it."""
        try:
            self._rows = run_slices(
                self._spark, self._slices, run_slice, TOLD, lambda _done, _all: None, self.cancel
            )
        except BaseException as error:  # noqa: BLE001  # raised again by `result`
            self._error = error

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the job; return whether it has ended."""
        self.join(seconds)
        return not self.is_alive()

    def result(self) -> pa.Table:
        """Return the rows of the job.

        Raises:
            RuntimeError: A slice failed, or was cancelled; the text is Spark's.
            SparkLostError: The JVM is gone.
        """
        if self._error is not None:
            raise self._error
        assert self._rows is not None  # noqa: S101  # it has ended
        return self._rows


@contextmanager
def _told(to: OpenTarget, run_id: str, scope: RestoreScope) -> Iterator[None]:
    """Write an event at the start and at the end of a restore, with the error that ended it."""
    facts: dict[str, Any] = {
        "restore": scope.region,
        "version": scope.version,
        "topics": len(scope.topics),
    }
    to.events.tell(What.RUN_STARTED, run_id=run_id, **facts)
    try:
        yield
    except BaseException as error:
        code = error.code if isinstance(error, TowpathError) else type(error).__name__
        to.events.tell(What.RUN_ENDED, run_id=run_id, error=code)
        raise
    to.events.tell(What.RUN_ENDED, run_id=run_id, error="")
