"""`towpath run`: create topics, then copy in rounds on Spark until stopped or caught up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from towpath.engine.failure import of_spark
from towpath.engine.rounds import Rounds
from towpath.engine.slots import Slots, following
from towpath.engine.starting import Starting
from towpath.groups.loop import GroupLoop
from towpath.ledger.entries import LinkStage
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink
from towpath.mirror.metrics.feeding import telling_groups
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.mm2.publish import publishing
from towpath.mirror.plan.link_plan import planned
from towpath.mirror.run.beside import MakeBeside, NothingBeside
from towpath.mirror.run.changed_file import ChangedFile, sections
from towpath.mirror.run.committing import Committing
from towpath.mirror.run.dealer import Dealer
from towpath.mirror.run.discovery import Discovery
from towpath.mirror.run.happenings import recording_run
from towpath.mirror.run.link_run import LinkRun, attempted
from towpath.mirror.run.outlook import Outlook
from towpath.mirror.run.pacing import Pacing
from towpath.mirror.run.pausing import Pausing
from towpath.mirror.run.progress import RunPhase, RunProgress, Wishes
from towpath.mirror.run.reconcile import Reconciler, count_left_out
from towpath.mirror.run.relay import Relay
from towpath.mirror.run.round_planner import Planner
from towpath.mirror.run.schema_loop import SchemaLoop
from towpath.mirror.run.tidying import Tidying
from towpath.mirror.subjects import BESIDE_SCHEMAS, SUBJECTS
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.nouns import Side
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.permit import TAKEOVER
from towpath.records.session import LinkSession
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.runtime.garbage import CycleSearch
from towpath.settings import LinkConfig, stamps, troubles

_LOOK = 1.0
_DRAIN = 30.0
_FAILURES = 5
_AGAIN = BackOff(first=2.0, longest=30.0)


def run(
    config: LinkConfig,
    wishes: Wishes,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[RunProgress], None],
    lease: Lease | None = None,
    beside: MakeBeside = NothingBeside,
) -> RunProgress:
    """Mirror until `stop` is set, or until everything that existed at the start is copied.

    Args:
        config: The link. What somebody changes in its file is taken over, if `wishes` name it.
        wishes: How to run.
        spark: The Spark session, which is still starting.
        stop: Set to stop the run.
        show: Shows the progress.
        lease: The lease of the link, if the caller holds it.
        beside: Makes what is done beside copying.

    Raises:
        ClusterError: A cluster refused access, or could not be reached when the run began and
            `wishes` do not ask to wait for it.
        ConfigError: The file asks for something impossible.
        LedgerError: Another run of the link is alive, or the link belongs to other clusters.
        SparkStartError: Spark did not start.
        SparkUnencryptedError: Credentials would leave this machine unencrypted.
    """
    return attempted(
        config,
        wishes,
        spark,
        stop,
        show,
        lambda link, stack, meter: _Mirror(link, wishes, stop, show, stack, meter, lease, beside),
    )


class _Mirror(LinkRun):
    def __init__(
        self,
        link: OpenLink,
        wishes: Wishes,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        stack: ExitStack,
        meter: LinkMeter,
        lease: Lease | None,
        beside: MakeBeside,
    ) -> None:
        # Once nothing may be copied any more, the run must not wait for a source that is away.
        end = link.source.abandon
        session = LinkSession(link.name, link.where, link.target, on_end=end)
        super().__init__(session, RunProgress(), show)
        self._meter, self._lease = meter, lease
        self._cycles = CycleSearch()
        self._link, self._wishes, self._stop = link, wishes, stop
        self._config, self._stack = link.config, stack
        self._clients = stack.enter_context(SUBJECTS.open(link))
        self._outlook = Outlook(link, meter, self.progress, ends=wishes.until_caught_up)
        self._pacing = Pacing(link, self._session)
        self._dealer = Dealer(link, self._session, self._pacing)
        self._schemas = SchemaLoop(link.config, self._clients, meter, self._hold)
        clients = self._clients.only(BESIDE_SCHEMAS)
        reconciler = Reconciler(link, clients, meter, stop, self._hold)
        self._discovery = Discovery(link, reconciler, self._dealer, self.progress)
        self._planner = Planner(
            link,
            self._session,
            self._dealer,
            self._discovery,
            self._pacing,
            once=wishes.until_caught_up,
        )
        self._pausing = Pausing(link, self._dealer)
        self._groups = GroupLoop(link.config, telling_groups(meter), beside=publishing)
        self._committing = Committing(link, self.progress)
        self._beside = beside(link.config, self.progress, self._hold)
        self._file = ChangedFile(wishes.file, link.config)
        self._failures = 0
        self._round_over = threading.Event()
        self._redeal = False
        self._secrets = stamps()
        self._more = False
        """Whether there may be partitions that no slice has."""
        self._throttled = dict.fromkeys(Side, 0.0)
        """Seconds for which brokers throttled the slices of earlier rounds."""

    def go_on(self, spark: Starting) -> None:
        """Copy once Spark has started, with an event at the start and the end."""
        caught_up, run_id = self._wishes.until_caught_up, self._session.run_id
        with recording_run(self._link.events, run_id, until_caught_up=caught_up):
            self.enter(RunPhase.STARTING)
            while not spark.ready(_LOOK):
                self._require_own()
            session = spark.result()
            self._require_own()
            if not self._stop.is_set():
                self.go(session)

    def prepare(self) -> None:
        """Prepare the ledger and the topics, before anything is copied."""
        plan = planned(self._link, self._clients)
        self._link.books.require_open()  # whatever else a plan would refuse then
        refuse(plan.plan)
        self.enter(RunPhase.APPLYING)
        self._link.prepare()
        self._session.start()
        self._stack.callback(self._session.close)
        if self._lease is None:
            lease = Lease(self._link, "run", dead=self._session.dead)
            self._lease = self._stack.enter_context(lease)
        self.progress.takeover = self._lease.takeover
        self._link.read()
        self.progress.limited = self._pacing.limits.sentences
        tidying = Tidying(self._config, self._link.target)
        tidying.start()
        self._stack.callback(tidying.close)
        self._discovery.first(plan.only(BESIDE_SCHEMAS))
        self._schemas.begin(plan, self._stack)
        self._tell_left_out()
        if self._config.groups is not None:
            self._meter.groups_begin()
            self._groups.start()
            self._stack.callback(self._groups.close)
        self._outlook.look_when_due()
        self._committing.start()
        self._stack.callback(self._committing.close)
        self._beside.start()
        self._stack.callback(self._beside.close)
        self.progress.start()

    def _hold(self) -> None:
        if self._lease is not None:
            self._lease.require()
            self.progress.takeover = self._lease.takeover

    def go(self, spark: Any) -> None:
        """Run rounds until the run ends, with a new query after a failure."""
        slots = following(spark, self._wishes.parallelism)
        self._count(slots.number)
        self._session.wait(self._stop)
        self.enter(RunPhase.COPYING)
        over = False
        while not over:
            relay = Relay(
                partial(self._begin, spark, slots),
                self._session,
                self.progress.round + 1,
                self._planner.has_begun,
                self._planner.is_ready,
            )
            try:
                over = self._attend(relay, slots)
            finally:
                relay.stop()
        self._outlook.look_last(self._stop)
        self._show(self.progress)  # a short run may have shown nothing so far
        if self._wishes.until_caught_up and not self._stop.is_set():
            self._discovery.last()
            self._schemas.finish(self._stop)
            self._tell_left_out()
            self._groups.finish()
            self._beside.finish(self._stop)
            self.progress.strays = self._beside.sentences

    def _begin(self, spark: Any, slots: Slots, number: int, follows: int) -> Rounds:
        """Begin a round, which takes over from the round that it `follows`, if there is one."""
        self._meter.round_begins()
        return self._planner.begin(spark, slots, self._ended, number, follows)

    def _count(self, slots: int) -> None:
        self.progress.slots = slots
        self._meter.slots(slots)

    def _ended(self, number: int, rows: list[dict[str, Any]]) -> None:
        """Take the summary of a round; the one after it may have failed already."""
        if number > self.progress.round:
            self._failures, self.progress.round = 0, number
        self._link.events.tell(What.ROUND_ENDED, number=number)
        self._outlook.unopened = {
            (row["topic"], row["partition"]): row["error"] for row in rows if row["error"]
        }
        for side in Side:
            self._throttled[side] += sum(row[f"throttled_{side}"] or 0.0 for row in rows)
        under_way = any(row["under_way"] for row in rows)
        settled = not (under_way or self._session.was_repeated(number))
        self._session.settled.ended(number, settled=settled)
        self._meter.round_ended()
        self._round_over.set()

    def _attend(self, relay: Relay, slots: Slots) -> bool:
        """Attend to rounds until none goes on; return whether the run is over."""
        while not self._stop.is_set():
            self._require_own()
            try:
                if self._turn(relay, slots):
                    return self._wishes.until_caught_up
            except RuntimeError as error:
                self._failed(error, relay.last)
                return False
            except ClusterError as error:
                self._require_own()
                self.progress.trouble = str(error)
            self._tell()
            if self._has_changed():
                break
        self._drain(relay)
        return True

    def _has_changed(self) -> bool:
        """Whether the file has changed, so that the run has to begin anew by it."""
        self.changed = self._file.look()
        if self.changed is None:
            return False
        names = sections(self._config, self.changed)
        self._link.events.tell(What.RUN_CHANGED, run_id=self._session.run_id, sections=[*names])
        return True

    def _turn(self, relay: Relay, slots: Slots) -> bool:
        """Wait a moment, then do what is due; return whether no round goes on."""
        number = relay.number
        if relay.wait(_LOOK):
            return True
        if relay.number > number:
            self._dealer.left(number, settled=self._session.settled.left(number))
        self._outlook.look_when_due()
        self._pacing.look(self._dealer.tables)
        if relay.hands_over:
            # Whoever pauses a topic need not wait until the next round has taken over.
            self._more |= self._pausing.look(self._dealer.tables)
        else:
            self._end_round_when_due(slots, relay)
        return False

    def _end_round_when_due(self, slots: Slots, relay: Relay) -> None:
        """Begin the next round after `run.round`, for executors, secrets, or another spread."""
        if slots.look():
            self._count(slots.number)
            self._redeal = True
        self._redeal |= self._secrets_changed() and not slots.here
        goes_on = not self._wishes.until_caught_up
        if goes_on:
            self._more |= self._discovery.look_when_due()
            self._redeal |= relay.is_over(self._config.run.round)
        self._deal(slots, checks=goes_on)
        self._redeal |= self._planner.is_uneven(relay.number, slots, self.progress.rows)
        if self._redeal:
            self._redeal, table = False, self._dealer.table
            lost = table is not None and slots.number < len(table.hands)
            relay.hand_over(room=not (slots.asks or lost))

    def _deal(self, slots: Slots, *, checks: bool) -> None:
        """Take paused partitions from the slices of the current round, and deal new ones.

        Args:
            slots: How many slices Spark can run.
            checks: Whether to look for partitions that appeared while the round was planned.
        """
        table = self._dealer.table
        if table is None or table.round <= self.progress.round or not table.hands:
            return  # the next round is not planned yet
        self._dealer.repeat()
        self._more |= self._pausing.look([table])
        if self._more or (checks and not table.checked):
            self._dealer.deal(self._planner.terms(slots), table, self._discovery.fresh_look())
            self._more, table.checked = False, True
            self._redeal |= table.is_crowded(slots.number)

    def _secrets_changed(self) -> bool:
        """Whether a file with a secret was replaced since the last look."""
        before, self._secrets = self._secrets, stamps()
        return any(before.get(path, stamp) != stamp for path, stamp in self._secrets.items())

    def _tell(self) -> None:
        self._cycles.when_due()
        self._meter.turned()
        self._meter.in_trouble(bool(self.progress.trouble))
        link, slices = self._link, self._throttled
        source = link.source.throttled + slices[Side.SOURCE]
        target = link.target.throttled + slices[Side.TARGET]
        self._meter.throttled({Side.SOURCE: source, Side.TARGET: target})
        state = self._link.books.state_of()
        self._meter.state(state.state if state is not None else LinkStage.RUNNING)
        self._meter.events_lost(self._link.events.lost)
        self._tell_limits()
        self._tell_left_out()
        self.progress.files = (*troubles(), *filter(None, (self._file.trouble,)))
        self.progress.groups = (*self._groups.troubles, *filter(None, (self._committing.trouble,)))
        self.progress.strays = self._beside.sentences
        self.progress.events = self._link.events.trouble
        self._show(self.progress)

    def _tell_left_out(self) -> None:
        progress = self.progress
        progress.schemas, progress.ids = self._schemas.made, self._schemas.sentences
        count_left_out(self._meter, progress.topics, progress.schemas)

    def _tell_limits(self) -> None:
        progress, limits = self.progress, self._pacing.limits
        progress.limited, progress.waiting = limits.sentences, self._pacing.waiting
        progress.rates = limits.rates({row.topic for row in progress.rows} if limits else ())
        self._meter.limited(progress.rates, self._pacing.waited)

    def _drain(self, relay: Relay) -> None:
        """Tell the slices to drain, if the ledger can be reached, and wait until they have."""
        self.enter(RunPhase.DRAINING)
        rounds, until = {relay.number, relay.last}, Deadline.after(_DRAIN)
        try:
            self._session.end()
        except ClusterError as error:
            self.progress.trouble = str(error)
        else:
            while not until.over and not all(map(self._session.settled.has_ended, rounds)):
                self._round_over.wait(until.left())
                self._round_over.clear()

    def _failed(self, error: RuntimeError, number: int) -> None:
        """Raise if the link is not ours any more, or after too many failures in a row; else wait.

        Args:
            error: Why it failed.
            number: The last round that had begun.
        """
        self._require_own()
        self._failures += 1
        self.progress.round = number
        self._session.settled.failed()
        with suppress(ClusterError):
            self._session.end_round(number)
        said = of_spark(error)
        self._tell_failure(said)
        of_cluster = isinstance(said, ClusterError)
        if self._failures > _FAILURES and (self._wishes.until_caught_up or not of_cluster):
            raise said from error
        self._tell()
        # Slices of the failed round may go on until they have read that it ended.
        until = Deadline.after(max(TAKEOVER, _AGAIN.after(self._failures)))
        while not (until.over or self._stop.wait(min(_LOOK, until.left()))):
            self._require_own()

    def _tell_failure(self, said: TowpathError) -> None:
        number, error = self.progress.round, str(said)
        self._link.events.tell(What.ROUND_FAILED, number=number, error=error, code=said.code)
        self.progress.trouble = error
        self._meter.round_failed(said.code)
