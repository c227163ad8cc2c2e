"""`towpath restore run`: create topics, restore on Spark, then set withheld configs.

Progress is in the target's ledger, so a restore that was killed goes on where it stood, and a
restore that is complete has nothing to do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from towpath.archive.log import ArchiveReading
from towpath.archive.read.feed.restore_work import RESTORE
from towpath.archive.read.foreign.foreign_state import open_any
from towpath.archive.restore.applying import apply
from towpath.archive.restore.ending import end
from towpath.archive.restore.follower import Follower
from towpath.archive.restore.following import FollowedArchive
from towpath.archive.restore.jobs import recording_events
from towpath.archive.restore.model import RestoreScope
from towpath.archive.restore.plan import RestorePlan, identify, plan_restore
from towpath.archive.restore.playing import RoundPlayer
from towpath.archive.restore.progress import RestoredArchive, RestorePhase, RestoreProgress
from towpath.archive.restore.proof.prove import prove
from towpath.archive.restore.schemas import RestoredRegistry
from towpath.archive.restore.several import ALONE, Beside
from towpath.archive.restore.state import RestoreState, Show
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Bell
from towpath.engine.starting import Starting
from towpath.ledger.link import open_target
from towpath.model.errors import StoreAwayError, StoreError
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.session import LinkSession
from towpath.settings import StoreLayout
from towpath.store import Store, hasty
from towpath.store.patience import AGAIN
from towpath.store.stopping import stoppable

_UNREGISTERED = (
    "objects that a compaction replaces meanwhile may be deleted while they are read; they are"
    " found again under their new keys"
)

_INCOMPLETE = "the restore is not complete, and the next one goes on where it stands"


def run(
    task: RestoreTask,
    spark: Starting,
    stop: threading.Event,
    show: Show,
    parallelism: int | None = None,
    beside: Beside = ALONE,
    bell: Bell | None = None,
) -> RestoreProgress:
    """Restore until complete, or until `stop` is set.

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
        StoppedError: The store is away, and `stop` was set.
        StoreError: The store could not be read.
    """
    progress = RestoreProgress()
    with stoppable(stop, _INCOMPLETE), ExitStack() as stack:
        spark.require_allowed()
        show(progress)
        place = hasty(task.store) if task.follow else task.store
        store = stack.enter_context(Store(place, stop=stop))
        reading = stack.enter_context(_registered(store, task.region, progress))
        following = FollowedArchive(store, task.region, task.rules.follow) if task.follow else None
        archive = following.archive if following else open_any(store, task.region, task.as_of)
        if reading is not None:
            reading.passed(archive.log.state.version)
        to = stack.enter_context(open_target(task.name, task.target))
        state = RestoreState(
            task=task,
            archive=archive,
            to=to,
            session=LinkSession(task.name, task.target, to.target, RESTORE),
            progress=progress,
            stop=stop,
            show=show,
            schemas=RestoredRegistry(to, task.rules.schemas, stop, follow=task.follow),
            beside=beside,
            scope=RestoreScope(region=task.region, version=0, at=0),
        )
        made = _Restore(state, stack)
        if following is not None:
            made.follow(following, reading, bell)
        if made.prepare():
            made.go(spark, parallelism)
        end(state)
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
    """A restore from its plan on.

    Args:
        state: What its parts share.
        stack: Ends what is begun.
    """

    def __init__(self, state: RestoreState, stack: ExitStack) -> None:
        self._state, self._stack = state, stack

    def follow(
        self, following: FollowedArchive, reading: ArchiveReading | None, bell: Bell | None
    ) -> None:
        """Continue with records that are archived during the restore."""
        state = self._state
        state.follower = Follower(following, reading, state.task, state.to, state.session, bell)
        state.follower.ready = self._has_schemas
        state.progress.following = True

    def prepare(self) -> bool:
        """Prepare the ledger and the topics; return whether there is anything to restore."""
        with self._state.beside.planning:
            self._begin()
        return bool(self._state.scope.topics) or self._state.follower is not None

    def _begin(self) -> None:
        state = self._state
        plan = plan_restore(state.task, state.to, state.archive)
        refuse(plan.plan)
        state.enter(RestorePhase.PREPARING)
        identify(state.task, state.to)
        state.session.start()
        self._stack.callback(state.session.close)
        lease = Lease(state.to, "restore run", RESTORE, state.session.dead)
        state.lease = self._stack.enter_context(lease)
        state.progress.takeover = lease.takeover
        state.to.read()
        self._adopt(plan)

    def _adopt(self, plan: RestorePlan) -> None:
        """Prepare the topics of a plan, and restore these from now on."""
        state, progress = self._state, self._state.progress
        state.plan = plan
        if refused := state.schemas.bring(state.archive, state.held.require):
            self._hold_back(plan, refused)
            return
        applied = apply(plan.restorer, plan.checked, state.held.require, state.stop)
        left = [*applied.rest, *(step for step, _ in applied.failed)]
        failed = {applied.blamed(step) for step in left if step.creates}
        kept = plan.topics.topics.items()
        topics = {name: topic for name, topic in kept if name not in failed}
        state.scope = replace(plan.topics, topics=topics)
        noted = map(str, plan.plan.notes)
        progress.notes += tuple(each for each in noted if each not in progress.notes)
        left_out = (*map(str, plan.plan.problems), *state.schemas.left_out, *applied.left_out)
        progress.left_out = tuple(dict.fromkeys(left_out))
        progress.archives = (self._archived(),)
        if state.follower is not None:
            state.follower.planned(plan, state.scope)
        state.look()

    def _hold_back(self, plan: RestorePlan, refused: tuple[str, ...]) -> None:
        """Restore nothing, as no record may come before its schema."""
        state = self._state
        state.scope = replace(plan.topics, topics={})
        state.progress.left_out = tuple(dict.fromkeys((*map(str, plan.plan.problems), *refused)))
        state.progress.archives = (self._archived(),)
        if state.follower is not None:
            state.follower.planned(plan, state.scope)

    def _has_schemas(self) -> bool:
        """Bring over what schemas the followed archive has now; return whether they are there."""
        state = self._state
        if state.follower is None or state.lease is None:
            return True
        has, trouble = state.schemas.follow(state.follower.archive, state.held.require)
        if trouble or state.schemas.was_in_trouble:
            state.progress.take_trouble(trouble)
        return has

    def _archived(self) -> RestoredArchive:
        task, scope = self._state.task, self._state.scope
        return RestoredArchive(
            source=task.source,
            store=task.store.url,
            region=task.region,
            version=scope.version,
            at=scope.at,
        )

    def go(self, spark: Starting, parallelism: int | None) -> None:
        """Restore on Spark, with an event at the start and the end."""
        state = self._state
        state.enter(RestorePhase.STARTING)
        session = spark.result()
        player = RoundPlayer(state, session, parallelism)
        state.session.wait(state.stop)
        state.enter(RestorePhase.RESTORING)
        number, over = 0, False
        with recording_events(state.to, state.session.run_id, state.scope):
            while not (over or state.stop.is_set()):
                number += 1
                over = player.play(number)
                if state.follower is not None and not state.stop.is_set():
                    over = False
                    self._plan_again(state.follower)
            if state.task.prove and state.follower is None and not state.stop.is_set():
                prove(state, session)

    def _plan_again(self, follower: Follower) -> None:
        """Plan anew, as the archive has grown by more than records; wait for a store that is away.

        Without an answer of the store there is nothing to restore either.
        """
        state, failures = self._state, 0
        while not state.stop.is_set():
            try:
                self._planned_again(follower)
            except StoreAwayError as error:
                failures += 1
                state.progress.take_trouble(str(error), error.reason.codes)
                state.look()
                state.stop.wait(AGAIN.after(failures))
            else:
                if failures:
                    state.progress.take_trouble()
                return

    def _planned_again(self, follower: Follower) -> None:
        state = self._state
        with state.beside.planning:
            state.to.read()
            state.archive = follower.archive
            plan = plan_restore(state.task, state.to, state.archive)
            refuse(plan.plan)
            self._adopt(plan)
