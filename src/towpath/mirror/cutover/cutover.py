"""`towpath cutover`: end a migration in parts, each after the success of the previous one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from towpath.cluster.admin import Admin
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import open_events, open_link
from towpath.mirror.cutover.beside import holds_out, mapped, to_stop
from towpath.mirror.cutover.estimate import RehearsalTimes
from towpath.mirror.cutover.groups_part import CutoverGroups
from towpath.mirror.cutover.order import Order, error_text, judge_rehearsal
from towpath.mirror.cutover.proof import unproven
from towpath.mirror.cutover.records import records_of
from towpath.mirror.cutover.report import CutoverReport, CutoverRequest
from towpath.mirror.cutover.writers import SourceSnapshot, look_at_source, moved
from towpath.mirror.plan.link_plan import build
from towpath.mirror.run.progress import RunProgress, Wishes
from towpath.mirror.run.reconcile import Reconciled, reconcile
from towpath.mirror.status.backlog import with_backlog
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.status.totals import bytes_behind
from towpath.mirror.staying.source_clients import look_at_clients as look_at_staying
from towpath.mirror.verify.schemas import proving
from towpath.mirror.verify.stoppable import until
from towpath.model.errors import (
    LedgerError,
    LinkBusyError,
)
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.session import LinkSession
from towpath.schemas.steps import SCHEMAS
from towpath.settings import LinkConfig

_ACKNOWLEDGE = "to cut over all the same, add --without-groups"


def cutover(
    config: LinkConfig,
    file: Path,
    cut: CutoverRequest,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[RunProgress], None],
) -> CutoverReport:
    """End a migration: producers are silent, records are copied and compared, all else is synced.

    Args:
        config: The link's configuration.
        file: Its file, for problems of a query.
        cut: How to cut over.
        spark: Spark, which starts meanwhile.
        stop: Set to end early.
        show: Called with the progress of the drain.

    Raises:
        ClusterError: A cluster cannot be used; nothing was begun.
        ConfigError: The file asks for something impossible.
    """
    parts = _Parts(config, file, cut, spark, stop, show)
    report = parts.report
    refuse(report.plan)
    order = Order(report, parts, stop, without_values=cut.without_values)
    if cut.dry_run:
        order.rehearse()
    elif order.begin():
        with open_events(config) as events:
            events.tell(What.CUTOVER_STARTED, topics=len(report.plan.topics))
            with parts:
                order.finish()
            events.tell(What.CUTOVER_ENDED, complete=report.complete, trouble=report.trouble)
    return report


class _Parts:
    """The parts of a cutover of one link; see `Parts`."""

    def __init__(
        self,
        config: LinkConfig,
        file: Path,
        cut: CutoverRequest,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
    ) -> None:
        self._config, self._cut, self._spark = config, cut, spark
        self._stop, self._show = stop, show
        self._records = records_of(config, file)
        self._stack = ExitStack()
        self._lease: Lease | None = None
        began = time.monotonic()
        self.report = CutoverReport(build(config))
        self._planning = time.monotonic() - began
        self._seen = SourceSnapshot()
        self._groups = CutoverGroups(config, cut, self.report, self._records, spark, stop)
        self._matching: frozenset[TopicName] = frozenset()

    def __enter__(self) -> None:
        """Hold the lease, once the drain has got it, until the end."""
        self._stack.__enter__()

    def __exit__(self, *error: object) -> None:
        """Give the lease back."""
        self._stack.close()

    def look(self) -> None:
        """Find producers that still write, and everything that would be left out."""
        report, topics = self.report, self.report.plan.topics
        if not topics:
            report.trouble.append("no topic matches, so there is nothing to cut over")
        report.trouble += map(str, self._unmeant(report.plan.problems))
        with Admin(self._config.source, Side.SOURCE) as source:
            self._matching = self._matching_now(source)
            first, groups = look_at_source(source, topics), self._groups.now(source)
            report.staying = look_at_staying(self._config, source, topics)
            self._stop.wait(self._cut.quiet)
            self._seen = look_at_source(source, topics)
            report.writing = moved(source, first, self._seen)
            if self._cut.dry_run:
                report.to_stop = to_stop(report.writing)
                report.trouble += [str(each) for each in report.writing if each.after < each.before]
            self._groups.look(source, groups)
        if not self._cut.without_groups:
            report.trouble += [f"{text}; {_ACKNOWLEDGE}" for text in report.staying.of_groups]

    def _unmeant(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return the problems without those that `--may-delete` says are meant."""
        meant = {Cause.KEEPS_LESS} if self._cut.scope.may_delete else set()
        return [each for each in problems if each.cause not in meant]

    def _left_out(self, made: Reconciled) -> tuple[str, ...]:
        return replace(made, problems=tuple(self._unmeant(made.problems))).left_out

    def _matching_now(self, source: Admin) -> frozenset[TopicName]:
        found = source.topics.describe()
        return frozenset(n for n, info in found.items() if self._config.topics.takes(info))

    def drain(self) -> None:
        """Take the lease, and run until everything is copied."""
        wishes = Wishes(until_caught_up=True, parallelism=self._cut.scope.parallelism)
        link = self._stack.enter_context(open_link(self._config))
        self._records.prepare(link)
        self._lease = self._stack.enter_context(Lease(link, "cutover"))
        progress = self._records.drain(wishes, self._spark, self._stop, self._show, self._lease)
        self.report.progress, self.report.mapped = progress, mapped(progress.rows)
        # Records lost before they were copied are not on the source either; `verify` notes them.
        behind = [_why(row) for row in progress.rows if row.error or not progress.caught_up(row)]
        trouble = [progress.trouble] if progress.trouble else []
        left = [] if self._stop.is_set() else behind
        left_out = *self._left_out(progress.topics), *progress.schemas.left_out
        self.report.trouble += [*left_out, *left, *trouble]

    def sync(self) -> None:
        """Apply all other steps, and release withheld configs."""
        self.report.synced = self._reconciled()

    @property
    def holds_out(self) -> bool:
        """Whether some configs must still be set on the target."""
        return holds_out(self.report.last_look, self._config)

    def settle(self) -> None:
        """Set the configs that had to wait for the last record and the recorded cut."""
        self.report.settled = self._reconciled()

    def _reconciled(self) -> Reconciled:
        """Apply the file to the target; what is left out is trouble."""
        progress = self.report.progress
        with open_link(self._config) as link:
            link.prepare()
            made = reconcile(
                link,
                progress.rows if progress else (),
                stop=self._stop,
                hold=self._lease.require if self._lease else lambda: None,
            )
        self.report.trouble += self._left_out(made)
        return made

    def verify(self) -> None:
        """Compare all records, and the schema ids in them."""
        self._spark.result()
        self._compare()

    def _compare(self, *, proves: bool = True) -> None:
        """Compare all topics that the file asks for with their mirror topics.

        Args:
            proves: Ask both registries for the schema ids, if the user wants that.
        """
        asks = proves and self._cut.scope.ids is not None
        with proving(self._config) if asks else nullcontext() as prover:
            found = self._records.compare(self._cut.scope, self._stop)
            rows = tuple(row for row in found if self._config.topics.matches(row.topic))
            self.report.verdicts = rows
            if prover is not None:
                text = "not every schema id was looked at"
                self.report.proof = until(self._stop, text, lambda: prover.prove(rows))
                self.report.trouble += unproven(self.report.proof)

    def look_again(self) -> None:
        """Find records written since the first look, which the mirror topics would lack."""
        with Admin(self._config.source, Side.SOURCE) as source:
            self.report.appeared = self._matching_now(source) - self._matching
            found = moved(source, self._seen, look_at_source(source, self.report.plan.topics))
        rows = self.report.progress.rows if self.report.progress else ()
        copied = {TopicPartition(row.topic, row.partition): row.source_end for row in rows}
        self.report.writing = tuple(replace(each, copied=copied.get(each.tp, 0)) for each in found)
        self.report.trouble += [
            f"{name}: the topic appeared at the source since the first look, so somebody still"
            " works there"
            for name in sorted(self.report.appeared)
        ]

    @property
    def brings_groups(self) -> bool:
        """Whether groups are part of the cutover, by the file and the options."""
        return self._groups.are_brought

    def groups(self) -> None:
        """Sync the consumer groups, read them back, and update MirrorMaker 2's topics."""
        if self._lease is not None:
            self._lease.require()
        self._groups.bring()

    def look_once_more(self) -> None:
        """Find records written while groups were brought over, as `look_again` does."""
        self.look_again()

    def record(self) -> None:
        """Record in the ledger where each partition was cut over."""
        rows = self.report.progress.rows if self.report.progress else ()
        if self._lease is not None:
            self._lease.require()
        with open_link(self._config) as link:
            link.ledger.append(self._records.cuts(link, rows, self.report.verdicts))

    def rehearse(self) -> None:
        """Find further problems, compare copied records, and measure how long that takes."""
        report = self.report
        try:
            rows = self._standing()
            began = time.monotonic()
            self._spark.result()
            started = time.monotonic()
            # Schemas that are still to be brought over are no trouble.
            self._compare(proves=all(step.subject != SCHEMAS for step in report.plan.steps))
            compared = time.monotonic()
            if self.brings_groups:
                self._groups.rehearse()
        except LedgerError as error:
            report.trouble.append(str(error))
            return
        read = sum(each.comparison.bytes for each in report.verdicts if each.comparison)
        report.behind = sum(row.to_copy for row in rows)
        report.measured = RehearsalTimes(
            look=report.seconds["look"],
            plan=self._planning,
            spark=started - began,
            verify=compared - started,
            read=read,
            behind=sum(map(bytes_behind, rows)),
            steps=len(report.plan.steps),
        )
        judge_rehearsal(report, without_values=self._cut.without_values)

    def _standing(self) -> tuple[PartitionStatus, ...]:
        """Return the status of each partition; errors and a live run are reported as trouble."""
        with open_link(self._config) as link:
            books = link.ledger.books(self._config.link)
            through_query = self._config.transforms is not None and books.identity is not None
            if books.begun or through_query:
                self._require_alone(link.target)
            rows = with_backlog(status(self._config, books, link.source, link.target), link.source)
        self.report.mapped = mapped(rows)
        paused = {row.pause: None for row in rows if row.pause is not None}
        stopped = sorted({row.topic for row in rows if row.state is State.STOPPED_BY_HAND})
        self.report.trouble += [*map(str, paused), *(_why(row) for row in rows if row.error)]
        self.report.trouble += [f"{books.states[each]}; {_WITHOUT}" for each in stopped]
        return rows

    def _require_alone(self, target: Admin) -> None:
        try:
            LinkSession(self._config.link, self._config.target, target).require_alone()
        except LinkBusyError as error:
            self.report.to_stop.append(error_text(error))


_WITHOUT = "name it under `topics.exclude` to cut over without it, its mirror topic stays"


def _why(row: PartitionStatus) -> str:
    """Return why a partition is not copied, and what to do if no run can mend it."""
    if ReasonCode.SOURCE_TOPIC_DELETED in row.codes and row.error:
        return f"{row.why}; {_WITHOUT}"
    return row.why
