"""`towpath restore run`: topics first, then slices on Spark, then the configs that were held back.

Progress is in the target's ledger, so a restore that was killed goes on where it stood, and a
restore that is complete has nothing to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from towpath.config import StoreLayout
from towpath.engine.failure import of_spark
from towpath.engine.slots import slots
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import OpenTarget, open_target
from towpath.model.backoff import BackOff
from towpath.model.clock import readable
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, StoreError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.permit import TAKEOVER
from towpath.records.session import LinkSession
from towpath.restore.applying import apply, give_access, release
from towpath.restore.beside import ALONE, Beside
from towpath.restore.follower import Follower
from towpath.restore.following import FollowedArchive
from towpath.restore.groups import GroupRestorer
from towpath.restore.jobs import SliceJob, told
from towpath.restore.logs import TargetLogs, look_at_logs
from towpath.restore.model import RestoreScope
from towpath.restore.plan import RestorePlan, identify, plan_restore
from towpath.restore.progress import RestorePhase, RestoreProgress, restored, rows_of, stopped
from towpath.restore.rounds import RoundTerms, plan_slices
from towpath.restore.task import RestoreTask
from towpath.restore.waking import Bell
from towpath.segments.foreign.state import open_any
from towpath.segments.ingress.work import RESTORE
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
    beside: Beside = ALONE,
    bell: Bell | None = None,
) -> RestoreProgress:
    """Restore until all is there, or `stop` is set.

    Args:
        task: The restore.
        spark: The Spark session, which is still starting.
        stop: Set to stop early.
        show: Shows the progress.
        parallelism: How many slices run at a time; by default as many as Spark can run.
        beside: The other restores of this process.
        bell: Rings when objects have arrived, for a restore that follows its archive.

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
        following = FollowedArchive(store, task.region, task.rules.follow) if task.follow else None
        archive = following.archive if following else open_any(store, task.region, task.as_of)
        if reading is not None:
            reading.passed(archive.log.state.version)
        to = stack.enter_context(open_target(task.name, task.target))
        made = _Restore(task, archive, to, progress, stop, show, stack)
        made.beside = beside
        if following is not None:
            made.follow(following, reading, bell)
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
        if store.config.layout is not StoreLayout.ARCHIVE:
            yield reading  # nothing is ever written beside the files of others
            return
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
        self.beside = ALONE
        self._follower: Follower | None = None

    def follow(
        self, following: FollowedArchive, reading: ArchiveReading | None, bell: Bell | None
    ) -> None:
        """Go on with what is archived meanwhile."""
        self._follower = Follower(following, reading, self._task, self._to, self._session, bell)
        self._progress.following = True

    def prepare(self) -> bool:
        """Prepare the ledger and the topics; return whether there is anything to restore."""
        with self.beside.planning:
            self._begin()
        return bool(self._scope.topics) or self._follower is not None

    def _begin(self) -> None:
        plan = plan_restore(self._task, self._to, self._archive)
        refuse(plan.plan)
        self._enter(RestorePhase.PREPARING)
        identify(self._task, self._to)
        self._session.start()
        self._stack.callback(self._session.close)
        lease = Lease(self._to, "restore run", RESTORE, self._session.dead)
        self._lease = self._stack.enter_context(lease)
        self._progress.takeover = lease.takeover
        self._to.read()
        self._adopt(plan)

    def _adopt(self, plan: RestorePlan) -> None:
        """Prepare the topics of a plan, and restore these from now on."""
        lease = self._lease
        assert lease is not None  # noqa: S101  # by `_begin`
        self._plan = plan
        applied = apply(plan.restorer, plan.checked, lease.require, self._stop)
        left = [*applied.rest, *(step for step, _ in applied.failed)]
        failed = {applied.blamed(step) for step in left if step.creates}
        kept = plan.topics.topics.items()
        topics = {name: topic for name, topic in kept if name not in failed}
        self._scope = replace(plan.topics, topics=topics)
        progress = self._progress
        noted = map(str, plan.plan.notes)
        progress.notes += tuple(each for each in noted if each not in progress.notes)
        progress.left_out = (*map(str, plan.plan.problems), *applied.left_out)
        progress.archives = (self._archived(),)
        if self._follower is not None:
            self._follower.planned(plan, self._scope)
        self._look()

    def _archived(self) -> dict[str, Any]:
        """Return which archive is restored, as data."""
        task, scope = self._task, self._scope
        return {
            "source": task.source,
            "store": task.store.url,
            "region": task.region,
            "version": scope.version,
            "time": readable(scope.at) if scope.at else None,
        }

    def _plan_again(self) -> None:
        """Plan anew, as the archive has grown by more than records."""
        with self.beside.planning:
            self._to.read()
            assert self._follower is not None  # noqa: S101  # by `go`
            self._archive = self._follower.archive
            plan = plan_restore(self._task, self._to, self._archive)
            refuse(plan.plan)
            self._adopt(plan)

    def go(self, spark: Starting, parallelism: int | None) -> None:
        """Restore on Spark, with an event at the start and at the end."""
        self._enter(RestorePhase.STARTING)
        session = spark.result()
        self._session.wait(self._stop)
        self._enter(RestorePhase.RESTORING)
        number, over = 0, False
        with told(self._to, self._session.run_id, self._scope):
            while not (over or self._stop.is_set()):
                number += 1
                over = self._round(session, number, self.beside.share(slots(session, parallelism)))
                if self._follower is not None and not self._stop.is_set():
                    over = False
                    self._plan_again()

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
            self._give_access(plan, lease, done)
        still = {row.tp: row.error for row in stopped(progress.rows)} | self._unopened
        further = (f"{tp}: {error}" for tp, error in sorted(still.items()) if error)
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

    def _give_access(self, plan: RestorePlan, lease: Lease, done: Collection[TopicName]) -> None:
        """Bring access back once all topics are restored; till then nobody else shall write."""
        progress = self._progress
        if plan.access is None or not plan.access_steps:
            return
        if len(done) < len(plan.scope.topics) or self._stop.is_set():
            progress.left_out += ("access: it comes back once all topics are restored",)
            return
        applied = give_access(plan.access, plan.access_steps, lease.require, self._stop)
        progress.left_out += applied.left_out

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
            besides=self._follower.young if self._follower is not None else frozenset(),
        )
        slices = plan_slices(self._task, self._scope, self._to.target, self._to.books, terms)
        if not slices:
            session.settled.ended(number, settled=terms.settled)
            self._await_topics()
            return True
        try:
            self._ended(number, self._attend(number, SliceJob(spark, slices)))
        except RuntimeError as error:
            self._failed(error, number)
            return False
        return True

    def _await_topics(self) -> None:
        """Wait until there is anything to restore, if the archive is followed."""
        while self._follower is not None and not self._stop.wait(self._pause):
            if self._takes_in():
                return
            self._look()

    def _takes_in(self) -> bool:
        """Take in what was archived meanwhile; return whether slices must be planned anew."""
        follower, plan, lease = self._follower, self._plan, self._lease
        if follower is None or plan is None or lease is None:
            return False
        is_other = follower.take_in()
        self._scope, self._progress.heard = follower.scope, (follower.heard,)
        caught_up = follower.caught_up()
        if caught_up:
            with suppress(ClusterError):  # a later look tries again
                applied, _ = release(plan.restorer, caught_up, lease.require)
                follower.released(caught_up)
                # Slices must know of compaction, which begins with it.
                is_other = is_other or bool(applied.done)
        return is_other

    @property
    def _pause(self) -> float:
        """Seconds between two looks."""
        return min(_LOOK, float(self._task.rules.follow.look)) if self._follower else _LOOK

    def _attend(self, number: int, job: SliceJob) -> pa.Table:
        """Show the progress of a job until it has ended; return its rows."""
        job.start()
        drained: Deadline | None = None
        is_over = False
        while not job.wait(self._pause):
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
            if not is_over and drained is None and self._takes_in():
                with suppress(ClusterError):  # then the next look ends the round
                    self._session.end_round(number)
                    is_over = True
        return job.result()

    def _ended(self, number: int, rows: pa.Table) -> None:
        """Take what the slices of a round told."""
        ended: Sequence[dict[str, Any]] = rows.to_pylist()
        under_way = any(row["under_way"] for row in ended)
        repeated = self._session.was_repeated(number)
        self._session.settled.ended(number, settled=not (under_way or repeated))
        self._unopened = {
            TopicPartition(row["topic"], row["partition"]): row["error"]
            for row in ended
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
