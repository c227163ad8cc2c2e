"""`towpath run`: topics first, then rounds on Spark until stopped or caught up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from towpath.config import LinkConfig, stamps, troubles
from towpath.engine.failure import of_spark
from towpath.engine.rounds import Job, Rounds
from towpath.engine.slots import Slots, following
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.metrics.meter import Meter
from towpath.mirror.dealer import Dealer
from towpath.mirror.ends import Ends
from towpath.mirror.happenings import Partitions, told_run
from towpath.mirror.plan import planned
from towpath.mirror.reconcile import Reconciled, Reconciler, Shape, appeared, shape, shape_of
from towpath.mirror.rounds import SUMMARY, WORK, Look, RoundPlan, plan_round
from towpath.mirror.session import LinkSession
from towpath.mirror.subjects import SUBJECTS
from towpath.mirror.telling import stands, telling
from towpath.mirror.tidying import Tidying
from towpath.model.backoff import BackOff
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, LinkHeldError
from towpath.model.nouns import Side, TopicName
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.permit import TAKEOVER
from towpath.records.source.beginnings import PATIENCE
from towpath.records.work import Slice
from towpath.status.losses import Losses
from towpath.status.status import PartitionStatus, State, status
from towpath.topics.subject import TOPICS

_LOOK = 1.0
_PATIENCE = 50
"""A look may take a fiftieth of the time."""
_SPARING = 10
"""Making topics may take a tenth of it, where some are left out again and again."""
_TRY_AGAIN = 600.0
"""Seconds after which partitions that stopped are tried again, and all others compared with what
they should be."""
_IDLE = {State.STOPPED, State.NOT_STARTED}
_DRAIN = 30.0
_FRESH = 30.0
"""Seconds for which a look at both clusters is good enough to plan a round by."""
_FAILURES = 5
_AGAIN = BackOff(first=2.0, longest=30.0)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to run."""

    until_caught_up: bool = False
    parallelism: int | None = None


