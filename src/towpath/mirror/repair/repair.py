"""`towpath repair`: copy lost records again, on partitions where that is exact.

The target log must be a prefix of the source log, at the same offsets. A new incarnation of the
partition begins at its end (docs/decisions/0021), and records are copied again up to what the
target had acknowledged. The process may be killed at any point: the ledger takes a new incarnation
as a whole or not at all, and copying goes on like any other copying.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from towpath.compare.work import Comparison
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.session import session
from towpath.engine.slots import slots
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.topic import find
from towpath.ledger.wishes import require_copied
from towpath.mirror import COPYING
from towpath.mirror.repair.repair_plan import RepairPlan, new_incarnation
from towpath.mirror.repair.repair_planner import plan_repair
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.mirror.run.slices import run_slice
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.partitions import status
from towpath.mirror.verify.comparing import compared
from towpath.mirror.verify.ranges import Sized
from towpath.mirror.verify.scope import Scope
from towpath.model.errors import StepOutdatedError, StoppedError
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.plan.lease import Lease
from towpath.records.session import LinkSession
from towpath.records.work import TOLD, CopySlice
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """The options of a repair.

    Attributes:
        topics: The source topics.
        agreed: Called with the plan; returns whether to carry it out.
        on_done: Called with the number of slices that are done, and the total number.
        stop: Set to end early.
        scope: Spark's master, the archive for its workers, and the number of slices at a time.
    """

    topics: tuple[TopicName, ...]
    agreed: Callable[[RepairPlan], bool]
    on_done: Callable[[int, int], None]
    stop: threading.Event
    scope: Scope


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The result of a repair.

    Attributes:
        plan: The plan.
        done: Whether the plan was agreed to, or there was nothing to do.
        rows: The status of the plan's partitions after the repair, if anything was done.
        takeover: A sentence about the dead process whose lease was taken over, or "".
    """

    plan: RepairPlan
    done: bool
    rows: tuple[PartitionStatus, ...] = ()
    takeover: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """One sentence for each partition that is not repaired."""
        ends = self.plan.ends
        behind = [row.why for row in self.rows if row.error or row.source_end < ends[row.tp]]
        return (*map(str, self.plan.left), *behind)


def repair(config: LinkConfig, asked: RepairRequest) -> RepairReport:
    """Repair partitions of some topics.

    Raises:
        ClusterError: A cluster could not be reached, or refused a request.
        ConfigError: The link never copied one of the topics.
        LedgerError: The link runs, or joins other clusters.
        SparkStartError: Spark did not start.
        StoppedError: The user asked to stop before the repair was complete.
    """
    with ExitStack() as stack:
        link = stack.enter_context(open_link(config))
        _read(link, asked.topics)
        alone = LinkSession(config.link, config.target, link.target)
        alone.start()
        stack.callback(alone.close)
        lease = stack.enter_context(Lease(link, "repair", dead=alone.dead))
        return replace(_Repair(link, asked, alone.run_id).go(), takeover=lease.takeover)


def _read(link: OpenLink, topics: Collection[TopicName]) -> None:
    """Read the ledger; raise if the link never copied one of the topics."""
    if find(link.target) is not None:
        link.read()
        link.ledger.read_runs(link.books)
    link.books.check_clusters(link.source.cluster.id(), link.target.cluster.id())
    require_copied(link, topics)
    for topic in topics:
        link.books.require_open(topic)


class _Repair:
    def __init__(self, link: OpenLink, asked: RepairRequest, run_id: str) -> None:
        self._link, self._asked, self._run_id = link, asked, run_id
        self._cluster = link.source.cluster.id()

    def go(self) -> RepairReport:
        """Plan, ask for agreement, write the ledger, and copy."""
        plan = self._plan()
        if not plan.ends:
            return RepairReport(plan, done=True)
        if not self._asked.agreed(plan):
            return RepairReport(plan, done=False)
        self._require_going("nothing was repaired")
        self._begin(plan)
        self._copy(plan.ends)
        return RepairReport(plan, done=True, rows=self._rows(plan.ends))

    def _require_going(self, text: str) -> None:
        if self._asked.stop.is_set():
            raise StoppedError(text)

    def _plan(self) -> RepairPlan:
        books = self._link.books.partitions
        wanted = [tp for tp in sorted(books) if books[tp].opened and tp.topic in self._asked.topics]
        rows = self._rows(dict.fromkeys(wanted, 0))
        lost = {row.tp: row.lost for row in rows if row.lost is not None}
        return plan_repair(self._link, wanted, lost, self._compared)

    def _rows(self, tps: Mapping[TopicPartition, int]) -> tuple[PartitionStatus, ...]:
        link = self._link
        link.read()
        rows = status(link.config, link.books, link.source, link.target)
        return tuple(row for row in rows if row.tp in tps)

    def _compared(self, wanted: list[Sized]) -> Mapping[TopicPartition, Comparison]:
        asked, link = self._asked, self._link
        return compared(link.config, asked.scope, link.books, wanted, asked.on_done, asked.stop)

    def _begin(self, plan: RepairPlan) -> None:
        """Write the new incarnations to the ledger, if the target is still as planned."""
        again = {row.tp: row.lost for row in self._rows(plan.ends)}
        for each in plan.repairs:
            if again.get(each.tp) != each.lost:
                raise StepOutdatedError(str(each.target), str(each.lost), str(again.get(each.tp)))
            books = self._link.books.of(each.tp)
            self._link.ledger.append(new_incarnation(each, books, self._cluster, self._run_id))

    def _copy(self, ends: Mapping[TopicPartition, SourceOffset]) -> None:
        """Copy partitions up to these source offsets, on Spark."""
        asked, config = self._asked, self._link.config
        spark = session(
            asked.scope.master,
            f"towpath repair {config.link}",
            asked.scope.parallelism,
            credentials=config.holds_credentials,
            works=COPYING,
            packages=asked.scope.packages,
        )
        parallelism = slots(spark, asked.scope.parallelism)
        slices = plan_round(RoundPlan(config, self._run_id, parallelism, once=True), 1)
        work = [part for one in slices if (part := _only(one, ends)).assignments]
        try:
            run_slices(spark, work, run_slice, TOLD, asked.on_done, asked.stop)
        except RuntimeError as error:
            self._require_going("not everything was copied again; repair or run again to go on")
            raise of_spark(error) from error


def _only(work: CopySlice, ends: Mapping[TopicPartition, SourceOffset]) -> CopySlice:
    """Return a slice with only these partitions, which must stay identical."""
    return replace(
        work,
        assignments=tuple(
            replace(each, end=ends[each.source], must_be_identical=True)
            for each in work.assignments
            if each.source in ends
        ),
    )
