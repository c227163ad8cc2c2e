"""`towpath cutover`: end a migration, in parts that begin only if the part before succeeded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig
from towpath.cutover.estimate import RehearsalTimes, bytes_behind
from towpath.cutover.report import CutoverReport, CutoverRequest
from towpath.cutover.writers import SourceSnapshot, look, moved
from towpath.engine.starting import Starting
from towpath.ledger.events import What
from towpath.ledger.link import open_events, open_link
from towpath.mirror.plan import build
from towpath.mirror.progress import RunProgress, Wishes
from towpath.mirror.reconcile import reconcile
from towpath.mirror.run import run
from towpath.mirror.session import LinkSession
from towpath.model.errors import (
    LedgerError,
    LinkBusyError,
    LinkHeldError,
    StoppedError,
    TowpathError,
)
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.plan.lease import Lease
from towpath.plan.model import refuse
from towpath.records.trouble import DELETED
from towpath.status.status import PartitionStatus, status
from towpath.verify.verdict import PartitionVerdict, Verdict
from towpath.verify.verify import verify


def cutover(
    config: LinkConfig,
    cut: CutoverRequest,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[RunProgress], None],
) -> CutoverReport:
    """End a migration: no producer writes, all records are copied and compared, all else is equal.

    Args:
        config: The link's configuration.
        cut: How to cut over.
        spark: Spark, which starts meanwhile.
        stop: Set to end early.
        show: Called with the progress of the drain.

    Raises:
        ClusterError: A cluster cannot be used; nothing was begun.
        ConfigError: The file asks for something impossible.
    """
    return _Cutover(config, cut, spark, stop, show).go()


class _Cutover:
    def __init__(
        self,
        config: LinkConfig,
        cut: CutoverRequest,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
    ) -> None:
        self._config, self._cut, self._spark = config, cut, spark
        self._stop, self._show = stop, show
        self._stack = ExitStack()
        self._lease: Lease | None = None
        began = time.monotonic()
        self._report = CutoverReport(build(config))
        self._planning = time.monotonic() - began
        self._seen = SourceSnapshot()
        self._matching: frozenset[TopicName] = frozenset()
        self._appeared: frozenset[TopicName] = frozenset()

    def go(self) -> CutoverReport:
        """Do one part after the other, as long as each succeeds."""
        refuse(self._report.plan)
        if self._cut.dry_run:
            # Producers may still write during a rehearsal; its estimate is useful all the same.
            self._do(self._look)
            if self._report.plan.topics and self._report.failure is None:
                self._do(self._rehearse)
        elif self._do(self._look):
            with open_events(self._config) as events:
                events.tell(What.CUTOVER_STARTED, topics=len(self._report.plan.topics))
                with self._stack:
                    self._cut_over()
                found = self._report
                events.tell(What.CUTOVER_ENDED, complete=found.complete, trouble=found.trouble)
        return self._report

    def _cut_over(self) -> None:
        if self._do(self._drain) and self._do(self._sync):
            self._do(self._verify)
            if self._report.failure is None:
                # Records that differ may have been written since the first look.
                self._do(self._look_again)
            self._judge()

    def _do(self, part: Callable[[], None]) -> bool:
        """Do a part; return whether the next one may begin."""
        report, name = self._report, part.__name__.strip("_").replace("_", " ")
        try:
            if self._stop.is_set():
                raise StoppedError(f"before the part `{name}`")
            with self._timed(name):
                part()
        except TowpathError as error:
            report.failure = error
            where = "" if isinstance(error, StoppedError) else f"{name}: "
            report.trouble.append(where + _told(error))
        return report.complete

    def _look(self) -> None:
        """Find producers that still write, and everything that would be left out."""
        report, topics = self._report, self._report.plan.topics
        if not topics:
            report.trouble.append("no topic matches, so there is nothing to cut over")
        report.trouble += map(str, report.plan.problems)
        with Admin(self._config.source, Side.SOURCE) as source:
            self._matching = self._matching_now(source)
            first = look(source, topics)
            self._stop.wait(self._cut.quiet)
            self._seen = look(source, topics)
            report.writing = moved(source, first, self._seen)

    def _matching_now(self, source: Admin) -> frozenset[TopicName]:
        found = source.topics.describe()
        return frozenset(n for n, info in found.items() if self._config.topics.mirrors(info))

    def _drain(self) -> None:
        wishes = Wishes(until_caught_up=True, parallelism=self._cut.scope.parallelism)
        link = self._stack.enter_context(open_link(self._config))
        link.prepare()
        self._lease = self._stack.enter_context(Lease(link, "cutover"))
        progress = run(self._config, wishes, self._spark, self._stop, self._show, self._lease)
        self._report.progress = progress
        # Records lost before they were copied are not on the source either; `verify` notes them.
        behind = [_why(row) for row in progress.rows if row.error or not progress.caught_up(row)]
        trouble = [progress.trouble] if progress.trouble else []
        left = [] if self._stop.is_set() else behind
        self._report.trouble += [*progress.topics.left_out, *left, *trouble]

    def _sync(self) -> None:
        """Apply all other steps, and release configs that were held back."""
        progress = self._report.progress
        with open_link(self._config) as link:
            link.prepare()
            self._report.synced = reconcile(
                link,
                progress.rows if progress else (),
                stop=self._stop,
                hold=self._lease.require if self._lease else lambda: None,
            )
        self._report.trouble += self._report.synced.left_out

    def _verify(self) -> None:
        self._spark.result()
        self._report.verdicts = self._compare()
        self._report.trouble += self._emptied()

    def _compare(self) -> tuple[PartitionVerdict, ...]:
        """Compare all topics that the file asks for with their mirror topics."""
        found = verify(self._config, self._cut.scope, lambda _done, _of: None, self._stop)
        return tuple(row for row in found if self._config.topics.matches(row.topic))

    def _emptied(self) -> list[str]:
        """Return texts about mirror partitions that lost all records that the source still has."""
        rows = self._report.progress.rows if self._report.progress else ()
        copied = {TopicPartition(row.topic, row.partition) for row in rows if row.records}
        suspects = [
            tp
            for row in self._report.verdicts
            if row.comparison is None and (tp := TopicPartition(row.topic, row.partition)) in copied
        ]
        with Admin(self._config.source, Side.SOURCE) as source:
            first = source.offsets.earliest(suspects)
        return [
            f"{tp}: the source still has records, and its mirror topic has none of them"
            for tp in suspects
            if first.sure(tp) < self._seen.ends.get(tp, 0)
        ]

    def _look_again(self) -> None:
        """Find records written since the first look, which the mirror topics would lack."""
        with Admin(self._config.source, Side.SOURCE) as source:
            self._appeared = self._matching_now(source) - self._matching
            found = moved(source, self._seen, look(source, self._report.plan.topics))
        rows = self._report.progress.rows if self._report.progress else ()
        copied = {TopicPartition(row.topic, row.partition): row.source_end for row in rows}
        self._report.writing = tuple(replace(each, copied=copied.get(each.tp, 0)) for each in found)
        self._report.trouble += [
            f"{name}: the topic appeared at the source since the first look, so somebody still"
            " works there"
            for name in sorted(self._appeared)
        ]

    def _judge(self) -> None:
        """Report partitions that differ, except where records were written meanwhile.

        Those are reported with the producers that wrote them.
        """
        writing = {each.tp for each in self._report.writing}
        self._report.trouble += _named(
            row
            for row in self._report.verdicts
            if row.verdict is not Verdict.EQUAL
            and row.topic not in self._appeared
            and not (row.late and TopicPartition(row.topic, row.partition) in writing)
        )

    def _rehearse(self) -> None:
        """Find further problems, compare what is copied, and measure how long that takes."""
        report = self._report
        try:
            rows = self._standing()
            began = time.monotonic()
            self._spark.result()
            started = time.monotonic()
            report.verdicts = self._compare()
        except LedgerError as error:
            report.trouble.append(str(error))
            return
        read = sum(each.comparison.bytes for each in report.verdicts if each.comparison)
        report.behind = sum(max(0, row.lag_records) for row in rows)
        report.measured = RehearsalTimes(
            look=report.seconds["look"],
            plan=self._planning,
            spark=started - began,
            verify=time.monotonic() - started,
            read=read,
            behind=sum(map(bytes_behind, rows)),
            steps=len(report.plan.steps),
        )
        report.trouble += _named(row for row in report.verdicts if row.verdict is Verdict.DIFFERENT)

    def _standing(self) -> tuple[PartitionStatus, ...]:
        """Return the status of each partition; errors and a live run are reported as trouble."""
        with open_link(self._config) as link:
            books = link.ledger.books(self._config.link)
            if books.begun:
                self._require_alone(link.target)
            rows = status(self._config, books, link.source, link.target)
        self._report.trouble += [_why(row) for row in rows if row.error]
        return rows

    def _require_alone(self, target: Admin) -> None:
        try:
            LinkSession(self._config, target).require_alone()
        except LinkBusyError as error:
            self._report.trouble.append(_told(error))

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._report.seconds[part] = round(time.monotonic() - began, 1)


def _why(row: PartitionStatus) -> str:
    """Return why a partition is not copied, and what to do if no run can mend it."""
    if str(DELETED) in row.error:
        how = "name it under `topics.exclude` to cut over without it, its mirror topic stays"
        return f"{row.why}; {how}"
    return row.why


def _named(rows: Iterable[PartitionVerdict]) -> list[str]:
    return [f"{row.topic}-{row.partition}: {row.why}" for row in rows]


def _told(error: TowpathError) -> str:
    if isinstance(error, LinkBusyError) or (
        isinstance(error, LinkHeldError) and error.command == "run"
    ):
        return (
            f"link {error.link} is running ({error.where}); stop that `towpath run` first, it"
            " drains when it gets Ctrl-C or SIGTERM"
        )
    return str(error)