@dataclass(slots=True)
class RunProgress:
    """What the run tells while it goes on; `rows` is replaced, never changed."""

    began: float = field(default_factory=time.monotonic)
    round: int = 0
    rows: tuple[PartitionStatus, ...] = ()
    before: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Records and bytes of each partition when the run began, by producer id."""
    ends: Mapping[tuple[TopicName, int], int | None] = field(default_factory=dict)
    """Where each partition ended at the source when the run began; `None` where that is unknown."""
    topics: Reconciled = field(default_factory=Reconciled)
    slots: int = 0
    """How many slices run at the same time, once Spark runs."""
    trouble: str = ""
    files: tuple[str, ...] = ()
    """Files of secrets that changed but cannot be used as they are now."""
    events: str = ""
    """Why events are not written, "" where they are."""
    takeover: str = ""
    """The dead process that the lease was taken over from, "" where there was none."""

    def copied(self, row: PartitionStatus) -> tuple[int, int]:
        """Return the records and bytes of a partition that this run copied."""
        records, size = self.before.get(row.producer_id, (0, 0))
        return row.records - records, row.bytes - size

    def caught_up(self, row: PartitionStatus) -> bool:
        """Whether everything of a partition was copied that was there when the run began."""
        end = self.ends.get((row.topic, row.partition), 0)
        if row.lost is not None:
            return False
        return row.lag_records == 0 if end is None else row.source_end >= end


def run(
    config: LinkConfig,
    wishes: Wishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[RunProgress], None],
    lease: Lease | None = None,
) -> RunProgress:
    """Mirror until `stop` is set, or until everything that is there at the start was copied.

    Args:
        config: The link.
        wishes: How to run.
        spark: Spark, which starts meanwhile.
        stop: Set to end.
        show: Told how it goes on.
        lease: The lease of the link, if the caller holds it.

    Raises:
        ClusterError: A cluster could not be reached when the run began, or refused us.
        ConfigError: The file asks for what cannot be.
        LedgerError: The link runs elsewhere, or belongs to other clusters.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
    """
    with ExitStack() as stack:
        meter = stack.enter_context(telling(config))
        link = stack.enter_context(open_link(config))
        mirror = _Mirror(link, wishes, stop, show, stack, meter, lease)
        spark.require_allowed()
        mirror.prepare()
        stack.enter_context(mirror.told())
        session = spark.result()
        if not stop.is_set():
            mirror.go(session)
        return mirror.progress


class _Mirror:
    def __init__(
        self,
        link: OpenLink,
        wishes: Wishes,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        stack: ExitStack,
        meter: Meter,
        lease: Lease | None,
    ) -> None:
        self._meter, self._lease = meter, lease
        self._held = ""
        """Who else changes the target now, so that no step is done."""
        self._link, self._wishes, self._stop, self._show = link, wishes, stop, show
        self._config, self._stack = link.config, stack
        self._session = LinkSession(link.config, link.target)
        self._clients = stack.enter_context(SUBJECTS.open(link))
        self._reconciler = Reconciler(link, self._clients, meter, stop, self._hold)
        self._failures = 0
        self._next_look = 0.0
        self._losses = Losses(patient=False)
        self._partitions = Partitions(link.events)
        self._shape: Shape = {}
        self._reconciled = -1
        self._unopened: dict[tuple[str, int], str] = {}
        self._settled: dict[int, bool] = {}
        self._next_reconcile = 0.0
        self._looked: tuple[Look, Deadline] | None = None
        """The last look at topics, until it was used to plan: whoever plans later looks again."""
        self._next_try = time.monotonic() + _TRY_AGAIN
        self._round_over = threading.Event()
        self._redeal = False
        self._secrets = stamps()
        self._more = False
        """There may be partitions that no slice has."""
        self._dealer = Dealer(link, self._session)
        self._throttled = dict.fromkeys(Side, 0.0)
        """For how long brokers asked the slices of rounds that ended to wait, in seconds."""
        self._ends = Ends()
        self._cut_short = 0
        """The last round that was told to end before it had caught up."""
        self.progress = RunProgress()

    def told(self) -> AbstractContextManager[None]:
        """Tell the topic of events the beginning and the end of the run."""
        caught_up = self._wishes.until_caught_up
        return told_run(self._link.events, self._session.run_id, until_caught_up=caught_up)

    def prepare(self) -> None:
        """Make the ledger and the topics ready; nothing is copied yet."""
        plan = planned(self._link, self._clients)
        refuse(plan.plan)
        self._link.prepare()
        self._session.start()
        self._stack.callback(self._session.close)
        if self._lease is None:
            lease = Lease(self._link, "run", dead=self._session.dead)
            self._lease = self._stack.enter_context(lease)
        self.progress.takeover = self._lease.takeover
        self._link.read()
        tidying = Tidying(self._config, self._link.target)
        tidying.start()
        self._stack.callback(tidying.close)
        self._is_reconciled(self._reconciler.first(plan))
        self._look(PATIENCE)
        rows = self.progress.rows
        self.progress.before = {row.producer_id: (row.records, row.bytes) for row in rows}
        self.progress.ends = {(row.topic, row.partition): _end(row) for row in rows}

    def _hold(self) -> None:
        if self._lease is not None:
            self._lease.require()
            self.progress.takeover = self._lease.takeover

    def go(self, spark: Any) -> None:
        """Run rounds until there is a reason to end; start again after trouble."""
        slots = following(spark, self._wishes.parallelism)
        self._count(slots.number)
        self._session.wait(self._stop)
        over = False
        while not over:
            job = Job(
                partial(self._plan, slots), WORK, SUMMARY,
                self.progress.round + 1, self._wishes.until_caught_up,
            )  # fmt: skip
            self._meter.round_begins()
            rounds = Rounds(spark, job, self._ended)
            try:
                over = self._attend(rounds, slots)
            finally:
                rounds.stop()
        self._look_at_the_end()
        if self._wishes.until_caught_up and not self._stop.is_set():
            # What was held back while mirror topics were filled gets its value.
            self._is_reconciled(self._reconciler.all(self.progress.rows))

    def _plan(self, slots: Slots, number: int) -> list[Slice]:
        """Plan a round for as many slices as Spark can run now."""
        plan = self._round_plan(slots, settled=self._is_settled(number))
        slices = plan_round(plan, number, self._fresh_look())
        self._dealer.planned(slices, number)
        partitions = sum(len(each.assignments) for each in slices)
        events = self._link.events
        events.tell(What.ROUND_STARTED, number=number, slices=len(slices), partitions=partitions)
        return slices

    def _round_plan(self, slots: Slots, *, settled: bool = False) -> RoundPlan:
        return RoundPlan(
            self._config, self._session.run_id, slots.number, self._wishes.until_caught_up,
            settled, self._ends,
        )  # fmt: skip

    def _count(self, slots: int) -> None:
        self.progress.slots = slots
        self._meter.slots(slots)

    def _ended(self, number: int, rows: list[dict[str, Any]]) -> None:
        self._failures = 0
        self._link.events.tell(What.ROUND_ENDED, number=number)
        self._unopened = {
            (row["topic"], row["partition"]): row["error"] for row in rows if row["error"]
        }
        for side in Side:
            self._throttled[side] += sum(row[f"throttled_{side}"] or 0.0 for row in rows)
        self._session.rested = not any(row["under_way"] for row in rows)
        self.progress.round = number
        self._meter.round_ended()
        self._round_over.set()

    def _is_settled(self, number: int) -> bool:
        """Whether nothing that was sent before this round can still arrive at the target."""
        if number not in self._settled:
            self._settled[number], self._session.rested = self._session.rested, False
        return self._settled[number]

    def _attend(self, rounds: Rounds, slots: Slots) -> bool:
        """Look after a query until it ends; return whether the run is over."""
        while not self._stop.is_set():
            if self._session.taken_over is not None:
                raise self._session.taken_over
            try:
                if rounds.wait(_LOOK):
                    return self._wishes.until_caught_up and self.progress.round != self._cut_short
                self._look_now_and_then()
                self._end_round_when_due(slots)
            except RuntimeError as error:
                self._failed(error)
                return False
            except ClusterError as error:
                self.progress.trouble = str(error)
            self._tell()
        self._drain()
        return True

    def _end_round_when_due(self, slots: Slots) -> None:
        """End the round where slices must be dealt anew, or need secrets that they cannot read."""
        if slots.look():
            self._count(slots.number)
            self._redeal = True
        self._redeal |= self._secrets_changed() and not slots.here
        if not self._wishes.until_caught_up:
            self._more |= self._discover()
            self._deal(slots)
        if self._redeal:
            self._cut_short = self.progress.round + 1
            self._session.end_round(self._cut_short)
            self._redeal = False

    def _deal(self, slots: Slots) -> None:
        """Give the slices of the present round what came meanwhile."""
        table = self._dealer.table
        if table is None or table.round <= self.progress.round or not table.hands:
            return  # the next round is not planned yet
        self._dealer.repeat()
        if self._more or not table.checked:
            self._dealer.deal(self._round_plan(slots), table, self._fresh_look())
            self._more, table.checked = False, True
            self._redeal |= table.is_crowded(slots.number)

    def _secrets_changed(self) -> bool:
        """Whether a file of a secret was replaced since the last look."""
        before, self._secrets = self._secrets, stamps()
        return any(before.get(path, stamp) != stamp for path, stamp in self._secrets.items())

    def _tell(self) -> None:
        self._meter.in_trouble(bool(self.progress.trouble))
        waited = {
            Side.SOURCE: self._link.source.throttled, Side.TARGET: self._link.target.throttled
        }  # fmt: skip
        self._meter.throttled({side: waited[side] + self._throttled[side] for side in Side})
        self._meter.events_lost(self._link.events.lost)
        self.progress.files = troubles()
        self.progress.events = self._link.events.trouble
        self._show(self.progress)

    def _drain(self) -> None:
        """Let the slices bring to an end what is under way, as far as they can be told to."""
        self._round_over.clear()
        try:
            self._session.end()
        except ClusterError as error:
            self.progress.trouble = str(error)
        else:
            self._round_over.wait(_DRAIN)

    def _failed(self, error: RuntimeError) -> None:
        """Decide whether a query that failed is worth another one, with slices of another round."""
        self._failures += 1
        self.progress.round += 1
        with suppress(ClusterError):
            self._session.end_round(self.progress.round)
        said = of_spark(error)
        self._link.events.tell(
            What.ROUND_FAILED, number=self.progress.round, error=str(said), code=said.code
        )
        self.progress.trouble = str(said)
        self._meter.round_failed(said.code)
        of_cluster = isinstance(said, ClusterError)
        if self._failures > _FAILURES and (self._wishes.until_caught_up or not of_cluster):
            raise said from error
        self._tell()
        # Slices of the round that failed may go on until they have heard of its end.
        self._stop.wait(max(TAKEOVER, _AGAIN.after(self._failures)))

    def _discover(self) -> bool:
        """Look for new topics now and then; whether there may be more to copy."""
        began = time.monotonic()
        if began < self._next_reconcile:
            return False
        try:
            return self._reconcile() or self._wants_more()
        except LinkHeldError as error:
            self._held = str(error)  # copying goes on meanwhile
            return False
        finally:
            took = time.monotonic() - began
            self._next_reconcile = began + max(self._config.run.discover, _SPARING * took)

    def _reconcile(self) -> bool:
        """Make of the target what the file asks for; whether there is more to copy then.

        Only a round that was planned anew may leave out more than we know, as far as the shape is
        the same. What shows in no shape, as configs and ACLs, is looked at when it is time.
        """
        link, rows = self._link, self.progress.rows
        now = shape(link.config, link.source, link.target)
        same = now == self._shape and self.progress.round == self._reconciled
        if same and not self.progress.topics.left_out:
            made = self._reconciler.due(rows)
        else:
            made = self._reconciler.all(rows)
        return made is not None and self._is_reconciled(made)

    def _is_reconciled(self, made: Reconciled) -> bool:
        """Take in what was made; return whether there is more to copy now."""
        before, was = self.progress.topics, self._shape
        self.progress.topics, self._reconciled, self._held = made, self.progress.round, ""
        if made.found is not None:
            self._shape = shape_of(self._config, made.found)
            topics = made.found.of(TOPICS)
            look = Look(topics.seen.topics, topics.found.topics)
            self._looked = look, Deadline.after(_FRESH)
        mended = before.topics - made.topics
        self._dealer.mended(mended)
        return bool(made.outcome.done or appeared(was, self._shape) or mended)

    def _fresh_look(self) -> Look | None:
        looked, self._looked = self._looked, None
        return looked[0] if looked is not None and not looked[1].over else None

    def _wants_more(self) -> bool:
        """Whether a partition is to be tried again, or no slice has one that should be copied."""
        rows = self.progress.rows
        if time.monotonic() >= self._next_try:
            self._next_try = time.monotonic() + _TRY_AGAIN
            self._dealer.again.update(row.tp for row in rows if row.state in _IDLE)
            return True
        return self._dealer.lacks(row.tp for row in rows if self._should_run(row))

    def _should_run(self, row: PartitionStatus) -> bool:
        """Whether a partition was never copied, though nothing is known that keeps it from that."""
        known = self.progress.topics.topics
        return row.state is State.NOT_STARTED and known.isdisjoint((row.topic, row.target_topic))

    def _look_now_and_then(self) -> None:
        """Look, but seldom where a look is dear: thousands of idle partitions must cost nothing."""
        began = time.monotonic()
        if began >= self._next_look:
            self._look(PATIENCE)
            self._next_look = began + _LOOK + _PATIENCE * (time.monotonic() - began)

    def _look_at_the_end(self) -> None:
        """Look again; who stopped the run hears where it stood, though a cluster is away."""
        self.progress.events = self._link.events.trouble
        self._losses.patient = True
        try:
            self._look()
        except ClusterError as error:
            if not self._stop.is_set():
                raise
            self.progress.trouble = str(error)

    def _look(self, patience: float | None = None) -> None:
        """Look where each partition stands; with `patience`, wait for no leader."""
        link = self._link
        link.read()
        rows = status(link.config, link.books, link.source, link.target, self._losses, patience)
        if any(row.lost for row in rows) and not link.books.runs_read:
            link.ledger.read_runs(link.books)  # they tell which source offsets were lost
            rows = status(link.config, link.books, link.source, link.target, self._losses, patience)
        self.progress.rows = tuple(map(self._with_error, rows))
        self._meter.looked(stands(self.progress.rows))
        self._partitions.look(self.progress.rows)
        self.progress.trouble = self._held

    def _with_error(self, row: PartitionStatus) -> PartitionStatus:
        """Tell of a partition that could not be begun, of which the ledger knows nothing."""
        error = self._unopened.get((row.topic, row.partition), "")
        if not error or row.left_out or not self._wishes.until_caught_up:
            return row
        return replace(row, state=State.STOPPED, error=error)


def _end(row: PartitionStatus) -> int | None:
    """Return where a partition ends at the source now, if that is known."""
    excluded = row.state is State.EXCLUDED
    return None if row.lag_records < 0 and not excluded else row.source_end + row.lag_records
