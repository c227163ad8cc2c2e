"""`towpath run` of a link whose records go through Spark: batches until stopped or caught up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from towpath.cluster.data.client import Client
from towpath.engine.failure import of_spark
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink
from towpath.ledger.transformed import PositionsTopic
from towpath.mirror.metrics.feeding import stands
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.plan.link_plan import planned
from towpath.mirror.run.happenings import Partitions, recording_run
from towpath.mirror.run.link_run import LinkRun, attempted
from towpath.mirror.run.progress import RunPhase, RunProgress, Wishes
from towpath.mirror.run.reconcile import Reconciled, Reconciler, Shape, shape, shape_of
from towpath.mirror.status.cutovers import still_running
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.transformed import rows_of
from towpath.mirror.subjects import BESIDE_SCHEMAS, SUBJECTS
from towpath.mirror.transform.batches import BatchPlanner
from towpath.mirror.transform.frames import TransformFrames
from towpath.model.errors import ClusterError, LedgerError, SparkLostError
from towpath.model.nouns import Side, TopicPartition
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.session import LinkSession
from towpath.records.source.beginnings import PATIENCE
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.runtime.garbage import CycleSearch
from towpath.settings import LinkConfig
from towpath.topics.subject import TOPICS

_LOOK = 1.0
"""Seconds between two looks at a source without news."""
_SPARING = 50
"""Looks may take a fiftieth of a core while there is nothing to do."""
_FAILURES = 3
"""Failures in a row of a partition after which a run that ends by itself gives it up."""
_AGAIN = BackOff(first=0.5, longest=30.0)

RUNNABLE = frozenset({State.NOT_STARTED, State.BEHIND})


def run(
    config: LinkConfig,
    file: Path,
    wishes: Wishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[RunProgress], None],
    lease: Lease | None = None,
) -> RunProgress:
    """Transform records until `stop` is set, or until all that existed at the start are through.

    Args:
        config: The link.
        file: Its file, for problems of the query.
        wishes: How to run.
        spark: The Spark session, which is still starting.
        stop: Set to stop the run, behind the batch that is under way.
        show: Shows the progress.
        lease: The lease of the link, if the caller holds it.

    Raises:
        ClusterError: A cluster refused access, or could not be reached when the run began and
            `wishes` do not ask to wait for it.
        ConfigError: The query is wrong.
        LedgerError: Another run of the link is alive, or it copied records without a query before.
        SparkLostError: The JVM is gone.
        SparkStartError: Spark did not start.
    """
    return attempted(
        config,
        wishes,
        spark,
        stop,
        show,
        lambda link, stack, meter: _Transforming(
            link, file, wishes, stop, show, stack, meter, lease
        ),
    )


def begin(link: OpenLink, positions: PositionsTopic) -> None:
    """Create the ledger and the topic of positions, unless they exist.

    Args:
        link: The link; it has read the ledger.
        positions: Its positions.

    Raises:
        ClusterError: The target refuses them.
        LedgerError: The link ran before, and the topic of positions is gone.
    """
    if link.books.identity is not None and not positions.exists():
        raise LedgerError(
            f"link {link.name} ran without positions of transformed records, or they are gone:"
            f" topic {positions.tp.topic} is not on the target. To read all records again, give the"
            " link another name"
        )
    positions.create()
    link.prepare()


@dataclass(slots=True)
class _Trouble:
    """Failures of a partition in a row, and when it is tried again."""

    error: str = ""
    failures: int = 0
    again: Deadline = field(default_factory=lambda: Deadline.after(0))

    def failed(self, error: str) -> None:
        self.error, self.failures = error, self.failures + 1
        self.again = Deadline.after(_AGAIN.after(self.failures))


class _Transforming(LinkRun):
    def __init__(
        self,
        link: OpenLink,
        file: Path,
        wishes: Wishes,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        stack: ExitStack,
        meter: LinkMeter,
        lease: Lease | None,
    ) -> None:
        session = LinkSession(link.name, link.where, link.target, on_end=link.source.abandon)
        super().__init__(session, RunProgress(slots=1), show)
        wanted = link.config.transforms
        assert wanted is not None  # noqa: S101, the command has looked
        self._link, self._file, self._wishes, self._stop = link, file, wishes, stop
        self._stack, self._meter = stack, meter
        self._cycles = CycleSearch()
        self._clients = stack.enter_context(SUBJECTS.open(link))
        self._lease = lease
        clients = self._clients.only(BESIDE_SCHEMAS)
        self._reconciler = Reconciler(link, clients, meter, stop, self._hold)
        client = stack.enter_context(Client(link.config.target, Side.TARGET, link.target))
        self._positions = PositionsTopic(link.target, client, link.config.link)
        self._planner = BatchPlanner(link, self._positions, wanted)
        self._partitions = Partitions(link.events)
        self._troubles: dict[TopicPartition, _Trouble] = {}
        self._suspects: set[TopicPartition] = set()
        """Partitions of batches that failed: each has batches of its own, until one succeeds, as
        Spark ends all tasks of a batch when one fails."""
        self._names: dict[str, str] = {}
        self._shape: Shape = {}
        self._next = self._looked = 0.0

    def _hold(self) -> None:
        if self._lease is not None:
            self._lease.require()

    def prepare(self) -> None:
        """Prepare the ledger and the topics, and keep all earlier tasks from committing."""
        link, plan = self._link, planned(self._link, self._clients)
        link.books.require_open()
        refuse(plan.plan)
        self.enter(RunPhase.APPLYING)
        begin(link, self._positions)
        self._session.start()
        self._stack.callback(self._session.close)
        if self._lease is None:
            lease = Lease(link, "run", dead=self._session.dead)
            self._lease = self._stack.enter_context(lease)
        self.progress.takeover = self._lease.takeover
        link.read()
        self._took(self._reconciler.first(plan.only(BESIDE_SCHEMAS)))
        if plan.found is not None:
            topics = plan.found.of(TOPICS).seen.topics.source
            self._planner.look_first(self._session.run_id, topics)
        self._planner.fence(row.tp for row in self._rows())
        self._look()
        self.progress.start()

    def go_on(self, spark: Starting) -> None:
        """Run batches once Spark has started, with an event at the start and the end."""
        caught_up, run_id = self._wishes.until_caught_up, self._session.run_id
        with recording_run(self._link.events, run_id, until_caught_up=caught_up):
            self.enter(RunPhase.STARTING)
            while not spark.ready(_LOOK):
                self._require_own()
            frames = TransformFrames(spark.result(), self._link.config, self._file)
            frames.check()
            self.enter(RunPhase.COPYING)
            while not (self._stop.is_set() or self._is_over()):
                self._require_own()
                if not self._turn(frames):
                    frames.require_spark()  # which nobody asks for anything now
                    self._stop.wait(max(_LOOK, _SPARING * self._looked))
            self._look()
            if caught_up and not self._stop.is_set():
                self._took(self._reconciler.all(self.progress.rows))
        self._show(self.progress)

    def _is_over(self) -> bool:
        """Whether a run that ends by itself has done what it can."""
        if not self._wishes.until_caught_up:
            return False
        given_up = {tp for tp, each in self._troubles.items() if each.failures >= _FAILURES}
        return all(
            self.progress.caught_up(row) or row.tp in given_up or row.state is State.PAUSED
            or (row.state is State.STOPPED and row.tp not in self._troubles)
            for row in self.progress.rows
        )  # fmt: skip

    def _turn(self, frames: TransformFrames) -> bool:
        """Run a batch; return whether records of any partition got through."""
        try:
            self._reconcile_when_due()
            moved = self._batch(frames)
            self.progress.trouble = ""
        except ClusterError as error:
            self._require_own()
            self.progress.trouble, moved = str(error), False
            self._stop.wait(_LOOK)
        self._cycles.when_due()
        self._meter.turned()
        self._meter.in_trouble(bool(self.progress.trouble))
        self._show(self.progress)
        return moved

    def _batch(self, frames: TransformFrames) -> bool:
        due = [row for row in self.progress.rows if row.state in RUNNABLE and self._is_due(row)]
        if not due:
            self._look()
            return any(row.state in RUNNABLE and self._is_due(row) for row in self.progress.rows)
        sound = [row for row in due if row.tp not in self._suspects]
        moved = [
            self._through(frames, rows)
            for rows in (sound, *([row] for row in due if row.tp in self._suspects))
            if rows
        ]
        self._look()
        return any(moved)

    def _through(self, frames: TransformFrames, due: list[PartitionStatus]) -> bool:
        """Send the next records of some partitions through the query, as one batch."""
        topics = self._link.source.topics.describe({row.topic for row in due})
        ids = {name: info.id for name, info in topics.items()}
        plan = self._planner.plan([row for row in due if row.topic in ids], ids)
        for tp, error in plan.errors.items():
            self._trouble(tp, error)
        if plan.ranges:
            self.progress.round += 1
            self._meter.round_begins()
            self._run(frames, plan.ranges)
            self._meter.round_ended()
        return bool(plan.ranges)

    def _run(self, frames: TransformFrames, ranges: tuple[Any, ...]) -> None:
        try:
            frames.run(frames.job(ranges, self._names))
        except SparkLostError:
            raise
        except RuntimeError as error:
            said = of_spark(error)
            self._link.events.tell(
                What.ROUND_FAILED, number=self.progress.round, error=str(said), code=said.code
            )
            self._meter.round_failed(said.code)
            if len(ranges) == 1:
                part = ranges[0].part
                text = str(said)
                named = text if str(part.value) in text else f"{part.value}: {text}"
                self._trouble(part.tp, named)
            self._suspects.update(each.part.tp for each in ranges)
            return
        for each in ranges:
            self._troubles.pop(each.part.tp, None)
            self._suspects.discard(each.part.tp)

    def _is_due(self, row: PartitionStatus) -> bool:
        trouble = self._troubles.get(row.tp)
        if trouble is None:
            return True
        gives_up = self._wishes.until_caught_up and trouble.failures >= _FAILURES
        return trouble.again.over and not gives_up

    def _trouble(self, tp: TopicPartition, error: str) -> None:
        self._troubles.setdefault(tp, _Trouble()).failed(error)

    def _rows(self) -> tuple[PartitionStatus, ...]:
        link = self._link
        known = self._positions.seen()
        return rows_of(link.config, link.books, link.source, known, PATIENCE)

    def _look(self) -> None:
        """Look where all partitions stand."""
        spent = time.thread_time()
        self._link.read()
        left_out = self.progress.left_out_names
        rows = (row for row in map(self._with_trouble, self._rows()) if row.topic not in left_out)
        self.progress.rows = tuple(rows)
        self.progress.cut_over = still_running(self._link.books)
        self._meter.looked(stands(self.progress.rows))
        self._partitions.look(self.progress.rows)
        self._looked = time.thread_time() - spent

    def _with_trouble(self, row: PartitionStatus) -> PartitionStatus:
        if row.error:  # which does not pass, whatever failed before
            self._troubles.pop(row.tp, None)
        trouble = self._troubles.get(row.tp)
        if trouble is None:
            return row
        gives_up = self._wishes.until_caught_up and trouble.failures >= _FAILURES
        state = State.STOPPED if gives_up else row.state
        return replace(row, state=state, error=trouble.error)

    def _reconcile_when_due(self) -> None:
        """Keep the target as the file asks."""
        if self._wishes.until_caught_up or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._link.config.run.discover
        link, rows = self._link, self.progress.rows
        same = shape(link.config, link.source, link.target) == self._shape
        made = self._reconciler.due(rows) if same else self._reconciler.all(rows)
        if made is not None:
            self._took(made)

    def _took(self, made: Reconciled) -> None:
        self.progress.topics = made
        if made.found is not None:
            self._shape = shape_of(self._link.config, made.found)
            topics = made.found.of(TOPICS)
            self._planner.begins, names = topics.seen.topics.begins, topics.found.topics
            self._names = {str(here): str(there) for here, there in names.items()}
