"""`towpath cutover`: the end of a migration, each part of it only when the one before was good."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig
from towpath.engine.session import Starting
from towpath.model.errors import LedgerError
from towpath.model.nouns import Side, TopicPartition
from towpath.plan.build import build
from towpath.plan.model import Plan, refuse
from towpath.plan.opened import open_link
from towpath.plan.reconcile import Reconciled, reconcile
from towpath.plan.run import Progress, Wishes, run
from towpath.plan.status import PartitionStatus, status
from towpath.plan.verdict import PartitionVerdict, Verdict
from towpath.plan.verify import Scope, verify
from towpath.plan.writers import Ends, Writing, ends, moved, writing


@dataclass(frozen=True, slots=True)
class Cut:
    """How to cut over.

    Attributes:
        dry_run: Touch nothing: look for writers, compare what is there, and estimate the rest.
        quiet: Seconds for which nobody must have written.
        scope: What is compared, and where.
    """

    dry_run: bool = False
    quiet: float = 5.0
    scope: Scope = field(default_factory=Scope)


@dataclass(slots=True)
class Report:
    """What came of it, as far as it went.

    Attributes:
        plan: What the target lacked when it began.
        writing: Partitions of the source that are not at rest.
        progress: The last run.
        synced: The last steps about everything but records.
        verdicts: What comparing came to.
        seconds: How long each part took.
        estimate: How long the real one would take, where this is a rehearsal.
        trouble: Why it went no further.
    """

    plan: Plan
    writing: tuple[Writing, ...] = ()
    progress: Progress | None = None
    synced: Reconciled | None = None
    verdicts: tuple[PartitionVerdict, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    estimate: float | None = None
    trouble: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything that was to be done is done, and equal."""
        return not (self.trouble or self.writing)


def cutover(
    config: LinkConfig,
    cut: Cut,
    spark: Starting,
    stop: threading.Event,
    show: Callable[[Progress], None],
) -> Report:
    """End a migration: nobody writes, all is copied, all else is the same, and proven.

    Args:
        config: The link.
        cut: How.
        spark: Spark, which starts meanwhile.
        stop: Set to end early.
        show: Told how the drain goes on.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        ConfigError: The file asks for what cannot be.
        LedgerError: The link runs elsewhere: that run must be stopped first.
        SparkStartError: Spark did not start.
    """
    return _Cutover(config, cut, spark, stop, show).go()


class _Cutover:
    def __init__(
        self,
        config: LinkConfig,
        cut: Cut,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[Progress], None],
    ) -> None:
        self._config, self._cut, self._spark = config, cut, spark
        self._stop, self._show = stop, show
        self._report = Report(build(config))
        self._ends: Ends = {}

    def go(self) -> Report:
        """Do one part after the other, as long as there is no trouble."""
        refuse(self._report.plan)
        real = (self._look, self._drain, self._sync, self._verify, self._look_again)
        for part in (self._look, self._rehearse) if self._cut.dry_run else real:
            with self._timed(part.__name__.strip("_").replace("_", " ")):
                part()
            if self._stop.is_set():
                self._report.trouble.append("stopped before the end")
            if not self._report.complete:
                break
        return self._report

    def _look(self) -> None:
        """Begin only when nobody writes, and nothing would be left out."""
        plan = self._report.plan
        if not plan.topics:
            self._report.trouble.append("no topic matches, so there is nothing to cut over")
        self._report.trouble += map(str, plan.obstacles)
        with Admin(self._config.source, Side.SOURCE) as source:
            self._ends, found = writing(source, plan.topics, self._cut.quiet, self._stop)
        self._report.writing = found

    def _drain(self) -> None:
        wishes = Wishes(until_caught_up=True, parallelism=self._cut.scope.parallelism)
        progress = run(self._config, wishes, self._spark, self._stop, self._show)
        self._report.progress = progress
        behind = [row.why for row in progress.rows if row.left_out or not progress.caught_up(row)]
        trouble = [progress.trouble] if progress.trouble else []
        self._report.trouble += [*progress.topics.left_out, *behind, *trouble]

    def _sync(self) -> None:
        """Make everything else the same; what was held while copies were filled is released."""
        progress = self._report.progress
        with open_link(self._config) as link:
            link.prepare()
            self._report.synced = reconcile(link, progress.rows if progress else ())
        self._report.trouble += self._report.synced.left_out

    def _verify(self) -> None:
        self._spark.result()
        self._report.verdicts = verify(self._config, self._cut.scope, lambda _done, _of: None)
        self._report.trouble += [
            f"{row.topic}-{row.partition}: {row.why}"
            for row in self._report.verdicts
            if row.verdict is not Verdict.EQUAL
        ]
        self._report.trouble += self._emptied()

    def _emptied(self) -> list[str]:
        """Tell of copies that have nothing left of what the source still has."""
        rows = self._report.progress.rows if self._report.progress else ()
        copied = {TopicPartition(row.topic, row.partition) for row in rows if row.records}
        suspects = [
            tp
            for row in self._report.verdicts
            if row.comparison is None and (tp := TopicPartition(row.topic, row.partition)) in copied
        ]
        with Admin(self._config.source, Side.SOURCE) as source:
            first = source.earliest(suspects)
        return [
            f"{tp}: the source still has records, and its copy has none of them"
            for tp in suspects
            if first.sure(tp) < self._ends.get(tp, 0)
        ]

    def _look_again(self) -> None:
        """Make sure that nobody wrote since the first look, or the copy would lack it."""
        with Admin(self._config.source, Side.SOURCE) as source:
            self._report.writing = moved(source, self._ends, ends(source, self._report.plan.topics))

    def _rehearse(self) -> None:
        """Compare what was copied so far, and estimate the rest from that."""
        rows = self._standing()
        began = time.monotonic()
        self._spark.result()
        started = time.monotonic()
        try:
            found = verify(self._config, self._cut.scope, lambda _done, _of: None)
        except LedgerError as error:
            self._report.trouble.append(str(error))
            return
        self._report.verdicts = found
        took = time.monotonic() - started
        read = sum(each.comparison.bytes for each in found if each.comparison)
        rate = max(1.0, read / max(took, 0.001))
        drain = (started - began) + sum(map(_lag_bytes, rows)) / rate
        self._report.estimate = 2 * self._cut.quiet + drain + took
        different = [each for each in found if each.verdict is Verdict.DIFFERENT]
        self._report.trouble += [f"{row.topic}-{row.partition}: {row.why}" for row in different]

    def _standing(self) -> tuple[PartitionStatus, ...]:
        with open_link(self._config) as link:
            books = link.ledger.books(self._config.link)
            return status(self._config, books, link.source, link.target)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._report.seconds[part] = round(time.monotonic() - began, 1)


def _lag_bytes(row: PartitionStatus) -> float:
    """Estimate what a partition lacks by what it has."""
    return max(0, row.lag_records) * (row.bytes / row.records if row.records else 1000)
